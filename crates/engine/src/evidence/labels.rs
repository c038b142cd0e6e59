//! All labels of one address: in one order, and shared by all who read them, so that an address with many labels costs
//! a check no copy of them.

use std::{
    cmp::Ordering,
    fmt,
    ops::Deref,
    sync::{Arc, OnceLock},
};

use rustc_hash::FxHashMap;

use super::Label;

/// The labels of an address, in an order that does not depend on where they came from. A clone shares them.
#[derive(Clone, Default)]
pub struct AddressLabels(Option<Arc<OrderedLabels>>);

struct OrderedLabels {
    /// Sorted: the labels of one upstream are together, and of these those of one category.
    labels: Vec<Label>,
    /// Number of each label's upstream among the upstreams of these labels, from 0 on.
    upstreams: Vec<u32>,
    /// Number of each label's name, once it was asked for.
    names: OnceLock<Vec<Option<u32>>>,
}

impl OrderedLabels {
    /// Names differ if they do so without surrounding white space and in lower case.
    fn number_names(&self) -> Vec<Option<u32>> {
        let mut known: FxHashMap<String, u32> = FxHashMap::default();
        let mut number = |name: &str| {
            let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
            *known.entry(name.trim().to_lowercase()).or_insert(next)
        };
        self.labels.iter().map(|label| label.entity.as_deref().map(&mut number)).collect()
    }
}

impl AddressLabels {
    /// The labels, each with the number of its upstream: from 0 on, in the order of the labels.
    pub(crate) fn with_upstreams(&self) -> impl Iterator<Item = (&Label, u32)> {
        let ordered = self.0.as_deref();
        let upstreams = ordered.map(|ordered| &*ordered.upstreams).unwrap_or_default();
        self.iter().zip(upstreams.iter().copied())
    }

    /// These labels and further ones.
    #[must_use]
    pub fn and(&self, further: impl IntoIterator<Item = Label>) -> Self {
        let mut further = further.into_iter().peekable();
        if further.peek().is_none() {
            return self.clone();
        }
        self.iter().cloned().chain(further).collect()
    }

    /// The number of each label's name, from 0 on, in the order of the labels; `None` for labels without a name. The
    /// numbers are computed once.
    pub(crate) fn names(&self) -> &[Option<u32>] {
        let ordered = self.0.as_deref();
        ordered
            .map(|ordered| &**ordered.names.get_or_init(|| ordered.number_names()))
            .unwrap_or_default()
    }

    /// Number of different upstreams.
    pub(crate) fn upstreams(&self) -> u32 {
        let last = self.0.as_deref().and_then(|ordered| ordered.upstreams.last());
        last.map_or(0, |last| last + 1)
    }
}

impl Deref for AddressLabels {
    type Target = [Label];

    fn deref(&self) -> &[Label] {
        self.0.as_deref().map(|ordered| &*ordered.labels).unwrap_or_default()
    }
}

impl From<Vec<Label>> for AddressLabels {
    fn from(mut labels: Vec<Label>) -> Self {
        if labels.is_empty() {
            return Self::default();
        }
        labels.sort_unstable_by(order);
        let mut upstreams: Vec<u32> = Vec::with_capacity(labels.len());
        let mut previous: Option<&Label> = None;
        for label in &labels {
            let number = match (previous, upstreams.last()) {
                (Some(previous), Some(number)) if previous.upstream == label.upstream => *number,
                (_, Some(number)) => number + 1,
                (_, None) => 0,
            };
            upstreams.push(number);
            previous = Some(label);
        }
        Self(Some(Arc::new(OrderedLabels { labels, upstreams, names: OnceLock::new() })))
    }
}

impl FromIterator<Label> for AddressLabels {
    fn from_iter<I: IntoIterator<Item = Label>>(labels: I) -> Self {
        labels.into_iter().collect::<Vec<_>>().into()
    }
}

impl<'a> IntoIterator for &'a AddressLabels {
    type Item = &'a Label;
    type IntoIter = std::slice::Iter<'a, Label>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl PartialEq for AddressLabels {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for AddressLabels {}

impl fmt::Debug for AddressLabels {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.iter()).finish()
    }
}

/// The order of labels: by upstream and category, then by everything else, so that only equal labels are tied.
fn order(a: &Label, b: &Label) -> Ordering {
    let Label {
        category,
        entity,
        tier,
        confidence,
        source,
        upstream,
        author,
        term,
        cites_list,
        reason,
        reference,
        valid_from,
        valid_until,
    } = a;
    (upstream.cmp(&b.upstream))
        .then_with(|| (category, source, entity).cmp(&(&b.category, &b.source, &b.entity)))
        .then_with(|| (tier, &b.confidence).cmp(&(&b.tier, confidence)))
        .then_with(|| (valid_from, valid_until).cmp(&(&b.valid_from, &b.valid_until)))
        .then_with(|| (cites_list, author, term).cmp(&(&b.cites_list, &b.author, &b.term)))
        .then_with(|| (reason, reference).cmp(&(&b.reason, &b.reference)))
}
