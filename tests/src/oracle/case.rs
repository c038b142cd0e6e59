//! A test case: a random chain, a subject, attributions of other owners, and rules.

use assay_test_chains::{AmountRange, Habits, TestChain, random_chain::new_owner};
use assay_test_random::Random;
use std::{collections::BTreeMap, sync::Arc};

use super::pass::is_nobody;
use assay_address::ChainId;
use assay_engine::{
    evidence::{CarriedLabel, Tier},
    fixed::Fraction,
    policy::PatternRules,
    score::Confidence,
    taxonomy::Category,
    trace::{AttributedEnd, Attribution, TraceRules},
    utxo::{Pool, ResolvedBlock, ScriptOwner},
};
use jiff::{
    SignedDuration, Timestamp, ToSpan,
    civil::{Date, date},
    tz::TimeZone,
};

/// All inputs of a trace, generated from a seed.
#[derive(Clone, Debug)]
pub struct Case {
    /// Seed from which the case is generated.
    pub seed: u64,
    /// The blockchain that the case imitates.
    pub chain: ChainId,
    /// The chain's blocks, as a graph's writer takes them.
    pub blocks: Vec<ResolvedBlock>,
    /// Owner on the chain whose money is traced.
    pub subject: ScriptOwner,
    /// Attributions of owners; other owners have none.
    pub attributions: BTreeMap<ScriptOwner, Attribution>,
    /// Rules of the trace.
    pub rules: TraceRules,
    /// The day of the check.
    pub today: Date,
}

impl Case {
    /// The case of a seed.
    ///
    /// # Panics
    ///
    /// Never panics, unless the generator is wrong.
    #[must_use]
    pub fn generate(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let random = &mut random;
        let chain = random.pick(&["btc", "btc", "doge", "ltc", "zec"]).parse().expect("a chain");
        let mut cast = cast(random, chain);
        // In every fourth case one of the owners is nobody, another one in each case.
        if seed % 4 == 1
            && let Some(first) = cast.first_mut()
        {
            let seed = seed.to_be_bytes();
            let byte = |index| seed.get(index).copied().unwrap_or(0x6a);
            *first = ScriptOwner::Unspendable(std::array::from_fn(byte));
        }
        let today = date(2026, 1, 1) + i64::try_from(random.below(365)).expect("a day").days();
        let times = times(random, today);
        let mut made =
            TestChain::with_owners(random.next(), random.below(900_000), cast, habits(random));
        for time in &times {
            made.add_random_block_at(*time);
        }
        let (owners, blocks) = (made.parties().to_vec(), made.blocks);
        let subject = subject(random, &blocks);
        let mut attributions = BTreeMap::new();
        let known = *random.pick(&[0, 5, 20, 40, 60]);
        // Sometimes all owners carry more labels than a flow can.
        let notorious = random.percent(5);
        for owner in owners {
            if matches!(owner, ScriptOwner::Pool(_)) || is_nobody(&owner) {
                continue;
            }
            if notorious {
                let attribution =
                    Attribution { carried: carried(random, 60), ..Attribution::default() };
                attributions.insert(owner, attribution);
            } else if random.percent(known) {
                attributions.insert(owner, attribution(random, &times));
            }
        }
        let rules = rules(random, &blocks);
        Self { seed, chain, blocks, subject, attributions, rules, today }
    }

    /// The owners whom a list in force names.
    #[must_use]
    pub fn listed(&self) -> Vec<ScriptOwner> {
        let is_listed =
            |attribution: &Attribution| attribution.end.as_ref().is_some_and(|end| end.listed);
        let owners = self.attributions.iter().filter(|(_, attribution)| is_listed(attribution));
        owners.map(|(owner, _)| owner.clone()).collect()
    }

    /// Attribution of an owner.
    #[must_use]
    pub fn attribution(&self, owner: &ScriptOwner) -> Attribution {
        self.attributions.get(owner).cloned().unwrap_or_default()
    }
}

