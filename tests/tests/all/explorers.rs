//! Account chains without a node: histories from the APIs of explorers, as programs give the answers.

use std::{fmt::Write as _, fs, path::Path, sync::Arc, thread, time::Duration};

use assay_address::ChainId;
use assay_engine::{
    account::{
        AccountAddress, AccountTransaction, Asset, FreezeChange, FreezeEvent, Transfer,
        TransferKind, TransferPlace,
    },
    utxo::Txid,
};
use assay_tests::{
    Caller, Server,
    account_api::{AccountApi, ApiFault},
    assay, tenant, wait_at_most,
};
use jiff::{SignedDuration, Timestamp};
use ruint::aliases::U256;
use serde_json::{Value, json};
use tempfile::TempDir;

const DOLLAR: u64 = 1_000_000;
const KEY: &str = "a-key-of-the-plan";

const EXCHANGE: AccountAddress = AccountAddress([0xe1; 20]);
const THIEF: AccountAddress = AccountAddress([0xf1; 20]);
const EMPLOYER: AccountAddress = AccountAddress([0xc1; 20]);
const CLERK: AccountAddress = AccountAddress([0xa1; 20]);
const MULE: AccountAddress = AccountAddress([0xb1; 20]);
const CASHIER: AccountAddress = AccountAddress([0xb2; 20]);
const FROZEN: AccountAddress = AccountAddress([0xd1; 20]);
const LIFTED: AccountAddress = AccountAddress([0xd2; 20]);
const DESTROYED: AccountAddress = AccountAddress([0xd3; 20]);

fn usdt(chain: ChainId) -> Asset {
    let contract = if chain == ChainId::TRX {
        "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"
    } else {
        "0xdAC17F958D2ee523a2206206994597C13D831ec7"
    };
    Asset::parse(chain, contract).unwrap()
}

/// Payments of dollars, the newest of which is a minute old.
fn payments(
    chain: ChainId,
    of: &[(AccountAddress, AccountAddress, u64)],
) -> Arc<Vec<AccountTransaction>> {
    let begin = assay_system::now() - SignedDuration::from_mins(i64::try_from(of.len()).unwrap());
    let payment = |(number, (from, to, dollars)): (u64, &(AccountAddress, AccountAddress, u64))| {
        let mut id = [0x77; 32];
        id[..8].copy_from_slice(&number.to_be_bytes());
        let time = begin + SignedDuration::from_mins(i64::try_from(number).unwrap());
        AccountTransaction {
            block: 1_000 + number,
            time: Timestamp::from_second(time.as_second()).unwrap(),
            id: Txid::from_bytes(id),
            initiator: Some(*from),
            transfers: vec![Transfer {
                kind: TransferKind::Transfer,
                asset: usdt(chain),
                from: *from,
                to: *to,
                amount: U256::from(dollars * DOLLAR),
                place: TransferPlace { index: 0, published: None },
            }],
            contract_facts: Vec::new(),
            freezes: Vec::new(),
            delegations: Vec::new(),
            messages: Vec::new(),
        }
    };
    Arc::new((0..).zip(of).map(payment).collect())
}

/// A clerk with wages of an exchange's money, and a cashier who gets a thief's.
fn town(chain: ChainId) -> Arc<Vec<AccountTransaction>> {
    payments(
        chain,
        &[
            (EXCHANGE, EMPLOYER, 50_000),
            (EMPLOYER, CLERK, 3_000),
            (THIEF, MULE, 80_000),
            (EMPLOYER, CLERK, 3_100),
            (MULE, CASHIER, 70_000),
        ],
    )
}

fn address(chain: ChainId, account: AccountAddress) -> String {
    account.on(chain).unwrap().as_str().to_owned()
}

