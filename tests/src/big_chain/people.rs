//! Parties of a generated chain and their payments: services, a hub, its customers, and wallets.

use assay_engine::utxo::ScriptOwner;
use assay_test_random::Random;

/// Number of services.
pub(super) const SERVICES: u64 = 64;
/// Number of wallets of which one belongs to a swindler.
const SWINDLER_EVERY: u64 = 400;

/// A party of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Person {
    /// The address of a service, which many pay; service 0 is the busiest.
    Service(u64),
    /// The address of the hub, if the chain has one.
    Hub,
    /// A customer whom the hub pays once and who pays a part back later.
    Leaf(u64),
    /// An address of a wallet.
    Wallet(u64),
}

/// Label of an owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The category, as label files name it.
    pub category: &'static str,
    /// Name of the entity.
    pub entity: String,
}

impl Person {
    /// The address, in the forms that Bitcoin has: half of them native witness programs.
    #[must_use]
    pub fn owner(self) -> ScriptOwner {
        let (kind, number) = match self {
            Self::Service(number) => (1, number),
            Self::Hub => (2, 0),
            Self::Leaf(number) => (3, number),
            Self::Wallet(number) => (4, number),
        };
        let mut dice = Random::new(kind << 56 | number);
        match dice.below(10) {
            0..3 => ScriptOwner::KeyHash(dice.bytes()),
            3..5 => ScriptOwner::ScriptHash(dice.bytes()),
            5..9 => ScriptOwner::Witness(0, dice.bytes::<20>().to_vec()),
            _ => ScriptOwner::Witness(1, dice.bytes::<32>().to_vec()),
        }
    }

    /// Label of the address, which some services and a few wallets have. The hub has no label, so that traces follow
    /// money through the hub.
    #[must_use]
    pub fn label(self) -> Option<Label> {
        let (category, entity) = match self {
            Self::Service(number) => match number % 8 {
                0 | 4 => ("exchange", format!("Exchange {number}")),
                2 => ("gambling", format!("Casino {number}")),
                6 => ("mixer", format!("Mixer {number}")),
                _ => return None,
            },
            Self::Wallet(number) if number % SWINDLER_EVERY == 7 => {
                ("scam", format!("Scheme {}", number / SWINDLER_EVERY % 20))
            }
            Self::Hub | Self::Leaf(_) | Self::Wallet(_) => return None,
        };
        Some(Label { category, entity })
    }
}