/// Owners that take part in a chain.
fn cast(random: &mut Random, chain: ChainId) -> Vec<ScriptOwner> {
    let most = *random.pick(&[9, 9, 30]);
    let mut cast: Vec<ScriptOwner> =
        (0..random.within(3, most)).map(|_| new_owner(random)).collect();
    match chain.info().id {
        "ltc" => cast.push(ScriptOwner::Pool(Pool::Mweb)),
        "zec" => cast.push(ScriptOwner::Pool(Pool::ZcashShielded)),
        _ => {}
    }
    cast
}

const AMOUNT_RANGES: [AmountRange; 6] = [
    AmountRange { least: 1, most: 9, alike: 20 },
    AmountRange { least: 1, most: 3, alike: 60 },
    AmountRange { least: 100, most: 100_000, alike: 30 },
    AmountRange { least: 1, most: 5_000_000_000, alike: 10 },
    AmountRange { least: 1_000_000, most: 2_100_000_000_000_000, alike: 10 },
    AmountRange { least: 100_000_000, most: 1_000_000_000_000_000_000, alike: 10 },
];

fn habits(random: &mut Random) -> Habits {
    Habits {
        one_sender: *random.pick(&[0, 50, 90, 100]),
        self_payments: *random.pick(&[0, 10, 40]),
        peels: *random.pick(&[0, 10, 40]),
        fans: *random.pick(&[0, 0, 10, 30]),
        joint: *random.pick(&[0, 5, 5, 30]),
        amounts: *random.pick(&AMOUNT_RANGES),
        busy: random.within(1, 4),
        repeated: 0,
        lost: 10,
    }
}

/// Times of blocks: over years, and at the edge of the last 90 days.
fn times(random: &mut Random, today: Date) -> Vec<Timestamp> {
    let midnight = |day: Date| day.to_zoned(TimeZone::UTC).expect("a moment").timestamp();
    let edge = midnight(today - 90.days());
    let mut times = Vec::new();
    let count = *random.pick(&[4, 8, 12, 16, 40]);
    for _ in 0..random.within(4, count) {
        let seconds = |random: &mut Random, days: u64| {
            SignedDuration::from_secs(i64::try_from(random.below(days * 86_400)).expect("seconds"))
        };
        times.push(match random.below(10) {
            0 => edge,
            1 => edge - SignedDuration::from_secs(1),
            2 => edge + SignedDuration::from_secs(1),
            3..6 => midnight(today) - seconds(random, 120),
            6 => midnight(today) + seconds(random, 2),
            _ => midnight(today) - seconds(random, 4 * 365),
        });
    }
    times.sort_unstable();
    if random.percent(10) {
        // A block's own time may be before that of the block before it.
        random.shuffle(&mut times);
    }
    times
}

fn subject(random: &mut Random, blocks: &[ResolvedBlock]) -> ScriptOwner {
    let owners: Vec<&ScriptOwner> = blocks
        .iter()
        .flat_map(|block| &block.transactions)
        .flat_map(|transaction| &transaction.outputs)
        .map(|coin| &coin.owner)
        .filter(|owner| !matches!(owner, ScriptOwner::Pool(_)))
        .collect();
    (*random.pick(&owners)).clone()
}

const CATEGORIES: [Category; 8] = [
    Category::Coinjoin,
    Category::Sanctions,
    Category::Ransomware,
    Category::StolenFunds,
    Category::Mixer,
    Category::Scam,
    Category::Gambling,
    Category::Exchange,
];
const NAMES: [Option<&str>; 4] = [None, Some("Alpha"), Some("Beta"), Some("Gamma")];
const SURE: [u8; 5] = [30, 50, 50, 80, 100];

fn name(random: &mut Random) -> Option<Arc<str>> {
    random.pick(&NAMES).map(Arc::from)
}

fn confidence(random: &mut Random) -> Confidence {
    Confidence::from_percent(*random.pick(&SURE))
}

