//! Progress of long work: a line on standard error, if it is a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// Interval between updates of the line.
const INTERVAL: Duration = Duration::from_millis(200);

/// A progress line.
pub(super) struct Progress(ProgressBar);

impl Progress {
    /// Shows a count of `what` on the line, if `visible` is true and standard error is a terminal.
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

    /// Shows a count of `what` and the total, the rate and the remaining time.
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

    /// Sets the count and the total.
    pub(super) fn reached(&self, done: u64, all: u64) {
        self.0.set_length(all);
        self.0.set_position(done);
    }

    /// Runs a function that writes to the terminal, with the line hidden.
    pub(super) fn suspend(&self, write: impl FnOnce()) {
        self.0.suspend(write);
    }

    /// Adds a number to the count.
    pub(super) fn add(&self, count: u64) {
        self.0.inc(count);
    }

    /// Removes the line.
    pub(super) fn finish(&self) {
        self.0.finish_and_clear();
    }
}
