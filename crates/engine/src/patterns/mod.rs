//! Behavior patterns: searches for patterns in an owner's transactions and in neighboring transactions.
//!
//! A search is a [query](crate::reading::Query) like a trace: it reads a chain by numbers and requests data that the
//! view has not read yet. The result of a search depends only on the chain, because it is a function of the chain's
//! data and its reads are counted. `docs/model/patterns.md` numbers the definitions, which the modules cite.
//!
//! - [`rules`]: the thresholds of the definitions, and the limits of a search
//! - [`form`]: forms of single transactions
//! - `activity`: the owner's transactions with their counterparties; `own_reader` reads them on chains with unspent
//!   outputs
//! - `own`, `fans`, `structuring`: patterns in the owner's transactions alone
//! - `around`: transactions of other owners, read within a budget
//! - `peel_chain`, `layering`: funds that pass one owner after the other
//! - [`transfers`], `transfers_around`, `circles`: cycles and scatter-gathers that the owner takes part in
//! - `finding`: a pattern that a search collects
//! - [`accounts`]: the search on account chains

pub mod accounts;
mod activity;
mod around;
mod circles;
mod fans;
mod finding;
pub mod form;
mod layering;
mod own;
mod own_reader;
mod peel_chain;
pub mod rules;
mod structuring;
pub mod transfers;
mod transfers_around;

use std::cmp::Reverse;

use crate::{
    evidence::{BehaviorFacts, PatternFact, PatternRole, SearchExtent, UnscoredReason},
    ledger::{OwnHistory, OwnerNumber, TransactionNumber},
    policy::PatternRules,
    reading::{ChainView, Query, QueryProgress, ReadRequest, ViewError},
    trace::Attributions,
};
use activity::Activity;
use around::{Budget, NeighborReader};
use finding::Finding;
use own_reader::OwnReader;
use rules::{
    AROUND_READS, CHAIN_READS, MAX_STARTING_TRANSACTIONS, MIN_RECEIVED_PERCENT, is_percent_of,
};

/// An owner whose behavior is searched.
#[derive(Clone, Copy, Debug)]
pub struct PatternSubject<'s> {
    /// Cluster of the owner.
    pub cluster: OwnerNumber,
    /// Histories of the owner's addresses that were read.
    pub histories: &'s [&'s OwnHistory],
    /// Number of all addresses of the owner.
    pub addresses: u64,
    /// Most transactions that the result names for a pattern; [`rules::SHOWN`] in answers.
    pub shown: usize,
}

/// A search for patterns in progress.
#[expect(missing_debug_implementations, reason = "a closure has nothing to show")]
pub struct PatternSearch<'a> {
    attributions: &'a dyn Attributions,
    rules: PatternRules,
    cluster: OwnerNumber,
    activity: Activity,
    searched: SearchExtent,
    /// Number of further rounds of requests.
    rounds: u32,
    shown: usize,
    found: Vec<PatternFact>,
}

impl<'a> PatternSearch<'a> {
    /// Begins a search: reads the owner's transactions. The search requests transactions of other owners that the view
    /// has not read in at most `rounds` rounds.
    ///
    /// # Errors
    ///
    /// Returns an error if the store behind the view fails.
    pub fn begin(
        view: &dyn ChainView,
        subject: PatternSubject<'_>,
        rules: PatternRules,
        attributions: &'a dyn Attributions,
        rounds: u32,
    ) -> Result<Self, ViewError> {
        let PatternSubject { cluster, histories, addresses, shown } = subject;
        let reader = OwnReader { view, attributions, cluster, rules: &rules };
        let activity = Activity::read(&reader, histories)?;
        let searched = SearchExtent {
            addresses: histories.len() as u64,
            all_addresses: addresses,
            transactions: activity.transactions.len() as u64,
            is_whole: activity.is_whole && histories.len() as u64 >= addresses,
            ..SearchExtent::default()
        };
        Ok(Self {
            attributions,
            rules,
            cluster,
            activity,
            searched,
            rounds,
            shown,
            found: Vec::new(),
        })
    }

    /// The behavior that was found.
    #[must_use]
    pub fn finish(self) -> BehaviorFacts {
        BehaviorFacts { patterns: self.found, searched: self.searched }
    }

