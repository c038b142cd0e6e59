//! Reads of a chain by checks, and their budgets.

use assay_engine::{
    account::{
        AccountAddress, AccountPayments, AccountView, AssetNumber, Payment, TransferKind,
        scored_assets,
    },
    assessment::{Assessment, CoverageStatus},
    evidence::{FlowEnd, UnresolvedReason},
    ledger::{OwnerNumber, TransactionNumber},
    score::Verdict,
    taxonomy::Category,
    utxo::Txid,
};
use assay_graph::account::AccountGraphView;
use assay_tests::accounts::{
    AccountChain, AccountWorld, DOLLAR, ETH, ETHER, USDT, WETH,
    economy::{Economy, EconomySize},
    move_of,
};

/// The codes of the reasons of an answer.
fn reasons(answer: &Assessment) -> Vec<&'static str> {
    answer.reasons.iter().map(|reason| reason.code).collect()
}

#[test]
fn payments_that_were_not_read_withhold_an_allow() {
    // Given an account with three payments of an exchange.
    let mut chain = AccountChain::new();
    let exchange = chain.party(Category::Exchange, "Some Exchange");
    let account = chain.account();
    for _ in 0..3 {
        chain.pay(exchange, account, ETH, ETHER);
    }
    let world = AccountWorld::new(chain);
    // When a check reads all of them, or less.
    let all = world.assess_newest(account, 3);
    let some = world.assess_newest(account, 2);
    // Then the second one tells what it did not read.
    assert_eq!(
        (all.verdict, all.coverage.exposure.status),
        (Verdict::Allow, CoverageStatus::Assessed)
    );
    assert_eq!(some.verdict, Verdict::Indeterminate, "{some:#?}");
    assert_eq!(some.coverage.exposure.status, CoverageStatus::Partial);
    assert!(some.coverage.exposure.detail.contains("1 oldest payments were not read"), "{some:#?}");
    assert!(!some.coverage.exposure.detail.contains("time limit"), "{some:#?}");
    assert!(reasons(&some).contains(&"flows_incomplete"), "{some:#?}");
    // It does not hope for a next check, which would not read more.
    assert_eq!(some.valid_until, all.valid_until);
}

#[test]
fn unread_stolen_money_never_reads_as_clean() {
    // Given an account whose oldest payment is stolen, below many of an exchange.
    let mut chain = AccountChain::new();
    let exchange = chain.party(Category::Exchange, "Some Exchange");
    let thief = chain.party(Category::StolenFunds, "Some Hack");
    let account = chain.account();
    chain.pay(thief, account, ETH, 5 * ETHER);
    chain.pay_all(account, exchange, ETH);
    for _ in 0..50 {
        chain.pay(exchange, account, ETH, ETHER);
    }
    let world = AccountWorld::new(chain);
    assert_eq!(world.assess(account).verdict, Verdict::Review);
    for most in [0, 1, 50, 51] {
        let answer = world.assess_newest(account, most);
        assert_ne!(answer.verdict, Verdict::Allow, "{most}: {answer:#?}");
        assert_ne!(answer.coverage.exposure.status, CoverageStatus::Assessed, "{most}");
    }
}

#[test]
fn payments_in_other_assets_hide_neither_origins_nor_destinations() {
    // Given a middleman who passes stolen ether on and who then is paid 400 times in dollars.
    let mut chain = AccountChain::new();
    let exchange = chain.party(Category::Exchange, "Some Exchange");
    let thief = chain.party(Category::StolenFunds, "Some Hack");
    let mixer = chain.party(Category::Mixer, "Some Mixer");
    let [middleman, receiver, payer] = chain.accounts();
    chain.pay(thief, middleman, ETH, 10 * ETHER);
    chain.pay(exchange, payer, ETH, 10 * ETHER);
    chain.pay_all(payer, middleman, ETH);
    chain.pay(middleman, receiver, ETH, 10 * ETHER);
    chain.pay(middleman, mixer, ETH, 10 * ETHER);
    for _ in 0..400 {
        chain.pay(exchange, middleman, USDT, 1_000 * DOLLAR);
    }
    let world = AccountWorld::new(chain);
    // When the receiver and the payer are checked.
    let flows = |account| {
        let flows = world.flows(account);
        flows.ledgers.into_iter().next().unwrap()
    };
    // Then the receiver's path leads to the theft, and the payer's money to the mixer.
    let source = flows(receiver).source;
    let stolen = source.parts.iter().find(|it| it.end.category() == Some(Category::StolenFunds));
    assert!(!stolen.unwrap().paths.is_empty(), "{source:#?}");
    let sent = flows(payer).destination;
    let found = sent.parts.iter().find(|it| it.end.category() == Some(Category::Mixer));
    assert!(found.is_some(), "{sent:#?}");
}

