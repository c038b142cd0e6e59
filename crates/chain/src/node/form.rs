//! In which forms nodes give blocks.

use serde_json::{Value, json};

use crate::hash::hash_text;

/// A form in which a node gives blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// The REST interface: as it is stored, and what it spends beside it. Bitcoin Core from 30 on, where
    /// it was started with `-rest`; ten times as fast as the next.
    Rest,
    /// `getblock HASH 3`: transactions with what they spend, of nodes that know that; of others the
    /// same as the next.
    WithPrevouts,
    /// `getblock HASH 2`: transactions in full.
    Full,
    /// `getblock HASH 0`: as it is stored, in hexadecimal.
    Raw,
    /// `getblock HASH false`: the same, for forks of old versions.
    RawOld,
    /// `getblock HASH true` and `getrawtransaction` for each transaction: for nodes that know nothing
    /// else, with an index of transactions.
    Ids,
}

impl Form {
    /// The forms to try, best first: with what each input spends where that is wanted, and only those
    /// from which a chain is read whose blocks are not read in bytes.
    pub(super) fn to_try(prevouts: bool, raw: bool) -> Vec<Self> {
        let all: &[Self] = if prevouts {
            &[Self::Rest, Self::WithPrevouts, Self::Full, Self::Raw, Self::RawOld, Self::Ids]
        } else {
            &[Self::Raw, Self::RawOld, Self::Full, Self::Ids]
        };
        let needs_raw = |form: &Self| matches!(form, Self::Rest | Self::Raw | Self::RawOld);
        all.iter().copied().filter(|form| raw || !needs_raw(form)).collect()
    }

    /// What `getblock` is asked with.
    pub(super) fn params(self, hash: &[u8; 32]) -> Value {
        let hash = hash_text(hash);
        match self {
            Self::WithPrevouts => json!([hash, 3]),
            Self::Full => json!([hash, 2]),
            Self::Raw | Self::Rest => json!([hash, 0]),
            Self::RawOld => json!([hash, false]),
            Self::Ids => json!([hash, true]),
        }
    }
}
