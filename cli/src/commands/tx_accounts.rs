//! `assay tx` on an account chain: transfers with their places, and the payments to which they amount.

use std::{io::Write, sync::Arc};

use assay_address::ChainId;
use assay_engine::{
    account::{
        AccountAddress, AssetId, Transfer, TransferKind, parse_transaction, scored_asset,
        transaction_text, whole_units,
    },
    policy::Policy,
    utxo::Txid,
};
use assay_intel::IntelSnapshot;
use assay_service::{
    Databases,
    chains::{
        booked::{BookedPayment, BookedTransaction},
        registry::ChainReaders,
    },
};
use jiff::{Timestamp, civil::Date};
use serde::Serialize;

use super::{
    CommandOutcome, Context, Failure,
    check::{directory, policy},
    output, print_json, require_graph,
    terminal::text_width,
};
use crate::render::{self, Unit, counted};

#[derive(Serialize)]
struct TransactionAnswer {
    blockchain: ChainId,
    txid: String,
    height: u64,
    time: Timestamp,
    /// Account that sent the transaction; null where it is not known.
    initiator: Option<ShownAccount>,
    transfers_count: u64,
    transfers: Vec<ShownTransfer>,
    /// Payments of followed assets after netting: what went both ways cancels, and accounts that pass money on are left out.
    payments: Vec<ShownPayment>,
}

#[derive(Serialize)]
struct ShownTransfer {
    kind: &'static str,
    place: String,
    /// `native` or the address of the token's contract.
    asset: String,
    /// Ticker of a followed asset; null for other tokens.
    ticker: Option<&'static str>,
    /// Amount in base units.
    amount: String,
    from: ShownAccount,
    to: ShownAccount,
    #[serde(skip)]
    text: String,
}

#[derive(Serialize)]
struct ShownPayment {
    asset: String,
    ticker: &'static str,
    amount: String,
    /// Payer; null for new coins.
    from: Option<ShownAccount>,
    /// Receiver; null for destroyed units.
    to: Option<ShownAccount>,
    #[serde(skip)]
    text: String,
}

#[derive(Serialize)]
struct ShownAccount {
    address: String,
    category: Option<&'static str>,
    entity: Option<String>,
}

/// Prints a transaction with at most `most` transfers.
pub(super) async fn run(
    (chain, txid): (ChainId, &str),
    most: u32,
    json: bool,
    (databases, context): (&Databases, &Context),
) -> Result<CommandOutcome, Failure> {
    let txid: Txid =
        parse_transaction(chain, txid).map_err(|error| Failure::Usage(error.to_string()))?;
    let store = &databases.store;
    let chains = ChainReaders::open(databases, &directory(&**store).await?).await?;
    let reader = require_graph(chain, chains.reader(chain))?;
    let snapshot = IntelSnapshot::load(&**store, None).await?;
    let now = context.clock.now();
    let today = snapshot.day(now);
    let found = reader.account_transaction(&txid, most, &snapshot, now).await?;
    let found = found.ok_or_else(|| {
        let txid = transaction_text(chain, txid);
        Failure::Input(format!("there is no transaction {txid} on {chain}"))
    })?;
    let policy = policy(&**store, None).await?;
    let shown = AccountNames { chain, snapshot, policy, today }.shown(&found);
    if json {
        return print_json(&shown);
    }
    write!(output(), "{}", draw(&shown))?;
    Ok(CommandOutcome::Success)
}

/// Looks up the entities that own accounts.
struct AccountNames {
    chain: ChainId,
    snapshot: IntelSnapshot,
    policy: Arc<Policy>,
    today: Date,
}

