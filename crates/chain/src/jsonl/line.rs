//! Parsing of one line.

use std::{borrow::Cow, fmt};

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::{
    ledger::BlockRef,
    utxo::{OutPoint, Pool, ScriptOwner, Transaction, TransactionKind, TxInput, TxOut, Txid},
};
use jiff::Timestamp;
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, IgnoredAny, Visitor},
};

use crate::hash::parse_hash;

/// Names of shielded pools.
pub(super) const POOLS: [(&str, Pool); 2] =
    [("mweb", Pool::Mweb), ("zcash_shielded", Pool::ZcashShielded)];

/// The part of a line that the index needs. Unknown fields are refused later, when the whole line is read.
#[derive(Deserialize)]
struct Heading<'a> {
    #[serde(borrow)]
    block: Block<'a>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    #[serde(rename = "block")]
    _block: IgnoredAny,
    #[serde(borrow)]
    txid: Option<Cow<'a, str>>,
    #[serde(borrow)]
    inputs: Option<Vec<Input<'a>>>,
    #[serde(borrow)]
    outputs: Option<Vec<Output<'a>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Block<'a> {
    height: u64,
    #[serde(borrow)]
    hash: Cow<'a, str>,
    #[serde(borrow)]
    parent: Cow<'a, str>,
    time: Time,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input<'a> {
    #[serde(borrow)]
    txid: Option<Cow<'a, str>>,
    index: Option<u32>,
    #[serde(default)]
    hidden: bool,
    #[serde(borrow)]
    address: Option<Cow<'a, str>>,
    #[serde(borrow)]
    script: Option<Cow<'a, str>>,
    #[serde(borrow)]
    script_sha256: Option<Cow<'a, str>>,
    #[serde(borrow)]
    unspendable_sha256: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pool: Option<Cow<'a, str>>,
    value: Option<Value>,
    #[serde(default)]
    unsigned: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Output<'a> {
    #[serde(borrow)]
    address: Option<Cow<'a, str>>,
    #[serde(borrow)]
    script: Option<Cow<'a, str>>,
    #[serde(borrow)]
    script_sha256: Option<Cow<'a, str>>,
    #[serde(borrow)]
    unspendable_sha256: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pool: Option<Cow<'a, str>>,
    value: Value,
}

/// Owner of an output, in one of five fields: `address`, `script`, `script_sha256`, `unspendable_sha256` or `pool`.
struct OutputOwner<'a>([Option<Cow<'a, str>>; 5]);

/// Returns the block of a line.
pub(super) fn reference(text: &str) -> Result<BlockRef, String> {
    let Heading { block } = serde_json::from_str(text).map_err(|error| reason(&error))?;
    let hash = |field, text: &str| {
        parse_hash(text).ok_or_else(|| format!("`{field}` of the block is no hash: `{text}`"))
    };
    Ok(BlockRef {
        height: block.height,
        hash: hash("hash", &block.hash)?,
        parent: hash("parent", &block.parent)?,
        time: block.time.0,
    })
}

/// Returns the transaction of a line; `None` if the line has a block only.
pub(super) fn transaction(chain: ChainId, text: &str) -> Result<Option<Transaction>, String> {
    let line: Line<'_> = serde_json::from_str(text).map_err(|error| reason(&error))?;
    let (Some(txid), Some(inputs), Some(outputs)) = (&line.txid, line.inputs, line.outputs) else {
        return match line.txid {
            Some(_) => Err("`txid` needs `inputs` and `outputs` beside it".to_owned()),
            None => Ok(None),
        };
    };
    let txid: Txid = txid.parse().map_err(|error| format!("`txid`: {error}"))?;
    let mut from_pool = false;
    let mut read_inputs = Vec::with_capacity(inputs.len());
    for (index, input) in inputs.into_iter().enumerate() {
        let input =
            read_input(chain, txid, input).map_err(|reason| format!("input {index}: {reason}"))?;
        if input.is_from_pool(txid) && std::mem::replace(&mut from_pool, true) {
            return Err(format!("input {index}: only one can come from a pool or be hidden"));
        }
        read_inputs.push(input);
    }
    let outputs = outputs.into_iter().enumerate().map(|(index, output)| {
        let Output { address, script, script_sha256, unspendable_sha256, pool, value } = output;
        let owner = [address, script, script_sha256, unspendable_sha256, pool];
        let owner = OutputOwner(owner).read(chain);
        match owner.map_err(|reason| format!("output {index}: {reason}"))? {
            Some(owner) => Ok(TxOut { owner, value: value.0 }),
            None => Err(format!("output {index}: it needs `address`, `script` or `pool`")),
        }
    });
    let outputs = outputs.collect::<Result<_, String>>()?;
    let kind =
        if read_inputs.is_empty() { TransactionKind::Coinbase } else { TransactionKind::Payment };
    Ok(Some(Transaction { txid, kind, inputs: read_inputs, outputs }))
}

