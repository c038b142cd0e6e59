//! `assay tx`: one transaction of an ingested chain.

use std::{io::Write, sync::Arc};

use assay_address::{CanonicalAddress, ChainId, LedgerKind};
use assay_engine::{
    evidence::Pattern,
    policy::Policy,
    utxo::{SideEntry, TransactionKind, TransactionSide, TransactionView, Txid, txid::InvalidTxid},
};
use assay_intel::IntelSnapshot;
use assay_service::chains::{
    forms::TransactionWithForms, graph::transaction, reader::ChainReader, remote::RemoteReader,
};
use clap::Args;
use jiff::{Timestamp, civil::Date};
use serde::Serialize;

use super::{
    CommandOutcome, Context, Failure, check::policy, graph, output, print_json,
    terminal::text_width, tx_accounts,
};
use crate::render::{self, SideRow, SideTable, Unit};

const EXAMPLES: &str = "\
Examples:
  assay tx btc f4184fc596403b9d638783cf57adfe4c75c605f6356fbc91338530e9831e9e16
  assay tx btc TXID --json | jq '.outputs[].address'
  assay tx eth TXID";

/// Show a transaction of an ingested chain: inputs and outputs, or transfers, with known entities
///
/// On an account chain also the payments to which the transfers amount.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct TxArgs {
    /// Blockchain, such as btc
    chain: ChainId,
    /// Transaction id (hexadecimal)
    txid: String,
    /// Largest number of inputs and of outputs to show, the largest first, or of transfers
    #[arg(long, value_name = "NUMBER", default_value_t = 50)]
    most: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct TransactionAnswer {
    blockchain: ChainId,
    txid: String,
    height: u64,
    time: Timestamp,
    kind: &'static str,
    coinjoin: Option<&'static str>,
    /// Forms (structural patterns) of the transaction, such as `consolidation`.
    patterns: Vec<&'static str>,
    /// Null where an input's value is not known.
    fee: Option<String>,
    /// Total value of the inputs as far as it is known, `inputs_unknown` included.
    inputs_total: String,
    /// Minimum total value of the inputs whose value is unknown, derived from the value of the
    /// outputs.
    inputs_unknown: String,
    inputs_count: u64,
    /// Inputs whose value and owner are not known, because they come from before the first block.
    inputs_unknown_count: u64,
    outputs_total: String,
    outputs_count: u64,
    inputs: Vec<ShownEntry>,
    outputs: Vec<ShownEntry>,
}

#[derive(Serialize)]
struct ShownEntry {
    index: u32,
    outpoint: String,
    address: Option<String>,
    value: String,
    category: Option<&'static str>,
    entity: Option<String>,
}

pub(super) async fn run(args: &TxArgs, context: &Context) -> Result<CommandOutcome, Failure> {
    let databases = context.open_databases().await?;
    let store = &databases.store;
    if args.chain.info().ledger == LedgerKind::Account {
        let (named, at) = ((args.chain, args.txid.as_str()), (&databases, context));
        return tx_accounts::run(named, args.most, args.json, at).await;
    }
    let txid: Txid =
        args.txid.parse().map_err(|error: InvalidTxid| Failure::Usage(error.to_string()))?;
    // All inputs are read, so that the missing ones are those of unknown value.
    let answer = if let Some(servers) = databases.chain_servers.servers_of(args.chain) {
        let reader = RemoteReader::new(Arc::clone(servers));
        let read = reader.transaction(&txid, u32::MAX).await;
        read.map_err(|error| Failure::Failed(error.to_string()))?
    } else {
        let graph = graph(&databases.graphs, args.chain)?;
        transaction(&*graph, args.chain, &txid, u32::MAX).await?
    };
    let TransactionWithForms { transaction, forms } = answer.ok_or_else(|| {
        Failure::Input(format!("there is no transaction {} on {}", args.txid, args.chain))
    })?;
    let snapshot = IntelSnapshot::load(&**store, None).await?;
    let today = snapshot.day(context.clock.now());
    let policy = policy(&**store, None).await?;
    let names = EntityNames { chain: args.chain, snapshot, policy, today };
    let most = usize::try_from(args.most).unwrap_or(usize::MAX);
    let shown = shown(&names, &transaction, &forms, most);
    if args.json {
        print_json(&shown)?;
    } else {
        write!(output(), "{}", draw(args.chain, &transaction, &shown))?;
    }
    Ok(CommandOutcome::Success)
}

