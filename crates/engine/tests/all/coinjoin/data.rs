//! Real transactions, from the test data.

use std::{
    env,
    fs::{self, File},
    io::{BufRead, BufReader, Read},
    path::PathBuf,
};

use assay_address::ChainId;
use assay_engine::utxo::{ScriptOwner, Txid};
use bzip2::read::BzDecoder;
use jiff::Timestamp;

use super::common::{Candidate, OwnedAmount};

/// A transaction with its identifier and the identifiers of the transactions whose outputs it spends.
pub(crate) struct Recorded {
    pub(crate) txid: Txid,
    pub(crate) spends: Vec<Txid>,
    pub(crate) transaction: Candidate,
}

fn folder() -> PathBuf {
    env::var("ASSAY_TEST_DATA").expect("ASSAY_TEST_DATA names the folder of test data").into()
}

/// The transactions of a file in `coinjoin`.
pub(crate) fn recorded(name: &str) -> Vec<Recorded> {
    let file = File::open(folder().join("coinjoin").join(name)).unwrap();
    let lines = BufReader::new(BzDecoder::new(file)).lines().map(Result::unwrap);
    lines.filter(|line| !line.is_empty()).map(|line| record(&line)).collect()
}

/// `txid:::blockhash:::index:::time:::inputs:::outputs`, inputs `txid-vout-satoshi+script+type`, outputs
/// `satoshi+script+type`.
fn record(line: &str) -> Recorded {
    let [txid, _, _, time, inputs, outputs] = fields(line, ":::");
    let mut spends = Vec::new();
    let inputs = inputs.split("}{").map(|input| {
        let [output, script, _] = fields(input, "+");
        let [txid, _, value] = fields(output, "-");
        spends.push(txid.parse().unwrap());
        Some(coin(script, value))
    });
    let transaction = Candidate {
        chain: ChainId::BTC,
        time: Timestamp::from_second(time.parse().unwrap()).unwrap(),
        inputs: inputs.collect(),
        outputs: outputs
            .split("}{")
            .map(|output| {
                let [value, script, _] = fields(output, "+");
                coin(script, value)
            })
            .collect(),
    };
    Recorded { txid: txid.parse().unwrap(), spends, transaction }
}

fn fields<'a, const COUNT: usize>(text: &'a str, separator: &str) -> [&'a str; COUNT] {
    text.split(separator).collect::<Vec<_>>().try_into().unwrap()
}

fn coin(script: &str, value: &str) -> OwnedAmount {
    let script = hex::decode(script).unwrap();
    (ScriptOwner::from_script(ChainId::BTC, &script), value.parse().unwrap())
}

/// The transactions of the mainnet blocks except their coinbases, with unknown spent outputs.
pub(crate) fn blocks() -> Vec<Candidate> {
    let folder = folder().join("chains/bitcoin/blocks");
    let mut old = Vec::new();
    let file = File::open(folder.join("277647.dat.bz2")).unwrap();
    BzDecoder::new(file).read_to_end(&mut old).unwrap();
    // A record of a block file: four bytes of magic, four of length.
    let mut transactions = block(&old[8..]);
    for name in ["block426884.raw", "block482683.raw"] {
        transactions.extend(block(&fs::read(folder.join(name)).unwrap()));
    }
    transactions
}

fn block(bytes: &[u8]) -> Vec<Candidate> {
    let mut rest = Bytes(bytes);
    let header = rest.take(80);
    let seconds = u32::from_le_bytes(header[68..72].try_into().unwrap());
    let time = Timestamp::from_second(seconds.into()).unwrap();
    let count = rest.size();
    (0..count).map(|_| rest.transaction(time)).skip(1).collect()
}

struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(length);
        self.0 = rest;
        taken
    }

    fn number(&mut self, length: usize) -> u64 {
        self.take(length).iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    fn size(&mut self) -> usize {
        let size = match self.number(1) {
            0xfd => self.number(2),
            0xfe => self.number(4),
            0xff => self.number(8),
            small => small,
        };
        size.try_into().unwrap()
    }

    fn transaction(&mut self, time: Timestamp) -> Candidate {
        self.take(4);
        let witness = self.0.starts_with(&[0, 1]);
        if witness {
            self.take(2);
        }
        let inputs = self.size();
        for _ in 0..inputs {
            self.take(36);
            let script = self.size();
            self.take(script + 4);
        }
        let outputs = (0..self.size())
            .map(|_| {
                let value = self.number(8);
                let script = self.size();
                (ScriptOwner::from_script(ChainId::BTC, self.take(script)), value)
            })
            .collect();
        for _ in 0..if witness { inputs } else { 0 } {
            for _ in 0..self.size() {
                let item = self.size();
                self.take(item);
            }
        }
        self.take(4);
        Candidate { chain: ChainId::BTC, time, inputs: vec![None; inputs], outputs }
    }
}
