//! Body of a check of one transfer, or of a withdrawal that is not sent yet.

use assay_address::{ChainId, LedgerKind};
use assay_engine::{
    account::{AccountTransferSelector, PublishedPlace, parse_transaction},
    planned::{PlannedAsset, PlannedWithdrawal},
    transfer::{TransferDirection, TransferQuery, TransferSelector},
    utxo::OutputSelector,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    chain::parse_chain,
    check::{parse_address, parse_address_of, require_reference},
    json,
    problem::{Code, Problem},
};

/// Request to check one transfer: outputs of one transaction, named either by `output` or by `address`; on an account chain,
/// one transfer, named by `log_index`, `trace_index` or `address` where the transaction has several. A withdrawal that is not
/// sent yet has no `transaction`, but `to`, `asset` and `amount`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TransferRequest {
    /// Blockchain: its identifier (`btc`, `ltc` and others) or a well-known name, in any letter case.
    #[schemars(length(min = 1))]
    pub blockchain: String,
    /// Identifier of the transaction, as explorers show it: 64 hexadecimal digits; on an account chain with or without
    /// `0x`. Left out for a withdrawal that is not sent yet.
    #[serde(default)]
    #[schemars(regex(pattern = "^(0[Xx])?[0-9A-Fa-f]{64}$"))]
    pub transaction: Option<String>,
    /// Index of the output that is the transfer, from 0; not on an account chain.
    #[serde(default)]
    pub output: Option<u32>,
    /// Index of the event log of the transfer in its block, on an account chain.
    #[serde(default)]
    pub log_index: Option<u32>,
    /// Address of the call trace of the transfer, such as `0,1`, or its index, as published, on an account chain.
    #[serde(default)]
    #[schemars(length(max = 128))]
    pub trace_index: Option<String>,
    /// Receiver, whose outputs in the transaction are the transfer, in any form that the blockchain allows.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub address: Option<String>,
    /// Receiver of a withdrawal that is not sent yet, in any form that the blockchain allows.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub to: Option<String>,
    /// Sender of a withdrawal that is not sent yet, where it is known.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub from: Option<String>,
    /// Asset of a withdrawal that is not sent yet: `native`, the address of the token's contract, or the ticker of a token
    /// whose money is followed.
    #[serde(default)]
    #[schemars(length(min = 1, max = 128))]
    pub asset: Option<String>,
    /// Amount of a withdrawal that is not sent yet, in base units (satoshi, wei): whole, decimal, above zero and below
    /// 2^128.
    #[serde(default)]
    #[schemars(regex(pattern = "^[0-9]{1,39}$"))]
    pub amount: Option<String>,
    /// Direction: `deposit` assesses the origins of the money, `withdrawal` its receiver.
    pub direction: TransferDirection,
    /// Your own reference, at most 128 characters; repeated in the answer.
    #[serde(default)]
    #[schemars(length(max = 128))]
    pub reference: Option<String>,
}

impl TransferRequest {
    /// Reads the body of a check of a transfer.
    ///
    /// # Errors
    ///
    /// Returns a problem that describes the error.
    pub fn read(bytes: &[u8]) -> Result<Self, Problem> {
        json::parse(bytes)
    }

    /// Returns the transfer to check. First refuses a reference that is too long.
    ///
    /// # Errors
    ///
    /// Returns a problem that names the wrong field and describes a valid value.
    pub fn subject(&self) -> Result<TransferSubject, Problem> {
        require_reference(self.reference.as_deref())?;
        let chain = parse_chain(&self.blockchain)?;
        match &self.transaction {
            Some(transaction) => self.query(chain, transaction).map(TransferSubject::Sent),
            None => self.planned(chain).map(TransferSubject::Planned),
        }
    }