fn read_input(chain: ChainId, txid: Txid, input: Input<'_>) -> Result<TxInput, String> {
    let Input {
        txid: spent_txid,
        index,
        hidden,
        address,
        script,
        script_sha256,
        unspendable_sha256,
        pool,
        value,
        unsigned,
    } = input;
    let owner = [address, script, script_sha256, unspendable_sha256, pool];
    let owner = OutputOwner(owner).read(chain)?;
    let outpoint = match (spent_txid, index) {
        (Some(txid), Some(index)) => {
            let txid = txid.parse().map_err(|error| format!("`txid`: {error}"))?;
            Some(OutPoint { txid, index })
        }
        (None, None) => None,
        _ => return Err("`txid` and `index` belong together".to_owned()),
    };
    let value = value.map(|value| value.0);
    match (outpoint, hidden, owner, value) {
        (Some(outpoint), false, Some(owner), Some(value)) => {
            let spent = Some(TxOut { owner, value });
            Ok(TxInput { is_signed: !unsigned, ..TxInput::new(outpoint, spent) })
        }
        (Some(outpoint), false, None, None) => {
            Ok(TxInput { is_signed: !unsigned, ..TxInput::new(outpoint, None) })
        }
        (Some(_), false, _, _) => {
            Err("its value and whose it is belong together: give both or neither".to_owned())
        }
        (None, false, Some(owner @ ScriptOwner::Pool(Pool::ZcashShielded)), Some(value)) => {
            Ok(TxInput::from_pool(txid, Some(TxOut { owner, value })))
        }
        (None, true, None, None) => Ok(TxInput::from_pool(txid, None)),
        _ => Err("it needs `txid` and `index`".to_owned()),
    }
}

impl OutputOwner<'_> {
    fn read(self, chain: ChainId) -> Result<Option<ScriptOwner>, String> {
        match self.0 {
            [None, None, None, None, None] => Ok(None),
            [Some(address), None, None, None, None] => {
                let read = CanonicalAddress::parse(chain, &address)
                    .map_err(|error| format!("`address`: {error}"))?;
                match ScriptOwner::from_address(&read) {
                    Some(owner) => Ok(Some(owner)),
                    None => Err(format!("`address`: {read} does not show on the chain")),
                }
            }
            [None, Some(script), None, None, None] => match hex::decode(&*script) {
                Ok(script) => Ok(Some(ScriptOwner::from_script(chain, &script))),
                Err(_) => Err("`script` is not hexadecimal".to_owned()),
            },
            [None, None, Some(hash), None, None] => match parse_hash(&hash) {
                Some(hash) => Ok(Some(ScriptOwner::Script(hash))),
                None => Err("`script_sha256` is no SHA-256 in hexadecimal".to_owned()),
            },
            [None, None, None, Some(hash), None] => match parse_hash(&hash) {
                Some(hash) => Ok(Some(ScriptOwner::Unspendable(hash))),
                None => Err("`unspendable_sha256` is no SHA-256 in hexadecimal".to_owned()),
            },
            [None, None, None, None, Some(name)] => {
                match POOLS.iter().find(|(known, _)| *known == name) {
                    Some((_, pool)) => Ok(Some(ScriptOwner::Pool(*pool))),
                    None => Err("`pool` is `mweb` or `zcash_shielded`".to_owned()),
                }
            }
            _ => Err("it has several of `address`, `script`, `script_sha256`, \
                      `unspendable_sha256`, `pool`"
                .to_owned()),
        }
    }
}

/// Describes the error in a line's JSON, with the column.
fn reason(error: &serde_json::Error) -> String {
    // serde_json's line number is always 1, because every line is parsed separately.
    error.to_string().replace(" at line 1 column ", " at column ")
}

/// Amount in base units: a number, or a string of digits for JSON readers that round numbers.
struct Value(u64);

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        struct AmountVisitor;

        impl Visitor<'_> for AmountVisitor {
            type Value = Value;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a whole number of base units, or digits in a text")
            }

            fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
                Ok(Value(number))
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Value, E> {
                let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
                match text.parse() {
                    Ok(number) if digits => Ok(Value(number)),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
                }
            }
        }

        json.deserialize_any(AmountVisitor)
    }
}

/// A point in time: RFC 3339, or seconds since 1970.
struct Time(Timestamp);

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(
            untagged,
            expecting = "`time` is a text such as `2026-01-31T12:00:00Z`, or seconds"
        )]
        enum SecondsOrText {
            Seconds(i64),
            Text(Timestamp),
        }

        match SecondsOrText::deserialize(json)? {
            SecondsOrText::Text(time) => Ok(Self(time)),
            SecondsOrText::Seconds(seconds) => {
                Timestamp::from_second(seconds).map(Self).map_err(D::Error::custom)
            }
        }
    }
}