#[test]
fn money_behind_more_payments_than_a_trace_reads_is_not_unspent() {
    // Given a middleman who gets little money 300 times before he passes everything on to a mixer.
    let mut chain = AccountChain::new();
    let exchange = chain.party(Category::Exchange, "Some Exchange");
    let mixer = chain.party(Category::Mixer, "Some Mixer");
    let [middleman, payer] = chain.accounts();
    chain.pay(exchange, payer, ETH, 10 * ETHER);
    chain.pay_all(payer, middleman, ETH);
    for _ in 0..300 {
        chain.pay(exchange, middleman, ETH, ETHER / 1_000);
    }
    chain.pay_all(middleman, mixer, ETH);
    let world = AccountWorld::new(chain);
    // When the payer is checked.
    let flows = world.flows(payer);
    // Then the answer tells that the money was not followed.
    let sent: Vec<FlowEnd> = flows.ledgers[0].destination.parts.iter().map(|it| it.end).collect();
    assert_eq!(sent, [FlowEnd::Unresolved(UnresolvedReason::TraceLimit)]);
    assert_eq!(world.assess(payer).coverage.exposure.status, CoverageStatus::Partial);
}

/// Compares all that a view tells about payments with the list of all payments in the order of the chain.
fn compare_payments(view: &dyn AccountGraphView, all: &[Payment]) {
    for (index, payment) in all.iter().enumerate() {
        let first = all.partition_point(|it| it.transaction < payment.transaction);
        assert_eq!(payment.sequence as usize, index - first, "{payment:?}");
    }
    for number in 0..=all.last().map_or(0, |it| it.transaction.0 + 1) {
        let number = TransactionNumber(number);
        let own: Vec<_> = all.iter().filter(|it| it.transaction == number).cloned().collect();
        assert_eq!(view.payments_of_transaction(number), own);
    }
    let assets: Vec<AssetNumber> = AssetNumber::all_scored(view.chain()).collect();
    let newest = all.last().map_or(0, |it| it.transaction.0);
    for owner in (0..view.owners()).map(OwnerNumber) {
        let own: Vec<&Payment> =
            all.iter().filter(|it| it.from == owner || it.to == owner).collect();
        for most in [0, 1, 3, own.len(), usize::MAX] {
            let AccountPayments { payments, left_out, .. } = view.payments(owner, most);
            let skipped = own.len().saturating_sub(most);
            assert_eq!(left_out, skipped as u64, "{owner:?} {most}");
            assert!(payments.iter().eq(own.iter().skip(skipped).copied()), "{owner:?} {most}");
        }
        for asset in &assets {
            let of: Vec<&Payment> = own.iter().copied().filter(|it| it.asset == *asset).collect();
            for at in [0, newest / 3, newest / 2, newest, newest + 1, u64::MAX] {
                let at = TransactionNumber(at);
                for most in [0, 1, 2, usize::MAX] {
                    let before = of.iter().rev().filter(|it| it.transaction < at).take(most);
                    let from = of.iter().filter(|it| it.transaction >= at).take(most);
                    let found = view.payments_before(owner, *asset, at, most);
                    assert!(found.iter().eq(before.copied()), "{owner:?} before {at:?}");
                    let found = view.payments_from(owner, *asset, at, most);
                    assert!(found.iter().eq(from.copied()), "{owner:?} from {at:?}");
                }
            }
        }
        let ledgers = view.ledgers(owner);
        assert!(ledgers.is_sorted_by_key(|(asset, _)| *asset), "{ledgers:?}");
    }
}

