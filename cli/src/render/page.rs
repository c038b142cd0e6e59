//! Text whose lines fit a width.

use std::fmt::Display;

use anstyle::Style;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// Narrowest page; a narrower terminal wraps the lines itself.
const NARROWEST: usize = 40;

const BOLD: Style = Style::new().bold();

/// A text of lines that are no longer than its width. A longer word, such as an identifier, stands alone
/// on its line and is not broken, so that it can be copied.
#[derive(Debug)]
pub(crate) struct Page {
    width: usize,
    text: String,
}

impl Page {
    /// An empty page of a width in columns.
    pub(crate) fn new(width: usize) -> Self {
        Self { width: width.max(NARROWEST), text: String::new() }
    }

    /// Width in columns.
    pub(crate) const fn width(&self) -> usize {
        self.width
    }

    /// The finished text.
    pub(crate) fn finish(self) -> String {
        self.text
    }

    /// Adds an empty line.
    pub(crate) fn gap(&mut self) {
        self.text.push('\n');
    }

    /// Adds a title with an empty line before it.
    pub(crate) fn section(&mut self, title: impl Display) {
        self.gap();
        self.line(format!("{BOLD}{title}{BOLD:#}"));
    }

    /// Adds a line at the margin.
    pub(crate) fn line(&mut self, text: impl Display) {
        self.hanging("", "  ", text);
    }

    /// Adds an entry of a list.
    pub(crate) fn item(&mut self, text: impl Display) {
        self.hanging("  - ", "    ", text);
    }

    /// Adds a named value, indented by `indent` columns, with its name padded to `names` columns.
    pub(crate) fn field(&mut self, indent: usize, names: usize, name: &str, value: impl Display) {
        let first = format!("{:indent$}{name:<names$}", "");
        self.hanging(&first, &" ".repeat(indent + names), value);
    }

    /// Adds a paragraph: its first line starts with `first`, its further lines with `further`.
    pub(crate) fn hanging(&mut self, first: &str, further: &str, text: impl Display) {
        let options = Options::new(self.width)
            .initial_indent(first)
            .subsequent_indent(further)
            .break_words(false)
            .word_separator(WordSeparator::AsciiSpace)
            .word_splitter(WordSplitter::NoHyphenation)
            .wrap_algorithm(WrapAlgorithm::FirstFit);
        for line in textwrap::wrap(&text.to_string(), options) {
            self.text.push_str(line.trim_end());
            self.text.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_words_stay_whole() {
        let mut page = Page::new(80);
        page.hanging("  ", "  ", "a b");
        let (wide, word) = ("x".repeat(90), "y-".repeat(20));
        page.item(format!("{word} {word} {wide} {word}"));
        let indent = " ".repeat(4);
        assert_eq!(
            page.finish(),
            format!("  a b\n  - {word}\n{indent}{word}\n{indent}{wide}\n{indent}{word}\n")
        );
    }

    #[test]
    fn styles_take_no_columns() {
        let mut page = Page::new(40);
        page.line(format!("{BOLD}{}{BOLD:#} {}", "a".repeat(20), "b".repeat(19)));
        assert_eq!(page.finish().lines().count(), 1);
    }
}
