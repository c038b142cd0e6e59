//! SVG as text: every text escaped, lengths in tenths of a pixel, so that one answer is always drawn by the same bytes.

use std::fmt::{self, Write as _};

use crate::text::is_direction_mark;

/// Style of all pictures. Pages put it into a style sheet, files carry it.
pub const STYLE: &str = include_str!("style.css");

/// Height of the heading of a picture below another one, and the left ends of heading and picture, in pixels.
const HEADING: i64 = 34;
const HEADING_LEFT: i64 = 16;
const BELOW_LEFT: i64 = 12;

/// A length in tenths of a pixel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tenths(pub(crate) i64);

impl Tenths {
    /// Whole pixels.
    pub(crate) const fn px(pixels: i64) -> Self {
        Self(pixels * 10)
    }

    /// The part `size / most` of a length; nothing if `most` is nothing.
    pub(crate) fn part(whole: Self, size: u128, most: u128) -> Self {
        // Sizes beyond 2^100 lose digits that no pixel shows.
        let shift = 128_u32.saturating_sub(most.leading_zeros()).saturating_sub(100);
        let (size, most) = (size >> shift, (most >> shift).max(1));
        let whole = u128::try_from(whole.0).unwrap_or_default();
        Self(i64::try_from(size * whole / most).unwrap_or_default())
    }
}

impl fmt::Display for Tenths {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let (whole, tenth) = (self.0.unsigned_abs() / 10, self.0.unsigned_abs() % 10);
        if tenth == 0 {
            write!(formatter, "{sign}{whole}")
        } else {
            write!(formatter, "{sign}{whole}.{tenth}")
        }
    }
}

/// A picture: its size in pixels, its elements, and a sentence for people who do not see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    width: i64,
    height: i64,
    label: String,
    body: String,
}

impl Picture {
    pub(crate) const fn new(width: i64, height: i64, label: String, body: String) -> Self {
        Self { width, height, label, body }
    }

    /// Adds a heading and another picture below this one.
    #[must_use]
    pub fn with_below(self, heading: &str, other: &Self) -> Self {
        let Self { width, height, label, body } = self;
        let mut title = SvgElements::default();
        title.text("head", Tenths::px(HEADING_LEFT), Tenths::px(height + 22), heading);
        let (title, top) = (title.finish(), height + HEADING);
        let below = format!("<g transform=\"translate({BELOW_LEFT} {top})\">{}</g>", other.body);
        Self {
            width: width.max(BELOW_LEFT + other.width),
            height: top + other.height,
            label: format!("{label}. {}", other.label),
            body: format!("{body}{title}{below}"),
        }
    }

    /// Returns the picture as an element of a page that has [`STYLE`].
    #[must_use]
    pub fn inline(&self) -> String {
        self.element("")
    }

    /// Returns the picture as a file of its own.
    #[must_use]
    pub fn file(&self) -> String {
        self.styled_file(STYLE)
    }

    /// Returns the picture as a file with a style.
    pub(crate) fn styled_file(&self, style: &str) -> String {
        let paper = format!(
            "<style>{style}</style><rect class=\"paper\" width=\"{}\" height=\"{}\"/>",
            self.width, self.height
        );
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}\n", self.element(&paper))
    }

    fn element(&self, first: &str) -> String {
        let Self { width, height, label, body } = self;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"assay-picture\" role=\"group\" \
             aria-label=\"{}\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\">{first}{body}</svg>",
            escaped(label)
        )
    }
}

/// A text as content or attribute of an element. Characters that XML does not allow, and those that change the
/// direction of the text around them, are replaced by U+FFFD.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\t' | '\n' | '\r' => safe.push(' '),
            '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => {
                safe.push('\u{fffd}');
            }
            mark if is_direction_mark(mark) => safe.push('\u{fffd}'),
            character => safe.push(character),
        }
    }
    safe
}

/// Elements of a picture, in the order in which they are drawn.
#[derive(Debug, Default)]
pub(crate) struct SvgElements(String);

impl SvgElements {
    /// Adds a text that begins, ends or is centered at `x`, as its class says.
    pub(crate) fn text(&mut self, class: &str, x: Tenths, y: Tenths, text: &str) {
        self.raw(format_args!(
            "<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{}</text>",
            escaped(text)
        ));
    }

