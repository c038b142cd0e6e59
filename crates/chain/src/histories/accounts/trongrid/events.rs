//! Events that change freezes, as TronGrid states them: by the names of their parameters, without topics.

use std::collections::BTreeMap;

use assay_engine::account::{AccountAddress, Asset, FreezeEvent};
use jiff::Timestamp;
use serde::Deserialize;

use super::{
    super::{
        FreezeRow, FreezeSignature, ListOrder,
        client::{AnswerError, json},
    },
    answer::{address, height_of, time},
    page::{PageBounds, ReadPage},
};

/// Event of a contract.
#[derive(Deserialize)]
struct EventAnswer {
    block_timestamp: i64,
    contract_address: String,
    event_name: String,
    /// Index of the event among those of its transaction.
    event_index: Option<u32>,
    transaction_id: String,
    /// Arguments by position and by name.
    #[serde(default)]
    result: BTreeMap<String, String>,
    /// Types of arguments by name.
    #[serde(default)]
    result_type: BTreeMap<String, String>,
}

/// Reader of a token's events of one kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct FreezeReader {
    pub(super) token: AccountAddress,
    pub(super) signature: &'static FreezeSignature,
    /// Time of the last row of the page before.
    pub(super) from: Option<Timestamp>,
    /// The newest time that a block may have; `None` if it is not known.
    pub(super) newest: Option<Timestamp>,
}

impl FreezeReader {
    /// Reads the rows of a page, the oldest first.
    pub(super) fn read(self, body: &[u8]) -> Result<ReadPage<FreezeRow>, AnswerError> {
        let (order, from, newest) = (ListOrder::OldestFirst, self.from, self.newest);
        ReadPage::read(body, PageBounds { order, from, newest }, |row| {
            self.row(&json(row)?).map_err(AnswerError::Invalid)
        })
    }

    fn row(self, answer: &EventAnswer) -> Result<(Timestamp, Option<FreezeRow>), String> {
        let time = time(answer.block_timestamp)?;
        let contract = address(&answer.contract_address)?;
        if contract != self.token {
            return Err(format!("it is of the contract {contract}, not of {}", self.token));
        }
        let FreezeSignature { name, change, .. } = *self.signature;
        if answer.event_name != name {
            return Err(format!("it is the event `{}`, not {name}", answer.event_name));
        }
        let account = answer.account().ok_or("it names no account")??;
        let id = answer.transaction_id.parse().map_err(|error| format!("{error}"))?;
        let (asset, log) = (Asset::Token(contract), answer.event_index.unwrap_or(0));
        let event = FreezeEvent { asset, account, change, log };
        Ok((time, Some(FreezeRow { id, block: height_of(time), time, event })))
    }
}

impl EventAnswer {
    /// The account: the first argument, or the only one that is an address.
    fn account(&self) -> Option<Result<AccountAddress, String>> {
        let of_type = self.result_type.iter().find(|(_, kind)| *kind == "address");
        let named = of_type.and_then(|(name, _)| self.result.get(name));
        let text = self.result.get("0").or(named)?;
        Some(match text.strip_prefix("0x").filter(|digits| digits.len() == 40) {
            Some(digits) => address(&format!("41{digits}")),
            None => address(text),
        })
    }
}

#[cfg(test)]
mod tests {
    use assay_address::ChainId;
    use assay_engine::account::FreezeChange;
    use serde_json::{Value, json};

    use super::{
        super::super::{freezable_tokens, freeze_signatures},
        *,
    };

    const USDT: &str = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t";
    const FROZEN: AccountAddress = AccountAddress([7; 20]);

    fn reader(name: &str) -> FreezeReader {
        let mut tokens = freezable_tokens(ChainId::TRX);
        let token = tokens.find(|token| Ok(*token) == address(USDT)).unwrap();
        let mut signatures = freeze_signatures(ChainId::TRX, token).iter();
        let signature = signatures.find(|signature| signature.name == name).unwrap();
        FreezeReader { token, signature, from: None, newest: None }
    }

    fn event(name: &str, parameter: &str, account: &str, time: u64) -> Value {
        json!({
            "block_number": 61_234_567,
            "block_timestamp": time,
            "caller_contract_address": USDT,
            "contract_address": USDT,
            "event_index": 2,
            "event_name": name,
            "result": { "0": account, parameter: account },
            "result_type": { parameter: "address" },
            "event": format!("{name}(address indexed {parameter})"),
            "transaction_id": "44".repeat(32),
        })
    }

    fn read(name: &str, events: &[Value]) -> Result<ReadPage<FreezeRow>, AnswerError> {
        let answer = json!({ "data": events, "success": true, "meta": { "fingerprint": "next" } });
        reader(name).read(answer.to_string().as_bytes())
    }

    #[test]
    fn events_are_freezes_in_either_form_of_addresses() {
        let (account, digits) =
            (format!("0x{}", "07".repeat(20)), format!("41{}", "07".repeat(20)));
        let events = [
            event("AddedBlackList", "_user", &account, 1_700_000_001_000),
            event("AddedBlackList", "_user", &digits, 1_700_000_004_000),
        ];
        let page = read("AddedBlackList", &events).unwrap();
        let rows: Vec<_> = page.rows.into_iter().filter_map(|(_, row)| row).collect();
        assert_eq!((rows.len(), page.next.as_deref()), (2, Some("next")));
        for row in rows {
            let FreezeEvent { account, change, log, .. } = row.event;
            assert_eq!((account, change, log), (FROZEN, FreezeChange::Frozen, 2));
            assert_eq!(row.block, height_of(row.time));
        }
        let mut destroyed = event("DestroyedBlackFunds", "_blackListedUser", &account, 5_000);
        destroyed["result"]["1"] = "77".into();
        destroyed["result_type"]["_balance"] = "uint256".into();
        let page = read("DestroyedBlackFunds", &[destroyed]).unwrap();
        assert_eq!(page.rows[0].1.unwrap().event.change, FreezeChange::Destroyed);
    }

    #[test]
    fn other_events_are_refused() {
        let account = format!("0x{}", "07".repeat(20));
        let good = event("AddedBlackList", "_user", &account, 6_000);
        let mut other = good.clone();
        other["contract_address"] = "TEkxiTehnzSmSe2XqrBj4w32RUN966rdz8".into();
        let cases = [
            (vec![event("RemovedBlackList", "_user", &account, 6_000)], "not AddedBlackList"),
            (vec![other], "of the contract"),
            (vec![event("AddedBlackList", "_user", "0x07", 6_000)], "is no address"),
            (vec![good, event("AddedBlackList", "_user", &account, 3_000)], "out of order"),
        ];
        for (events, words) in cases {
            let error = read("AddedBlackList", &events).unwrap_err();
            let is_told = matches!(&error, AnswerError::Invalid(said) if said.contains(words));
            assert!(is_told, "{error:?}");
        }
    }
}
