//! How far long work has come: a line on standard error, where somebody looks at it.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// How often the line is drawn anew.
const INTERVAL: Duration = Duration::from_millis(200);

/// Shows how far work has come.
pub(super) struct Progress(ProgressBar);

impl Progress {
    /// Shows a count of `what` where `visible`; nothing is drawn where standard error is no terminal.
    pub(super) fn new(what: &'static str, visible: bool) -> Self {
        if !visible {
            return Self(ProgressBar::hidden());
        }
        let bar = ProgressBar::new_spinner().with_message(what);
        let template = "{spinner} {human_pos} {msg}, {per_sec}, {elapsed}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(INTERVAL);
        Self(bar)
    }

    /// Shows how many `what` of all are done, how many a second, and the time that is left.
    pub(super) fn towards(what: &'static str) -> Self {
        let bar = ProgressBar::new(0).with_message(what);
        let template =
            "{spinner} {human_pos} of {human_len} {msg}, {per_sec}, {eta} left, {elapsed} so far";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(INTERVAL);
        Self(bar)
    }

    /// So many of so many are done.
    pub(super) fn reached(&self, done: u64, all: u64) {
        self.0.set_length(all);
        self.0.set_position(done);
    }

    /// Does something that writes to the terminal beside the line.
    pub(super) fn aside(&self, write: impl FnOnce()) {
        self.0.suspend(write);
    }

    /// More is done.
    pub(super) fn add(&self, count: u64) {
        self.0.inc(count);
    }

    /// All is done.
    pub(super) fn finish(&self) {
        self.0.finish_and_clear();
    }
}
