//! `assay cluster`: the addresses that belong to one owner, and the transactions that show the common ownership.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write,
};

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::{
    evidence::{Label, ListingStatus},
    utxo::ScriptOwner,
};
use assay_graph::{ClusterEvidence, StoredCluster, StoredClusterMember, TransactionRef};
use assay_intel::IntelSnapshot;
use clap::Args;
use jiff::{Timestamp, civil::Date};
use serde::Serialize;

use super::{CommandOutcome, Context, Failure, graph, output, print_json, terminal::text_width};
use crate::render::{self, ClusterPage, ClusterRow};

const EXAMPLES: &str = "\
Examples:
  assay cluster btc 12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h
  assay cluster btc ADDRESS --most 1000 --json | jq '.members[].address'";

/// Largest number of members of a cluster whose listings and labels are looked up.
const SEARCHED: u32 = 10_000;

/// Show the cluster of an address: the addresses of its owner, with evidence
///
/// Addresses that are spent together belong to one owner. Joint transactions, and transactions of their shape,
/// connect no addresses; a transaction that may have two parties for another reason is marked. Listings and labels
/// are looked up for the first 10,000 members, the address itself among them.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ClusterArgs {
    /// Blockchain, such as btc
    chain: ChainId,
    /// Address, in any form that the blockchain allows
    address: String,
    /// Largest number of members to show; the address itself is always shown
    #[arg(long, value_name = "NUMBER", default_value_t = 50, value_parser = clap::value_parser!(u32).range(..=10_000))]
    most: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct ClusterAnswer {
    blockchain: ChainId,
    address: String,
    /// Identifier of the cluster: the member that appeared first on the chain.
    cluster: Option<String>,
    size: u64,
    first_seen: Timestamp,
    /// Time of the newest block in which one of the searched members appears.
    last_seen: Option<Timestamp>,
    /// Number of members whose listings and labels were looked up.
    members_searched: usize,
    /// The different owners that listings and labels of members name, if there are several.
    conflicts: Vec<String>,
    claims: Vec<Claim>,
    members: Vec<ShownMember>,
}

/// A listing or label of a member.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Claim {
    address: String,
    category: &'static str,
    entity: Option<String>,
    /// Source of the listing or label.
    source: String,
    /// True for an active listing.
    listed: bool,
}

#[derive(Serialize)]
struct ShownMember {
    address: Option<String>,
    first_seen: Timestamp,
    last_seen: Timestamp,
    /// Null for the member to which the other members were joined.
    evidence: Option<Evidence>,
}

/// The transaction that spends the member, or a member joined to it before, together with another member.
#[derive(Serialize)]
struct Evidence {
    transaction: String,
    height: u64,
    time: Timestamp,
    spent: [Option<String>; 2],
    /// False if the transaction may have several parties, such as a PayJoin, in which the payee adds an
    /// input.
    conclusive: bool,
    /// A second transaction that spends members of the two joined groups together.
    confirmed_by: Option<String>,
}

pub(super) async fn run(args: &ClusterArgs, context: &Context) -> Result<CommandOutcome, Failure> {
    let subject = CanonicalAddress::parse(args.chain, &args.address)
        .map_err(|error| Failure::Input(error.to_string()))?;
    let databases = context.open_databases().await?;
    let graph = graph(&databases.graphs, args.chain)?;
    let owner = ScriptOwner::from_address(&subject).ok_or_else(|| {
        Failure::Input(format!("no output of the {} chain can pay {subject}", args.chain))
    })?;
    let Some(cluster) = graph.cluster(&owner, SEARCHED).await? else {
        return Err(Failure::Input(format!(
            "{subject} does not appear on the {} chain as far as it is ingested",
            args.chain
        )));
    };
    let snapshot = IntelSnapshot::load(&*databases.store, None).await?;
    let today = snapshot.day(context.clock.now());
    let claims = claims(&snapshot, args.chain, &cluster, today);
    let shown = shown(&subject, &cluster, claims, usize::try_from(args.most).unwrap_or(usize::MAX));
    if args.json {
        print_json(&shown)?;
    } else {
        write!(output(), "{}", draw(&shown))?;
    }
    Ok(CommandOutcome::Success)
}