#[test]
fn views_read_payments_in_the_order_of_the_chain() {
    let economy = Economy::simulate(7, EconomySize { people: 30, days: 30, heat: 1 });
    let accounts = economy.world.accounts();
    compare_payments(accounts, accounts.ledgers().payments());
}

#[test]
fn scored_assets_have_the_numbers_of_the_table_whenever_they_appear() {
    // Given a chain on which tokens outside the table appear first.
    let mut chain = AccountChain::new();
    let (one, other) = (chain.token(), chain.token());
    let account = chain.account();
    chain.mint(other, account, 5);
    chain.mint(one, account, 5);
    chain.mint(WETH, account, ETHER);
    let world = AccountWorld::new(chain);
    let view = world.accounts();
    // Then they are numbered behind all scored assets, in the order of the chain.
    let first = AssetNumber::FIRST_OTHER;
    assert_eq!(view.asset(first), Some(other));
    assert_eq!(view.asset(AssetNumber(first.0 + 1)), Some(one));
    assert_eq!(view.asset(AssetNumber(first.0 + 2)), None);
    assert!(!first.is_scored() && view.scored(first).is_none());
    for (number, scored) in (0..).map(AssetNumber).zip(scored_assets(view.chain())) {
        assert!(number.is_scored());
        assert_eq!(view.scored(number), Some(scored));
        assert_eq!(view.asset(number), Some(scored.id.asset));
    }
    let owner = view.owner(account).unwrap();
    let held = AccountView::ledgers(view, owner);
    let held: Vec<_> = held.iter().map(|(number, _)| view.asset(*number)).collect();
    assert_eq!(held, [Some(WETH)]);
    for chain in assay_address::ChainId::all() {
        assert!(scored_assets(chain).count() <= first.0 as usize, "{chain}");
    }
}

#[test]
fn views_find_transactions_accounts_and_created_contracts() {
    // Given an identifier that two transactions bear, and an account that creates three contracts.
    let mut chain = AccountChain::new();
    let exchange = chain.party(Category::Exchange, "Some Exchange");
    let [creator, first, second, third] = chain.accounts();
    chain.pay(exchange, creator, ETH, ETHER);
    for contract in [first, second, third] {
        chain.transact(creator, vec![move_of(TransferKind::Create, (creator, contract, ETH, 1))]);
    }
    let spam = chain.token();
    for _ in 0..3 {
        chain.mint(spam, creator, 1);
    }
    let mut transactions = chain.take_transactions();
    transactions[1].id = transactions[0].id;
    let ids: Vec<Txid> = transactions.iter().map(|it| it.id).collect();
    let world = AccountWorld::with_transactions(&chain, transactions.clone());
    let view = world.accounts();
    // Then the newest one is found,
    assert_eq!(view.find(&ids[0]), Some(TransactionNumber(1)));
    assert_eq!(view.find(&ids[2]), Some(TransactionNumber(2)));
    assert_eq!(view.find(&Txid::from_bytes([9; 32])), None);
    assert_eq!(view.transaction(TransactionNumber(2)).as_ref(), Some(&transactions[2]));
    assert_eq!(view.transaction(TransactionNumber(ids.len() as u64)), None);
    // accounts go by their numbers,
    let owner = |account: AccountAddress| view.owner(account).unwrap();
    assert_eq!(view.address(owner(creator)), Some(creator));
    assert_eq!(view.owner(AccountAddress([0xee; 20])), None);
    // created contracts come in the order of the chain,
    assert_eq!(view.deployer(owner(second)), Some(owner(creator)));
    assert_eq!(view.deployer(owner(creator)), None);
    assert_eq!(view.deployed(owner(creator), 2), [owner(first), owner(second)]);
    assert_eq!(view.deployed(owner(creator), 9).len(), 3);
    // and transactions with other tokens from the newest on.
    let with_tokens = view.with_other_tokens(owner(creator), 2);
    assert_eq!(with_tokens, [TransactionNumber(6), TransactionNumber(5)]);
}
