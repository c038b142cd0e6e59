//! Lines that fit the width of a terminal.

/// Width of the text that commands print, in columns.
pub(super) const WIDTH: usize = 80;

/// A paragraph indented by `indent` columns and broken between words, its further lines two columns deeper.
/// A word that is wider than a line stands alone.
pub(super) fn wrapped(indent: usize, text: &str) -> String {
    let mut lines = String::new();
    let mut line = " ".repeat(indent);
    let mut is_empty = true;
    for word in text.split_whitespace() {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push_str(&line);
            lines.push('\n');
            line = " ".repeat(indent + 2);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    lines.push_str(&line);
    lines.push('\n');
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrapped(2, "a b"), "  a b\n");
        let (wide, word) = ("x".repeat(90), "y".repeat(40));
        let lines = wrapped(2, &format!("{word} {word} {wide} {word}"));
        let indent = " ".repeat(4);
        assert_eq!(lines, format!("  {word}\n{indent}{word}\n{indent}{wide}\n{indent}{word}\n"));
        let exact = wrapped(0, &format!("{word} {}", "z".repeat(39)));
        assert_eq!(exact.trim_end().chars().count(), WIDTH);
    }
}
