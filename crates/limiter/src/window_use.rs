//! Use of long windows, which outlives a process.

use assay_tenancy::manifest::LimitName;

use crate::LimitSubject;

/// Tokens spent of one limit of one subject in one window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowUse {
    /// The window's counter.
    pub counter: CounterId,
    /// Number of the window: its time since 1970 divided by its length.
    pub window: u64,
    /// Number of tokens spent.
    pub spent: u64,
}

/// Counter of one limit of one subject, in windows of one length.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CounterId {
    /// The subject.
    pub subject: LimitSubject,
    /// The limit.
    pub limit: LimitName,
    /// Length of the windows in seconds.
    pub window_seconds: u64,
}
