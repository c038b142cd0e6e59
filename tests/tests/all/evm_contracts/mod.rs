//! Exchanges, lending, wrappers, vaults and smart accounts as real contracts on real nodes, and what is read of them.
//!
//! - `economy`: a node with contracts, and what accounts do with them
//! - `cases`: the cases of the model's table, and the answers to them

mod cases;
mod economy;

use std::{collections::BTreeMap, fmt::Write, fs, path::Path};

use assay_tests::{
    assay,
    evm::{
        Address, EvmNodeKind, Key, abi, address_text,
        contracts::{ENTRY_POINT, USDT, WETH},
        genesis::{ETHER, PARTIES},
        limited_node::{LimitedNode, LimitedTraces},
    },
};
use serde_json::Value;
use tempfile::TempDir;

use self::{
    cases::Outcome,
    economy::{DOLLAR, ETHER_DOLLARS, Economy, ingest},
};

/// Sides of a contract: those who pay in, and those of whose funds it pays.
const BENEFICIARY: &str = "beneficiary";
const HOLDER: &str = "holder";

/// The recorded rows of a data directory.
fn export_rows(directory: &TempDir) -> Vec<Value> {
    let export = ["export", "transfers", "eth", "--format", "jsonl"];
    let lines = assay(directory.path(), export).ok().stdout;
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The address in a field of a row.
fn address_of(row: &Value, field: &str) -> Address {
    let mut address = [0; 20];
    let digits = row[field].as_str().unwrap().trim_start_matches("0x");
    hex::decode_to_slice(digits.to_lowercase(), &mut address).unwrap();
    address
}

fn is_fact(row: &Value) -> bool {
    ["code", BENEFICIARY, HOLDER].iter().any(|kind| row["kind"] == *kind)
}

/// Given accounts that pay into contracts for others and have these paid out, then the logs say for whom.
fn logs_say_whose_money_it_is(kind: EvmNodeKind) {
    let mut economy = Economy::new(kind);
    economy.open_protocols();
    let [friend, stranger] = [(); 2].map(|()| economy.clean(10 * ETHER));
    let payer = economy.clean(100 * ETHER);
    economy.dollars(payer, 50_000 * DOLLAR);
    economy.wrap(payer, 50 * ETHER);
    economy.wrap(friend, 5 * ETHER);
    let [ether_receipt, dollar_receipt] = [WETH, USDT].map(|reserve| economy.receipt_for(reserve));
    let vault = economy.deploy(payer, "Vault", &[USDT.into()]);
    let escrow = economy.deploy(payer, "Escrow", &[]);
    let account = economy.smart_account(friend);
    let before = economy.node.height();

    // Lending, for oneself and for others.
    economy.supply(payer, WETH, 10 * ETHER, payer);
    economy.supply(payer, WETH, 20 * ETHER, friend);
    economy.borrow(friend, USDT, 1_000 * DOLLAR, friend);
    economy.repay(payer, USDT, 600 * DOLLAR, friend);
    economy.withdraw(friend, WETH, ETHER, stranger);
    economy.call(friend, economy.on.lending, "allow(address)", &[payer.into()]);
    economy.borrow(payer, USDT, 500 * DOLLAR, friend);
    // A vault.
    economy.approve(payer, USDT, vault);
    let deposit = [(700 * DOLLAR).into(), friend.into()];
    economy.call(payer, vault, "deposit(uint256,address)", &deposit);
    let redeem = [(200 * DOLLAR).into(), stranger.into(), friend.into()];
    economy.call(friend, vault, "redeem(uint256,address,address)", &redeem);
    // An entry point.
    economy.pay_call(payer, ENTRY_POINT, 3 * ETHER, "depositTo(address)", &[account.into()]);
    let withdraw = abi::call("withdrawTo(address,uint256)", &[stranger.into(), ETHER.into()]);
    economy.handle(payer, &[(account, (ENTRY_POINT, 0, withdraw))]);
    // A contract that is in no table.
    economy.pay_call(payer, escrow, 2 * ETHER, "open(address)", &[friend.into()]);
    economy.call(friend, escrow, "take(uint256,address)", &[ETHER.into(), friend.into()]);

    let directory = tempfile::tempdir().unwrap();
    ingest(directory.path(), &economy.node.url());
    let rows = export_rows(&directory);
    let named: Vec<_> = rows
        .iter()
        .filter(|row| row["block"].as_u64().unwrap() > before)
        .filter(|row| is_fact(row) && row["kind"] != "code")
        .map(|row| (address_of(row, "from"), row["kind"].as_str().unwrap(), address_of(row, "to")))
        .collect();
    let expected = [
        (ether_receipt, BENEFICIARY, friend),
        (dollar_receipt, BENEFICIARY, friend),
        (ether_receipt, HOLDER, friend),
        (dollar_receipt, HOLDER, friend),
        (vault, BENEFICIARY, friend),
        (vault, HOLDER, friend),
        (ENTRY_POINT, BENEFICIARY, account),
        (ENTRY_POINT, HOLDER, account),
        (escrow, BENEFICIARY, friend),
    ];
    assert_eq!(named, expected, "{kind}: {rows:#?}");
    // Contracts with code are known, and nobody else is taken for one.
    let contracts: Vec<_> = rows
        .iter()
        .filter(|row| row["kind"] == "code")
        .map(|row| address_of(row, "from"))
        .collect();
    for contract in
        [ether_receipt, dollar_receipt, vault, ENTRY_POINT, escrow, WETH, economy.on.market]
    {
        let is_created =
            rows.iter().any(|row| row["kind"] == "create" && address_of(row, "to") == contract);
        assert!(is_created || contracts.contains(&contract), "{}", address_text(&contract));
    }
    for person in economy.keys.keys() {
        assert!(!contracts.contains(person), "{}", address_text(person));
    }
    // Who has what is what the node says.
    assert_balances(&economy, &rows);
}

/// Asserts that the recorded transfers add up to what accounts have.
fn assert_balances(economy: &Economy, rows: &[Value]) {
    let mut sums: BTreeMap<(Address, String), i128> = BTreeMap::new();
    for row in rows.iter().filter(|row| !is_fact(row)) {
        let asset = row["asset"].as_str().unwrap().to_owned();
        let amount: i128 = row["amount"].as_str().unwrap().parse().unwrap();
        *sums.entry((address_of(row, "to"), asset.clone())).or_default() += amount;
        *sums.entry((address_of(row, "from"), asset)).or_default() -= amount;
    }
    let funded = PARTIES.map(|name| Key::of(name).address);
    let is_funded = |account: &Address| *account == [0; 20] || funded.contains(account);
    for ((account, asset), sum) in sums {
        // The first block gave the parties their coins without a record.
        if is_funded(&account) {
            continue;
        }
        let has = match &*asset {
            "native" => economy.node.balance(&account),
            token => {
                let mut contract = [0; 20];
                hex::decode_to_slice(token.trim_start_matches("0x"), &mut contract).unwrap();
                economy.units(contract, account)
            }
        };
        assert_eq!(sum, i128::try_from(has).unwrap(), "{asset} of {}", address_text(&account));
    }
}

#[test]
#[ignore = "needs geth"]
fn logs_of_contracts_on_geth_say_whose_money_it_is() {
    logs_say_whose_money_it_is(EvmNodeKind::Geth);
}

#[test]
#[ignore = "needs anvil"]
fn logs_of_contracts_on_anvil_say_whose_money_it_is() {
    logs_say_whose_money_it_is(EvmNodeKind::Anvil);
}

/// Seconds of a day.
const DAY: u64 = 86_400;

/// The present, in seconds since 1970: a check asks for a chain whose newest block is of now.
fn now() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "the newest block is one of now")]
    let now = jiff::Timestamp::now().as_second();
    now.try_into().unwrap()
}

