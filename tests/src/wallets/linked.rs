//! Comparison of links between addresses, as checks show them, with the true wallets.

use std::collections::{BTreeMap, HashMap, HashSet};

use assay_address::ChainId;
use assay_engine::{
    ledger::{OwnerNumber, ReadLimits},
    reading::ChainView,
    utxo::{ScriptOwner, cluster::LinkKind},
};
use assay_graph::{GraphView, memory::MemoryGraph};
use assay_service::chains::possible_owners::possible_owners;
use futures_util::FutureExt;
use jiff::Timestamp;

use super::{Agreement, KnownChain, WalletId};
use crate::world::Claims;

/// Agreement of the links on a chain with the wallets.
#[derive(Clone, Debug)]
pub struct LinkAgreement {
    /// For each kind, the number of links within a wallet, and between two wallets.
    pub links: BTreeMap<LinkKind, (u64, u64)>,
    /// Agreement of links and clusters together with the wallets: a pair of addresses is joined by a cluster, or by a
    /// link between one address and a member of the other address's cluster.
    pub pairs: Agreement,
}

/// The wallet and the cluster of a paid address.
#[derive(Clone, Copy, Debug)]
struct Member {
    owner: OwnerNumber,
    wallet: WalletId,
    cluster: OwnerNumber,
}

impl LinkAgreement {
    /// Measures the agreement of the links and clusters of a graph of the chain.
    #[must_use]
    pub fn measure(known: &KnownChain, graph: &MemoryGraph) -> Self {
        let members = members(known, graph);
        let mut clusters: HashMap<OwnerNumber, Vec<Member>> = HashMap::new();
        for member in members.values() {
            clusters.entry(member.cluster).or_default().push(*member);
        }
        let mut pairs = HashSet::new();
        let mut join = |one: &Member, other: &Member| {
            let (one, other) = (one.owner.min(other.owner), one.owner.max(other.owner));
            pairs.insert((one, other));
        };
        for cluster in clusters.values() {
            for (at, one) in cluster.iter().enumerate() {
                cluster[..at].iter().for_each(|other| join(one, other));
            }
        }
        let mut links: BTreeMap<LinkKind, (u64, u64)> = BTreeMap::new();
        for (member, kind, linked) in links_of(&members, graph) {
            let Some(linked) = members.get(&linked) else { continue };
            let (right, wrong) = links.entry(kind).or_default();
            *(if member.wallet == linked.wallet { right } else { wrong }) += 1;
            clusters[&linked.cluster].iter().for_each(|other| join(&member, other));
        }
        let wallet = |owner: &OwnerNumber| members.get(owner).map(|member| member.wallet);
        let right = pairs.iter().filter(|(one, other)| wallet(one) == wallet(other)).count();
        let by_wallet: Vec<_> = members.values().map(|member| ((), member.wallet)).collect();
        let owned = Agreement::measure(&by_wallet).owned;
        let pairs = Agreement { clustered: pairs.len() as u64, owned, right: right as u64 };
        Self { links, pairs }
    }
}

/// The paid addresses of all wallets.
fn members(known: &KnownChain, graph: &MemoryGraph) -> HashMap<OwnerNumber, Member> {
    let mut members = HashMap::new();
    for (addresses, wallet) in known.addresses().zip(0..) {
        for address in addresses {
            let owner = number_of(graph, address);
            let cluster = graph.cluster_of(owner).expect("a cluster");
            members.insert(owner, Member { owner, wallet, cluster });
        }
    }
    members
}

fn number_of(graph: &MemoryGraph, owner: &ScriptOwner) -> OwnerNumber {
    let number = graph.owner_number(owner).now_or_never().expect("memory does not wait");
    number.expect("a graph in memory").expect("an owner of the chain")
}

/// The links that a check of each address shows.
fn links_of<'m>(
    members: &'m HashMap<OwnerNumber, Member>,
    graph: &'m MemoryGraph,
) -> impl Iterator<Item = (Member, LinkKind, OwnerNumber)> + 'm {
    let intel = Claims::default().snapshot(ChainId::BTC, Timestamp::UNIX_EPOCH);
    members.values().flat_map(move |member| {
        let limits = ReadLimits { transfers: u32::MAX, entries: u32::MAX };
        let history = graph.history(member.owner, limits).now_or_never();
        let history = history.expect("memory does not wait").expect("a history");
        let found = possible_owners(graph, member.owner, &history, (ChainId::BTC, &intel));
        let found = found.expect("links").into_iter().map(|linked| {
            let owner = ScriptOwner::from_address(&linked.address).expect("an owner");
            (*member, linked.by, number_of(graph, &owner))
        });
        found.collect::<Vec<_>>()
    })
}
