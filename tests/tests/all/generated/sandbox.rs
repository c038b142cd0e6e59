//! The tables of `docs/sandbox.md` list what the sandbox knows.

use assay_address::ChainId;
use assay_sandbox::{Outcome, catalog};

use super::{code, section, table};

const PAGE: &str = "docs/sandbox.md";

fn first_address(chain: &str, outcome: Outcome) -> String {
    let catalog = catalog(chain.parse().unwrap());
    let entry = catalog.outcomes.into_iter().find(|entry| entry.outcome == outcome.name);
    code(&entry.unwrap().addresses[0])
}

#[test]
fn the_addresses_and_transactions_of_the_sandbox() {
    let (of_addresses, of_transactions): (Vec<_>, Vec<_>) =
        Outcome::ALL.into_iter().partition(|outcome| outcome.has_addresses);
    let rows = of_addresses.into_iter().map(|outcome| {
        let status = outcome.status().to_string();
        let number = format!("{:02x}", outcome.number);
        let [btc, eth, trx] = ["btc", "eth", "trx"].map(|chain| first_address(chain, outcome));
        [code(&number), code(outcome.name), status, btc, eth, trx]
    });
    let titles = ["number", "outcome", "status", "`btc`", "`eth`", "`trx`"];
    section(PAGE, "addresses", &table(titles, rows));
    let rows = of_transactions.into_iter().map(|outcome| {
        let status = outcome.status().to_string();
        [code(&format!("{:02x}", outcome.number)), code(outcome.name), status]
    });
    section(PAGE, "transactions", &table(["number", "outcome", "status"], rows));
    let block = Outcome::ALL.into_iter().find(|outcome| outcome.name == "block").unwrap();
    let shown = block.mark().addresses(ChainId::ETH).remove(0).to_string();
    assert!(std::fs::read_to_string(super::path(PAGE)).unwrap().contains(&format!("{shown}\"}}'")));
}
