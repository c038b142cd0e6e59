//! The score as a waterfall: a bar for each component, which begins at the end of the bar before it.

use assay_engine::score::{Score, Verdict};

use crate::{
    AnswerView, ComponentView,
    svg::{Picture, SvgElements, Tenths},
    text::{counted, lines, words},
    tone::Tone,
};

const WIDTH: i64 = 364;
/// Left end of the scale. A tenth of a point is three tenths of a pixel wide, so that bars are exact.
const SCALE: i64 = 52;
const TENTH: i64 = 3;
/// Upper end of the first row; height of a line of text, of a bar, and of the room below it.
const TOP: i64 = 34;
const LINE: i64 = 16;
const BAR: i64 = 12;
const ROOM: i64 = 12;
/// Largest number of components that have a bar of their own.
const MOST: usize = 12;
/// Largest number of characters in a line of a component's text, and of its lines.
const CHARACTERS: usize = 48;
const LINES: usize = 2;

/// A bar: its points in tenths, its text whole and in lines, and its look.
struct Bar {
    tenths: u16,
    text: String,
    lines: Vec<String>,
    class: &'static str,
}

/// Draws the components that have points. The widths of all bars sum to the width of the score's own bar.
#[must_use]
pub fn waterfall(answer: &AnswerView) -> Picture {
    let bars = bars(&answer.scoring_components);
    let mut elements = SvgElements::default();
    let score = Bar::new(
        answer.risk_score.tenths(),
        format!("Score of 100, verdict {}", answer.verdict.as_str()),
        verdict_class(answer.verdict),
    );
    let low = TOP + bars.iter().chain([&score]).map(Bar::height).sum::<i64>();
    for points in [0, 25, 50, 75, 100] {
        let x = at(points * 10);
        elements.line("rule", (x, Tenths::px(22)), (x, Tenths::px(low)));
        elements.text("mid soft", x, Tenths::px(14), &points.to_string());
    }
    let mut reached: u16 = 0;
    let mut y = TOP;
    for bar in &bars {
        let points = format!("+{}", Score::from_tenths(bar.tenths));
        let mut row = SvgElements::default();
        bar.draw(&mut row, y, reached, &points, ["halo", "end"]);
        elements.focusable("bar", &format!("{points}: {}", bar.text), &row);
        reached = reached.saturating_add(bar.tenths);
        y += bar.height();
    }
    score.draw(&mut elements, y, 0, &answer.risk_score.to_string(), ["head halo", "head end"]);
    let label = format!(
        "Score {} of 100, the sum of {}",
        answer.risk_score,
        counted(u64::try_from(bars.len()).unwrap_or_default(), "component", "components")
    );
    Picture::new(WIDTH, low, label, elements.finish())
}

/// The horizontal place of a score.
fn at(tenths: u16) -> Tenths {
    Tenths(Tenths::px(SCALE).0 + i64::from(tenths) * TENTH)
}

/// Returns the bars in the order of the answer; of many components, those with most points and the sum of the others.
fn bars(components: &[ComponentView]) -> Vec<Bar> {
    let with_points = components.iter().filter(|component| component.contribution.tenths() > 0);
    let mut bars: Vec<Bar> = with_points.map(Bar::of).collect();
    if bars.len() <= MOST {
        return bars;
    }
    bars.sort_by_key(|bar| std::cmp::Reverse(bar.tenths));
    let others = bars.split_off(MOST - 1);
    let count = u64::try_from(others.len()).unwrap_or_default();
    bars.push(Bar::new(
        others.iter().map(|bar| bar.tenths).sum(),
        counted(count, "more component", "more components"),
        "plain",
    ));
    bars
}

impl Bar {
    fn new(tenths: u16, text: String, class: &'static str) -> Self {
        Self { tenths, lines: lines(&text, CHARACTERS, LINES), text, class }
    }

    fn of(component: &ComponentView) -> Self {
        let class = match component.kind.as_str() {
            "sanctions" => Tone::Severe,
            "minimum_score_rule" | "incomplete" => Tone::Plain,
            "behavior" => Tone::Risky,
            _ => Tone::of_category(component.category.as_deref()),
        };
        let text = match &component.rule {
            Some(rule) => format!("rule {}: {}", words(rule), component.detail),
            None => component.detail.clone(),
        };
        Self::new(component.contribution.tenths(), text, class.class())
    }

    /// Height of the row.
    fn height(&self) -> i64 {
        i64::try_from(self.lines.len()).unwrap_or_default() * LINE + BAR + ROOM
    }

    /// Draws the text from `y` on, and below it the bar from the tenth `from` on, with its points beside it.
    fn draw(
        &self,
        row: &mut SvgElements,
        mut y: i64,
        from: u16,
        points: &str,
        [text, number]: [&str; 2],
    ) {
        for line in &self.lines {
            row.text(text, Tenths(0), Tenths::px(y + 10), line);
            y += LINE;
        }
        row.text(number, Tenths::px(SCALE - 8), Tenths::px(y + BAR - 1), points);
        let size = (Tenths(i64::from(self.tenths) * TENTH), Tenths::px(BAR));
        row.rect(self.class, (at(from), Tenths::px(y)), size);
    }
}

const fn verdict_class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "own",
        Verdict::Indeterminate => "plain",
        Verdict::Review => "risky",
        Verdict::Block => "severe",
    }
}
