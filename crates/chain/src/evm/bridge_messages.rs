//! Messages between chains that bridges log: the deposit into a bridge and its payout on another chain log the same identifier, each
//! with its amount.
//!
//! Anybody can log any event: a message counts only if contracts that labels name as bridges logged both of its ends.

use std::{collections::HashMap, sync::LazyLock};

use assay_address::ChainId;
use assay_engine::account::{AccountAddress, BridgeMessage, MessageEnd};
use ruint::aliases::U256;

use self::{
    Argument::{Body, Own, Topic, Word},
    MessageEnd::{Received, Sent},
};
use super::{answer::LogAnswer, events::account, rlp::keccak};

/// An argument of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Argument {
    /// An indexed one: its number among the topics, of which the first is the signature.
    Topic(usize),
    /// One that is not indexed: its number among the words of data.
    Word(usize),
    /// The number of the chain that logs, by [`CCTP_DOMAINS`].
    Own,
    /// One in the body of a message of CCTP, which is the third argument in the data: its place among the bytes of the body.
    Body(usize),
}

/// An event that tells a message.
#[derive(Clone, Copy, Debug)]
struct Row {
    signature: &'static str,
    end: MessageEnd,
    /// Tells messages of protocols apart.
    protocol: &'static str,
    identifier: &'static [Argument],
    account: Argument,
    amount: Argument,
}

/// Numbers of chains in Circle's Cross-Chain Transfer Protocol.
const CCTP_DOMAINS: [(&str, u8); 6] =
    [("eth", 0), ("avalanche", 1), ("optimism", 2), ("arbitrum", 3), ("base", 6), ("polygon", 7)];

/// The events: those of tokens on several chains (OFT) of `LayerZero`, whose messages have an identifier of their own, and of the
/// first version of Circle's protocol (CCTP), whose messages are numbered by the chain that sends them. Deposits of its second
/// version do not log the number.
const TABLE: [Row; 4] = [
    Row {
        signature: "OFTSent(bytes32,uint32,address,uint256,uint256)",
        end: Sent,
        protocol: "oft",
        identifier: &[Topic(1)],
        account: Topic(2),
        amount: Word(1),
    },
    Row {
        signature: "OFTReceived(bytes32,uint32,address,uint256)",
        end: Received,
        protocol: "oft",
        identifier: &[Topic(1)],
        account: Topic(2),
        amount: Word(1),
    },
    Row {
        signature: "DepositForBurn(uint64,address,uint256,address,bytes32,uint32,bytes32,bytes32)",
        end: Sent,
        protocol: "cctp",
        identifier: &[Own, Topic(1)],
        account: Topic(3),
        amount: Word(0),
    },
    Row {
        signature: "MessageReceived(address,uint32,uint64,bytes32,bytes)",
        end: Received,
        protocol: "cctp",
        identifier: &[Word(0), Topic(2)],
        account: Body(36),
        amount: Body(68),
    },
];

/// The events by the hashes of their signatures, which stand in the logs.
static EVENTS: LazyLock<HashMap<[u8; 32], Row>> =
    LazyLock::new(|| TABLE.iter().map(|row| (keccak(row.signature), *row)).collect());

/// The messages that logs of a transaction tell.
pub(crate) fn of_logs(chain: ChainId, logs: &[LogAnswer]) -> impl Iterator<Item = BridgeMessage> {
    logs.iter().filter_map(move |log| {
        let (topic, _) = log.topics.split_first()?;
        EVENTS.get(&topic.0)?.message(chain, log)
    })
}

impl Row {
    /// The message of an event; `None` if an argument is missing, the amount has more than 128 bits, or the protocol has no
    /// number for the chain. The identifier is hashed with the protocol's name. One of zeros is none: a deposit that waits for
    /// others has none yet.
    fn message(&self, chain: ChainId, log: &LogAnswer) -> Option<BridgeMessage> {
        let mut hashed = self.protocol.as_bytes().to_vec();
        let mut is_zero = true;
        for part in self.identifier {
            let word = part.word(chain, log)?;
            is_zero &= word == [0; 32];
            hashed.extend(word);
        }
        if is_zero {
            return None;
        }
        Some(BridgeMessage {
            contract: log.address.0,
            id: AccountAddress(*keccak(&hashed).last_chunk()?),
            account: account(&self.account.word(chain, log)?)?,
            end: self.end,
            amount: U256::from_be_bytes(self.amount.word(chain, log)?).try_into().ok()?,
        })
    }
}

impl Argument {
    fn word(self, chain: ChainId, log: &LogAnswer) -> Option<[u8; 32]> {
        match self {
            Self::Topic(number) => log.topics.get(number).map(|topic| topic.0),
            Self::Word(number) => log.data.0.as_chunks::<32>().0.get(number).copied(),
            Self::Own => {
                let id = chain.info().id;
                let (_, number) = CCTP_DOMAINS.iter().find(|(known, _)| *known == id)?;
                Some(U256::from(*number).to_be_bytes())
            }
            Self::Body(place) => word_of_body(&log.data.0, place),
        }
    }
}

/// A word of a message of CCTP. Its body is an argument of any length, in whose place stands its position, and which begins with its
/// length; in it come a version of four bytes, the token, the receiver and the amount.
fn word_of_body(data: &[u8], place: usize) -> Option<[u8; 32]> {
    let words = data.as_chunks::<32>().0;
    let position = usize::try_from(U256::from_be_bytes(*words.get(2)?)).ok()?;
    data.get(position.checked_add(32 + place)?..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use alloy_primitives::hex;

    use super::*;

    /// The topics of the events, as explorers show them.
    #[test]
    fn events_are_found_by_the_hashes_of_their_signatures() {
        let known = [
            "85496b760a4b7f8d66384b9df21b381f5d1b1e79f229a47aaf4c232edc2fe59a",
            "efed6d3500546b29533b128a29e3a94d70788727f0507505ac12eaf2e578fd9c",
            "2fa9ca894982930190727e75500a97d8dc500233a5065e0f3126c48fbe0343c0",
            "58200b4c34ae05ee816d710053fff3fb75af4395915d3d2a771b24aa10e3cc5d",
        ];
        for (topic, row) in known.iter().zip(TABLE) {
            let topic: [u8; 32] = hex::decode(topic).unwrap().try_into().unwrap();
            assert_eq!(EVENTS[&topic].signature, row.signature);
        }
        assert_eq!(EVENTS.len(), TABLE.len());
    }

    #[test]
    fn domains_are_of_known_chains() {
        for (chain, _) in CCTP_DOMAINS {
            assert_eq!(chain.parse::<ChainId>().unwrap().info().id, chain);
        }
    }
}