    /// The withdrawal that is not sent yet.
    fn planned(&self, chain: ChainId) -> Result<PlannedWithdrawal, Problem> {
        if self.direction != TransferDirection::Withdrawal {
            let message = "required for a deposit: send the identifier of the transaction";
            return Err(invalid("transaction", message.into()));
        }
        let of_sent = [
            ("output", self.output.is_some()),
            ("log_index", self.log_index.is_some()),
            ("trace_index", self.trace_index.is_some()),
            ("address", self.address.is_some()),
        ];
        if let Some((field, _)) = of_sent.iter().find(|(_, is_sent)| *is_sent) {
            let message = "names a transfer within a `transaction`, which is missing: send it, or the receiver of a \
                           withdrawal that is not sent yet as `to`, beside `asset` and `amount`";
            return Err(invalid(field, message.into()));
        }
        let required = |field: &str, value: &Option<String>| {
            value.clone().ok_or_else(|| {
                let message = "required for a withdrawal without a `transaction`";
                invalid(field, message.into())
            })
        };
        let to = required("to", &self.to)?;
        let asset = required("asset", &self.asset)?;
        let amount = required("amount", &self.amount)?;
        let from = self.from.as_deref().map(|from| parse_address_of("from", chain, from));
        Ok(PlannedWithdrawal {
            to: parse_address_of("to", chain, &to)?,
            from: from.transpose()?,
            asset: PlannedAsset::parse(chain, &asset)
                .map_err(|error| invalid("asset", error.to_string()))?,
            amount: parse_amount(&amount)?,
        })
    }

    /// The transfer of a transaction.
    fn query(&self, chain: ChainId, transaction: &str) -> Result<TransferQuery, Problem> {
        let of_planned = [
            ("to", self.to.is_some()),
            ("from", self.from.is_some()),
            ("asset", self.asset.is_some()),
            ("amount", self.amount.is_some()),
        ];
        if let Some((field, _)) = of_planned.iter().find(|(_, is_sent)| *is_sent) {
            let message =
                "belongs to a withdrawal that is not sent yet: leave it out beside `transaction`";
            return Err(invalid(field, message.into()));
        }
        let txid = parse_transaction(chain, transaction)
            .map_err(|error| invalid("transaction", format!("{error}")))?;
        let selector = if chain.info().ledger == LedgerKind::Account {
            TransferSelector::OfAccounts(self.of_accounts(chain)?)
        } else {
            TransferSelector::Outputs(self.outputs(chain)?)
        };
        Ok(TransferQuery { chain, txid, selector, direction: self.direction })
    }

    /// The outputs that the request names.
    fn outputs(&self, chain: ChainId) -> Result<OutputSelector, Problem> {
        let places =
            [("log_index", self.log_index.is_some()), ("trace_index", self.trace_index.is_some())];
        if let Some((field, _)) = places.iter().find(|(_, is_sent)| *is_sent) {
            let message = format!(
                "transfers on {chain} are outputs: send the index of the output as `output`, or its address as `address`"
            );
            return Err(invalid(field, message));
        }
        let selector = match (self.output, &self.address) {
            (Some(index), None) => OutputSelector::Index(index),
            (None, Some(address)) => OutputSelector::Address(parse_address(chain, address)?),
            (Some(_), Some(_)) => {
                let message = "send either `output` or `address`, not both";
                return Err(invalid("output", message.into()).field("address", message));
            }
            (None, None) => {
                let message =
                    "send the index of the output as `output`, or its address as `address`";
                return Err(invalid("output", message.into()).field("address", message));
            }
        };
        Ok(selector)
    }

    /// The transfer of an account chain that the request names.
    fn of_accounts(&self, chain: ChainId) -> Result<AccountTransferSelector, Problem> {
        if self.output.is_some() {
            let message = format!(
                "transactions on {chain} have no outputs: where one has several transfers, send `log_index` or `trace_index`, \
                 as explorers show it, or the receiver as `address`"
            );
            return Err(invalid("output", message));
        }
        let place = match (self.log_index, &self.trace_index) {
            (Some(_), Some(_)) => {
                let message = "send either `log_index` or `trace_index`, not both";
                return Err(invalid("log_index", message.into()).field("trace_index", message));
            }
            (Some(index), None) => Some(PublishedPlace::Log(index)),
            (None, Some(trace)) => Some(PublishedPlace::Trace(trace.as_str().into())),
            (None, None) => None,
        };
        let receiver =
            self.address.as_deref().map(|text| parse_address(chain, text)).transpose()?;
        Ok(AccountTransferSelector { place, receiver })
    }
}

/// The transfer of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransferSubject {
    /// A transfer of a transaction.
    Sent(TransferQuery),
    /// A withdrawal that is not sent yet.
    Planned(PlannedWithdrawal),
}