/// Attribution of an owner: an endpoint, carried labels, or both.
fn attribution(random: &mut Random, times: &[Timestamp]) -> Attribution {
    let end = |random: &mut Random| match random.below(5) {
        0 | 1 => AttributedEnd {
            category: Category::Sanctions,
            entity: name(random),
            tier: *random.pick(&[Tier::OfficialList, Tier::OnChainProof]),
            confidence: Confidence::CERTAIN,
            listed: true,
            listed_by: None,
            listed_on: random.percent(70).then(|| listed_on(random, times)),
        },
        2 | 3 => AttributedEnd {
            category: *random.pick(&CATEGORIES),
            entity: name(random),
            tier: Tier::Investigation,
            confidence: confidence(random),
            listed: false,
            listed_by: None,
            listed_on: None,
        },
        _ => AttributedEnd {
            category: *random.pick(&CATEGORIES),
            entity: name(random),
            tier: Tier::Community,
            confidence: confidence(random),
            listed: false,
            listed_by: None,
            listed_on: None,
        },
    };
    let of = |end, carried| Attribution { end, carried, is_unowned: false };
    match random.below(10) {
        0..4 => of(Some(end(random)), Vec::new()),
        4 => of(Some(end(random)), carried(random, 3)),
        5 => of(None, carried(random, 15)),
        _ => of(None, carried(random, 3)),
    }
}

/// A listing day: the day of a block, or the day before or after.
fn listed_on(random: &mut Random, times: &[Timestamp]) -> Date {
    let day = random.pick(times).to_zoned(TimeZone::UTC).date();
    day + i64::try_from(random.below(3)).expect("a day").days() - 1.day()
}

fn carried(random: &mut Random, most: u64) -> Vec<CarriedLabel> {
    let label = |random: &mut Random| {
        let category = *random.pick(&CATEGORIES[..7]);
        CarriedLabel {
            tier: *random.pick(&[
                Tier::Community,
                Tier::Community,
                Tier::Heuristic,
                Tier::Behavior,
            ]),
            category,
            confidence: confidence(random),
            severity: category.info().severity,
            entity: name(random),
            coinjoin: None,
        }
    };
    (0..random.within(1, most)).map(|_| label(random)).collect()
}

fn rules(random: &mut Random, blocks: &[ResolvedBlock]) -> TraceRules {
    // An amount such as there are on the chain.
    let values: Vec<u64> = blocks
        .iter()
        .flat_map(|block| &block.transactions)
        .flat_map(|transaction| &transaction.outputs)
        .map(|coin| coin.value)
        .collect();
    let amount = |random: &mut Random| match random.below(4) {
        0 => 0,
        1 => u64::MAX.into(),
        _ => u128::from(*random.pick(&values)),
    };
    TraceRules {
        hops: random.percent(50).then(|| u16::try_from(random.within(1, 6)).expect("hops")),
        stop_below_share_millionths: *random
            .pick(&[0, 0, 1, 61, 1_000, 20_000, 200_000, 1_000_000]),
        stop_trace_below: amount(random),
        transactions: match random.below(4) {
            0 => u32::try_from(random.within(1, 12)).expect("transactions"),
            _ => 100_000,
        },
        source_transactions: 2_000,
        entries: match random.below(4) {
            0 => u32::try_from(random.within(1, 20)).expect("entries"),
            1 => u32::try_from(random.within(1, 100)).expect("entries"),
            _ => 100_000,
        },
        transfers_per_address: *random.pick(&[1, 2, 3, 5, 2_000, 2_000]),
        entries_of_history: *random.pick(&[1, 3, 8, 20, 1_000_000, 1_000_000]),
        decay: Fraction::from_billionths(*random.pick(&[
            0,
            250_000_000,
            485_968_117,
            485_968_117,
            999_999_999,
            1_000_000_000,
        ])),
        coinjoin_severity: *random.pick(&[0, 25, 40, 75]),
        unsolicited_below: amount(random),
        largest_dust: if random.percent(50) { 0 } else { amount(random) },
        held_from: 0,
        paths_per_part: *random.pick(&[1, 3, 3, 1_000]),
        patterns: PatternRules::default(),
    }
}
