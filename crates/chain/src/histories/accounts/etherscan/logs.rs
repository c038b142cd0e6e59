//! Event logs that change freezes, in the form of Etherscan's API. Numbers are written in hexadecimal digits.

use assay_address::ChainId;
use assay_engine::account::{AccountAddress, Asset, FreezeEvent};
use jiff::Timestamp;
use serde::Deserialize;

use super::{
    super::{FreezeRow, FreezeSignature, client::AnswerError, client::json, paging::RowMark},
    answer::{address, result},
};
use crate::evm::{answer::LogAnswer, events::Event};

/// An event log.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct LogRow {
    address: String,
    /// Topics. Blockscout fills up to four with nulls.
    topics: Vec<Option<String>>,
    data: Option<String>,
    block_number: String,
    time_stamp: String,
    log_index: Option<String>,
    transaction_hash: String,
}

/// Reader of a token's event logs of one kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct FreezeReader {
    pub(super) chain: ChainId,
    pub(super) token: AccountAddress,
    pub(super) signature: &'static FreezeSignature,
    /// The block at which the request begins.
    pub(super) from: Option<u64>,
    /// The newest block that may be; `None` if it is not known.
    pub(super) newest: Option<u64>,
}

impl FreezeReader {
    /// Reads the rows of a page, the oldest first.
    pub(super) fn read(self, body: &[u8]) -> Result<Vec<(RowMark, FreezeRow)>, AnswerError> {
        let Some(result) = result(body)? else { return Ok(Vec::new()) };
        let logs: Vec<LogRow> = json(result.get().as_bytes())?;
        let mut rows: Vec<(RowMark, FreezeRow)> = Vec::with_capacity(logs.len());
        for (log, number) in logs.iter().zip(1_u32..) {
            let before = rows.last().map(|(mark, _)| mark.block).or(self.from);
            let row = self.row(log, before);
            rows.push(
                row.map_err(|reason| AnswerError::Invalid(format!("row {number}: {reason}")))?,
            );
        }
        Ok(rows)
    }

    fn row(self, log: &LogRow, before: Option<u64>) -> Result<(RowMark, FreezeRow), String> {
        let block = quantity(&log.block_number)?;
        if before.is_some_and(|before| block < before) {
            return Err(format!("block {block} is out of order"));
        }
        if let Some(newest) = self.newest.filter(|newest| block > *newest) {
            return Err(format!("block {block} is far above the newest block {newest}"));
        }
        let seconds = quantity(&log.time_stamp)?;
        let time = i64::try_from(seconds).ok().and_then(|it| Timestamp::from_second(it).ok());
        let time = time.ok_or_else(|| format!("{seconds} is no time"))?;
        // Etherscan writes an index of zero without digits.
        let index = quantity(log.log_index.as_deref().unwrap_or("0x"))?;
        let index = u32::try_from(index).map_err(|_| format!("index {index} is too large"))?;
        let contract = address(&log.address).ok_or("its contract is no address")?;
        let change = self.change(log, contract, index)?;
        let digits = log.transaction_hash.strip_prefix("0x").unwrap_or(&log.transaction_hash);
        let id = digits.parse().map_err(|error| format!("{error}"))?;
        let asset = Asset::Token(contract);
        let event =
            FreezeEvent { asset, account: change, change: self.signature.change, log: index };
        let mark = RowMark::new(block, &[&log.transaction_hash, &index.to_string()]);
        Ok((mark, FreezeRow { id, block, time, event }))
    }

    /// The account whose freeze a log changes.
    fn change(
        self,
        log: &LogRow,
        contract: AccountAddress,
        index: u32,
    ) -> Result<AccountAddress, String> {
        if contract != self.token {
            return Err(format!("it is of the contract {contract}, not of {}", self.token));
        }
        let topics = log.topics.iter().flatten().map(|topic| word(topic));
        let topics: Vec<[u8; 32]> = topics.collect::<Result<_, _>>()?;
        if topics.first() != Some(&self.signature.topic) {
            return Err(format!("it is another event than {}", self.signature.name));
        }
        let digits = log.data.as_deref().unwrap_or("0x");
        let data = hex::decode(digits.strip_prefix("0x").unwrap_or(digits));
        let data = data.map_err(|_| "its data is not written in hexadecimal digits")?;
        let log = LogAnswer::new(contract, topics, data, index, [0; 32]);
        let read = Event::read(self.chain, &log).and_then(Event::freeze_change);
        let (account, _) = read.ok_or("it has other parameters than the event")?;
        Ok(account)
    }
}

