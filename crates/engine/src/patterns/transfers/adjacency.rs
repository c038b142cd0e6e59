//! The transfers of each owner: one array of all transfers, with the range of each owner.

/// A transfer from the perspective of one of its parties.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Step {
    /// Index of the transfer.
    pub(super) transfer: u32,
    /// Index of the other party among the owners.
    pub(super) party: u32,
}

/// The steps (transfers as one party sees them) of each node (owner), in the order in which they were given.
#[derive(Clone, Debug)]
pub(super) struct Adjacency {
    /// Index of the first step of each node, followed by the number of all steps.
    starts: Vec<u32>,
    steps: Vec<Step>,
}

impl Adjacency {
    /// Sorts steps by node; `each` must return the same nodes and steps at every call.
    pub(super) fn new<I: Iterator<Item = (u32, Step)>>(nodes: usize, each: impl Fn() -> I) -> Self {
        let mut ends = vec![0_u32; nodes + 1];
        let mut count = 0;
        for (node, _) in each() {
            count += 1;
            if let Some(end) = ends.get_mut(node as usize + 1) {
                *end += 1;
            }
        }
        let mut sum = 0;
        for end in &mut ends {
            sum += *end;
            *end = sum;
        }
        let starts = ends.clone();
        let mut steps = vec![Step::default(); count];
        for (node, step) in each() {
            if let Some(next) = ends.get_mut(node as usize) {
                if let Some(free) = steps.get_mut(*next as usize) {
                    *free = step;
                }
                *next += 1;
            }
        }
        Self { starts, steps }
    }

    /// The edges of an owner: its transfers, each with the other party.
    pub(super) fn of(&self, node: u32) -> &[Step] {
        let node = node as usize;
        match (self.starts.get(node), self.starts.get(node + 1)) {
            (Some(start), Some(end)) => {
                self.steps.get(*start as usize..*end as usize).unwrap_or_default()
            }
            _ => &[],
        }
    }

    /// The edges of an owner whose transfers have these indexes. The owner's edges must be sorted by transfer.
    pub(super) fn range(&self, node: u32, indexes: std::ops::Range<u32>) -> &[Step] {
        let all = self.of(node);
        let start = all.partition_point(|step| step.transfer < indexes.start);
        let rest = all.get(start..).unwrap_or_default();
        let count = rest.partition_point(|step| step.transfer < indexes.end);
        rest.get(..count).unwrap_or_default()
    }

    /// All steps, by node.
    pub(super) fn each(&self) -> impl Iterator<Item = (u32, Step)> {
        (0..index_of_last(&self.starts))
            .flat_map(|node| self.of(node).iter().map(move |step| (node, *step)))
    }
}

/// Number of nodes whose first steps have these indexes.
fn index_of_last(starts: &[u32]) -> u32 {
    index_of(starts.len().saturating_sub(1))
}

/// Converts a count to an index; a graph has fewer transfers and owners than 2^32.
pub(super) fn index_of(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