/// A data directory with labels, and a chain that is read from an API with a key.
fn directory(chain: ChainId, protocol: &str, endpoint: &str) -> TempDir {
    let directory = TempDir::new().unwrap();
    let path = directory.path();
    let mut labels = "blockchain,address,category,tier,confidence,entity\n".to_owned();
    for (account, category, entity) in
        [(EXCHANGE, "exchange", "Some Exchange"), (THIEF, "stolen_funds", "Some Hack")]
    {
        let address = address(chain, account);
        writeln!(labels, "{chain},{address},{category},investigation,95,{entity}").unwrap();
    }
    let list = "list,entity_id,entity,asset_code,address\nofac-sdn,1,\"DOE, Jane\",ETH,0x00000000000000000000000000000000deadbeef\n";
    fs::write(path.join("list.csv"), list).unwrap();
    fs::write(path.join("labels.csv"), labels).unwrap();
    fs::create_dir_all(path.join("sources")).unwrap();
    fs::write(path.join("sources/key"), KEY).unwrap();
    let manifest = format!(
        "apiVersion: assay.dev/v1alpha1\nkind: ChainSource\nmetadata: {{name: explorer}}\nspec:\n  chain: {chain}\n  \
         mode: on_demand\n  protocol: {protocol}\n  endpoint: '{endpoint}'\n  fetchTimeout: 30s\n  credentialsFile: '{}'\n",
        path.join("sources/key").display()
    );
    fs::write(path.join("chain.yaml"), manifest).unwrap();
    for command in [
        &["ingest", "labels", "labels.csv", "--format", "csv", "--source", "own"][..],
        &["ingest", "sanctions", "list.csv", "--format", "csv", "--source", "ofac-sdn"],
        &["apply", "--file", "chain.yaml"],
    ] {
        let _ = assay(path, command).ok();
    }
    directory
}

/// A server of a data directory, and a caller with a key.
fn served(directory: TempDir) -> (Server, Caller) {
    let path = directory.path();
    fs::write(path.join("tenant.yaml"), tenant("acme", "business")).unwrap();
    let _ = assay(path, ["apply", "--file", "tenant.yaml"]).ok();
    let key = assay(path, ["keys", "create", "--tenant", "acme"]).ok().stdout;
    let server = Server::start(Arc::new(directory), &[]);
    let caller = server.caller(key.trim());
    (server, caller)
}

fn check(directory: &Path, chain: ChainId, account: AccountAddress) -> Value {
    assay(directory, ["check", chain.as_str(), &address(chain, account), "--json"]).ok().json()
}

fn codes(answer: &Value) -> Vec<&str> {
    answer["reasons"].as_array().unwrap().iter().map(|it| it["code"].as_str().unwrap()).collect()
}

#[test]
fn an_api_with_a_key_is_enough_for_an_answer() {
    for (chain, protocol, name) in [
        (ChainId::ETH, "etherscan", "Etherscan"),
        (ChainId::ETH, "blockscout", "Blockscout"),
        (ChainId::TRX, "trongrid", "TronGrid"),
    ] {
        // Given an API that knows the key,
        let api = AccountApi::of(town(chain));
        api.set_behavior(|behavior| behavior.key = Some(KEY.to_owned()));
        let endpoint = match protocol {
            "etherscan" => api.etherscan(),
            "blockscout" => api.blockscout(),
            _ => api.url(),
        };
        let directory = directory(chain, protocol, &endpoint);
        // when the clerk is checked, then the wages are traced to the exchange;
        let clerk = check(directory.path(), chain, CLERK);
        assert_eq!(
            (&clerk["verdict"], &clerk["complete"]),
            (&"allow".into(), &true.into()),
            "{clerk}"
        );
        let exposure = clerk["coverage"]["exposure"]["detail"].as_str().unwrap();
        assert!(exposure.contains(&format!("reported by {name}, not checked")), "{exposure}");
        let source = clerk["sources"].as_array().unwrap().last().unwrap();
        assert_eq!(source["latest_block"]["ingest_mode"], "on_demand");
        // the cashier's money is the thief's, with the path to him;
        let cashier = check(directory.path(), chain, CASHIER);
        assert_eq!(cashier["verdict"], "review", "{protocol}: {cashier}");
        assert!(cashier.to_string().contains("Some Hack"), "{protocol}: {cashier}");
        // a second check makes no request for a list again.
        let before = api.requests().len();
        let again = check(directory.path(), chain, CLERK);
        for field in ["verdict", "exposure", "scoring_components", "reasons"] {
            assert_eq!(again[field], clerk[field], "{protocol}: {field}");
        }
        assert!(api.requests().len() <= before + 1, "only the newest block is asked for");
        // The key is in every request, and nowhere in an answer.
        assert!(api.requests().iter().all(|request| request.key == KEY));
        assert!(!clerk.to_string().contains(KEY));
    }
}