/// Has a data directory need no source but labels, and imports these, a list and the prices of a week.
fn import_sources(directory: &Path, economy: &Economy, now: u64) {
    let policy = "apiVersion: assay.dev/v1alpha1\nkind: RiskPolicy\nmetadata: {name: default}\n\
                  spec: {mandatorySources: [{name: own}]}\n";
    let mut labels = "blockchain,address,category,tier,confidence,entity\n".to_owned();
    for (party, category) in &economy.labels {
        let party = address_text(party);
        writeln!(labels, "eth,{party},{category},investigation,95,Some {category}").unwrap();
    }
    let list = format!(
        "list,entity_id,entity,asset_code,address,entity_listed_on\nofac-sdn,1,DOE,ETH,{},2020-01-01\n",
        address_text(&economy.listed)
    );
    let mut prices = "asset,day,usd\n".to_owned();
    for day in 0..7 {
        let time = jiff::Timestamp::from_second((now - day * DAY).try_into().unwrap()).unwrap();
        let day = time.strftime("%F");
        for asset in ["native", &address_text(&WETH)] {
            writeln!(prices, "eth/{asset},{day},{ETHER_DOLLARS}").unwrap();
        }
    }
    for (file, text) in [
        ("policy.yaml", policy),
        ("labels.csv", &labels),
        ("list.csv", &list),
        ("prices.csv", &prices),
    ] {
        fs::write(directory.join(file), text).unwrap();
    }
    for command in [
        "apply --file policy.yaml",
        "ingest labels labels.csv --format csv --source own",
        "ingest sanctions list.csv --format csv --source ofac-sdn",
        "ingest prices prices.csv",
    ] {
        let _ = assay(directory, command.split(' ')).ok();
    }
}