/// Looks up the entities that own addresses.
struct EntityNames {
    chain: ChainId,
    snapshot: IntelSnapshot,
    policy: Arc<Policy>,
    today: Date,
}

fn shown(
    names: &EntityNames,
    transaction: &TransactionView,
    forms: &[Pattern],
    most: usize,
) -> TransactionAnswer {
    let (kind, coinjoin) = match transaction.kind {
        TransactionKind::Payment => ("payment", None),
        TransactionKind::Coinbase => ("coinbase", None),
        TransactionKind::Coinjoin(kind) => ("coinjoin", Some(kind.as_str())),
    };
    let shown_side = |side: &TransactionSide| {
        side.largest.iter().take(most).map(|entry| shown_entry(names, entry)).collect()
    };
    let unknown = unknown_count(&transaction.inputs);
    TransactionAnswer {
        blockchain: names.chain,
        txid: transaction.txid.to_string(),
        height: transaction.height,
        time: transaction.time,
        kind,
        coinjoin,
        patterns: forms.iter().map(|form| form.as_str()).collect(),
        fee: (unknown == 0).then(|| transaction.fee().to_string()),
        inputs_total: transaction.inputs.total.to_string(),
        inputs_unknown: transaction.inputs.unknown.to_string(),
        inputs_count: transaction.inputs.count,
        inputs_unknown_count: unknown,
        outputs_total: transaction.outputs.total.to_string(),
        outputs_count: transaction.outputs.count,
        inputs: shown_side(&transaction.inputs),
        outputs: shown_side(&transaction.outputs),
    }
}

/// Number of entries whose outputs are not known: those missing from `largest`, which holds all known entries.
fn unknown_count(side: &TransactionSide) -> u64 {
    side.count.saturating_sub(u64::try_from(side.largest.len()).unwrap_or(u64::MAX))
}

fn shown_entry(names: &EntityNames, entry: &SideEntry) -> ShownEntry {
    let owner = &entry.output.owner;
    let attribution = names.snapshot.attribution(names.chain, owner, &names.policy, names.today);
    let address = owner.address(names.chain);
    let end = attribution.end;
    ShownEntry {
        index: entry.index,
        outpoint: entry.outpoint.to_string(),
        address: address.as_ref().map(CanonicalAddress::to_string),
        value: entry.output.value.to_string(),
        category: end.as_ref().map(|end| end.category.as_str()),
        entity: end.and_then(|end| end.entity).map(|entity| entity.to_string()),
    }
}

fn draw(chain: ChainId, transaction: &TransactionView, shown: &TransactionAnswer) -> String {
    let info = chain.info();
    let kind = shown
        .coinjoin
        .map_or_else(|| shown.kind.to_owned(), |coinjoin| format!("{} ({coinjoin})", shown.kind));
    let fee = match shown.fee {
        Some(_) => Unit::native(chain).text(transaction.fee()),
        None => "unknown".to_owned(),
    };
    let head = [
        format!("{}  {}", shown.txid, info.name),
        format!("block {}  {}  {kind}  fee {fee}", shown.height, shown.time),
    ];
    let mut head = head.to_vec();
    if !shown.patterns.is_empty() {
        let names: Vec<String> = shown.patterns.iter().map(|name| name.replace('_', " ")).collect();
        head.push(format!("patterns: {}", names.join(", ")));
    }
    let unknown = (shown.inputs_unknown_count, transaction.inputs.unknown);
    let sides = [
        side("Inputs", &transaction.inputs, &shown.inputs, unknown),
        side("Outputs", &transaction.outputs, &shown.outputs, (0, 0)),
    ];
    render::transaction(chain, &head, &sides, text_width())
}

fn side<'a>(
    title: &'static str,
    all: &TransactionSide,
    shown: &'a [ShownEntry],
    unknown: (u64, u128),
) -> SideTable<'a> {
    let row = |entry: &'a ShownEntry| SideRow {
        index: entry.index,
        value: entry.value.parse().unwrap_or_default(),
        address: entry.address.as_deref(),
        owner: match (&entry.entity, entry.category) {
            (Some(entity), Some(category)) => Some(format!("{entity} ({category})")),
            (_, category) => category.map(str::to_owned),
        },
    };
    let rows = shown.iter().map(row).collect();
    SideTable { title, count: all.count, total: all.total, unknown, rows }
}
