//! The cluster of a subject, with the listings and labels of its other members.
//!
//! The members of a small cluster are read and looked up in the lists and labels. A large cluster may have millions of
//! members: [`AttributedMembers`] has its listed and labelled members.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashMap, HashSet},
    hash::{BuildHasher, RandomState},
    sync::Arc,
};

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::{
    facts::{CO_SPEND_CONFIDENCE, Cluster, ClusterMember, CoSpend, ListedDealings},
    utxo::ScriptOwner,
};
use assay_graph::{Graph, GraphError, GraphTip};
use assay_intel::IntelSnapshot;
use tokio::sync::Mutex;

/// Largest number of members that are read of a cluster. Of a larger cluster, the index provides the listed and
/// labelled members.
const READ: u32 = 1_000;
/// Largest number of other members that are read of a cluster for an answer.
const OTHERS: u32 = 40;
/// Largest number of listed or labelled members whose evidence is looked up: the listed ones, then by severity.
const EXAMINED: usize = 10_000;
/// Largest number of members with equal listings and labels whose evidence counts.
const ALIKE: usize = 3;
/// Largest number of listed or labelled members of which the co-spends are read.
const CONNECTED: usize = 200;
/// Largest number of co-spends between two members. A connection by more co-spends is not followed, and counts as a
/// doubtful one.
pub(super) const CO_SPENDS: u32 = 256;
/// Number of owners whose clusters are looked up together.
const PAGE: usize = 10_000;
/// Number of owners and changes of clusters above which the index is built anew.
pub(super) const CHANGES: u32 = 100_000;

/// Reads the cluster of a subject. An address that never appeared is alone in its cluster.
pub(super) async fn cluster(
    graph: &dyn Graph,
    members: &AttributedMembers,
    (subject, owner): (&CanonicalAddress, &ScriptOwner),
    intel: &IntelSnapshot,
    tip: GraphTip,
) -> Result<Cluster, GraphError> {
    let chain = subject.chain();
    let found = graph.clusters(std::slice::from_ref(owner)).await?.pop().flatten();
    let alone = || Cluster::alone(subject.clone());
    let Some(found) = found.filter(|found| found.size > 1) else { return Ok(alone()) };
    let (Some(id), Some(root)) = (found.id.address(chain), found.root.address(chain)) else {
        // Only owners with an address have clusters.
        return Ok(alone());
    };
    let is_small = found.size <= u64::from(READ);
    let read = graph.cluster(owner, if is_small { READ } else { OTHERS }).await?;
    let read: Vec<CanonicalAddress> = read
        .into_iter()
        .flat_map(|cluster| cluster.members)
        .filter_map(|member| member.owner.address(chain))
        .filter(|address| address != subject)
        .collect();
    let known = if is_small {
        let known = read.iter().filter(|address| intel.is_attributed(address)).cloned();
        Arc::new(sorted(known.collect(), intel))
    } else {
        members.index_at(graph, chain, intel, tip).await?.members_of(&found.root)
    };
    let attributed = || known.iter().filter(|address| *address != subject);
    let (count, examined) = (attributed().count(), attributed().take(EXAMINED).count());
    let others = usize::try_from(OTHERS).unwrap_or(usize::MAX);
    let mut shown = different_claims(attributed().take(EXAMINED).cloned(), intel);
    let known: HashSet<CanonicalAddress> = shown.iter().map(|it| it.address.clone()).collect();
    let is_other = |address: &CanonicalAddress| !known.contains(address);
    let member = |address| member(address, intel);
    shown.extend(read.into_iter().filter(is_other).take(others).map(member));
    connect(graph, owner, &mut shown).await?;
    let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    Ok(Cluster {
        id,
        root,
        size: found.size,
        confidence: CO_SPEND_CONFIDENCE,
        members: shown,
        attributed: number(count),
        examined: number(examined),
        dealings: ListedDealings::default(),
    })
}

