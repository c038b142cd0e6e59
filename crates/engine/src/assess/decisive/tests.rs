use jiff::Timestamp;
use proptest::prelude::*;

use super::*;
use crate::{
    assess::{
        Rank, Term, TermEvidence,
        claims::Claim,
        combine::{CombinedScore, combine},
        flows::{Flows, OrderedFlows},
    },
    evidence::{
        ChainFacts, ChainState, DirectionFlows, FlowEnd, FlowFacts, FlowPart, IngestMode, Ledger,
        Tier, Tip,
    },
    fixed::Fraction,
    ledger::Mass,
    score::Confidence,
    taxonomy::Category,
};

const RANKS: [Rank; 5] =
    [Rank::OfficialList, Rank::OnChainProof, Rank::Investigation, Rank::Community, Rank::Heuristic];

/// A term of a rank, with a score in percent, that repeats the claims of others with the same category.
fn term(rank: Rank, percent: u8, claim: Option<Category>) -> Term<'static> {
    let component = ScoringComponent {
        standalone_score: Score::from_points(percent),
        ..ScoringComponent::default()
    };
    Term {
        rank,
        standalone_risk: Fraction::ratio(percent.into(), 100),
        claim: claim.map(Claim::benign),
        evidence: TermEvidence::Component(Box::new(component)),
    }
}

fn any_term() -> impl Strategy<Value = (Rank, u8, Option<Category>)> {
    let claims = vec![None, None, Some(Category::Scam), Some(Category::Mixer)];
    (prop::sample::select(&RANKS[..]), 1..=100_u8, prop::sample::select(claims))
}

/// Money of a party, as much of it recent as not.
fn any_part() -> impl Strategy<Value = FlowPart> {
    let categories =
        vec![Category::Ransomware, Category::Scam, Category::Mixer, Category::Exchange];
    let tiers = vec![Tier::Investigation, Tier::Community];
    (prop::sample::select(categories), prop::sample::select(tiers), 1..=100_u8, 1..100_u128)
        .prop_map(|(category, tier, percent, amount)| {
            let mass = Mass::from_base_units(amount, false);
            FlowPart {
                tier,
                confidence: Confidence::from_percent(percent),
                mass,
                decayed: mass,
                is_direct: true,
                ..FlowPart::plain(FlowEnd::Attributed(category), amount)
            }
        })
}

fn chain(parts: Vec<FlowPart>) -> ChainState {
    let ledger = Ledger {
        unit: "TEST".into(),
        decimals: 8,
        left_out_decimals: 0,
        source: DirectionFlows { parts, ..DirectionFlows::default() },
        destination: DirectionFlows::default(),
        held: DirectionFlows::default(),
        of_accounts: false,
    };
    let tip = Tip {
        height: 99,
        hash: "00".repeat(32),
        time: Timestamp::UNIX_EPOCH,
        reported_at: Timestamp::UNIX_EPOCH,
        start: 0,
        ingest_mode: IngestMode::Ingested,
        sample: false,
    };
    let flows = FlowFacts { complete: true, ledgers: vec![ledger], ..FlowFacts::default() };
    ChainState::Followed(Box::new(ChainFacts { tip, flows, behavior: None, activity: None }))
}

fn milder(one: Verdict, other: Verdict) -> bool {
    let order = [Verdict::Allow, Verdict::Indeterminate, Verdict::Review, Verdict::Block];
    let place = |verdict| order.iter().position(|known| *known == verdict);
    place(one) < place(other)
}

/// A case: what is found, and score and verdict without any components.
struct Case<'a> {
    components: Vec<OfOrigin>,
    evidence: Evidence<'a>,
    policy: &'a Policy,
}

impl Case<'_> {
    /// Score and verdict without the components at these positions.
    fn without(&self, removed: &[usize]) -> (Score, Verdict) {
        let (mut gone, mut score) = (Origin::default(), Score::ZERO);
        for (index, shown) in self.components.iter().enumerate() {
            if removed.contains(&index) {
                gone.add(shown.origin.clone());
            } else if let Some(rule) = shown.origin.rule {
                score = score.max(rule);
            }
        }
        let score = score.max(self.evidence.without(&gone).score().score);
        (score, self.policy.verdict(score))
    }

    fn find(&self) -> Option<Decisive> {
        let (_, verdict) = self.without(&[]);
        find(&self.components, &self.evidence, verdict, false, self.policy)
    }
}

