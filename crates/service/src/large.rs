//! Work about addresses with very many labels or listings, which must not delay other callers.

/// Runs `work`: if it is large, beside the tasks of other callers.
pub(crate) fn beside_others_if<T>(is_large: bool, work: impl FnOnce() -> T) -> T {
    if is_large { assay_graph::blocking(work) } else { work() }
}