/// Sorts addresses: the listed ones, then by the largest severity times confidence of a label, then by address. The
/// order does not depend on policies and days.
fn sorted(mut addresses: Vec<CanonicalAddress>, intel: &IntelSnapshot) -> Vec<CanonicalAddress> {
    addresses.sort_by_cached_key(|address| {
        let labels = intel.labels().labels_of(address);
        let risk = labels.iter().map(|label| {
            u16::from(label.category.info().severity) * u16::from(label.confidence.percent())
        });
        let is_listed = !intel.listings_of(address).is_empty();
        (Reverse(is_listed), Reverse(risk.max()), address.clone())
    });
    addresses.dedup();
    addresses
}

fn member(address: CanonicalAddress, intel: &IntelSnapshot) -> ClusterMember {
    let (labels, listings) = (intel.labels().labels_of(&address), intel.listings_of(&address));
    ClusterMember { address, labels, listings, co_spends: None }
}

/// Returns members with their listings and labels: of members with equal listings and labels the first [`ALIKE`], and
/// at most [`CONNECTED`] in all.
fn different_claims(
    addresses: impl Iterator<Item = CanonicalAddress>,
    intel: &IntelSnapshot,
) -> Vec<ClusterMember> {
    // An address can have many labels: hashes of them are compared.
    let hasher = RandomState::new();
    let mut alike: HashMap<Vec<u64>, usize> = HashMap::new();
    let mut members = Vec::new();
    for address in addresses {
        let member = member(address, intel);
        let listed = member
            .listings
            .iter()
            .map(|listing| hasher.hash_one((&listing.entry.list, &listing.entry.entity.id)));
        let labelled = member.labels.iter().map(|label| {
            let name = label.entity.as_deref().unwrap_or_default();
            hasher.hash_one((label.tier, label.category, &label.upstream, name))
        });
        let mut claims: Vec<u64> = listed.chain(labelled).collect();
        claims.sort_unstable();
        claims.dedup();
        let seen = alike.entry(claims).or_default();
        *seen += 1;
        if *seen <= ALIKE && members.len() < CONNECTED {
            members.push(member);
        }
    }
    members
}

/// Reads the co-spends that connect the members with the subject.
async fn connect(
    graph: &dyn Graph,
    owner: &ScriptOwner,
    members: &mut [ClusterMember],
) -> Result<(), GraphError> {
    let owners: Vec<ScriptOwner> =
        members.iter().filter_map(|member| ScriptOwner::from_address(&member.address)).collect();
    let connections = graph.connections(owner, &owners, CO_SPENDS).await?;
    for (member, found) in members.iter_mut().zip(connections) {
        member.co_spends = found.map(|found| found.iter().map(CoSpend::from).collect());
    }
    Ok(())
}

/// Index of the listed and labelled members of all clusters of a chain. The first check in a large cluster builds the
/// index; new blocks update it.
#[derive(Debug, Default)]
pub(super) struct AttributedMembers(Mutex<Option<Arc<Index>>>);

/// Index in one state of the lists, labels and blocks.
#[derive(Clone, Debug)]
struct Index {
    /// Generation of lists and labels.
    generation: u64,
    tip: GraphTip,
    /// Sorted members of each cluster of several addresses, by the cluster's root.
    members: HashMap<ScriptOwner, Arc<Vec<CanonicalAddress>>>,
}

impl Index {
    fn members_of(&self, root: &ScriptOwner) -> Arc<Vec<CanonicalAddress>> {
        self.members.get(root).cloned().unwrap_or_default()
    }

    fn is_at(&self, generation: u64, tip: GraphTip) -> bool {
        self.generation == generation && self.is_of(tip) && self.tip.block == tip.block
    }

    /// True if the index belongs to the same recording of the chain.
    fn is_of(&self, tip: GraphTip) -> bool {
        (self.tip.start, self.tip.sample) == (tip.start, tip.sample)
    }