/// The active listings and the labels in force of members.
fn claims(
    snapshot: &IntelSnapshot,
    chain: ChainId,
    cluster: &StoredCluster,
    today: Date,
) -> Vec<Claim> {
    let mut claims = BTreeSet::new();
    let addresses = cluster.members.iter().filter_map(|member| member.owner.address(chain));
    for address in addresses {
        let facts = snapshot.facts(&address);
        let active = facts.listings.iter().filter(|it| it.status(today) == ListingStatus::Active);
        claims.extend(active.map(|listing| Claim {
            address: address.to_string(),
            category: "sanctions",
            entity: Some(listing.entry.entity.name.clone()),
            source: listing.source.to_string(),
            listed: true,
        }));
        let in_force = facts.labels.iter().filter(|label| label.in_force(today));
        claims.extend(in_force.map(|label: &Label| Claim {
            address: address.to_string(),
            category: label.category.as_str(),
            entity: label.entity.as_deref().map(str::to_owned),
            source: label.source.to_string(),
            listed: false,
        }));
    }
    claims.into_iter().collect()
}

/// The owners that listings and labels name, by name or else by category: all owners if there are several.
fn conflicts(claims: &[Claim]) -> Vec<String> {
    let mut named: BTreeMap<String, &str> = BTreeMap::new();
    for claim in claims {
        let name = claim.entity.clone().unwrap_or_else(|| claim.category.to_owned());
        named.insert(name, claim.category);
    }
    if named.len() < 2 {
        return Vec::new();
    }
    named.into_iter().map(|(name, category)| with_category(&name, category)).collect()
}

fn with_category(name: &str, category: &str) -> String {
    if name == category { name.to_owned() } else { format!("{name} ({category})") }
}

fn shown(
    subject: &CanonicalAddress,
    cluster: &StoredCluster,
    claims: Vec<Claim>,
    most: usize,
) -> ClusterAnswer {
    let chain = subject.chain();
    let text = |owner: &ScriptOwner| owner.address(chain).map(|address| address.to_string());
    let evidence = |found: &ClusterEvidence| {
        let TransactionRef { txid, height, time } = found.transaction;
        Evidence {
            transaction: txid.to_string(),
            height,
            time,
            spent: [text(&found.member), text(&found.with)],
            conclusive: found.is_conclusive,
            confirmed_by: found.confirmed_by.map(|place| place.txid.to_string()),
        }
    };
    let subject_owner = ScriptOwner::from_address(subject);
    let is_subject = |member: &StoredClusterMember| Some(&member.owner) == subject_owner.as_ref();
    let own = cluster.members.iter().position(is_subject).unwrap_or_default();
    let member = |member: &StoredClusterMember| ShownMember {
        address: text(&member.owner),
        first_seen: member.statistics.first_seen,
        last_seen: member.statistics.last_seen,
        evidence: member.evidence.as_ref().map(evidence),
    };
    ClusterAnswer {
        blockchain: chain,
        address: subject.to_string(),
        cluster: text(&cluster.id),
        size: cluster.size,
        first_seen: cluster.first_seen,
        last_seen: cluster.members.iter().map(|member| member.statistics.last_seen).max(),
        members_searched: cluster.members.len(),
        conflicts: conflicts(&claims),
        claims,
        members: cluster.members.iter().take(most.max(own + 1)).map(member).collect(),
    }
}

fn draw(shown: &ClusterAnswer) -> String {
    let row = |member: &ShownMember| ClusterRow {
        address: member.address.clone().unwrap_or_else(|| "(no address)".to_owned()),
        seen: [member.first_seen, member.last_seen],
        evidence: member.evidence.as_ref().map(sentence),
    };
    let claim = |claim: &Claim| {
        let name = claim.entity.as_deref().unwrap_or("name not known");
        let verb = if claim.listed { "listed" } else { "labelled" };
        format!("{}: {verb} {}, {name} ({})", claim.address, claim.category, claim.source)
    };
    let page = ClusterPage {
        cluster: shown.cluster.as_deref().unwrap_or("(no address)"),
        chain: shown.blockchain.info().name,
        size: shown.size,
        seen: [Some(shown.first_seen), shown.last_seen],
        searched: shown.members_searched,
        conflicts: &shown.conflicts,
        claims: shown.claims.iter().map(claim).collect(),
        members: shown.members.iter().map(row).collect(),
    };
    render::cluster(&page, text_width())
}

fn sentence(evidence: &Evidence) -> String {
    let [member, with] = &evidence.spent;
    let name = |address: &Option<String>| address.as_deref().unwrap_or("(no address)").to_owned();
    let Evidence { transaction, height, conclusive, confirmed_by, .. } = evidence;
    let strength = match (conclusive, confirmed_by) {
        (true, _) => String::new(),
        (false, Some(second)) => {
            format!("; may have two parties, such as a PayJoin; confirmed by {second}")
        }
        (false, None) => "; may have two parties, such as a PayJoin; not confirmed".to_owned(),
    };
    format!(
        "{} and {} are spent together in {transaction}, block {height}{strength}",
        name(member),
        name(with)
    )
}