impl AccountNames {
    fn shown(&self, found: &BookedTransaction) -> TransactionAnswer {
        let BookedTransaction { transaction, transfers_count, payments } = found;
        let transfers = transaction.transfers.iter();
        TransactionAnswer {
            blockchain: self.chain,
            txid: transaction_text(self.chain, transaction.id),
            height: transaction.block,
            time: transaction.time,
            initiator: transaction.initiator.map(|account| self.account(account)),
            transfers_count: *transfers_count,
            transfers: transfers.map(|transfer| self.transfer(transfer)).collect(),
            payments: payments.iter().map(|payment| self.payment(payment)).collect(),
        }
    }

    fn transfer(&self, transfer: &Transfer) -> ShownTransfer {
        let asset = transfer.asset.text(self.chain);
        let scored = scored_asset(AssetId { chain: self.chain, asset: transfer.asset });
        let text = match scored {
            Some(scored) => {
                format!("{} {}", whole_units(transfer.amount, scored.decimals), scored.ticker)
            }
            None => format!("{} base units of {asset}", transfer.amount),
        };
        ShownTransfer {
            kind: transfer.kind.as_str(),
            place: transfer.place.to_string(),
            ticker: scored.map(|scored| scored.ticker),
            asset,
            amount: transfer.amount.to_string(),
            from: self.account(transfer.from),
            to: self.account(transfer.to),
            text,
        }
    }

    fn payment(&self, payment: &BookedPayment) -> ShownPayment {
        let ticker = payment.asset.ticker;
        ShownPayment {
            asset: payment.asset.id.asset.text(self.chain),
            ticker,
            amount: payment.amount.to_string(),
            from: payment.from.map(|account| self.account(account)),
            to: payment.to.map(|account| self.account(account)),
            text: Unit::new(self.chain, ticker).text(payment.amount),
        }
    }

    fn account(&self, account: AccountAddress) -> ShownAccount {
        let Self { chain, snapshot, policy, today } = self;
        let end = snapshot.account_attribution(*chain, account, policy, *today).end;
        let address = account.on(*chain);
        ShownAccount {
            address: address.map_or_else(|| account.to_string(), |it| it.as_str().to_owned()),
            category: end.as_ref().map(|end| end.category.as_str()),
            entity: end.and_then(|end| end.entity).map(|entity| entity.to_string()),
        }
    }
}

impl ShownAccount {
    fn text(&self) -> String {
        match (&self.entity, self.category) {
            (Some(entity), Some(category)) => format!("{} {entity} ({category})", self.address),
            (None, Some(category)) => format!("{} ({category})", self.address),
            (_, None) => self.address.clone(),
        }
    }
}

fn draw(shown: &TransactionAnswer) -> String {
    let sent_by = match &shown.initiator {
        Some(initiator) => format!("sent by {}", initiator.text()),
        None => "sender not known".to_owned(),
    };
    let head = [
        format!("{}  {}", shown.txid, shown.blockchain.info().name),
        format!("block {}  {}", shown.height, shown.time),
        sent_by,
    ];
    let transfers = shown.transfers.iter().map(|transfer| {
        let kind = if transfer.kind == TransferKind::Transfer.as_str() {
            String::new()
        } else {
            format!(" ({})", transfer.kind)
        };
        let (from, to) = (transfer.from.text(), transfer.to.text());
        format!("{}  {}{kind} from {from} to {to}", transfer.place, transfer.text)
    });
    let mut transfers: Vec<String> = transfers.collect();
    let count = shown.transfers_count;
    let more = count.saturating_sub(u64::try_from(transfers.len()).unwrap_or(u64::MAX));
    if more > 0 {
        transfers.push(format!("{more} more: raise --most to show them"));
    }
    let payments = shown.payments.iter().map(|payment| {
        let name = |account: &Option<ShownAccount>| {
            account.as_ref().map_or_else(|| "nobody".to_owned(), ShownAccount::text)
        };
        format!("{} from {} to {}", payment.text, name(&payment.from), name(&payment.to))
    });
    let sections = [
        (counted(count, "transfer", "transfers"), transfers),
        ("Payments to which the transfers amount".to_owned(), payments.collect()),
    ];
    render::sections(&head, &sections, text_width())
}
