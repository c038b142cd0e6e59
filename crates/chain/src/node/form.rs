//! Response forms in which nodes return blocks.

use serde_json::{Value, json};

use crate::hash::hash_text;

/// A form in which a node returns blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// The REST interface: raw blocks and their spent outputs. Supported by Bitcoin Core from version 30 with `-rest`;
    /// ten times as fast as the next form.
    Rest,
    /// `getblock HASH 3`: transactions with their spent outputs; nodes without support return the next form.
    WithPrevouts,
    /// `getblock HASH 2`: full transactions.
    Full,
    /// `getblock HASH 0`: raw, in hexadecimal.
    Raw,
    /// `getblock HASH false`: raw, for forks of old versions of Bitcoin Core.
    RawOld,
    /// `getblock HASH true` and `getrawtransaction` for each transaction: for nodes with a transaction index that
    /// support no other form.
    Ids,
}

impl Form {
    /// Returns the forms to try, best first: with spent outputs if `prevouts`, and without raw forms unless `raw`.
    pub(super) fn to_try(prevouts: bool, raw: bool) -> Vec<Self> {
        let all: &[Self] = if prevouts {
            &[Self::Rest, Self::WithPrevouts, Self::Full, Self::Raw, Self::RawOld, Self::Ids]
        } else {
            &[Self::Raw, Self::RawOld, Self::Full, Self::Ids]
        };
        let needs_raw = |form: &Self| matches!(form, Self::Rest | Self::Raw | Self::RawOld);
        all.iter().copied().filter(|form| raw || !needs_raw(form)).collect()
    }

    /// Returns the parameters of `getblock`.
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
