//! A cluster for the terminal.

use jiff::Timestamp;

use super::{page::Page, text::counted};

/// A cluster with some of its members.
pub(crate) struct ClusterPage<'a> {
    /// Identifier.
    pub(crate) cluster: &'a str,
    /// Name of the chain.
    pub(crate) chain: &'a str,
    /// Number of members.
    pub(crate) size: u64,
    /// Times of the cluster's first and last appearance on the chain, the last among the searched members.
    pub(crate) seen: [Option<Timestamp>; 2],
    /// Number of members whose listings and labels were looked up.
    pub(crate) searched: usize,
    /// The different owners that listings and labels name.
    pub(crate) conflicts: &'a [String],
    /// Listings and labels of members, a sentence each.
    pub(crate) claims: Vec<String>,
    /// The members that are shown.
    pub(crate) members: Vec<ClusterRow>,
}

/// A member.
pub(crate) struct ClusterRow {
    /// Address.
    pub(crate) address: String,
    /// Times of the member's first and last appearance on the chain.
    pub(crate) seen: [Timestamp; 2],
    /// The reason why the address is a member.
    pub(crate) evidence: Option<String>,
}

/// Draws a cluster in lines of at most `width` columns.
pub(crate) fn cluster(cluster: &ClusterPage<'_>, width: usize) -> String {
    let mut page = Page::new(width);
    page.line(format!("{}  {}", cluster.cluster, cluster.chain));
    let addresses = counted(cluster.size, "address", "addresses");
    let [first, last] = cluster.seen.map(|time| time.map_or_else(String::new, day));
    let searched = u64::try_from(cluster.searched).unwrap_or(u64::MAX);
    let scope = if searched < cluster.size { " or later" } else { "" };
    page.line(format!("{addresses}  first seen {first}  last seen {last}{scope}"));

    page.section("Listings and labels");
    if cluster.claims.is_empty() {
        page.item("none");
    }
    for claim in &cluster.claims {
        page.item(claim);
    }
    if searched < cluster.size {
        page.item(format!("looked up for the first {searched} members only"));
    }
    if !cluster.conflicts.is_empty() {
        page.section("Conflict: members are attributed to different owners");
        for owner in cluster.conflicts {
            page.item(owner);
        }
    }

    page.section("Members");
    for ClusterRow { address, seen: [first, last], evidence } in &cluster.members {
        page.hanging("  ", "    ", format!("{address}  {} to {}", day(*first), day(*last)));
        if let Some(evidence) = evidence {
            page.hanging("    ", "    ", evidence);
        }
    }
    let shown = u64::try_from(cluster.members.len()).unwrap_or(u64::MAX);
    let rest = cluster.size.saturating_sub(shown);
    if rest > 0 {
        page.hanging("  ", "    ", format!("{rest} more: raise --most to show them"));
    }
    page.finish()
}

fn day(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d").to_string()
}
