//! `assay check-transfer`: the risk assessment of one transfer.

use std::io::Write;

use assay_address::{ChainId, LedgerKind};
use assay_engine::{
    account::{AccountTransferSelector, PublishedPlace, parse_transaction},
    assess_transfer,
    assessment::Assessment,
    transfer::{TransferDirection, TransferQuery, TransferSelector},
    utxo::OutputSelector,
};
use assay_intel::IntelSnapshot;
use assay_service::{
    TransferError,
    chains::{registry::ChainReaders, trace::transfer_facts},
};
use clap::{Args, ValueEnum};
use jiff::Timestamp;
use serde::Serialize;

use super::{
    CommandOutcome, Context, Failure,
    check::{directory, done, policy, tell_outdated_compositions},
    output, parse_address, print_json,
    terminal::text_width,
};
use crate::render;

const EXAMPLES: &str = "\
Examples:
  assay check-transfer btc TXID --output 0 --direction deposit
  assay check-transfer btc TXID --address ADDRESS --direction withdrawal --json
  assay check-transfer eth TXID --log-index 12 --direction deposit";

/// Assess the risk of one transfer: outputs of one transaction, or one transfer of an account chain
///
/// A deposit is assessed by the origins of its money, a withdrawal by its receiver and by the destinations
/// of its money. Reads the database directly: no server is needed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct CheckTransferArgs {
    /// Blockchain, such as btc
    chain: ChainId,
    /// Transaction id (hexadecimal)
    transaction: String,
    /// Index of the output that is the transfer, from 0
    #[arg(long, value_name = "INDEX", conflicts_with = "address")]
    output: Option<u32>,
    /// Index of the transfer's event log in its block, on an account chain
    #[arg(long, value_name = "INDEX", conflicts_with = "trace_index")]
    log_index: Option<u32>,
    /// Address of the transfer's call trace, such as 0,1, or its index, on an account chain
    #[arg(long, value_name = "INDEX")]
    trace_index: Option<String>,
    /// Receiver, whose outputs in the transaction are the transfer
    #[arg(long)]
    address: Option<String>,
    /// Direction of the transfer
    #[arg(long)]
    direction: Direction,
    /// Name of the risk policy [default: default; with --sample: sample]
    #[arg(long, value_name = "NAME")]
    policy: Option<String>,
    /// Print every path of the funds, all evidence and the coverage in full
    #[arg(long, conflicts_with = "json")]
    all: bool,
    /// Print the JSON of the API
    #[arg(long)]
    json: bool,
    /// Exit with code 10 for review, 11 for block and 12 for indeterminate
    #[arg(long)]
    exit_code: bool,
}

/// Direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Direction {
    /// Assess the origins of the money
    Deposit,
    /// Assess the receiver of the money
    Withdrawal,
}

#[derive(Serialize)]
struct Answer<'a> {
    direction: TransferDirection,
    address_submitted: &'a str,
    #[serde(flatten)]
    assessment: &'a Assessment,
    assessed_at: Timestamp,
    assessment_digest: String,
}

pub(super) async fn run(
    args: &CheckTransferArgs,
    context: &Context,
) -> Result<CommandOutcome, Failure> {
    let query = query(args)?;
    let databases = context.open_databases().await?;
    let store = &databases.store;
    let snapshot = IntelSnapshot::load(&**store, None).await?;
    let policy = policy(&**store, args.policy.as_deref()).await?;
    let now = context.clock.now();
    let chains = ChainReaders::open(&databases, &directory(&**store).await?).await?;
    let facts = transfer_facts(&chains, &snapshot, &policy, &query, now).await?;
    let assessment = assess_transfer(&facts, &policy, now);

    if args.json {
        let answer = Answer {
            direction: query.direction,
            address_submitted: args.address.as_deref().unwrap_or(&assessment.address),
            assessment: &assessment,
            assessed_at: now,
            assessment_digest: assessment.digest(),
        };
        print_json(&answer)?;
    } else {
        let receiver = facts.transfer.receiver();
        let draw = if args.all { render::full } else { render::summary };
        let text = draw(receiver, &assessment, None, now, text_width());
        write!(output(), "{text}")?;
    }
    tell_outdated_compositions(&assessment);
    Ok(done(args.exit_code, assessment.verdict))
}

fn query(args: &CheckTransferArgs) -> Result<TransferQuery, Failure> {
    let txid = parse_transaction(args.chain, &args.transaction)
        .map_err(|error| Failure::Usage(error.to_string()))?;
    let selector = if args.chain.info().ledger == LedgerKind::Account {
        TransferSelector::OfAccounts(of_accounts(args)?)
    } else {
        TransferSelector::Outputs(outputs(args)?)
    };
    let direction = match args.direction {
        Direction::Deposit => TransferDirection::Deposit,
        Direction::Withdrawal => TransferDirection::Withdrawal,
    };
    Ok(TransferQuery { chain: args.chain, txid, selector, direction })
}

fn outputs(args: &CheckTransferArgs) -> Result<OutputSelector, Failure> {
    if args.log_index.is_some() || args.trace_index.is_some() {
        let text = format!("transfers on {} are outputs: use --output or --address", args.chain);
        return Err(Failure::Usage(text));
    }
    match (args.output, &args.address) {
        (Some(index), _) => Ok(OutputSelector::Index(index)),
        (None, Some(address)) => Ok(OutputSelector::Address(parse_address(args.chain, address)?)),
        (None, None) => {
            Err(Failure::Usage("--output INDEX or --address ADDRESS is required".into()))
        }
    }
}

fn of_accounts(args: &CheckTransferArgs) -> Result<AccountTransferSelector, Failure> {
    if args.output.is_some() {
        return Err(Failure::Usage(format!(
            "transactions on {} have no outputs: where one has several transfers, use --log-index, --trace-index or --address",
            args.chain
        )));
    }
    let log = args.log_index.map(PublishedPlace::Log);
    let trace = args.trace_index.as_deref().map(|trace| PublishedPlace::Trace(trace.into()));
    let receiver =
        args.address.as_deref().map(|text| parse_address(args.chain, text)).transpose()?;
    Ok(AccountTransferSelector { place: log.or(trace), receiver })
}

impl From<TransferError> for Failure {
    fn from(error: TransferError) -> Self {
        match error {
            TransferError::Read(error) => error.into(),
            TransferError::Unavailable(..) => Self::Failed(error.to_string()),
            TransferError::NotFollowed(_)
            | TransferError::UnknownTransaction(_)
            | TransferError::Invalid(_)
            | TransferError::InvalidOfAccounts(_)
            | TransferError::OtherLedger(_) => Self::Input(error.to_string()),
        }
    }
}