#[test]
fn a_failing_api_is_told_and_never_gives_an_allow() {
    let faults = [
        (ApiFault::KeyRevoked, "it refused the key"),
        (ApiFault::DailyText, "its limit of requests was reached"),
        (ApiFault::NotInPlan, "it refused the key"),
        (ApiFault::Truncated, "it failed"),
        (ApiFault::OtherAddress, "it failed"),
    ];
    for (fault, words) in faults {
        // Given an API that states its newest block and fails afterwards,
        let api = AccountApi::of(town(ChainId::ETH));
        let directory = directory(ChainId::ETH, "etherscan", &api.etherscan());
        let _ = check(directory.path(), ChainId::ETH, MULE);
        api.set_behavior(|behavior| behavior.always = Some(fault));
        // when an account is checked whose lists are not stored,
        let answer = check(directory.path(), ChainId::ETH, CLERK);
        // then there is no allow, and the answer says why.
        assert_ne!(answer["verdict"], "allow", "{fault:?}: {answer}");
        let told = answer["coverage"]["exposure"]["detail"].as_str().unwrap();
        let is_unreadable = codes(&answer).contains(&"flows_missing");
        assert!(told.contains(words) || is_unreadable, "{fault:?}: {told} {:?}", codes(&answer));
        // When the API recovers, the next check has it all.
        api.set_behavior(|behavior| behavior.always = None);
        let later = check(directory.path(), ChainId::ETH, CLERK);
        assert_eq!(later["verdict"], "allow", "{fault:?}: {later}");
    }
}

/// Given issuers that froze accounts, then a server reads the freezes beside the checks, and each check has those in force.
#[test]
fn freezes_by_the_issuer_are_read_from_an_api() {
    for (chain, protocol) in
        [(ChainId::ETH, "etherscan"), (ChainId::ETH, "blockscout"), (ChainId::TRX, "trongrid")]
    {
        let api = AccountApi::of(town_with_freezes(chain));
        let endpoint = match protocol {
            "etherscan" => api.etherscan(),
            "blockscout" => api.blockscout(),
            _ => api.url(),
        };
        let directory = directory(chain, protocol, &endpoint);
        let (_server, caller) = served(directory);
        let check_of = |account| {
            let body = json!({ "blockchain": chain.as_str(), "address": address(chain, account) });
            let headers = [("Cache-Control", "no-cache")];
            let reply = caller.post("/api/v1/check/address", &body.to_string(), &headers);
            assert_eq!(reply.status, 200, "{}", reply.json());
            reply.json()
        };
        wait_at_most(Duration::from_mins(2), "the freezes are read", || {
            let answer = check_of(FROZEN);
            let detail = answer["coverage"]["exposure"]["detail"].as_str().unwrap_or_default();
            if !detail.contains("no freezes") && !detail.is_empty() {
                return true;
            }
            thread::sleep(Duration::from_secs(2));
            false
        });
        // Then the frozen account is reviewed from its freeze on;
        let frozen = check_of(FROZEN);
        assert_eq!(frozen["verdict"], "review", "{protocol}: {frozen:#}");
        let labels = frozen["labels"].to_string();
        assert!(labels.contains("issuer_frozen"), "{protocol}: {labels}");
        // so is the one whose funds were destroyed, and the label says so;
        let destroyed = check_of(DESTROYED);
        assert_eq!(destroyed["verdict"], "review", "{protocol}: {destroyed:#}");
        assert!(destroyed["labels"].to_string().contains("destroyed its funds"), "{destroyed:#}");
        // a freeze that was lifted is in force no longer, and what the frozen account paid before is not touched.
        for account in [LIFTED, CLERK] {
            let answer = check_of(account);
            assert_eq!(answer["verdict"], "allow", "{protocol}: {answer:#}");
        }
        // Each list of freezes was asked for once, not once a check.
        let events = api.requests().into_iter().filter(|request| {
            request.path.contains("getLogs") || request.path.contains("/events?")
        });
        let mut paths: Vec<String> = events.map(|request| request.path).collect();
        let asked = paths.len();
        paths.sort();
        paths.dedup();
        assert_eq!((asked, paths.is_empty()), (paths.len(), false), "{protocol}: {paths:?}");
    }
}