/// Parses an amount in base units.
fn parse_amount(text: &str) -> Result<u128, Problem> {
    let is_decimal = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let amount = is_decimal.then(|| text.parse::<u128>().ok()).flatten();
    amount.filter(|amount| *amount > 0).ok_or_else(|| {
        let message = "write base units (satoshi, wei) as a whole decimal number, above zero and below 2^128, such as \
                       \"150000000\"";
        invalid("amount", message.into())
    })
}

fn invalid(field: &str, message: String) -> Problem {
    Problem::new(Code::InvalidRequest, format!("{field}: {message}")).field(field, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TXID: &str = "f4184fc596403b9d638783cf57adfe4c75c605f6356fbc91338530e9831e9e16";

    fn sent(request: &TransferRequest) -> Result<TransferQuery, Problem> {
        match request.subject()? {
            TransferSubject::Sent(query) => Ok(query),
            TransferSubject::Planned(planned) => panic!("{planned:?}"),
        }
    }

    fn query(fields: &str) -> Result<TransferQuery, (String, Vec<String>)> {
        let body = format!(r#"{{"blockchain": "btc", "transaction": "{TXID}", {fields}}}"#);
        let query = TransferRequest::read(body.as_bytes()).and_then(|request| sent(&request));
        query.map_err(|problem| {
            let details = problem.details("/", "");
            (details.code, details.errors.into_iter().map(|error| error.field).collect())
        })
    }

    #[test]
    fn an_output_is_named_by_its_index_or_its_address() {
        let by_index = query(r#""output": 1, "direction": "deposit""#).unwrap();
        assert_eq!(by_index.selector, TransferSelector::Outputs(OutputSelector::Index(1)));
        assert_eq!(by_index.txid.to_string(), TXID);
        let address = "1Q2TWHE3GMdB6BZKafqwxXtWAWgFt5Jvm3";
        let by_address =
            query(&format!(r#""address": "{address}", "direction": "withdrawal""#)).unwrap();
        let TransferSelector::Outputs(OutputSelector::Address(paid)) = by_address.selector else {
            panic!("an address")
        };
        assert_eq!(paid.as_str(), address);
        assert_eq!(by_address.direction, TransferDirection::Withdrawal);
    }

    fn query_of(chain: &str, fields: &str) -> Result<TransferQuery, (String, Vec<String>)> {
        let body = format!(
            r#"{{"blockchain": "{chain}", "transaction": "0x{TXID}", "direction": "deposit"{fields}}}"#
        );
        let query = TransferRequest::read(body.as_bytes()).and_then(|request| sent(&request));
        query.map_err(|problem| {
            let details = problem.details("/", "");
            (details.code, details.errors.into_iter().map(|error| error.field).collect())
        })
    }

    #[test]
    fn a_transfer_of_an_account_chain_is_named_by_its_place_or_receiver_or_not_at_all() {
        let selector = |fields| match query_of("eth", fields).unwrap().selector {
            TransferSelector::OfAccounts(selector) => selector,
            TransferSelector::Outputs(outputs) => panic!("{outputs:?}"),
        };
        assert_eq!(selector(""), AccountTransferSelector::default());
        let place = |fields| selector(fields).place;
        assert_eq!(place(r#", "log_index": 12"#), Some(PublishedPlace::Log(12)));
        let trace = PublishedPlace::Trace("0,1".into());
        assert_eq!(place(r#", "trace_index": "0,1""#), Some(trace));
        let receiver = "0xdAC17F958D2ee523a2206206994597C13D831ec7";
        let paid = selector(&format!(r#", "address": "{receiver}""#)).receiver.unwrap();
        assert_eq!(paid.as_str(), receiver);
        assert_eq!(query_of("eth", "").unwrap().txid.to_string(), TXID);
    }

    #[test]
    fn each_ledger_refuses_the_fields_of_the_other() {
        let wrong = |chain, fields| query_of(chain, fields).unwrap_err().1;
        assert_eq!(wrong("eth", r#", "output": 0"#), ["output"]);
        let both = r#", "log_index": 1, "trace_index": "0""#;
        assert_eq!(wrong("trx", both), ["log_index", "trace_index"]);
        assert_eq!(wrong("eth", r#", "address": "x""#), ["address"]);
        assert_eq!(wrong("eth", r#", "log_index": "12""#), ["log_index"]);
        // Identifiers on chains of outputs have no prefix.
        assert_eq!(wrong("btc", r#", "output": 0"#), ["transaction"]);
        assert_eq!(
            query(r#""trace_index": "0", "direction": "deposit""#).unwrap_err().1,
            ["trace_index"]
        );
    }

    #[test]
    fn a_wrong_field_is_named() {
        let wrong = |fields| query(fields).unwrap_err();
        let request = |fields: &[&str]| {
            let fields: Vec<String> = fields.iter().map(ToString::to_string).collect();
            ("invalid_request".to_owned(), fields)
        };
        let both = r#""output": 1, "address": "x", "direction": "deposit""#;
        assert_eq!(wrong(both), request(&["output", "address"]));
        assert_eq!(wrong(r#""direction": "deposit""#), request(&["output", "address"]));
        assert_eq!(wrong(r#""output": 1"#), request(&["direction"]));
        assert_eq!(wrong(r#""output": -1, "direction": "deposit""#), request(&["output"]));
        assert_eq!(wrong(r#""output": 1, "direction": "sideways""#), request(&["direction"]));
        assert_eq!(
            wrong(r#""output": 1, "log_index": 1, "direction": "deposit""#),
            request(&["log_index"])
        );
        let (code, fields) = wrong(r#""address": "0x1", "direction": "deposit""#);
        assert_eq!((&*code, fields), ("invalid_address", vec!["address".to_owned()]));
        let short =
            r#"{"blockchain": "btc", "transaction": "f4", "output": 0, "direction": "deposit"}"#;
        let problem = sent(&TransferRequest::read(short.as_bytes()).unwrap()).unwrap_err();
        assert_eq!(problem.details("/", "").errors[0].field, "transaction");
    }

    fn planned(chain: &str, fields: &str) -> Result<PlannedWithdrawal, (String, Vec<String>)> {
        let body = format!(r#"{{"blockchain": "{chain}", {fields}}}"#);
        let subject = TransferRequest::read(body.as_bytes()).and_then(|request| request.subject());
        let subject = subject.map_err(|problem| {
            let details = problem.details("/", "");
            (details.code, details.errors.into_iter().map(|error| error.field).collect())
        })?;
        match subject {
            TransferSubject::Planned(planned) => Ok(planned),
            TransferSubject::Sent(query) => panic!("{query:?}"),
        }
    }

    const TO: &str = r#""to": "1Q2TWHE3GMdB6BZKafqwxXtWAWgFt5Jvm3", "direction": "withdrawal""#;

    #[test]
    fn a_withdrawal_that_is_not_sent_yet_has_a_receiver_an_asset_and_an_amount() {
        let fields = format!(r#"{TO}, "asset": "native", "amount": "150000000""#);
        let sent = planned("btc", &fields).unwrap();
        assert_eq!(sent.to.as_str(), "1Q2TWHE3GMdB6BZKafqwxXtWAWgFt5Jvm3");
        assert_eq!((sent.amount, sent.asset.unit(), sent.from), (150_000_000, "BTC", None));
        let most = u128::MAX;
        let fields = format!(r#"{TO}, "asset": "BTC", "amount": "{most}""#);
        assert_eq!(planned("btc", &fields).unwrap().amount, most);
    }

    #[test]
    fn a_wrong_field_of_a_withdrawal_is_named() {
        let rest = r#""asset": "native", "amount": "1""#;
        for (fields, wrong) in [
            (format!(r#"{rest}, "direction": "withdrawal""#), "to"),
            (format!(r#"{TO}, "amount": "1""#), "asset"),
            (format!(r#"{TO}, "asset": "native""#), "amount"),
            (format!(r#"{TO}, {rest}, "output": 0"#), "output"),
            (format!(r#"{TO}, {rest}, "address": "x""#), "address"),
            (format!(r#"{TO}, "asset": "USDT", "amount": "1""#), "asset"),
            (format!(r#"{TO}, {rest}, "from": "x""#), "from"),
            (format!(r#"{TO}, {rest}, "transaction": "{TXID}""#), "to"),
            (TO.replace("withdrawal", "deposit"), "transaction"),
        ] {
            assert_eq!(planned("btc", &fields).unwrap_err().1, [wrong], "{fields}");
        }
        let beyond = format!("{}0", u128::MAX);
        for amount in ["0", "", "-1", "+1", "1.5", "1e8", "0x1", " 1", &beyond] {
            let fields = format!(r#"{TO}, "asset": "native", "amount": "{amount}""#);
            assert_eq!(planned("btc", &fields).unwrap_err().1, ["amount"], "{amount}");
        }
    }
}
