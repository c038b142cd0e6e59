//! Places of a flow picture, in tenths of a pixel: from shares and rows to coordinates.

use assay_engine::evidence::Direction;

use super::pieces::FlowGroup;
use crate::svg::Tenths;

/// Width of the bar of an endpoint or address in pixels.
pub(super) const BAR: i64 = 8;

/// Columns of a picture: widths and places in pixels, from the outer edge of a side.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Columns {
    /// Width of the picture.
    pub(super) width: i64,
    heading: i64,
    /// Inner end of names.
    label: i64,
    bar: i64,
    node: i64,
    subject: i64,
    /// Width of the subject's box.
    pub(super) subject_width: i64,
    /// Height of a row without the room between rows, in tenths of a pixel.
    row: i64,
    /// Largest numbers of characters in a name, and in a line of facts below it.
    pub(super) name: usize,
    pub(super) facts: usize,
    /// Number of characters that an address shows at each end.
    pub(super) address_ends: usize,
}

/// Columns of both directions side by side.
pub(super) const BOTH: Columns = Columns {
    width: 1200,
    heading: 16,
    label: 258,
    bar: 266,
    node: 392,
    subject: 515,
    subject_width: 170,
    row: 360,
    name: 33,
    facts: 39,
    address_ends: 8,
};
/// Columns of one direction in a narrow window.
pub(super) const ONE: Columns = Columns {
    width: 352,
    heading: 8,
    label: 174,
    bar: 180,
    node: 234,
    subject: 284,
    subject_width: 60,
    row: 500,
    name: 22,
    facts: 24,
    address_ends: 4,
};

/// Height of the strip with the details of a flow in pixels.
pub(super) const STRIP: i64 = 118;
/// Height of a band with a share of 1, in tenths of a pixel.
const WHOLE: u64 = 1_500;
/// Smallest height of a band, in tenths of a pixel, so that it can be seen.
const THINNEST: i64 = 15;
/// Room between rows.
const GAP: i64 = 90;
const HEADING: i64 = 300;
/// Upper end of the content.
const TOP: i64 = 400;

/// Places of everything in a picture.
pub(super) struct Layout {
    pub(super) columns: &'static Columns,
    pub(super) sides: Vec<Side>,
    /// Vertical middle of the content.
    pub(super) middle: Tenths,
    bottom: i64,
}

/// Columns and rows of one direction. The inner end of a column is the one that faces the subject.
pub(super) struct Side {
    pub(super) direction: Direction,
    pub(super) heading: Tenths,
    pub(super) label: Tenths,
    pub(super) bar: Tenths,
    pub(super) end_inner: Tenths,
    pub(super) node_outer: Tenths,
    pub(super) node_inner: Tenths,
    /// Edge of the subject's box, and its left end.
    pub(super) subject: Tenths,
    subject_left: Tenths,
    pub(super) groups: Vec<PlacedGroup>,
}

/// Places of one unit's endpoints.
pub(super) struct PlacedGroup {
    pub(super) head: Tenths,
    pub(super) leaves: Vec<PlacedLeaf>,
    pub(super) nodes: Vec<PlacedNode>,
}

/// Places of one endpoint's band.
pub(super) struct PlacedLeaf {
    pub(super) top: Tenths,
    pub(super) height: Tenths,
    pub(super) at_subject: Tenths,
    /// Index of the address that the band passes.
    pub(super) node: Option<usize>,
    pub(super) at_node: Tenths,
}

/// Place of an address next to the subject.
pub(super) struct PlacedNode {
    /// The address, or the identifier of a transaction without one.
    pub(super) identifier: String,
    pub(super) top: Tenths,
    pub(super) height: Tenths,
}

