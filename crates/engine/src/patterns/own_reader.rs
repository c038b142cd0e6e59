//! Reads the transactions of an owner on chains with unspent outputs.

use std::collections::BTreeMap;

use jiff::Timestamp;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    activity::{Activity, Coins, OwnTransaction, Party, StateBefore, chosen, is_active},
    form::{FormCriteria, FormEntry, forms},
    rules::OWN_ENTRIES,
};
use crate::{
    evidence::Direction,
    ledger::{OwnHistory, OwnerNumber, TransactionNumber, change},
    policy::PatternRules,
    reading::{ChainView, TransactionEntry, TransactionRead, ViewError},
    trace::Attributions,
    utxo::TransactionKind,
};

impl Activity {
    /// Reads the transactions in the histories of an owner's addresses: if there are too many, the transactions with
    /// the largest amounts and the latest ones in the chain.
    pub(super) fn read(
        reader: &OwnReader<'_>,
        histories: &[&OwnHistory],
    ) -> Result<Self, ViewError> {
        let mut moved: BTreeMap<TransactionNumber, (u128, Timestamp)> = BTreeMap::new();
        let mut is_whole = true;
        for history in histories {
            let mut known = (0_u128, 0_u128);
            let mut add = |number, amount, time| {
                let (sum, _) = moved.entry(number).or_insert((0, time));
                *sum += amount;
            };
            for own in &history.incoming {
                add(own.number, own.received, own.time);
                known.0 += own.income(own.inputs);
            }
            for own in &history.outgoing {
                add(own.number, own.sent, own.time);
                known.1 += own.spending(own.inputs);
            }
            let statistics = &history.statistics;
            is_whole &= known.0 >= statistics.received && known.1 >= statistics.sent;
        }
        let numbers = chosen(moved);
        let mut activity = Self { is_whole: is_whole && !numbers.1, ..Self::default() };
        let (mut left, mut read) = (OWN_ENTRIES, TransactionRead::default());
        for number in numbers.0 {
            match reader.transaction(number, &mut left, &mut read)? {
                Some(own) => {
                    activity.is_whole &= own.coins.is_whole;
                    activity.received += own.income;
                    activity.sent += own.spending;
                    activity.transactions.push(own);
                }
                None => activity.is_whole = false,
            }
        }
        activity.transactions.sort_by_key(|own| own.position);
        // Times of blocks may go backward; windows of time need them in order.
        let mut latest = Timestamp::MIN;
        for own in &mut activity.transactions {
            latest = latest.max(own.time);
            own.time = latest;
        }
        activity.note_states();
        Ok(activity)
    }

    /// Notes the state before each transaction.
    fn note_states(&mut self) {
        let mut state = StateBefore::default();
        for own in &mut self.transactions {
            own.before = state;
            if is_active(own.spending, own.income, state.balance) {
                state.active = Some(own.time);
            }
            state.balance = (state.balance + own.income).saturating_sub(own.spending);
        }
    }
}

/// Reads transactions of the owner.
#[derive(Clone, Copy)]
pub(super) struct OwnReader<'v> {
    pub(super) view: &'v dyn ChainView,
    pub(super) attributions: &'v dyn Attributions,
    /// The owner's cluster.
    pub(super) cluster: OwnerNumber,
    pub(super) rules: &'v PatternRules,
}