/// Given the cases of the model on a node, then accounts have what is read of them, and answers about them are those of the model.
fn cases_are_answered_as_the_model_says(kind: EvmNodeKind) {
    let now = now();
    let mut economy = Economy::new(kind);
    let mut outcomes = economy.play_without_prices();
    economy.wait_until(now - 2 * DAY);
    economy.open_protocols();
    outcomes.extend(economy.play());
    economy.wait_until(now);
    let directory = tempfile::tempdir().unwrap();
    import_sources(directory.path(), &economy, now);
    ingest(directory.path(), &economy.node.url());
    assert_balances(&economy, &export_rows(&directory));
    assert_answers(&economy, &directory, &outcomes);
}

/// Asserts that answers are the expected ones.
fn assert_answers(economy: &Economy, directory: &TempDir, outcomes: &[Outcome]) {
    let answer = |outcome: &Outcome| {
        assay(directory.path(), ["check", "eth", &outcome.account(), "--json"]).json()
    };
    let differences: Vec<String> =
        outcomes.iter().filter_map(|outcome| outcome.difference(&answer(outcome))).collect();
    assert!(differences.is_empty(), "{}: {}", economy.node.kind, differences.join("\n"));
}

#[test]
#[ignore = "needs geth"]
fn cases_on_geth_are_answered_as_the_model_says() {
    cases_are_answered_as_the_model_says(EvmNodeKind::Geth);
}

#[test]
#[ignore = "needs anvil"]
fn cases_on_anvil_are_answered_as_the_model_says() {
    cases_are_answered_as_the_model_says(EvmNodeKind::Anvil);
}

/// Given a node that traces nothing, then no `allow` is given of coins that came over a contract.
fn coins_over_contracts_are_not_allowed_without_traces(kind: EvmNodeKind) {
    let now = now();
    let mut economy = Economy::new(kind);
    economy.wait_until(now - DAY);
    let outcomes = economy.play_unseen();
    economy.wait_until(now);
    let directory = tempfile::tempdir().unwrap();
    import_sources(directory.path(), &economy, now);
    let blind = LimitedNode::start(&economy.node, LimitedTraces::None);
    ingest(directory.path(), &blind.url());
    assert_answers(&economy, &directory, &outcomes);
}

#[test]
#[ignore = "needs geth"]
fn coins_over_contracts_on_geth_are_not_allowed_without_traces() {
    coins_over_contracts_are_not_allowed_without_traces(EvmNodeKind::Geth);
}

#[test]
#[ignore = "needs anvil"]
fn coins_over_contracts_on_anvil_are_not_allowed_without_traces() {
    coins_over_contracts_are_not_allowed_without_traces(EvmNodeKind::Anvil);
}
