//! A chain on which one address was paid by many named parties, and paid as many.

use std::{fmt::Write as _, fs, path::Path};

use assay_address::ChainId;
use serde_json::{Value, json};

use crate::{assay, scenario::address};

/// Categories of the parties, in turn.
const CATEGORIES: [&str; 6] = ["exchange", "gambling", "merchant", "mixer", "scam", "ransomware"];
/// Number of payments in a block, and the time between blocks: a week.
const IN_BLOCK: u32 = 25;
const WEEK: u64 = 7 * 86_400;
/// Time of the first block: 6 January 2025, a Monday.
const BEGIN: u64 = 1_736_121_600;

/// A chain with one subject.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "a function has nothing to show")]
pub struct ManyFlows<'n> {
    /// Number of payers, and of payees.
    pub parties: u32,
    /// Name of the entity of a party, by the party's number.
    pub name: &'n dyn Fn(u32) -> String,
}

impl ManyFlows<'_> {
    /// Records the chain and the labels of its parties in a data directory, and returns the subject's address.
    ///
    /// # Panics
    ///
    /// Panics if the data cannot be recorded.
    #[must_use]
    pub fn record(&self, directory: &Path) -> String {
        let subject = address_of("subject");
        fs::write(directory.join("many.jsonl"), self.lines(&subject)).expect("a chain");
        fs::write(directory.join("many.csv"), self.labels()).expect("labels");
        let _ = assay(directory, ["ingest", "chain", "btc", "--jsonl", "many.jsonl"]).ok();
        let labels = ["ingest", "labels", "many.csv", "--format", "csv", "--source", "many"];
        let _ = assay(directory, labels).ok();
        subject
    }

    /// Each payer has one output, which it pays to the subject, who pays all of them on at once.
    fn lines(&self, subject: &str) -> String {
        let numbers = || 0..self.parties;
        let value = |number: u32| 1_000_000 + u64::from(number) * 1_000;
        let paid = |role: &'static str| move |number| json!({"address": address_of(&format!("{role} {number}")), "value": value(number)});
        let outputs = |role| numbers().map(paid(role)).collect::<Vec<Value>>();
        let mut lines = line(0, "mint", &json!([]), &outputs("payer"));
        for number in numbers() {
            let spent = json!([{"txid": id("mint"), "index": number}]);
            let received = [json!({"address": subject, "value": value(number)})];
            let height = 1 + number / IN_BLOCK;
            lines += &line(height, &format!("payment {number}"), &spent, &received);
        }
        let output = |number| json!({"txid": id(&format!("payment {number}")), "index": 0});
        let spent: Value = numbers().map(output).collect();
        let height = 1 + self.parties.div_ceil(IN_BLOCK);
        lines + &line(height, "payout", &spent, &outputs("payee"))
    }

    fn labels(&self) -> String {
        let mut table = String::from("blockchain,address,category,entity,confidence,tier,author\n");
        let names = (0..self.parties * 2).map(|number| (number, (self.name)(number)));
        for ((number, name), category) in names.zip(CATEGORIES.into_iter().cycle()) {
            let role = if number < self.parties { "payer" } else { "payee" };
            let party = address_of(&format!("{role} {}", number % self.parties));
            let name = name.replace('"', "\"\"");
            let claim = "100,investigation,The police";
            writeln!(table, "btc,{party},{category},\"{name}\",{claim}").expect("a text grows");
        }
        table
    }
}

fn address_of(who: &str) -> String {
    address(ChainId::BTC, who).as_str().to_owned()
}

/// The identifier of a transaction with a name.
fn id(name: &str) -> String {
    use sha2::{Digest, Sha256};
    hex::encode(Sha256::digest(name))
}

fn line(height: u32, name: &str, inputs: &Value, outputs: &[Value]) -> String {
    let block = json!({
        "height": height,
        "hash": id(&format!("block {height}")),
        "parent": id(&format!("block {}", i64::from(height) - 1)),
        "time": BEGIN + u64::from(height) * WEEK,
    });
    format!("{}\n", json!({"block": block, "txid": id(name), "inputs": inputs, "outputs": outputs}))
}