    /// Searches all patterns in the data that the view has read, and returns the requests for missing data.
    fn search(&mut self, view: &dyn ChainView) -> Result<ReadRequest, ViewError> {
        let Self { attributions, rules, cluster, activity, .. } = &*self;
        let reader = OwnReader { view, attributions: *attributions, cluster: *cluster, rules };
        let mut findings: Vec<Finding> = structuring::structuring(activity, rules);
        let is_whole = self.searched.is_whole;
        findings.push(own::rapid_pass_through(activity, rules, is_whole));
        findings.push(own::dormant_reactivation(activity, is_whole));
        findings.extend(own::mixing(activity));
        findings.push(own::dust_received(activity));
        findings.extend(own::forms_of_transactions(activity));
        findings.extend(fans::fans(activity, rules));

        let mut around = NeighborReader::new(view, *attributions, activity);
        let (incoming, all_in) = seeds(activity, |own| if own.sent == 0 { own.income } else { 0 });
        let (outgoing, all_out) =
            seeds(activity, |own| if own.sent > 0 { own.spending } else { 0 });
        let mut budget = Budget { left: CHAIN_READS };
        let both = [incoming.as_slice(), outgoing.as_slice()].concat();
        let (chains, in_chains) =
            peel_chain::peel_chains(activity, &both, &reader, &mut around, &mut budget)?;
        findings.extend(chains);
        let seeds = (incoming.as_slice(), outgoing.as_slice());
        findings.extend(layering::layering(
            activity,
            seeds,
            &in_chains,
            &reader,
            &mut around,
            &mut budget,
        )?);
        // Also payments to the owner in which it spends something: its payers' or its own pool.
        let (received, all_received) = self::seeds(activity, |own| own.income);
        let transfers = transfers_around::transfers_around(
            (&received, &outgoing),
            (&reader, activity),
            &mut around,
            AROUND_READS,
        )?;
        let (circles, is_complete) =
            circles::cycles_and_scatter_gathers(activity, *cluster, transfers);
        findings.extend(circles);

        let text = |number| Ok(view.txid(number)?.to_string());
        let mut found = Vec::new();
        for mut finding in findings {
            unscored_if_little(activity, rules, &mut finding);
            found.extend(finding.into_fact(&text, self.shown)?);
        }
        found.sort_by_key(|fact| (fact.pattern, fact.role));
        let missing = std::mem::take(&mut around.missing);
        self.searched.around = around.read;
        self.searched.is_whole_around =
            around.is_whole && is_complete && all_in && all_out && all_received;
        self.searched.has_activity_of_others = around.has_activity_of_others;
        self.found = found;
        Ok(missing)
    }
}

/// Marks a pattern as not scored if the owner only received funds by the pattern, and too little: anybody can send
/// funds to anybody.
fn unscored_if_little(activity: &Activity, rules: &PatternRules, finding: &mut Finding) {
    let is_little = finding.amount <= rules.little
        || !is_percent_of(finding.amount, MIN_RECEIVED_PERCENT, activity.received);
    if finding.role == PatternRole::Recipient && is_little {
        finding.unscored(UnscoredReason::LittleReceived);
    }
}

/// The transactions with the largest amounts, in the order of the chain, and true if these are all transactions.
fn seeds(
    activity: &Activity,
    moved: impl Fn(&activity::OwnTransaction) -> u128,
) -> (Vec<TransactionNumber>, bool) {
    let mut seeds: Vec<(Reverse<u128>, u64, TransactionNumber)> = activity
        .transactions
        .iter()
        .map(|own| (Reverse(moved(own)), own.position, own.number))
        .filter(|(Reverse(moved), ..)| *moved > 0)
        .collect();
    seeds.sort_unstable();
    let is_all = seeds.len() <= MAX_STARTING_TRANSACTIONS;
    seeds.truncate(MAX_STARTING_TRANSACTIONS);
    seeds.sort_unstable_by_key(|(_, position, _)| *position);
    (seeds.into_iter().map(|(_, _, number)| number).collect(), is_all)
}

impl Query for PatternSearch<'_> {
    fn advance(&mut self, view: &dyn ChainView) -> Result<QueryProgress, ViewError> {
        let missing = self.search(view)?;
        match self.rounds.checked_sub(1) {
            Some(rounds) if !missing.is_empty() => {
                self.rounds = rounds;
                Ok(QueryProgress::Reads(missing))
            }
            _ => Ok(QueryProgress::Complete),
        }
    }
}
