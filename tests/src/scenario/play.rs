//! Executes the scenario on a node, and follows the node with `assay`.

use std::{
    path::Path,
    process::{Child, Stdio},
    time::Duration,
};

use assay_address::ChainId;

use super::{
    blocks::{END, FORK, KEPT_TIP, Moment, REPLACED_TIP, Scenario},
    cast::address,
    check::{check_scenario, tip_of},
    everybody::EXPECTATIONS,
};
use crate::{
    assay,
    block_builder::Block,
    holds_within,
    nodes::{Credentials, Node},
    process,
};

/// Time limit for a follower to notice a change.
const PATIENCE: Duration = Duration::from_mins(1);

/// Step that was just completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Coins were bought, and the first deposits made: block 112.
    Begun,
    /// The node was restarted; a node that keeps no blocks got them again: block 112 still.
    Restarted,
    /// The theft, and the first stolen money spent: block 118.
    Stolen,
    /// The node was killed and restarted, and got the lost blocks again: block 118 still.
    Killed,
    /// The peel chain is over: block 130.
    Peeled,
    /// Twelve more blocks, which will be replaced: block 142.
    Branched,
    /// Thirteen blocks replaced the twelve: block 143.
    Reorganised,
    /// Three more blocks: block 146.
    Ended,
}

impl Step {
    /// The height of the newest block after the step.
    #[must_use]
    pub const fn height(self) -> u64 {
        match self {
            Self::Begun | Self::Restarted => 112,
            Self::Stolen | Self::Killed => 118,
            Self::Peeled => FORK,
            Self::Branched => REPLACED_TIP,
            Self::Reorganised => KEPT_TIP,
            Self::Ended => END,
        }
    }

    /// The moment whose expectations hold after the step.
    #[must_use]
    pub const fn moment(self) -> Option<Moment> {
        match self {
            Self::Branched => Some(Moment::BeforeReorganisation),
            Self::Ended => Some(Moment::End),
            _ => None,
        }
    }
}

/// Runs the scenario on a new node, and calls `after` after every step.
///
/// # Panics
///
/// Panics if the node refuses a block or does not have the expected height.
pub fn play(scenario: &Scenario, node: &mut Node, mut after: impl FnMut(Step, &Node)) {
    let mut done = |step: Step, node: &Node| {
        let height = step.height();
        let blocks = scenario.trunk.iter().chain(match step {
            Step::Reorganised | Step::Ended => &scenario.kept,
            _ => &scenario.replaced,
        });
        let tip = blocks.clone().find(|block| block.height == height).expect("it has this block");
        assert_eq!(
            (node.height(), node.block_hash(height)),
            (height, tip.hash.to_string()),
            "{} after {step:?}",
            node.kind
        );
        after(step, node);
    };
    let up_to = |step: Step| {
        let before = scenario.trunk.iter().take_while(move |block| block.height <= step.height());
        before.collect::<Vec<&Block>>()
    };
    submit(node, up_to(Step::Begun));
    done(Step::Begun, node);

    node.stop();
    node.launch();
    let kept = if node.kind.keeps_blocks() { Step::Restarted.height() } else { 0 };
    assert_eq!(node.height(), kept, "{} after a restart", node.kind);
    submit(node, up_to(Step::Restarted));
    done(Step::Restarted, node);

    submit(node, up_to(Step::Stolen));
    done(Step::Stolen, node);

    node.kill();
    node.launch();
    // Blocks that it had not stored are submitted again, as other nodes would send them.
    submit(node, up_to(Step::Killed));
    done(Step::Killed, node);

    submit(node, &scenario.trunk);
    done(Step::Peeled, node);

    submit(node, &scenario.replaced);
    done(Step::Branched, node);

    let (overtaking, rest) = scenario.kept.split_at(13);
    let (beside, deciding) = overtaking.split_at(12);
    submit(node, beside);
    // Of two branches of the same length, the first one stays.
    done(Step::Branched, node);
    submit(node, deciding);
    done(Step::Reorganised, node);

    submit(node, rest);
    done(Step::Ended, node);
}