    /// Adds a filled rectangle.
    pub(crate) fn rect(&mut self, class: &str, at: (Tenths, Tenths), size: (Tenths, Tenths)) {
        let ((x, y), (width, height)) = (at, size);
        self.raw(format_args!(
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>"
        ));
    }

    /// Adds a line.
    pub(crate) fn line(&mut self, class: &str, from: (Tenths, Tenths), to: (Tenths, Tenths)) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.raw(format_args!(
            "<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>"
        ));
    }

    /// Adds a circle.
    pub(crate) fn circle(&mut self, class: &str, center: (Tenths, Tenths), radius: Tenths) {
        let (x, y) = center;
        self.raw(format_args!("<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"/>"));
    }

    /// Adds a band of one height between two vertical edges, given by their upper ends.
    pub(crate) fn ribbon(
        &mut self,
        class: &str,
        from: (Tenths, Tenths),
        to: (Tenths, Tenths),
        height: Tenths,
    ) {
        let ((x1, y1), (x2, y2)) = (from, to);
        let middle = Tenths(i64::midpoint(x1.0, x2.0));
        let (low1, low2) = (Tenths(y1.0 + height.0), Tenths(y2.0 + height.0));
        self.raw(format_args!(
            "<path class=\"{class}\" d=\"M{x1} {y1}C{middle} {y1} {middle} {y2} {x2} {y2}L{x2} {low2}C{middle} {low2} \
             {middle} {low1} {x1} {low1}Z\"/>"
        ));
    }

    /// Adds elements that readers reach together, by the pointer or the keyboard, with the text that says what they are.
    pub(crate) fn focusable(&mut self, class: &str, title: &str, elements: &Self) {
        let title = escaped(title);
        let inner = &elements.0;
        self.raw(format_args!(
            "<g class=\"{class}\" tabindex=\"0\" role=\"img\" aria-label=\"{title}\"><title>{title}</title>{inner}</g>"
        ));
    }

    /// Adds elements with a text that the pointer shows. Readers who do not see them get the label of the picture.
    pub(crate) fn titled(&mut self, title: &str, elements: &Self) {
        let inner = &elements.0;
        self.raw(format_args!("<g><title>{}</title>{inner}</g>", escaped(title)));
    }

    /// Adds elements as they are.
    pub(crate) fn append(&mut self, elements: &Self) {
        self.0.push_str(&elements.0);
    }

    /// Adds elements that lead to a page. The pointer shows the title, and readers who do not see it get the label.
    pub(crate) fn link(&mut self, path: &str, (title, label): (&str, &str), elements: &Self) {
        let (path, title, label) = (escaped(path), escaped(title), escaped(label));
        let inner = &elements.0;
        self.raw(format_args!(
            "<a href=\"{path}\" aria-label=\"{label}\"><title>{title}</title>{inner}</a>"
        ));
    }

    /// Adds elements under a class.
    pub(crate) fn group(&mut self, class: &str, elements: &Self) {
        self.raw(format_args!("<g class=\"{class}\">{}</g>", elements.0));
    }

    /// Returns the elements as text.
    pub(crate) fn finish(self) -> String {
        self.0
    }

    fn raw(&mut self, element: fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.0.write_fmt(element);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_at_most_one_decimal() {
        let texts = [0, 5, 10, 1234, -5, -20].map(|tenths| Tenths(tenths).to_string());
        assert_eq!(texts, ["0", "0.5", "1", "123.4", "-0.5", "-2"]);
    }

    #[test]
    fn a_picture_below_another_adds_its_height() {
        let picture = |width, height, label: &str| {
            Picture::new(width, height, label.into(), "<rect/>".into())
        };
        let both = picture(100, 50, "one").with_below("A <b>", &picture(200, 30, "two"));
        let text = both.inline();
        assert!(
            text.contains("viewBox=\"0 0 212 114\"") && text.contains("\"one. two\""),
            "{text}"
        );
        assert!(text.contains("A &lt;b&gt;</text><g transform=\"translate(12 84)\"><rect/></g>"));
    }

    #[test]
    fn texts_stay_texts() {
        assert_eq!(
            escaped("<script>a & 'b' \"c\""),
            "&lt;script&gt;a &amp; &#39;b&#39; &quot;c&quot;"
        );
        assert_eq!(escaped("a\u{202e}b\u{0}c\nd"), "a\u{fffd}b\u{fffd}c d");
    }
}