fn with_case<T>(
    terms: Vec<(Rank, u8, Option<Category>)>,
    parts: Vec<FlowPart>,
    rules: &[u16],
    examine: impl FnOnce(&Case<'_>) -> T,
) -> T {
    let (policy, capped) = (Policy::default(), BTreeSet::new());
    let chain = chain(parts);
    let ordered = OrderedFlows::of(&chain, &policy);
    let flows = Flows::new(&ordered, &policy);
    let terms = terms.into_iter().map(|(rank, percent, claim)| term(rank, percent, claim));
    let combined = combine(terms.collect(), vec![], &flows, &policy, &capped);
    let CombinedScore { mut components, evidence, .. } = combined;
    for rule in rules {
        let origin = Origin::rule(Score::from_tenths(*rule));
        components.push(OfOrigin { component: ScoringComponent::default(), origin });
    }
    examine(&Case { components, evidence, policy: &policy })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn the_set_is_the_smallest_without_which_the_verdict_is_milder(
        terms in prop::collection::vec(any_term(), 0..5),
        parts in prop::collection::vec(any_part(), 0..3),
        rules in prop::collection::vec(prop::sample::select(vec![500_u16, 749, 750]), 0..2),
    ) {
        with_case(terms, parts, &rules, |case| {
            let (_, verdict) = case.without(&[]);
            let found = case.find();
            if verdict == Verdict::Allow {
                prop_assert_eq!(found, None);
                return Ok(());
            }
            let found = found.unwrap();
            // Score and verdict are those of the rest.
            prop_assert_eq!((found.risk_score, found.verdict), case.without(&found.components));
            prop_assert!(milder(found.verdict, verdict) && found.smallest);
            // No smaller set decides.
            let count = case.components.len();
            for subset in 0..1_usize << count {
                let subset: Vec<usize> = (0..count).filter(|bit| subset >> bit & 1 == 1).collect();
                if subset.len() < found.components.len() {
                    let (_, without) = case.without(&subset);
                    prop_assert!(!milder(without, verdict), "{:?} and {:?}", subset, found);
                }
            }
            Ok(())
        })?;
    }
}

#[test]
fn each_of_a_set_is_needed_where_many_components_count() {
    // Given more pieces of evidence than are searched, none of which leads to a review alone.
    let percents = (10..26).map(|percent| (Rank::Community, percent, None)).collect();
    with_case(percents, vec![], &[], |case| {
        let (_, verdict) = case.without(&[]);
        assert_eq!(verdict, Verdict::Review);
        // When those that decided are found, then they decide, and no part of them does.
        let found = case.find().unwrap();
        assert!(!found.smallest && found.verdict == Verdict::Allow, "{found:?}");
        assert_eq!(case.without(&found.components), (found.risk_score, found.verdict));
        for one in &found.components {
            let others: Vec<usize> =
                found.components.iter().copied().filter(|other| other != one).collect();
            assert_eq!(case.without(&others).1, Verdict::Review, "{one}");
        }
    });
}

#[test]
fn evidence_that_reaches_the_verdict_alone_is_decisive_whatever_else_there_is() {
    // Given two listings, a rule, and much weaker evidence.
    let mut terms = vec![(Rank::OfficialList, 100, None), (Rank::OfficialList, 100, None)];
    terms.extend((0..40).map(|_| (Rank::Community, 20, None)));
    with_case(terms, vec![], &[750], |case| {
        // When those that decided are found, then they are these three, and the rest is a review at most.
        let found = case.find().unwrap();
        assert!(found.smallest);
        assert_eq!(found.components, [0, 1, case.components.len() - 1]);
        assert_eq!(found.verdict, Verdict::Review);
    });
}
