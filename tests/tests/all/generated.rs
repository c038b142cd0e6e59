//! Files that are generated from the code are what the code says. `UPDATE_GENERATED=1` writes them.

use std::{env, fs, path::PathBuf};

use assay_api::openapi;
use assay_cli::settings::DEFINITIONS;
use assay_engine::{
    chain::ChainId,
    evidence::{Pattern, Tier},
    policy::Policy,
    taxonomy::Category,
};
use assay_intel::labels::terms::{CONFIDENCES, EXPLORER, TAGPACK, TermTable};
use assay_request::problem::{Code, Retry};

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

/// Compares a file with what it should be, or writes it.
fn expect(name: &str, expected: &str) {
    let path = path(name);
    if env::var_os("UPDATE_GENERATED").is_some() {
        fs::write(&path, expected).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "{name} is out of date: run `just generate`");
}

/// Replaces what stands between a section's marks.
pub(crate) fn section(name: &str, mark: &str, content: &str) {
    let text = fs::read_to_string(path(name)).unwrap();
    let (begin, end) = (format!("<!-- generated: {mark} -->"), format!("<!-- end: {mark} -->"));
    let (before, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("{name} lacks {begin}"));
    let (_, after) = rest.split_once(&end).unwrap_or_else(|| panic!("{name} lacks {end}"));
    expect(name, &format!("{before}{begin}\n\n{content}\n{end}{after}"));
}

#[test]
fn the_api_description() {
    let text = serde_json::to_string_pretty(&openapi::document()).unwrap();
    expect("api/openapi.json", &format!("{text}\n"));
}

/// A table in Markdown.
fn table<const WIDTH: usize>(
    titles: [&str; WIDTH],
    rows: impl IntoIterator<Item = [String; WIDTH]>,
) -> String {
    let line = |cells: &[String; WIDTH]| format!("| {} |\n", cells.join(" | "));
    let rule = format!("|{}\n", "---|".repeat(WIDTH));
    let rows = rows.into_iter().map(|row| line(&row));
    [line(&titles.map(str::to_owned)), rule].into_iter().chain(rows).collect()
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

#[test]
fn the_table_of_problems() {
    let rows = Code::ALL.iter().map(|problem| {
        let retry = match problem.retry() {
            Retry::No => "no",
            Retry::Later => "later",
        };
        let status = problem.status().as_u16().to_string();
        [status, code(problem.as_str()), problem.title().to_owned(), retry.to_owned()]
    });
    let titles = ["status", "`code`", "meaning", "try again"];
    section("docs/api.md", "problems", &table(titles, rows));
}

#[test]
fn the_table_of_blockchains() {
    let rows = ChainId::all().map(|chain| {
        let info = chain.info();
        let aliases: Vec<_> = info.aliases.iter().map(|alias| code(alias)).collect();
        [code(info.id), info.name.to_owned(), aliases.join(", "), info.asset.to_owned()]
    });
    let titles = ["`blockchain`", "chain", "other names", "coin"];
    section("docs/api.md", "blockchains", &table(titles, rows));
}

#[test]
fn the_table_of_settings() {
    let rows = DEFINITIONS
        .map(|setting| [code(setting.name), code(setting.default), setting.meaning.to_owned()]);
    section("docs/running.md", "settings", &table(["setting", "default", "meaning"], rows));
}

#[test]
fn the_table_of_categories() {
    let rows = Category::ALL.iter().map(|category| {
        let info = category.info();
        let service = if info.service { "yes" } else { "" };
        [
            code(info.id),
            info.severity.to_string(),
            service.to_owned(),
            info.definition.to_owned(),
            info.evidence.to_owned(),
        ]
    });
    let titles = ["category", "severity", "service", "definition", "what the severity rests on"];
    section("docs/scoring.md", "categories", &table(titles, rows));
}

#[test]
fn the_table_of_patterns() {
    let rows = Pattern::ALL.iter().map(|pattern| {
        let definition = pattern.definition().to_owned();
        [code(pattern.as_str()), pattern.severity().to_string(), definition]
    });
    let titles = ["pattern", "severity", "definition"];
    section("docs/scoring.md", "patterns", &table(titles, rows));
}

#[test]
fn the_constants_of_the_model() {
    let policy = Policy::default();
    let spec = policy.spec();
    let thresholds = spec.thresholds;
    let dollars = &spec.amounts["USD"];
    let row = |name: &str, value: String| [name.to_owned(), value];
    let mut rows = vec![
        row("model version", assay_engine::MODEL_VERSION.to_owned()),
        row(
            "bands: medium, high, severe from",
            format!("{}, {}, {}", thresholds.medium, thresholds.high, thresholds.severe),
        ),
        row("verdicts: review, block from", format!("{}, {}", thresholds.review, thresholds.block)),
        row(
            "half-life of evidence",
            format!("{} hops", f64::from(spec.half_life_hops.tenths()) / 10.0),
        ),
        row("severity of unresolved money", assay_engine::policy::UNRESOLVED_SEVERITY.to_string()),
        row(
            "the same key as a listed address scores at least",
            assay_engine::policy::SAME_KEY_SCORE.to_string(),
        ),
        row(
            "severe categories from severity",
            spec.minimum_score_rules.severe_category_from.to_string(),
        ),
        row(
            "share of grave money that asks for a review",
            format!("{} %", spec.minimum_score_rules.severe_category_share_percent),
        ),
    ];
    rows.extend(Tier::ALL.map(|tier| {
        row(&format!("cap of tier `{}`", tier.as_str()), policy.cap(tier).to_string())
    }));
    rows.extend(dollars.curve.iter().map(|point| {
        let name = format!("{} US dollars of the riskiest money are worth", point.amount);
        row(&name, point.score.to_string())
    }));
    rows.push(row(
        "unasked-for money of one category that is let pass, in US dollars",
        dollars.unsolicited_up_to.to_string(),
    ));
    section("docs/scoring.md", "constants", &table(["constant", "value"], rows));
}

#[test]
fn the_words_of_tagpacks_and_explorers() {
    let rows = CONFIDENCES.iter().map(|word| {
        let percent = format!("{} %", word.confidence.percent());
        [code(word.word), percent, code(word.tier.as_str())]
    });
    let content = table(["word", "confidence", "tier"], rows);
    section("docs/formats.md", "confidences", &content);
    for (mark, terms) in [("tagpack-terms", &TAGPACK), ("explorer-terms", &EXPLORER)] {
        section("docs/formats.md", mark, &words(terms));
    }
}

/// The words of each category, riskiest category first.
fn words(terms: &TermTable) -> String {
    let rows = Category::ALL.iter().filter_map(|category| {
        let words: Vec<String> = terms
            .rows()
            .filter(|row| row.category == *category)
            .map(|row| match row.only_from {
                [] => code(row.word),
                hosts => format!("{} (from {})", code(row.word), hosts.join(", ")),
            })
            .collect();
        (!words.is_empty()).then(|| [code(category.as_str()), words.join(", ")])
    });
    table(["category", "words"], rows)
}