fn word(text: &str) -> Result<[u8; 32], String> {
    let mut bytes = [0; 32];
    let digits = text.strip_prefix("0x").unwrap_or(text);
    hex::decode_to_slice(digits, &mut bytes).map_err(|_| format!("`{text}` is no topic"))?;
    Ok(bytes)
}

/// A number in hexadecimal digits with `0x`, or in decimal ones without.
fn quantity(text: &str) -> Result<u64, String> {
    let read = match text.strip_prefix("0x") {
        Some("") => Ok(0),
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    read.map_err(|_| format!("`{text}` is no number"))
}

#[cfg(test)]
mod tests {
    use assay_engine::account::FreezeChange;
    use serde_json::{Value, json};

    use super::{
        super::super::{freezable_tokens, freeze_signatures},
        *,
    };

    const FROZEN: AccountAddress = AccountAddress([7; 20]);

    fn reader(name: &str) -> FreezeReader {
        let usdt = "dac17f958d2ee523a2206206994597c13d831ec7";
        let mut tokens = freezable_tokens(ChainId::ETH);
        let token = tokens.find(|token| hex::encode(token.0) == usdt).unwrap();
        let mut signatures = freeze_signatures(ChainId::ETH, token).iter();
        let signature = signatures.find(|signature| signature.name == name).unwrap();
        FreezeReader { chain: ChainId::ETH, token, signature, from: None, newest: Some(0x200) }
    }

    fn log(reader: FreezeReader, block: &str, frozen: &str) -> Value {
        json!({
            "address": reader.token.to_string(),
            "topics": [format!("0x{}", hex::encode(reader.signature.topic))],
            "data": format!("0x{frozen}"),
            "blockNumber": block,
            "timeStamp": "0x6553f100",
            "logIndex": "0x",
            "transactionIndex": "0x",
            "transactionHash": format!("0x{}", "44".repeat(32)),
        })
    }

    fn padded() -> String {
        format!("{}{}", "00".repeat(12), hex::encode(FROZEN.0))
    }

    fn answer(logs: &[Value]) -> Vec<u8> {
        json!({ "status": "1", "message": "OK", "result": logs }).to_string().into_bytes()
    }

    #[test]
    fn logs_of_either_api_are_freezes() {
        let added = reader("AddedBlackList");
        let etherscan = log(added, "0x10", &padded());
        let mut blockscout = log(added, "0x11", "");
        blockscout["topics"] =
            json!([blockscout["topics"][0], format!("0x{}", padded()), null, null]);
        blockscout["logIndex"] = "0x1f".into();
        let rows = added.read(&answer(&[etherscan, blockscout])).unwrap();
        let found: Vec<_> = rows.iter().map(|(_, row)| (row.block, row.event)).collect();
        let event = |log| FreezeEvent {
            asset: Asset::Token(added.token),
            account: FROZEN,
            change: FreezeChange::Frozen,
            log,
        };
        assert_eq!(found, [(0x10, event(0)), (0x11, event(0x1f))]);
        let destroyed = reader("DestroyedBlackFunds");
        let amount = format!("{}{}", padded(), "00".repeat(32));
        let rows = destroyed.read(&answer(&[log(destroyed, "0x12", &amount)])).unwrap();
        assert_eq!(rows[0].1.event.change, FreezeChange::Destroyed);
        let none = br#"{"status":"0","message":"No records found","result":[]}"#;
        assert!(destroyed.read(none).unwrap().is_empty());
    }

    #[test]
    fn logs_of_others_and_out_of_order_are_refused() {
        let added = reader("AddedBlackList");
        let good = log(added, "0x10", &padded());
        let removed = reader("RemovedBlackList");
        let mut other_token = good.clone();
        other_token["address"] = FROZEN.to_string().into();
        let cases = [
            (vec![log(removed, "0x10", &padded())], "another event"),
            (vec![other_token], "of the contract"),
            (vec![good.clone(), log(added, "0xf", &padded())], "row 2: block 15 is out of order"),
            (vec![log(added, "0x201", &padded())], "far above"),
            (vec![log(added, "0x10", "")], "other parameters"),
        ];
        for (logs, words) in cases {
            let error = added.read(&answer(&logs)).unwrap_err();
            let is_told = matches!(&error, AnswerError::Invalid(reason) if reason.contains(words));
            assert!(is_told, "{error:?}");
        }
        let error = added.read(br#"{"status":"0","message":"No records found","result":null}"#);
        assert!(error.is_err(), "{error:?}");
    }
}