impl OwnReader<'_> {
    /// Reads a transaction; `None` if the transaction has more inputs and outputs than the remaining budget.
    fn transaction(
        &self,
        number: TransactionNumber,
        left: &mut u64,
        read: &mut TransactionRead,
    ) -> Result<Option<OwnTransaction>, ViewError> {
        self.view.read(number, Direction::Source, 0, read)?;
        let entries = read.inputs.count + read.outputs.count;
        let Some(rest) = left.checked_sub(entries) else { return Ok(None) };
        *left = rest;
        self.view.read(number, Direction::Source, u32::MAX, read)?;
        let is_whole = read.is_whole(Direction::Source);
        let inputs = std::mem::take(&mut read.entries);
        self.view.read(number, Direction::Destination, u32::MAX, read)?;
        let is_whole = is_whole && read.is_whole(Direction::Destination);
        let outputs = std::mem::take(&mut read.entries);
        Ok(Some(self.own(read, (inputs, outputs), is_whole)?))
    }

    fn own(
        &self,
        read: &TransactionRead,
        (inputs, outputs): (Vec<TransactionEntry>, Vec<TransactionEntry>),
        is_whole: bool,
    ) -> Result<OwnTransaction, ViewError> {
        let of_inputs = self.form_entries(&inputs)?;
        let of_outputs = self.form_entries(&outputs)?;
        let own = |entries: &[FormEntry]| -> u128 {
            let own = entries.iter().filter(|entry| entry.owner == self.cluster);
            own.map(|entry| u128::from(entry.value)).sum()
        };
        let (sent, received) = (own(&of_inputs), own(&of_outputs));
        let change = change(sent, received, read.inputs.total);
        let (income, spending) = (received - change, sent - change);
        let is_joint = matches!(read.kind, TransactionKind::Coinjoin(_));
        let (mut payers, mut paid) = (Vec::new(), Vec::new());
        if !is_joint && income > 0 {
            let others = read.inputs.total.saturating_sub(sent);
            payers = self.parties(&inputs, &of_inputs, (income, others))?;
        }
        if !is_joint && sent > 0 {
            paid = self.parties(&outputs, &of_outputs, (sent, read.inputs.total))?;
            if received == 0 && paid.len() > 1 {
                let largest =
                    paid.iter_mut().reduce(|a, b| if b.amount > a.amount { b } else { a });
                if let Some(largest) = largest {
                    largest.may_be_change = true;
                }
            }
        }
        let dust = self.rules.dust;
        let dusty =
            || of_outputs.iter().filter(move |it| it.value > 0 && u128::from(it.value) <= dust);
        let dusted: FxHashSet<OwnerNumber> = dusty().map(|output| output.owner).collect();
        let sum = |dust: &mut dyn Iterator<Item = &FormEntry>| -> u128 {
            dust.map(|output| u128::from(output.value)).sum()
        };
        let own_dust = sum(&mut dusty().filter(|output| output.owner == self.cluster));
        let form = FormCriteria {
            kind: read.kind,
            inputs: read.inputs.count,
            known_inputs: &of_inputs,
            outputs: &of_outputs,
            dust,
        };
        let coins = Coins {
            kind: read.kind,
            forms: forms(&form),
            dust: sum(&mut dusty()),
            inputs_count: read.inputs.count,
            inputs_total: read.inputs.total,
            is_whole,
            inputs,
            outputs,
        };
        Ok(OwnTransaction {
            number: read.number,
            position: read.position,
            time: read.time,
            sent,
            received,
            income,
            spending,
            payers,
            payees: paid,
            before: StateBefore::default(),
            dusted: dusted.len() as u64,
            own_dust,
            coins,
        })
    }

    fn form_entries(&self, entries: &[TransactionEntry]) -> Result<Vec<FormEntry>, ViewError> {
        let form = |entry: &TransactionEntry| {
            let is_data = entry.value == 0 && self.view.owner(entry.owner)?.is_bare_script();
            let owner = self.view.cluster_of(entry.owner)?;
            Ok(FormEntry { owner, value: entry.value, is_data })
        };
        entries.iter().map(form).collect()
    }

    /// The other owners on one side of a transaction, with their amounts times `part / whole`.
    fn parties(
        &self,
        entries: &[TransactionEntry],
        clusters: &[FormEntry],
        (part, whole): (u128, u128),
    ) -> Result<Vec<Party>, ViewError> {
        let mut parties: Vec<Party> = Vec::new();
        let mut known: FxHashMap<OwnerNumber, usize> = FxHashMap::default();
        for (entry, FormEntry { owner, value, .. }) in entries.iter().zip(clusters) {
            if *owner == self.cluster || *value == 0 {
                continue;
            }
            let amount = proportion((*value).into(), part, whole);
            let attribution = self.attributions.of_owner(entry.owner, self.view)?;
            let category =
                attribution.as_ref().and_then(|it| it.end.as_ref()).map(|end| end.category);
            if let Some(party) = known.get(owner).and_then(|index| parties.get_mut(*index)) {
                party.amount += amount;
                party.category = party.category.or(category);
            } else {
                known.insert(*owner, parties.len());
                parties.push(Party { owner: *owner, amount, category, may_be_change: false });
            }
        }
        Ok(parties)
    }
}

/// `value * part / whole`, rounded down.
pub(super) fn proportion(value: u128, part: u128, whole: u128) -> u128 {
    if part >= whole {
        return value;
    }
    // No sum exceeds the supply of a chain, which is below 2^64.
    value.saturating_mul(part).checked_div(whole).unwrap_or(0)
}
