//! The order in which histories are read: the most unread money per request first.

use assay_address::ChainId;
use assay_chain::histories::accounts::{AccountList, ListOrder, PageRequest};
use assay_engine::account::{AccountAddress, Asset, scored_assets};

use super::{
    fetch::Question,
    lists::{ReadLists, lists_of},
    masses::{UnreadMass, UnreadMasses, WHOLE},
    reached::ReachedAccounts,
};

/// Least unread share of a payer that is worth a request: 0.2 %.
const LEAST_SHARE: u64 = WHOLE / 500;

/// Weight of questions about payers that severe money reached, to 1 for others.
const REACHED_WEIGHT: u64 = 4;

/// The requests that a round makes: a fifth of those that were made, at least one.
#[must_use]
pub(super) fn round_size(made: u32) -> usize {
    usize::try_from(made / 5).unwrap_or(1).max(1)
}

/// The first requests for a subject, and the next ones for its further pages: its tokens, its transactions and transfers inside
/// of transactions, the newest row first.
pub(super) fn of_subject(
    subject: AccountAddress,
    lists: &ReadLists,
    (chain, internal): (ChainId, bool),
) -> Vec<PageRequest> {
    let newest = ListOrder::NewestFirst;
    let mut requests = Vec::new();
    let tokens = lists.get(subject, AccountList::Tokens);
    // Spam fills pages with worthless tokens: scored ones are asked for by themselves.
    if tokens.is_some_and(|list| !list.is_whole() && list.pages > 0) {
        let scored = scored_assets(chain).map(|scored| scored.id.asset);
        requests.extend(scored.filter_map(|asset| match asset {
            Asset::Token(contract) => lists.next(subject, AccountList::Token(contract), newest),
            Asset::Native | Asset::Numbered(_) => None,
        }));
    } else {
        requests.extend(lists.next(subject, AccountList::Tokens, newest));
    }
    for list in lists_of(Asset::Native, internal) {
        requests.extend(lists.next(subject, list, newest));
    }
    requests
}

/// The questions that are worth most, the best first, at most `most`. Those about payers that severe money reached count several
/// times, and come not before all others: a payee of severe parties with a long history would take all requests.
pub(super) fn next(
    masses: &UnreadMasses,
    lists: &ReadLists,
    (internal, reached): (bool, &ReachedAccounts),
    most: usize,
) -> Vec<Question> {
    let large = masses.iter().filter(|(_, mass)| mass.share >= LEAST_SHARE);
    let candidates = large.flat_map(|((payer, asset), mass)| {
        let is_reached = reached.contains(*payer);
        let candidates = candidates_of((*payer, *asset), mass, lists, internal).into_iter();
        let weight = if is_reached { REACHED_WEIGHT } else { 1 };
        candidates.map(move |(worth, question)| (worth.saturating_mul(weight), question))
    });
    let mut candidates: Vec<(u64, Question)> = candidates.collect();
    candidates.sort_by(|(one, first), (other, second)| {
        let key = |it: &Question| match it {
            Question::Code(account)
            | Question::Freezes(account, ..)
            | Question::Balance(account, _) => (*account, None),
            Question::Page(request) => (request.account, Some(request.list)),
        };
        other.cmp(one).then_with(|| key(first).cmp(&key(second)))
    });
    let mut questions: Vec<Question> = Vec::new();
    for (_, question) in candidates {
        if questions.len() == most {
            break;
        }
        if !questions.contains(&question) {
            questions.push(question);
        }
    }
    questions
}

/// The questions about payers that were drawn, the first one first, at most `most`: for code and for the list at once, so that a dollar
/// goes back an account in each round.
pub(super) fn about_drawn(
    drawn: &[(AccountAddress, Asset)],
    masses: &UnreadMasses,
    lists: &ReadLists,
    (internal, most): (bool, usize),
) -> Vec<Question> {
    let mut questions: Vec<Question> = Vec::new();
    for payer in drawn {
        let Some(mass) = masses.get(payer) else { continue };
        let mut about: Vec<_> = candidates_of(*payer, mass, lists, internal);
        if matches!(about.first(), Some((_, Question::Code(_)))) {
            let pages = requests_of(payer.0, payer.1, lists, internal).into_iter();
            about.extend(pages.map(|request| (0, Question::Page(request))));
        }
        for (_, question) in about {
            if questions.len() < most && !questions.contains(&question) {
                questions.push(question);
            }
        }
    }
    questions
}

/// The questions about an unread payer, with the weight that each is worth.
fn candidates_of(
    (payer, asset): (AccountAddress, Asset),
    mass: &UnreadMass,
    lists: &ReadLists,
    internal: bool,
) -> Vec<(u64, Question)> {
    let mut candidates: Vec<(u64, Question)> = Vec::new();
    let worth = mass.weight / cost(payer, asset, mass, lists, internal);
    if lists.asks_for_code(payer) {
        candidates.push((worth, Question::Code(payer)));
    } else if lists.has_code(payer).is_none() {
        // Its transactions show that it sends some, which no contract does.
        let native = lists.next(payer, AccountList::Native, ListOrder::OldestFirst);
        let native = native.filter(|request| request.after.is_none());
        candidates.extend(native.map(|request| (worth, Question::Page(request))));
    } else if lists.rows_until(payer, asset, internal) <= mass.newest {
        // Also those of a contract: it may have passed on what it got in the same transaction.
        let of_payer = requests_of(payer, asset, lists, internal).into_iter();
        candidates.extend(of_payer.map(|request| (worth, Question::Page(request))));
    }
    // At a contract the payee may have exchanged its own money.
    if lists.has_code(payer) == Some(true)
        && let Some(payee) = mass.payee
    {
        let others = [AccountList::Native, AccountList::Tokens].into_iter();
        let others = others.filter(|list| lists.get(payee, *list).is_none());
        let others = others.filter_map(|list| lists.next(payee, list, ListOrder::OldestFirst));
        let worth = mass.weight / 2;
        candidates.extend(others.map(|request| (worth, Question::Page(request))));
    }
    candidates
}

fn requests_of(
    payer: AccountAddress,
    asset: Asset,
    lists: &ReadLists,
    internal: bool,
) -> Vec<PageRequest> {
    let lists_of_asset = lists_of(asset, internal).into_iter();
    lists_of_asset.filter_map(|list| lists.next(payer, list, ListOrder::OldestFirst)).collect()
}

/// Number of requests until the payer's last payment to the subject's money is reached, by the blocks that its pages span.
fn cost(
    payer: AccountAddress,
    asset: Asset,
    mass: &UnreadMass,
    lists: &ReadLists,
    internal: bool,
) -> u64 {
    let of_list = |list: AccountList| {
        let Some(read) = lists.get(payer, list) else { return 1 };
        if read.is_whole() {
            return 0;
        }
        let left = mass.newest.saturating_sub(lists.list_until(payer, list));
        (left / read.blocks_of_page()).saturating_add(1)
    };
    let costs = lists_of(asset, internal).into_iter().map(of_list);
    costs.fold(0, u64::saturating_add).max(1)
}
