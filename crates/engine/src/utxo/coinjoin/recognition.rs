//! The result of a recognition: a kind, the passed tests, and the resulting confidence.

use super::kind::{CoinjoinKind, RecognizedKind};
use crate::score::Confidence;

/// Deduction from the confidence, in percentage points, for each expected test that failed.
const MISSING: u8 = 15;

/// Addition to the confidence, in percentage points, for each passed test beyond the expected tests.
const BEYOND: u8 = 5;

/// Bounds of a recognition's confidence, in percent. The confidence is never full, because one party alone could have
/// made the transaction.
const LEAST: u8 = 10;
const MOST: u8 = 95;

/// A recognized transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recognition {
    /// The kind.
    pub kind: RecognizedKind,
    /// Confidence that the kind is right: that of the kind, less 15 for each expected test
    /// ([`RecognitionTest::expected_of`]) that failed, plus 5 for each further test that passed; from 10 to 95 percent.
    pub confidence: Confidence,
    /// The tests that the transaction passed, in the order of [`RecognitionTest::ALL`], each once.
    pub passed: Vec<RecognitionTest>,
}

impl Recognition {
    /// A recognition as `kind`. `tests` are the tests of the kind, each with its result.
    pub(super) fn new(kind: RecognizedKind, tests: &[(RecognitionTest, bool)]) -> Self {
        let is_passed = |test: &RecognitionTest| tests.contains(&(*test, true));
        let passed: Vec<_> = RecognitionTest::ALL.into_iter().filter(is_passed).collect();
        Self { kind, confidence: confidence(kind, &passed), passed }
    }

    /// A recognition as a joint transaction.
    pub(super) fn joint(kind: CoinjoinKind, tests: &[(RecognitionTest, bool)]) -> Self {
        Self::new(RecognizedKind::Joint(kind), tests)
    }

    /// True if the transaction passed `test`.
    #[must_use]
    pub fn has_passed(&self, test: RecognitionTest) -> bool {
        self.passed.contains(&test)
    }
}

fn confidence(kind: RecognizedKind, passed: &[RecognitionTest]) -> Confidence {
    let expected = RecognitionTest::expected_of(kind);
    let mut percent = kind.confidence().percent();
    for test in RecognitionTest::ALL {
        match (expected.contains(&test), passed.contains(&test)) {
            (true, false) => percent = percent.saturating_sub(MISSING),
            (false, true) => percent = percent.saturating_add(BEYOND),
            (true, true) | (false, false) => {}
        }
    }
    Confidence::from_percent(percent.clamp(LEAST, MOST))
}

/// A test of the detector. A kind has tests that a transaction must pass to be recognized, and others
/// that only add to the confidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecognitionTest {
    /// As many outputs as the kind requires have the same value.
    EqualOutputs,
    /// The repeated values are values that the protocol prescribes.
    ProtocolDenomination,
    /// Outputs repeat at two, four, eight ... times the base value, as in Wasabi 1.1.
    DenominationLevels,
    /// No two outputs go to one owner, and the inputs may have at least as many owners as the kind has parties.
    DistinctOwners,
    /// The values of the inputs agree with the outputs and fees of their parties.
    InputsAccountForOutputs,
    /// Some parties get slightly more than they pay in: makers, who are paid for taking part.
    MakersPaid,
    /// An output pays the coordinator: its known script, or the fee of the pool.
    CoordinatorPaid,
    /// Exactly one output holds data and no value, as Whirlpool's Tx0 does.
    DataOutput,
    /// All scripts have the forms that the protocol's wallets use.
    ScriptForms,
    /// The block lies in the period in which the protocol was in use.
    ProtocolPeriod,
}

impl RecognitionTest {
    /// Every test.
    pub const ALL: [Self; 10] = [
        Self::EqualOutputs,
        Self::ProtocolDenomination,
        Self::DenominationLevels,
        Self::DistinctOwners,
        Self::InputsAccountForOutputs,
        Self::MakersPaid,
        Self::CoordinatorPaid,
        Self::DataOutput,
        Self::ScriptForms,
        Self::ProtocolPeriod,
    ];

    /// The identifier used in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EqualOutputs => "equal_outputs",
            Self::ProtocolDenomination => "protocol_denomination",
            Self::DenominationLevels => "denomination_levels",
            Self::DistinctOwners => "distinct_owners",
            Self::InputsAccountForOutputs => "inputs_account_for_outputs",
            Self::MakersPaid => "makers_paid",
            Self::CoordinatorPaid => "coordinator_paid",
            Self::DataOutput => "data_output",
            Self::ScriptForms => "script_forms",
            Self::ProtocolPeriod => "protocol_period",
        }
    }

    /// A sentence that describes the passed test.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::EqualOutputs => "Several outputs have the same value.",
            Self::ProtocolDenomination => {
                "The repeated values are ones that the protocol prescribes."
            }
            Self::DenominationLevels => {
                "Outputs repeat at two, four or more times the base value, doubling each time."
            }
            Self::DistinctOwners => {
                "Each output goes to another owner, and enough owners provide the inputs."
            }
            Self::InputsAccountForOutputs => {
                "The values of the inputs agree with the outputs and fees of their parties."
            }
            Self::MakersPaid => "Parties receive slightly more than they put in, as makers do.",
            Self::CoordinatorPaid => "An output pays the protocol's coordinator.",
            Self::DataOutput => "Exactly one output holds data and no value.",
            Self::ScriptForms => "All scripts have the forms that the protocol's wallets use.",
            Self::ProtocolPeriod => "The protocol was in use at the time of the block.",
        }
    }

    /// The tests that an ordinary transaction of the kind with known inputs passes.
    #[must_use]
    pub const fn expected_of(kind: RecognizedKind) -> &'static [Self] {
        match kind {
            RecognizedKind::Joint(CoinjoinKind::Generic) => {
                &[Self::EqualOutputs, Self::DistinctOwners, Self::InputsAccountForOutputs]
            }
            RecognizedKind::Joint(CoinjoinKind::Wasabi2) => &[
                Self::EqualOutputs,
                Self::ProtocolDenomination,
                Self::DistinctOwners,
                Self::ScriptForms,
                Self::ProtocolPeriod,
            ],
            RecognizedKind::Joint(CoinjoinKind::JoinMarket) => &[
                Self::EqualOutputs,
                Self::DistinctOwners,
                Self::MakersPaid,
                Self::ScriptForms,
                Self::ProtocolPeriod,
            ],
            RecognizedKind::Joint(
                CoinjoinKind::Wasabi1 | CoinjoinKind::Whirlpool | CoinjoinKind::PrivateSend,
            ) => &[
                Self::EqualOutputs,
                Self::ProtocolDenomination,
                Self::DistinctOwners,
                Self::InputsAccountForOutputs,
                Self::ScriptForms,
                Self::ProtocolPeriod,
            ],
            RecognizedKind::Entry => &[
                Self::EqualOutputs,
                Self::ProtocolDenomination,
                Self::CoordinatorPaid,
                Self::DataOutput,
                Self::ScriptForms,
                Self::ProtocolPeriod,
            ],
        }
    }
}
