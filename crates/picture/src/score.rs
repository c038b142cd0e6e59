//! The score as a waterfall: a bar for each component, which begins at the end of the bar before it.

use assay_engine::score::{Score, Verdict};

use crate::{
    AnswerView, ComponentView,
    svg::{Picture, SvgElements, Tenths},
    text::{counted, cut, words},
};

const WIDTH: i64 = 720;
/// Left end of the scale. A tenth of a point is half a pixel wide, so that bars are exact.
const SCALE: i64 = 80;
const TENTH: i64 = 5;
/// Height of a component's row, with one line of text and its bar.
const ROW: i64 = 40;
/// Largest number of components that have a bar of their own.
const MOST: usize = 12;
/// Largest number of characters of a component's text.
const TEXT: usize = 86;

/// A bar: its points in tenths, its text and its look.
struct Bar {
    tenths: u16,
    text: String,
    class: &'static str,
}

/// Draws the components that have points. The widths of all bars sum to the width of the score's own bar.
#[must_use]
pub fn waterfall(answer: &AnswerView) -> Picture {
    let bars = bars(&answer.scoring_components);
    let mut elements = SvgElements::default();
    let rows = i64::try_from(bars.len()).unwrap_or_default();
    let low = Tenths::px(30 + (rows + 1) * ROW);
    for points in [0, 25, 50, 75, 100] {
        let x = at(points * 10);
        elements.line("rule", (x, Tenths::px(22)), (x, low));
        elements.text("mid soft", x, Tenths::px(14), &points.to_string());
    }
    let mut reached: u16 = 0;
    let mut y = 34;
    for bar in &bars {
        let mut row = SvgElements::default();
        let points = format!("+{}", Score::from_tenths(bar.tenths));
        row.text("end", Tenths::px(SCALE - 10), Tenths::px(y + 26), &points);
        row.text("halo", Tenths::px(SCALE), Tenths::px(y + 10), &cut(&bar.text, TEXT));
        let size = (Tenths(i64::from(bar.tenths) * TENTH), Tenths::px(12));
        row.rect(bar.class, (at(reached), Tenths::px(y + 16)), size);
        elements.focusable("bar", &format!("{points}: {}", bar.text), &row);
        reached = reached.saturating_add(bar.tenths);
        y += ROW;
    }
    let score = answer.risk_score;
    elements.text("end head", Tenths::px(SCALE - 10), Tenths::px(y + 18), &score.to_string());
    let size = (Tenths(i64::from(score.tenths()) * TENTH), Tenths::px(14));
    elements.rect(verdict_class(answer.verdict), (at(0), Tenths::px(y + 7)), size);
    let sum = format!("of 100: {}", answer.verdict.as_str());
    let right = at(score.tenths()).0 + 80;
    elements.text("head halo", Tenths(right), Tenths::px(y + 18), &sum);
    let label = format!(
        "Score {score} of 100, the sum of {}",
        counted(u64::try_from(bars.len()).unwrap_or_default(), "component", "components")
    );
    Picture::new(WIDTH, low.0 / 10 + 6, label, elements.finish())
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
    bars.push(Bar {
        tenths: others.iter().map(|bar| bar.tenths).sum(),
        text: counted(count, "more component", "more components"),
        class: "plain",
    });
    bars
}

impl Bar {
    fn of(component: &ComponentView) -> Self {
        let class = match component.kind.as_str() {
            "sanctions" => "severe",
            "minimum_score_rule" | "incomplete" => "plain",
            "behavior" => "own",
            "association" | "ownership" => "service",
            _ => "risky",
        };
        let text = match &component.rule {
            Some(rule) => format!("rule {}: {}", words(rule), component.detail),
            None => component.detail.clone(),
        };
        Self { tenths: component.contribution.tenths(), text, class }
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