    /// Adds the addresses to their clusters.
    async fn add(
        &mut self,
        graph: &dyn Graph,
        addresses: &[CanonicalAddress],
        intel: &IntelSnapshot,
    ) -> Result<(), GraphError> {
        let mut added: HashMap<ScriptOwner, Vec<CanonicalAddress>> = HashMap::new();
        for page in addresses.chunks(PAGE) {
            let of_owners = |address: &CanonicalAddress| {
                Some((ScriptOwner::from_address(address)?, address.clone()))
            };
            let (owners, page): (Vec<_>, Vec<_>) = page.iter().filter_map(of_owners).unzip();
            for (found, address) in graph.clusters(&owners).await?.into_iter().zip(page) {
                if let Some(found) = found.filter(|found| found.size > 1) {
                    added.entry(found.root).or_default().push(address);
                }
            }
        }
        for (root, mut members) in added {
            members.extend(self.members_of(&root).iter().cloned());
            self.members.insert(root, Arc::new(sorted(members, intel)));
        }
        Ok(())
    }
}

impl AttributedMembers {
    /// Returns the index for the lists and labels of `intel` and the blocks up to `tip`.
    async fn index_at(
        &self,
        graph: &dyn Graph,
        chain: ChainId,
        intel: &IntelSnapshot,
        tip: GraphTip,
    ) -> Result<Arc<Index>, GraphError> {
        let mut index = self.0.lock().await;
        let known = index.as_ref().filter(|known| known.generation == intel.generation());
        let next = match known {
            Some(known) if known.is_at(intel.generation(), tip) => return Ok(Arc::clone(known)),
            Some(known) => match follow(known, graph, chain, intel, tip).await? {
                Some(next) => next,
                None => build(graph, chain, intel, tip).await?,
            },
            None => build(graph, chain, intel, tip).await?,
        };
        let next = Arc::new(next);
        // If a block was recorded in the meantime, the index mixes two states; the answer does too, and is computed
        // again.
        if graph.tip().await?.is_some_and(|now| now.block == tip.block) {
            *index = Some(Arc::clone(&next));
        }
        Ok(next)
    }
}

async fn build(
    graph: &dyn Graph,
    chain: ChainId,
    intel: &IntelSnapshot,
    tip: GraphTip,
) -> Result<Index, GraphError> {
    let started = std::time::Instant::now();
    let mut index = Index { generation: intel.generation(), tip, members: HashMap::new() };
    let addresses: Vec<CanonicalAddress> = intel.attributed(chain).collect();
    index.add(graph, &addresses, intel).await?;
    tracing::debug!(
        %chain,
        addresses = addresses.len(),
        clusters = index.members.len(),
        milliseconds = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        "listed and labelled members of clusters indexed"
    );
    Ok(index)
}

/// Updates the index by the blocks that follow its block. `None` if the index's block was rolled back, or if the blocks
/// change too much.
async fn follow(
    known: &Index,
    graph: &dyn Graph,
    chain: ChainId,
    intel: &IntelSnapshot,
    tip: GraphTip,
) -> Result<Option<Index>, GraphError> {
    let height = known.tip.block.height;
    if !known.is_of(tip) || graph.blocks(height, height).await?.first() != Some(&known.tip.block) {
        return Ok(None);
    }
    let Some(changed) = graph.clusters_changed_above(height, CHANGES).await? else {
        return Ok(None);
    };
    let touched = graph.owners_in_blocks_above(height, CHANGES).await?;
    if touched.len() >= usize::try_from(CHANGES).unwrap_or(usize::MAX) {
        return Ok(None);
    }
    let mut next = Index { tip, ..known.clone() };
    // An address that left a cluster of its own was spent, and thus is in `touched`.
    let mut again: BTreeSet<CanonicalAddress> = touched
        .iter()
        .filter_map(|owner| owner.address(chain))
        .filter(|address| intel.is_attributed(address))
        .collect();
    for root in &changed {
        again.extend(next.members.remove(root).iter().flat_map(|members| members.iter()).cloned());
    }
    let again: Vec<CanonicalAddress> = again.into_iter().collect();
    next.add(graph, &again, intel).await?;
    Ok(Some(next))
}
