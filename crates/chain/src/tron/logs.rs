//! Event logs of transactions, in the form of the chains with Ethereum's accounts, and the transfers of tokens that they are.

use std::collections::HashMap;

use assay_engine::account::{AccountAddress, Asset, PublishedPlace, Transfer, TransferPlace};

use super::answer;
use crate::evm::{answer::LogAnswer, events::Event};

/// The transfers of tokens. Units that a token logs both as a transfer and as new or destroyed ones count once.
pub(super) fn tokens(
    events: &[(&LogAnswer, Event)],
    caller: Option<AccountAddress>,
) -> Vec<Transfer> {
    let mut logged_as_transfer: HashMap<_, usize> = HashMap::new();
    let is_transfer = |event: &Event| matches!(event, Event::Transfer { .. });
    for (log, event) in events.iter().filter(|(_, event)| is_transfer(event)) {
        if let Some(change) = event.moved(caller) {
            *logged_as_transfer.entry((log.contract(), change)).or_default() += 1;
        }
    }
    let mut transfers = Vec::new();
    for (log, event) in events {
        let Some(change) = event.moved(caller) else { continue };
        let same = logged_as_transfer.get_mut(&(log.contract(), change));
        if let Some(count) = same.filter(|count| !is_transfer(event) && **count > 0) {
            *count -= 1;
            continue;
        }
        let (kind, from, to, amount) = change;
        let published = Some(PublishedPlace::Log(log.index()));
        let (asset, place) = (Asset::Token(log.contract()), TransferPlace { index: 0, published });
        transfers.push(Transfer { kind, asset, from, to, amount, place });
    }
    transfers
}

/// An event log in the form of the chains with Ethereum's accounts. `number` is its index in the block.
pub(super) fn read_log(
    transaction: [u8; 32],
    number: usize,
    log: &answer::LogAnswer,
) -> Result<LogAnswer, String> {
    let contract = <[u8; 20]>::try_from(&*log.address.0)
        .map_err(|_| "the address of a log has not 20 bytes".to_owned())?;
    let topics = log.topics.iter().map(|topic| without_prefix(topic.0)).collect();
    let index = u32::try_from(number).unwrap_or(u32::MAX);
    Ok(LogAnswer::new(AccountAddress(contract), topics, log.data.0.clone(), index, transaction))
}

/// A topic without the prefix of an address, which contracts of old compilers log.
fn without_prefix(topic: [u8; 32]) -> [u8; 32] {
    const PREFIXED: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x41];
    let mut topic = topic;
    if let Some(first) = topic.first_chunk_mut::<12>().filter(|first| **first == PREFIXED) {
        *first = [0; 12];
    }
    topic
}
