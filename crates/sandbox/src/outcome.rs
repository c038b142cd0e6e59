//! The outcomes that an address or a transaction chooses: one table.

use std::time::Duration;

use assay_address::{AddressMark, CanonicalAddress};
use assay_engine::utxo::Txid;
use assay_request::problem::{Code, RetryAdvice};

/// Text to which the addresses and transactions of the sandbox commit.
const MARK: &str = "assay sandbox";
/// Time after which a slow answer is given.
const SLOW: Duration = Duration::from_secs(3);
/// Seconds after which callers are told to try again.
const RETRY_AFTER: u64 = 1;

/// Answer or problem that an address or a transaction chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Number: the last byte to which the address or the transaction commits. It never changes.
    pub number: u8,
    /// Name: the verdict, the circumstance, or the problem's code.
    pub name: &'static str,
    /// Description in one sentence.
    pub description: &'static str,
    /// The reply.
    pub reply: OutcomeReply,
    /// True if addresses choose the outcome too, false if only transactions do.
    pub has_addresses: bool,
}

/// Reply to a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutcomeReply {
    /// An assessment.
    Assessment(Scenario),
    /// A problem.
    Problem(Code),
}

/// Made-up facts about a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// Nothing is found.
    Clean,
    /// As [`Self::Clean`], after some seconds.
    Slow,
    /// Users report the party as a scam.
    Reported,
    /// The party is on a sanctions list.
    Listed,
    /// The mandatory list was never imported.
    ListMissing,
    /// The mandatory list is stale.
    ListStale,
    /// The sandbox knows nothing of the subject.
    Unknown,
}

impl Scenario {
    /// Returns the time to wait before the answer is given.
    #[must_use]
    pub const fn delay(self) -> Duration {
        match self {
            Self::Slow => SLOW,
            _ => Duration::ZERO,
        }
    }
}

const fn assessment(
    number: u8,
    name: &'static str,
    scenario: Scenario,
    description: &'static str,
) -> Outcome {
    let reply = OutcomeReply::Assessment(scenario);
    Outcome { number, name, description, reply, has_addresses: true }
}

const fn problem(number: u8, code: Code) -> Outcome {
    let (name, description) = (code.as_str(), code.title());
    Outcome { number, name, description, reply: OutcomeReply::Problem(code), has_addresses: true }
}

const fn problem_of_transaction(number: u8, code: Code) -> Outcome {
    Outcome { has_addresses: false, ..problem(number, code) }
}

impl Outcome {
    /// All outcomes, by number. Outcomes are only ever added.
    pub const ALL: [Self; 25] = [
        assessment(0x01, "allow", Scenario::Clean, "Nothing adverse is found."),
        assessment(0x02, "review", Scenario::Reported, "Users report the party as a scam."),
        assessment(0x03, "block", Scenario::Listed, "The party is on a sanctions list."),
        assessment(
            0x04,
            "indeterminate",
            Scenario::ListMissing,
            "The mandatory sanctions list was never imported.",
        ),
        assessment(0x05, "stale", Scenario::ListStale, "The mandatory sanctions list is stale."),
        assessment(0x06, "slow", Scenario::Slow, "Nothing adverse is found, after three seconds."),
        problem(0x10, Code::InvalidKey),
        problem(0x11, Code::TenantSuspended),
        problem(0x12, Code::NoApiAccess),
        problem(0x13, Code::InsufficientScope),
        problem(0x14, Code::InvalidAddress),
        problem(0x15, Code::RequestTimeout),
        problem(0x16, Code::IdempotencyKeyInUse),
        problem(0x17, Code::IdempotencyKeyReused),
        problem(0x18, Code::QuotaExceeded),
        problem(0x19, Code::ReducedCapacity),
        problem(0x1a, Code::TooManyInFlight),
        problem(0x1b, Code::InternalError),
        problem(0x1c, Code::KeyDataStale),
        problem(0x1d, Code::Unavailable),
        problem(0x1e, Code::Overloaded),
        problem_of_transaction(0x20, Code::TransactionNotFound),
        problem_of_transaction(0x21, Code::OutputNotFound),
        problem_of_transaction(0x22, Code::ChainNotFollowed),
        problem_of_transaction(0x23, Code::UnsupportedTransfer),
    ];

    /// Returns the outcome that an address chooses; `None` for an address of which the sandbox knows nothing.
    #[must_use]
    pub fn of_address(address: &CanonicalAddress) -> Option<Self> {
        let mut of_addresses = Self::ALL.into_iter().filter(|outcome| outcome.has_addresses);
        of_addresses.find(|outcome| outcome.mark().addresses(address.chain()).contains(address))
    }

    /// Returns the outcome that a transaction chooses; `None` for a transaction of which the sandbox knows nothing.
    #[must_use]
    pub fn of_transaction(transaction: Txid) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.transaction() == transaction)
    }

    /// Returns the outcome of a problem.
    #[must_use]
    pub fn of_problem(code: Code) -> Self {
        let is_of = |outcome: &Self| outcome.reply == OutcomeReply::Problem(code);
        Self::ALL.into_iter().find(is_of).unwrap_or(problem_of_transaction(u8::MAX, code))
    }

    /// Returns the mark to which the outcome's addresses commit.
    #[must_use]
    pub const fn mark(self) -> AddressMark {
        AddressMark { text: MARK, number: self.number }
    }

    /// Returns the transaction of the outcome, the same on every chain.
    #[must_use]
    pub fn transaction(self) -> Txid {
        Txid::from_bytes(self.mark().bytes())
    }

    /// Returns the HTTP status of a check with this outcome.
    #[must_use]
    pub fn status(self) -> u16 {
        match self.reply {
            OutcomeReply::Assessment(_) => 200,
            OutcomeReply::Problem(code) => code.status().as_u16(),
        }
    }

    /// Returns the seconds after which a caller is told to try again, if a retry may succeed.
    #[must_use]
    pub fn retry_after(self) -> Option<u64> {
        match self.reply {
            OutcomeReply::Problem(code) if code.retry() == RetryAdvice::Later => Some(RETRY_AFTER),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use assay_address::ChainId;

    use super::*;

    #[test]
    fn numbers_and_names_are_unique_and_in_order() {
        assert!(Outcome::ALL.is_sorted_by(|one, other| one.number < other.number));
        let mut names = Outcome::ALL.map(|outcome| outcome.name);
        names.sort_unstable();
        assert!(names.is_sorted_by(|one, other| one < other), "{names:?}");
    }

    #[test]
    fn every_address_of_every_chain_chooses_its_outcome() {
        for chain in ChainId::all() {
            for outcome in Outcome::ALL {
                for address in outcome.mark().addresses(chain) {
                    let expected = outcome.has_addresses.then_some(outcome);
                    assert_eq!(Outcome::of_address(&address), expected, "{address}");
                }
            }
        }
        let other = CanonicalAddress::parse(ChainId::BTC, "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa");
        assert_eq!(Outcome::of_address(&other.unwrap()), None);
    }

    #[test]
    fn every_transaction_chooses_its_outcome() {
        for outcome in Outcome::ALL {
            assert_eq!(Outcome::of_transaction(outcome.transaction()), Some(outcome));
        }
        let block = Outcome::ALL[2].transaction().to_string();
        assert!(block.starts_with("61737361792073616e64626f7800"), "{block}");
        assert!(block.ends_with("0003"), "{block}");
    }
}