#[test]
fn a_listed_address_is_answered_while_the_api_is_silent() {
    // Given an API that gives no answer, and a check that waits five seconds for it,
    let chain = ChainId::ETH;
    let api = AccountApi::of(town(chain));
    api.set_behavior(|behavior| behavior.always = Some(ApiFault::Silent));
    let directory = directory(chain, "etherscan", &api.etherscan());
    let path = directory.path();
    let source = fs::read_to_string(path.join("chain.yaml")).unwrap();
    fs::write(path.join("chain.yaml"), source.replace("fetchTimeout: 30s", "fetchTimeout: 5s"))
        .unwrap();
    let _ = assay(path, ["apply", "--file", "chain.yaml"]).ok();
    let (_server, caller) = served(directory);
    let asked = |address: &str| caller.check(chain.as_str(), address).json();
    let (waiting, listed, is_waiting) = thread::scope(|scope| {
        let waiting = scope.spawn(|| asked(&address(chain, CLERK)));
        let _ = wait_at_most(Duration::from_mins(1), "a request to the API", || {
            !api.requests().is_empty()
        });
        // when a listed address is checked,
        let listed = asked("0x00000000000000000000000000000000deadbeef");
        let is_waiting = !waiting.is_finished();
        (waiting.join().unwrap(), listed, is_waiting)
    });
    // then it is blocked before the other check has its answer, which is no allow.
    assert_eq!(listed["verdict"], "block", "{listed}");
    assert!(is_waiting, "the listed address waited for the API");
    assert_eq!(waiting["verdict"], "indeterminate", "{waiting}");
}

/// Given a thief whose newest transfers are spam, then a server reads beside the checks whom he paid, and whom his payees paid.
#[test]
fn the_listed_side_is_read_beside_the_checks() {
    let chain = ChainId::ETH;
    let spammer = AccountAddress([0x5a; 20]);
    let mut paid = vec![(EXCHANGE, EMPLOYER, 50_000), (EMPLOYER, CLERK, 3_000)];
    paid.extend([(THIEF, MULE, 80_000), (MULE, CASHIER, 70_000)]);
    // More than a page.
    paid.extend(std::iter::repeat_n((spammer, THIEF, 1), 1_100));
    let api = AccountApi::of(payments(chain, &paid));
    let directory = directory(chain, "blockscout", &api.blockscout());
    let (_server, caller) = served(directory);
    let body = json!({ "blockchain": chain.as_str(), "address": address(chain, CLERK) });
    let headers = [("Cache-Control", "no-cache")];
    let read =
        "payees in the newest transfers of 2 of 2 listed and severe addresses were read beforehand";
    wait_at_most(Duration::from_mins(2), "the lists of severe parties are read", || {
        let reply = caller.post("/api/v1/check/address", &body.to_string(), &headers);
        let answer = reply.json();
        let detail = answer["coverage"]["exposure"]["detail"].as_str().unwrap_or_default();
        if detail.contains(read) {
            return true;
        }
        thread::sleep(Duration::from_secs(1));
        false
    });
    // Then the spam hides nobody: the page behind it was read, and the lists of the payee, although nobody checked either.
    let requests = api.requests();
    let is_asked = |account, page: &str| {
        let account = address(chain, account).to_lowercase();
        requests.iter().any(|request| {
            let path = request.path.to_lowercase();
            path.contains("action=tokentx") && path.contains(&account) && path.contains(page)
        })
    };
    assert!(is_asked(THIEF, "sort=desc"), "{requests:#?}");
    assert!(is_asked(MULE, "sort=asc"), "{requests:#?}");
    assert!(!is_asked(CASHIER, ""), "a payee's payee is known by the payee's list");
}

/// The town, in which the issuer freezes three accounts that an exchange paid, and a frozen one paid the clerk before.
fn town_with_freezes(chain: ChainId) -> Arc<Vec<AccountTransaction>> {
    let mut transactions = payments(
        chain,
        &[
            (EXCHANGE, FROZEN, 9_000),
            (EXCHANGE, LIFTED, 9_000),
            (EXCHANGE, DESTROYED, 9_000),
            (EXCHANGE, EMPLOYER, 50_000),
            (EMPLOYER, CLERK, 3_000),
            (FROZEN, CLERK, 20),
        ],
    )
    .to_vec();
    let newest = transactions.last().unwrap().clone();
    let changes = [
        (FROZEN, FreezeChange::Frozen),
        (LIFTED, FreezeChange::Frozen),
        (DESTROYED, FreezeChange::Frozen),
        (LIFTED, FreezeChange::Lifted),
        (DESTROYED, FreezeChange::Destroyed),
    ];
    for ((account, change), number) in changes.into_iter().zip(1_u8..) {
        let event = FreezeEvent { asset: usdt(chain), account, change, log: u32::from(number) };
        transactions.push(AccountTransaction {
            block: newest.block + u64::from(number),
            time: newest.time + SignedDuration::from_secs(3 * i64::from(number)),
            id: Txid::from_bytes([0x99 + number; 32]),
            initiator: None,
            transfers: Vec::new(),
            contract_facts: Vec::new(),
            freezes: vec![event],
            delegations: Vec::new(),
            messages: Vec::new(),
        });
    }
    Arc::new(transactions)
}
