//! Body of a check of one transfer.

use assay_engine::{
    transfer::{TransferDirection, TransferQuery},
    utxo::{OutputSelector, Txid},
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    chain::parse_chain,
    check::{parse_address, require_reference},
    json,
    problem::{Code, Problem},
};

/// Request to check one transfer: outputs of one transaction, named either by `output` or by `address`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TransferRequest {
    /// Blockchain: its identifier (`btc`, `ltc` and others) or a well-known name, in any letter case.
    #[schemars(length(min = 1))]
    pub blockchain: String,
    /// Identifier of the transaction, as explorers show it: 64 hexadecimal digits.
    #[schemars(regex(pattern = "^[0-9A-Fa-f]{64}$"))]
    pub transaction: String,
    /// Index of the output that is the transfer, from 0.
    #[serde(default)]
    pub output: Option<u32>,
    /// Address whose outputs in the transaction are the transfer, in any form that the blockchain allows.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub address: Option<String>,
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
    pub fn query(&self) -> Result<TransferQuery, Problem> {
        require_reference(self.reference.as_deref())?;
        let chain = parse_chain(&self.blockchain)?;
        let invalid = |field: &str, message: String| {
            Problem::new(Code::InvalidRequest, format!("{field}: {message}")).field(field, message)
        };
        let txid: Txid =
            self.transaction.parse().map_err(|error| invalid("transaction", format!("{error}")))?;
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
        Ok(TransferQuery { chain, txid, selector, direction: self.direction })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TXID: &str = "f4184fc596403b9d638783cf57adfe4c75c605f6356fbc91338530e9831e9e16";

    fn query(fields: &str) -> Result<TransferQuery, (String, Vec<String>)> {
        let body = format!(r#"{{"blockchain": "btc", "transaction": "{TXID}", {fields}}}"#);
        let query = TransferRequest::read(body.as_bytes()).and_then(|request| request.query());
        query.map_err(|problem| {
            let details = problem.details("/", "");
            (details.code, details.errors.into_iter().map(|error| error.field).collect())
        })
    }

    #[test]
    fn an_output_is_named_by_its_index_or_its_address() {
        let by_index = query(r#""output": 1, "direction": "deposit""#).unwrap();
        assert_eq!(by_index.selector, OutputSelector::Index(1));
        assert_eq!(by_index.txid.to_string(), TXID);
        let address = "1Q2TWHE3GMdB6BZKafqwxXtWAWgFt5Jvm3";
        let by_address =
            query(&format!(r#""address": "{address}", "direction": "withdrawal""#)).unwrap();
        let OutputSelector::Address(paid) = by_address.selector else { panic!("an address") };
        assert_eq!(paid.as_str(), address);
        assert_eq!(by_address.direction, TransferDirection::Withdrawal);
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
        let problem = TransferRequest::read(short.as_bytes()).unwrap().query().unwrap_err();
        assert_eq!(problem.details("/", "").errors[0].field, "transaction");
    }
}
