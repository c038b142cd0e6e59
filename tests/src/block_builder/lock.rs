//! Locking scripts of outputs.

use super::bytes::{hash160, push, sha256};

const OP_0: u8 = 0x00;
const OP_TRUE: u8 = 0x51;
const OP_RETURN: u8 = 0x6a;
const OP_DROP: u8 = 0x75;
const OP_EQUAL: u8 = 0x87;
const OP_HASH160: u8 = 0xa9;

/// Lock of an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockingScript {
    /// Pay to witness script hash, of this script.
    Witness(Vec<u8>),
    /// Pay to script hash, of this script.
    ScriptHash(Vec<u8>),
    /// This script itself, which has no address.
    Bare(Vec<u8>),
}

impl LockingScript {
    /// A segregated witness script that is spent with `word` (at most 75 bytes).
    #[must_use]
    pub fn witness(word: &str) -> Self {
        Self::Witness(word_script(word))
    }

    /// A pay-to-script-hash script that is spent with `word` (at most 75 bytes).
    #[must_use]
    pub fn script_hash(word: &str) -> Self {
        Self::ScriptHash(word_script(word))
    }

    /// An unspendable output with a text (at most 75 bytes).
    #[must_use]
    pub fn note(text: &str) -> Self {
        Self::Bare([&[OP_RETURN], &*push(text.as_bytes())].concat())
    }

    /// Serialized locking script.
    #[must_use]
    pub fn script(&self) -> Vec<u8> {
        match self {
            Self::Witness(script) => [&[OP_0], &*push(&sha256(script))].concat(),
            Self::ScriptHash(script) => {
                [&[OP_HASH160], &*push(&hash160(script)), &[OP_EQUAL]].concat()
            }
            Self::Bare(script) => script.clone(),
        }
    }

    /// The script and the witness of an input that spends an output with this lock.
    #[must_use]
    pub fn spending_script(&self) -> (Vec<u8>, Vec<Vec<u8>>) {
        match self {
            Self::Witness(script) => (vec![], vec![script.clone()]),
            Self::ScriptHash(script) => (push(script), vec![]),
            Self::Bare(_) => (vec![], vec![]),
        }
    }
}

/// The script that anybody can spend and that contains the word.
fn word_script(word: &str) -> Vec<u8> {
    [&*push(word.as_bytes()), &[OP_DROP, OP_TRUE]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_witness_script_is_paid_by_its_hash() {
        assert_eq!(
            hex::encode(LockingScript::Witness(vec![OP_TRUE]).script()),
            "00204ae81572f06e1b88fd5ced7a1a000945432e83e1551e6f721ee9c00b8cc33260"
        );
    }

    #[test]
    fn every_name_has_a_script_of_its_own() {
        let locks = [
            LockingScript::witness("a"),
            LockingScript::witness("b"),
            LockingScript::script_hash("a"),
            LockingScript::note("a"),
        ];
        let scripts: std::collections::BTreeSet<_> =
            locks.iter().map(LockingScript::script).collect();
        assert_eq!(scripts.len(), locks.len());
    }
}