fn submit<'a>(node: &Node, blocks: impl IntoIterator<Item = &'a Block>) {
    for block in blocks {
        node.submit(block);
    }
}

/// A running `assay ingest chain ... --follow`, killed when dropped.
#[derive(Debug)]
pub struct Follower {
    child: Child,
}

impl Follower {
    /// Starts following a node through a scenario, with a data directory.
    ///
    /// # Panics
    ///
    /// Panics if the program cannot be run.
    #[must_use]
    pub fn start(directory: &Path, node: &Node, scenario: &Scenario) -> Self {
        let mut arguments = arguments(node);
        arguments.extend(reorganization_arguments(scenario));
        arguments.extend(["--follow", "--every", "1"].map(str::to_owned));
        let log = std::fs::File::create(directory.join("follower.log")).expect("a log");
        let child = process::command(directory, arguments)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("assay runs");
        Self { child }
    }

    /// Kills the follower (`kill -9`), so that it cannot write anything.
    ///
    /// # Panics
    ///
    /// Panics if the follower cannot be killed.
    pub fn kill(&mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it can be waited for");
    }

    /// Waits until a check is based on the newest block of the node.
    ///
    /// # Panics
    ///
    /// Panics if the follower ends or does not reach the block in time.
    pub fn catch_up(&mut self, directory: &Path, chain: ChainId, height: u64) {
        let anybody = address(chain, "miner");
        let (mut tip, mut ended, mut said) = (None, None, String::new());
        let _ = holds_within(Duration::from_millis(50), PATIENCE, || {
            let answer = assay(directory, ["check", chain.as_str(), anybody.as_str(), "--json"]);
            let told = serde_json::from_str(&answer.stdout).ok();
            (tip, said) = (told.and_then(|answer| tip_of(&answer)), answer.stderr);
            ended = self.child.try_wait().expect("it can be waited for");
            tip == Some(height) || ended.is_some()
        });
        let log = || std::fs::read_to_string(directory.join("follower.log")).unwrap_or_default();
        assert!(
            tip == Some(height),
            "the follower is at {tip:?}, not at {height} ({ended:?}): {}\n{said}",
            log(),
        );
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The arguments of `assay` by which its operator accepts the scenario's long reorganization.
///
/// # Panics
///
/// Panics if the scenario has no reorganization.
#[must_use]
pub fn reorganization_arguments(scenario: &Scenario) -> [String; 2] {
    let first = scenario.kept.first().expect("a branch that stays");
    ["--accept-branch".to_owned(), first.hash.to_string()]
}

/// The arguments of `assay` that ingest the blocks of a node.
#[must_use]
pub fn arguments(node: &Node) -> Vec<String> {
    let chain = node.kind.network().chain().to_string();
    let mut arguments: Vec<String> =
        ["ingest", "chain", &chain, "--test-network", "--rpc", &node.url()]
            .map(str::to_owned)
            .to_vec();
    arguments.extend(match node.credentials() {
        Credentials::Cookie(file) => vec!["--cookie".to_owned(), file.display().to_string()],
        Credentials::Password { user, password } => {
            vec!["--user".to_owned(), format!("{user}:{password}")]
        }
        Credentials::None | Credentials::Secret(_) => Vec::new(),
    });
    arguments
}

/// Differences between checks of all parties and the expectation at `moment`.
///
/// # Panics
///
/// Panics if a check fails.
#[must_use]
pub fn check_all_parties(directory: &Path, scenario: &Scenario, moment: Moment) -> Vec<String> {
    let chain = scenario.network.chain();
    let now = EXPECTATIONS.iter().filter(|expected| expected.at.contains(&moment));
    now.flat_map(|expected| {
        let address = address(chain, expected.person);
        let run = assay(directory, ["check", chain.as_str(), address.as_str(), "--json"]);
        check_scenario(&run.ok().json(), expected, scenario, moment)
    })
    .collect()
}
