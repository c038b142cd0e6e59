//! `assay check-transfer`: the risk assessment of one transfer, or of a withdrawal that is not sent yet.

use std::io::Write;

use assay_address::{ChainId, LedgerKind};
use assay_engine::{
    account::{AccountTransferSelector, PublishedPlace, parse_transaction},
    assess_planned, assess_transfer,
    assessment::Assessment,
    evidence::NeverFetched,
    facts::Facts,
    planned::{EarlierReceivers, PlannedAsset, PlannedFacts, PlannedWithdrawal},
    policy::Policy,
    transfer::{TransferDirection, TransferQuery, TransferSelector},
    utxo::OutputSelector,
};
use assay_intel::IntelSnapshot;
use assay_service::{
    TransferError,
    chains::{self, registry::ChainReaders, trace::transfer_facts},
    never_fetched,
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
use crate::render::{self, CheckRun};

const EXAMPLES: &str = "\
Examples:
  assay check-transfer btc TXID --output 0 --direction deposit
  assay check-transfer btc TXID --address ADDRESS --direction withdrawal --json
  assay check-transfer eth TXID --log-index 12 --direction deposit
  assay check-transfer eth --to ADDRESS --asset USDT --amount 2500000 --direction withdrawal";

/// Assess the risk of one transfer: outputs of one transaction, one transfer of an account chain, or a withdrawal before
/// it is sent
///
/// A deposit is assessed by the origins of its money, a withdrawal by its receiver and by the destinations
/// of its money. A withdrawal that is not sent yet has no transaction: --to, --asset and --amount name it, and
/// rules by the amount count, too. Reads the database directly: no server is needed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct CheckTransferArgs {
    /// Blockchain, such as btc
    chain: ChainId,
    /// Transaction id (hexadecimal)
    #[arg(required_unless_present = "to", conflicts_with = "to")]
    transaction: Option<String>,
    /// Receiver of a withdrawal that is not sent yet
    #[arg(
        long,
        value_name = "ADDRESS",
        requires = "amount",
        conflicts_with_all = ["output", "log_index", "trace_index", "address"]
    )]
    to: Option<String>,
    /// Sender of a withdrawal that is not sent yet
    #[arg(long, value_name = "ADDRESS", requires = "to")]
    from: Option<String>,
    /// Asset of a withdrawal that is not sent yet: native, the address of the token's contract, or its ticker
    #[arg(long, requires = "to", default_value = "native")]
    asset: String,
    /// Amount of a withdrawal that is not sent yet, in base units (satoshi, wei)
    #[arg(long, value_name = "BASE_UNITS", requires = "to")]
    amount: Option<u128>,
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
    check_id: &'a str,
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
    let subject = subject(args)?;
    let databases = context.open_databases().await?;
    let store = &databases.store;
    let snapshot = IntelSnapshot::load(&**store, None).await?;
    let policy = policy(&**store, args.policy.as_deref()).await?;
    let now = context.clock.now();
    let directory = directory(&**store).await?;
    let chains = ChainReaders::open(&databases, &directory).await?;
    let never_fetched = never_fetched(&directory, &snapshot);
    let (receiver, assessment) = match subject {
        Subject::Sent(query) => {
            let mut facts = transfer_facts(&chains, &snapshot, &policy, &query, now).await?;
            facts.receiver.never_fetched = never_fetched;
            let receiver = facts.transfer.receiver().clone();
            (receiver, assess_transfer(&facts, &policy, now))
        }
        Subject::Planned(withdrawal) => {
            let receiver = withdrawal.to.clone();
            let data = PlannedData { chains: &chains, snapshot: &snapshot, policy: &policy, now };
            (receiver, data.assess(withdrawal, never_fetched).await)
        }
    };
    let run = CheckRun { id: assay_system::new_id(now).to_string(), now, as_of: None };

    if args.json {
        let submitted = args.address.as_deref().or(args.to.as_deref());
        let answer = Answer {
            check_id: &run.id,
            direction: args.direction.into(),
            address_submitted: submitted.unwrap_or(&assessment.address),
            assessment: &assessment,
            assessed_at: now,
            assessment_digest: assessment.digest(),
        };
        print_json(&answer)?;
    } else {
        let draw = if args.all { render::full } else { render::summary };
        let text = draw(&receiver, &assessment, &run, text_width());
        write!(output(), "{text}")?;
    }
    tell_outdated_compositions(&assessment);
    Ok(done(args.exit_code, assessment.verdict))
}

/// The transfer that the arguments name.
enum Subject {
    /// A transfer of a transaction.
    Sent(TransferQuery),
    /// A withdrawal that is not sent yet.
    Planned(PlannedWithdrawal),
}

/// The data by which a withdrawal that is not sent yet is assessed.
struct PlannedData<'a> {
    chains: &'a ChainReaders,
    snapshot: &'a IntelSnapshot,
    policy: &'a Policy,
    now: Timestamp,
}

impl PlannedData<'_> {
    async fn assess(
        self,
        withdrawal: PlannedWithdrawal,
        never_fetched: Vec<NeverFetched>,
    ) -> Assessment {
        let Self { chains, snapshot, policy, now } = self;
        let receiver = chains::facts(chains, snapshot, policy, &withdrawal.to, now).await;
        let receiver = Facts { never_fetched, ..receiver };
        let from = withdrawal.from.as_ref();
        let sender = from.and_then(|from| snapshot.address_attribution(from, policy, now).end);
        // The command line has no tenant whose receivers are kept.
        let earlier_receivers = EarlierReceivers::NotKept;
        let facts = PlannedFacts { withdrawal, receiver, sender, earlier_receivers };
        assess_planned(&facts, policy, now)
    }
}

fn subject(args: &CheckTransferArgs) -> Result<Subject, Failure> {
    match (&args.transaction, &args.to) {
        (Some(transaction), _) => Ok(Subject::Sent(query(args, transaction)?)),
        (None, Some(to)) => Ok(Subject::Planned(planned(args, to)?)),
        (None, None) => Err(Failure::Usage("a transaction id or --to ADDRESS is required".into())),
    }
}

fn planned(args: &CheckTransferArgs, to: &str) -> Result<PlannedWithdrawal, Failure> {
    if args.direction == Direction::Deposit {
        let text = "a deposit is assessed by its transaction: --to is for a withdrawal";
        return Err(Failure::Usage(text.into()));
    }
    let from = args.from.as_deref().map(|from| parse_address(args.chain, from)).transpose()?;
    let amount = args.amount.filter(|amount| *amount > 0);
    let asset = PlannedAsset::parse(args.chain, &args.asset);
    Ok(PlannedWithdrawal {
        to: parse_address(args.chain, to)?,
        from,
        asset: asset.map_err(|error| Failure::Usage(format!("--asset: {error}")))?,
        amount: amount.ok_or_else(|| Failure::Usage("--amount is above zero".into()))?,
    })
}

fn query(args: &CheckTransferArgs, transaction: &str) -> Result<TransferQuery, Failure> {
    let txid = parse_transaction(args.chain, transaction)
        .map_err(|error| Failure::Usage(error.to_string()))?;
    let selector = if args.chain.info().ledger == LedgerKind::Account {
        TransferSelector::OfAccounts(of_accounts(args)?)
    } else {
        TransferSelector::Outputs(outputs(args)?)
    };
    Ok(TransferQuery { chain: args.chain, txid, selector, direction: args.direction.into() })
}

impl From<Direction> for TransferDirection {
    fn from(direction: Direction) -> Self {
        match direction {
            Direction::Deposit => Self::Deposit,
            Direction::Withdrawal => Self::Withdrawal,
        }
    }
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
