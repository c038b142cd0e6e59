//! The width of the terminal.

use std::{env, io, os::fd::AsFd};

use terminal_size::terminal_size_of;

use crate::render::Page;

/// Width of texts if the width of the terminal is not known.
const DEFAULT: usize = 80;
/// Largest width of texts: longer lines are hard to read.
const LARGEST: usize = 100;

/// Width of standard output in columns, at most 100: the terminal's, else `COLUMNS`; `None` where neither
/// is known, as with a pipe.
pub(super) fn output_width() -> Option<usize> {
    width_of(io::stdout())
}

/// Width of a text on standard output in columns; 80 where it is not known.
pub(super) fn text_width() -> usize {
    output_width().unwrap_or(DEFAULT)
}

/// Width of standard error in columns, at most 100, as [`output_width`].
pub(super) fn error_width() -> Option<usize> {
    width_of(io::stderr())
}

/// A row of output, wrapped to the width of standard output. If the width is not known, the row is one line, so that
/// other programs can read it.
pub(super) fn output_row(text: &str) -> String {
    wrapped(output_width(), text)
}

/// A text, wrapped if the width is known.
pub(super) fn wrapped(width: Option<usize>, text: &str) -> String {
    let Some(width) = width else { return format!("{text}\n") };
    let mut page = Page::new(width);
    page.line(text);
    page.finish()
}

fn width_of(stream: impl AsFd) -> Option<usize> {
    let terminal = terminal_size_of(stream).map(|(width, _)| usize::from(width.0));
    let given = || env::var("COLUMNS").ok()?.parse().ok();
    let width: Option<usize> = terminal.or_else(given).filter(|width| *width > 0);
    width.map(|width| width.min(LARGEST))
}
