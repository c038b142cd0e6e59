//! The upper bound of a score, from the history of an address and the compositions of its transactions, is never below
//! the score of a trace.

use assay_address::CanonicalAddress;
use assay_engine::{
    assess,
    assessment::Assessment,
    evidence::{ChainFacts, ChainState, FlowFacts},
    facts::Facts,
    policy::Policy,
    score::Verdict,
    trace::{TraceRules, flows_at_most},
    utxo::ScriptOwner,
};
use assay_graph::GraphView;
use assay_tests::{
    oracle::{Case, concatenated_chains},
    world::{Claims, tip},
};
use jiff::{Timestamp, tz::TimeZone};

use crate::compositions::{GraphWithCompositions, append, parties};

/// Tolerance for two rounded scores.
const ROUNDED: f64 = 0.2;

fn facts(address: &CanonicalAddress, flows: FlowFacts, now: Timestamp) -> Facts {
    let tip = tip(1, "00".repeat(32), now);
    let chain = ChainFacts { tip, flows, behavior: None, activity: None };
    let mut facts = Claims::default().snapshot(address.chain(), now).facts(address);
    facts.chain = ChainState::Followed(Box::new(chain));
    facts
}

struct ScorePair {
    at_most: Assessment,
    traced: Assessment,
}

/// The two assessments of an owner; `None` if the owner spent money.
async fn compared(case: &Case, view: &dyn GraphView, policy: &Policy) -> Option<ScorePair> {
    let owner = view.owner_number(&case.subject).await.unwrap()?;
    let history = view.history(owner, case.rules.read_limits()).await.unwrap();
    let composed = view.read(|view| {
        let composition = |number| view.composition(number);
        flows_at_most(
            case.chain,
            &history,
            policy,
            (case.today, case.rules.largest_dust),
            composition,
        )
    });
    let at_most = composed.unwrap()?;
    let traced = case.trace(view, None).await.unwrap().unwrap();
    let now = case.today.to_zoned(TimeZone::UTC).unwrap().timestamp();
    let address: CanonicalAddress = case.subject.address(case.chain)?;
    let assess = |flows| assess(&address, &facts(&address, flows, now), policy, now);
    Some(ScorePair { at_most: assess(at_most), traced: assess(traced) })
}

/// The owners of a case that are not a party.
fn subjects(case: &Case) -> Vec<ScriptOwner> {
    let outputs = case.blocks.iter().flat_map(|block| &block.transactions);
    let mut owners: Vec<ScriptOwner> =
        outputs.flat_map(|it| &it.outputs).map(|output| output.owner.clone()).collect();
    owners.sort_unstable();
    owners.dedup();
    owners.retain(|owner| case.attribution(owner).end.is_none());
    owners
}

#[tokio::test]
async fn no_trace_finds_more_than_history_and_compositions_allow() {
    let policy = Policy::default();
    let (mut subjects_compared, mut allowed, mut lower) = (0, 0, 0);
    for seed in 0..400 {
        // Given a random history with its compositions, whose labels have the severities of the policy,
        let mut case = Case::generate(seed);
        for attribution in case.attributions.values_mut() {
            for label in &mut attribution.carried {
                label.severity = policy.severity(label.category);
            }
        }
        case.rules = TraceRules::new(&policy, case.chain.info());
        let chains = concatenated_chains(std::slice::from_ref(&case));
        let (chain, blocks) = chains.into_iter().next().unwrap();
        let (computed, mut writer) = GraphWithCompositions::new(chain);
        append(&mut writer, &blocks, u64::MAX);
        let _ = computed.complete(&parties(std::slice::from_ref(&case)), u64::MAX).await;
        let graph = computed.graphs.open(chain).unwrap().unwrap();
        let graph: std::sync::Arc<dyn assay_graph::Graph> = graph;
        let view = graph.view().await.unwrap().unwrap();
        for subject in subjects(&case) {
            case.subject = subject;
            let Some(found) = compared(&case, &*view, &policy).await else { continue };
            let ScorePair { at_most, traced } = found;
            subjects_compared += 1;
            let score = |of: &Assessment| serde_json::to_value(of.risk_score).unwrap().as_f64();
            let (most, score) = (score(&at_most).unwrap(), score(&traced).unwrap());
            // then what is allowed at most is allowed,
            let told = || {
                format!(
                    "case {seed}, {:?}: {:#?} {:#?}",
                    case.subject, at_most.exposure, traced.exposure
                )
            };
            if at_most.verdict == Verdict::Allow {
                allowed += 1;
                assert_eq!(traced.verdict, Verdict::Allow, "{}", told());
                // and the score is no lower.
                assert!(most + ROUNDED >= score, "{most} {score} {}", told());
                lower += u64::from(most > score + ROUNDED);
            }
        }
    }
    eprintln!(
        "{subjects_compared} owners, {allowed} allowed at most, {lower} of them scored higher than by a trace"
    );
    assert!(subjects_compared > 1_000 && allowed > 100);
}
