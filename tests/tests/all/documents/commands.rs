//! Commands of the pages for integrators run, in the order of the page, and print what the page shows.
//!
//! A block of commands follows the mark `run`, its output the mark `prints`. In an output, `…` stands for any text.

use std::{env, fs, process::Command};

use assay_tests::{binary, run, sample};

use super::root;

const RUN: &str = "<!-- run -->\n\n```bash\n";
const PRINTS: &str = "<!-- prints -->\n\n```\n";
const FENCE: &str = "```\n";
/// Character that separates the outputs of blocks.
const SEPARATOR: char = '\u{c}';

/// Commands of a page, and the output that the page shows of them.
struct Block {
    commands: String,
    output: Option<String>,
}

fn blocks(page: &str) -> Vec<Block> {
    let block = |rest: &str| {
        let (commands, after) = rest.split_once(FENCE).unwrap();
        let output = after.trim_start().strip_prefix(PRINTS);
        let output = output.map(|text| text.split(FENCE).next().unwrap_or_default().to_owned());
        Block { commands: commands.to_owned(), output }
    };
    page.split(RUN).skip(1).map(block).collect()
}

/// True if a text consists of the parts of a pattern, with any text in the place of each `…`.
fn matches(text: &str, pattern: &str) -> bool {
    let mut parts = pattern.trim().split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.trim().strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

/// Runs the commands of a page as one script, against a server of the demo data set.
fn check(page: &str) {
    let blocks = blocks(&fs::read_to_string(root().join(page)).unwrap());
    assert!(blocks.len() > 3, "{page} has {} blocks of commands", blocks.len());
    let (server, _, enterprise) = sample();
    let separate = format!("printf '{SEPARATOR}'\n");
    let commands: Vec<&str> = blocks.iter().map(|block| &*block.commands).collect();
    let folder = server.directory();
    let programs = binary().parent().unwrap().to_owned();
    let path = env::join_paths(
        [programs].into_iter().chain(env::split_paths(&env::var_os("PATH").unwrap_or_default())),
    );
    let mut shell = Command::new("bash");
    shell
        .args(["-euo", "pipefail", "-c", &commands.join(&separate)])
        .current_dir(folder.path())
        .env("PATH", path.unwrap())
        .env("COLUMNS", "80")
        .env("ASSAY_DATA_DIR", folder.path())
        .env("ASSAY_URL", format!("http://{}", server.api))
        .env("ASSAY_KEY", &enterprise.key);
    let printed = run(&mut shell).stdout;
    let outputs: Vec<&str> = printed.split(SEPARATOR).collect();
    assert_eq!(outputs.len(), blocks.len(), "{page}: {printed}");
    for (block, output) in blocks.iter().zip(outputs) {
        let Some(shown) = &block.output else { continue };
        let commands = &block.commands;
        assert!(matches(output, shown), "{page}:\n{commands}\nprints\n{output}\nand not\n{shown}");
    }
}

#[test]
fn an_output_matches_the_parts_that_a_page_shows() {
    for (text, pattern, expected) in [
        ("block 100\n", "block 100", true),
        ("block 100", "block", false),
        ("check 01a2: block", "check …: block", true),
        ("check 01a2: block, once", "check …: block", false),
        ("a 1\nb 2\nc 3", "a …\nb …\n…3", true),
        ("a 1\nc 3", "a …\nb …\nc 3", false),
    ] {
        assert_eq!(matches(text, pattern), expected, "{text} as {pattern}");
    }
}

#[test]
fn the_steps_of_the_tutorial_run() {
    check("docs/tutorial.md");
}

#[test]
fn the_recipes_of_the_cookbook_run() {
    check("docs/cookbook.md");
}
