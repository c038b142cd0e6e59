//! Extent to which histories were read, where an API returns them account by account.

/// Histories of accounts that were read for a subject on an account chain, and what they leave open. Shares are
/// millionths.
#[expect(clippy::struct_excessive_bools, reason = "each limit is told by itself")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadHistories {
    /// Name of the API that reported them.
    pub api: String,
    /// Number of requests that were needed, those of earlier checks included.
    pub requests: u32,
    /// Number of accounts of which a list was read, besides the subject.
    pub accounts: u32,
    /// Number of rows that were read.
    pub rows: u64,
    /// True if every list of the subject was read whole.
    pub is_subject_whole: bool,
    /// The greatest share of the subject's money that one payer paid whose money was not followed, in all assets; all contracts count
    /// as one.
    pub largest_unread: u32,
    /// The share of the subject's money that came from payers whose money was not followed. The rest of the unread money has no
    /// payer that could be read.
    pub of_payers: u32,
    /// The share of the subject's money that came from payers whose money was not followed, although severe money reached
    /// them.
    pub reached_unread: u32,
    /// The severe parties of the chain whose lists were read beforehand: their payees are read first.
    pub severe_parties: SevereParties,
    /// True if the API states no transfers of the native coin inside of transactions.
    pub lacks_internal_transfers: bool,
    /// True if freezes by the issuers of tokens are not known.
    pub lacks_freezes: bool,
    /// True if the API states no order of the transfers within a transaction or a block.
    pub lacks_order: bool,
    /// True if the API states no payments by orders on exchanges that are a part of the chain.
    pub lacks_exchange_orders: bool,
    /// True if background work reads on: a later answer may rest on more.
    pub continues: bool,
    /// True if the API reports a higher balance of the subject than its transfers amount to.
    pub lacks_receipts: bool,
    /// Tickers of the assets of which the API reports another balance than its transfers amount to.
    pub other_balances: Vec<String>,
    /// The reason for which reading stopped; `None` if nothing worth a request was left, or the number of requests was
    /// reached.
    pub stopped: Option<ReadingStop>,
}

/// Numbers of the listed and severe parties of a chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SevereParties {
    /// Number of all that lists and labels name.
    pub all: u32,
    /// Number of those whose lists of transfers were read.
    pub read: u32,
}

/// Reason for which the reading of histories stopped early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadingStop {
    /// The time of the check was over.
    Time,
    /// The API's limit of requests was reached.
    Limit,
    /// The API refused the key.
    Refused,
    /// The API failed, or gave an answer that cannot be right.
    Failed,
}

impl ReadingStop {
    /// The reason in words.
    #[must_use]
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Time => "the time of the check was over",
            Self::Limit => "its limit of requests was reached",
            Self::Refused => "it refused the key",
            Self::Failed => "it failed, or gave an answer that cannot be right",
        }
    }
}