impl Layout {
    /// Places the endpoints of one or both directions.
    pub(super) fn new(
        columns: &'static Columns,
        directions: &[(Direction, Vec<FlowGroup<'_>>)],
    ) -> Self {
        let heights = directions
            .iter()
            .flat_map(|(_, groups)| [rows_height(columns, groups), stack_height(groups)]);
        let tallest = heights.max().unwrap_or_default().max(1_300);
        let middle = TOP + tallest / 2;
        let sides = directions.iter().map(|(direction, groups)| {
            let row = middle - rows_height(columns, groups) / 2;
            let subject = middle - stack_height(groups) / 2;
            let mut side = Side::new(columns, *direction);
            side.groups = placed(columns, groups, row, subject);
            side
        });
        let sides = sides.collect();
        Self { columns, sides, middle: Tenths(middle), bottom: TOP + tallest + 200 }
    }

    /// Upper end of the strip with the details of a flow.
    pub(super) const fn strip(&self) -> Tenths {
        Tenths(self.bottom)
    }

    /// Height of the picture in pixels, without the strip.
    pub(super) const fn height(&self) -> i64 {
        self.bottom / 10
    }

    pub(super) fn subject_left(&self) -> Tenths {
        self.sides.first().map_or(Tenths(0), |side| side.subject_left)
    }

    pub(super) fn subject_top(&self) -> Tenths {
        Tenths(self.middle.0 - self.subject_height().0 / 2)
    }

    pub(super) fn subject_height(&self) -> Tenths {
        let ends = self.sides.iter().flat_map(|side| &side.groups);
        let ends = ends.flat_map(|group| &group.leaves);
        let reach = ends.flat_map(|leaf| {
            let (top, low) = (leaf.at_subject.0, leaf.at_subject.0 + leaf.height.0);
            [(top - self.middle.0).abs(), (low - self.middle.0).abs()]
        });
        Tenths((reach.max().unwrap_or_default() * 2 + 120).max(1_200))
    }
}

impl Side {
    /// Columns of a direction, without rows: those of destinations mirror those of sources.
    fn new(columns: &Columns, direction: Direction) -> Self {
        let is_source = direction == Direction::Source;
        let x = |pixels: i64| Tenths::px(if is_source { pixels } else { columns.width - pixels });
        // The left end of something with a width.
        let left = |pixels: i64, width: i64| x(if is_source { pixels } else { pixels + width });
        Self {
            direction,
            heading: x(columns.heading),
            label: x(columns.label),
            bar: left(columns.bar, BAR),
            end_inner: x(columns.bar + BAR),
            node_outer: x(columns.node),
            node_inner: x(columns.node + BAR),
            subject: x(columns.subject),
            subject_left: left(columns.subject, columns.subject_width),
            groups: Vec::new(),
        }
    }
}

/// Height of a band.
fn band(share: u64) -> i64 {
    let height = i64::try_from(share.min(1_000_000) * WHOLE / 1_000_000).unwrap_or_default();
    height.max(THINNEST)
}

fn rows_height(columns: &Columns, groups: &[FlowGroup<'_>]) -> i64 {
    let rows = |group: &FlowGroup<'_>| {
        let rows = group.leaves.iter().map(|leaf| band(leaf.share).max(columns.row) + GAP);
        HEADING + rows.sum::<i64>()
    };
    groups.iter().map(rows).sum()
}

fn stack_height(groups: &[FlowGroup<'_>]) -> i64 {
    let bands = groups.iter().flat_map(|group| &group.leaves).map(|leaf| band(leaf.share));
    let gaps = i64::try_from(groups.len().saturating_sub(1)).unwrap_or_default() * GAP;
    bands.sum::<i64>() + gaps
}

/// Places groups below each other: rows from `row` on, bands at the subject from `subject` on.
fn placed(
    columns: &Columns,
    groups: &[FlowGroup<'_>],
    mut row: i64,
    mut subject: i64,
) -> Vec<PlacedGroup> {
    let mut found = Vec::with_capacity(groups.len());
    for group in groups {
        let head = row + 150;
        row += HEADING;
        let (mut leaves, mut nodes) = (Vec::new(), Vec::<(&str, PlacedNode)>::new());
        for leaf in &group.leaves {
            let height = band(leaf.share);
            let room = height.max(columns.row);
            let top = row + (room - height) / 2;
            row += room + GAP;
            // Leaves over one address follow each other.
            let node = leaf.next.map(|address| {
                let is_last = nodes.last().is_some_and(|(known, _)| *known == address);
                if !is_last {
                    let identifier = address.to_owned();
                    let (top, height) = (Tenths(0), Tenths(0));
                    nodes.push((address, PlacedNode { identifier, top, height }));
                }
                nodes.len() - 1
            });
            leaves.push(PlacedLeaf {
                top: Tenths(top),
                height: Tenths(height),
                at_subject: Tenths(subject),
                node,
                at_node: Tenths(0),
            });
            subject += height;
        }
        for (index, (_, node)) in nodes.iter_mut().enumerate() {
            place_node(node, &mut leaves, index);
        }
        subject += GAP;
        let nodes = nodes.into_iter().map(|(_, node)| node).collect();
        found.push(PlacedGroup { head: Tenths(head), leaves, nodes });
    }
    found
}

/// Places an address halfway between the middle of its endpoints and that of its bands at the subject.
fn place_node(node: &mut PlacedNode, leaves: &mut [PlacedLeaf], index: usize) {
    let own = || leaves.iter().filter(|leaf| leaf.node == Some(index));
    let height: i64 = own().map(|leaf| leaf.height.0).sum();
    let (first, last) = (own().next(), own().next_back());
    let (Some(first), Some(last)) = (first, last) else { return };
    let rows = i64::midpoint(first.top.0, last.top.0 + last.height.0);
    let stack = i64::midpoint(first.at_subject.0, last.at_subject.0 + last.height.0);
    let mut top = (rows * 2 + stack) / 3 - height / 2;
    (node.top, node.height) = (Tenths(top), Tenths(height));
    for leaf in leaves.iter_mut().filter(|leaf| leaf.node == Some(index)) {
        leaf.at_node = Tenths(top);
        top += leaf.height.0;
    }
}
