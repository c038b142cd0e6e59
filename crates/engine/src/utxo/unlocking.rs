//! Owners of unknown spent outputs, derived from their unlocking data: an input's script and witness.
//!
//! An input reveals the key or script whose hash its output paid to. If the same data can unlock two standard forms of
//! outputs, the owner is not derived:
//!
//! | unlocked by | read as |
//! |---|---|
//! | a signature and a key | the key's hash (P2PKH); not a script that happens to have the bytes of a key |
//! | pushes, the last of which is a script with a key and a check of signatures | the script's hash (P2SH); nothing on Bitcoin Cash, where the script may have been paid by either of two hashes |
//! | other pushes | nothing: a signature alone unlocks a bare key or multisig, other data any script |
//! | a witness of a signature and a compressed key | a witness program of version 0 (P2WPKH) |
//! | a witness whose last item is no control block, annex or Schnorr signature by its form | the SHA-256 of that item (P2WSH) |
//! | other witnesses | nothing: Taproot shows neither the output's key nor which of its forms was used |
//! | one push of a witness program that commits to the witness | the program's hash (P2SH) |
//!
//! The last row of the table is certain. The other rows hold for transactions that nodes relay: a miner can also
//! include a transaction that spends an output of a form without rules (a bare script of no purpose, an undefined
//! witness version or leaf version), which any data unlocks.

use assay_address::{ChainId, hash160};
use sha2::{Digest, Sha256};

use super::ScriptOwner;

const OP_PUSHDATA1: u8 = 0x4c;
const OP_PUSHDATA2: u8 = 0x4d;
const OP_PUSHDATA4: u8 = 0x4e;
const OP_RESERVED: u8 = 0x50;
/// Checks a signature of Taproot and, if the signature is valid, adds 1 to a counter.
const OP_CHECKSIGADD: u8 = 0xba;
const OP_16: u8 = 0x60;
/// The check operations of signatures: one key, several, and both with `VERIFY`.
const OP_CHECKSIGS: std::ops::RangeInclusive<u8> = 0xac..=0xaf;
/// The last operation that has a meaning on all chains (`OP_NOP10`).
const LAST_OPERATION: u8 = 0xb9;

/// First byte of the annex of a Taproot witness.
const ANNEX: u8 = 0x50;
/// Length of a control block without a path, and of each step of the path.
const CONTROL_BLOCK: usize = 33;
const CONTROL_STEP: usize = 32;

impl ScriptOwner {
    /// The owner of an unknown output that an input of `chain` spends with this script and witness; `None` if the data
    /// fits no form or several.
    #[must_use]
    pub fn from_unlocking(chain: ChainId, script: &[u8], witness: &[&[u8]]) -> Option<Self> {
        let forms = chain.info().script_forms();
        match (script, witness) {
            ([], []) => None,
            (_, []) => from_pushes(&pushes(script)?, forms.cash),
            _ if !forms.witness => None,
            ([], _) => from_witness(witness),
            _ => match &*pushes(script)? {
                [program] => from_nested(program, witness),
                _ => None,
            },
        }
    }
}

/// True if the script and witness of an input contain a signature, and a script that was paid by its hash checks
/// signatures. Without a signature, anybody who knows the script can spend the output, as with pay-to-anchor or a
/// script without conditions. The encoding of signatures is not checked strictly, because the chains hold old
/// signatures in every encoding.
///
/// The author of a script can include a signature that only another branch of the script would check. Detecting this
/// requires running the script on the whole transaction.
#[must_use]
pub fn shows_signature(script: &[u8], witness: &[&[u8]]) -> bool {
    let Some(pushed) = operations(script) else { return false };
    let pushed: Vec<&[u8]> = pushed.iter().map(|operation| operation.data).collect();
    let (items, is_witness) =
        if witness.is_empty() { (&*pushed, false) } else { (without_annex(witness), true) };
    if !items.iter().any(|item| resembles_signature(item)) {
        return false;
    }
    match items {
        // A compressed key has the length of a control block.
        [_, key] if is_key(key) => true,
        [.., leaf, control] if is_witness && is_control_block(control) => has_signature_check(leaf),
        // The key path of Taproot, and outside witnesses bare keys and multisig.
        [only] if is_witness && resembles_signature(only) => true,
        [.., last] if !is_witness && resembles_signature(last) => true,
        [.., last] => has_signature_check(last),
        [] => false,
    }
}

/// The witness without the annex of Taproot.
fn without_annex<'w, 'b>(witness: &'w [&'b [u8]]) -> &'w [&'b [u8]] {
    match witness {
        [items @ .., annex] if !items.is_empty() && annex.first() == Some(&ANNEX) => items,
        items => items,
    }
}

/// True if bytes have the length and beginning of a signature: of ECDSA in strict or lax DER, or of Schnorr, each with
/// or without its hash type.
fn resembles_signature(bytes: &[u8]) -> bool {
    matches!(bytes.len(), 64 | 65)
        || (matches!(bytes.len(), 9..=80) && bytes.first() == Some(&0x30))
}

/// True if bytes are a script with an operation that checks signatures.
fn has_signature_check(script: &[u8]) -> bool {
    let is_check = |code| OP_CHECKSIGS.contains(&code) || code == OP_CHECKSIGADD;
    operations(script).is_some_and(|all| all.iter().any(|operation| is_check(operation.code)))
}

/// The owner of an output that only pushes unlock.
fn from_pushes(pushes: &[&[u8]], cash: bool) -> Option<ScriptOwner> {
    match pushes {
        [signature, key] if is_key(key) => {
            let signed = is_signature(signature) || (cash && signature.len() == 65);
            signed.then(|| ScriptOwner::KeyHash(hash160(key)))
        }
        [.., script] if !cash && checks_signatures(script) => {
            Some(ScriptOwner::ScriptHash(hash160(script)))
        }
        _ => None,
    }
}

/// The owner of an output that only a witness unlocks.
fn from_witness(witness: &[&[u8]]) -> Option<ScriptOwner> {
    let version_0 = |program: &[u8]| Some(ScriptOwner::Witness(0, program.to_vec()));
    match witness {
        [signature, key] if is_signature(signature) && is_compressed_key(key) => {
            version_0(&hash160(key))
        }
        // A Schnorr signature with or without its type: the key path of Taproot.
        [only] if matches!(only.len(), 64 | 65) => None,
        [_, .., last] if is_control_block(last) => None,
        [.., last] if last.first().is_some_and(|first| *first != ANNEX) => {
            version_0(&Sha256::digest(last))
        }
        _ => None,
    }
}

/// The owner of an output that a witness program in a script unlocks together with its witness.
fn from_nested(program: &[u8], witness: &[&[u8]]) -> Option<ScriptOwner> {
    let last = witness.last()?;
    let commits = match program {
        [0, 20, hash @ ..] => witness.len() == 2 && *hash == hash160(last),
        [0, 32, hash @ ..] => *hash == *Sha256::digest(last),
        _ => false,
    };
    commits.then(|| ScriptOwner::ScriptHash(hash160(program)))
}

/// An operation of a script, with the data that it pushes.
struct Operation<'a> {
    code: u8,
    data: &'a [u8],
}

/// The operations of a script; `None` if a push is truncated.
fn operations(mut script: &[u8]) -> Option<Vec<Operation<'_>>> {
    let mut operations = Vec::new();
    while let Some((code, rest)) = script.split_first() {
        let (length, rest) = match *code {
            OP_PUSHDATA1 => split_length::<1>(rest)?,
            OP_PUSHDATA2 => split_length::<2>(rest)?,
            OP_PUSHDATA4 => split_length::<4>(rest)?,
            direct if direct < OP_PUSHDATA1 => (usize::from(direct), rest),
            _ => (0, rest),
        };
        let (data, rest) = rest.split_at_checked(length)?;
        operations.push(Operation { code: *code, data });
        script = rest;
    }
    Some(operations)
}

/// A length of `N` bytes, and the remaining bytes.
fn split_length<const N: usize>(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (length, rest) = bytes.split_at_checked(N)?;
    Some((length.iter().rev().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest))
}

/// The data that a script pushes; `None` if it has other operations. Small numbers count as empty data.
fn pushes(script: &[u8]) -> Option<Vec<&[u8]>> {
    let push = |operation: &Operation<'_>| operation.code <= OP_16 && operation.code != OP_RESERVED;
    let operations = operations(script)?;
    operations.iter().all(push).then(|| operations.iter().map(|each| each.data).collect())
}

/// True if bytes are a script that names a key and checks signatures.
fn checks_signatures(script: &[u8]) -> bool {
    let Some(operations) = operations(script) else { return false };
    operations.iter().all(|each| each.code <= LAST_OPERATION && each.code != OP_RESERVED)
        && operations.iter().any(|each| is_key(each.data))
        && operations.iter().any(|each| OP_CHECKSIGS.contains(&each.code))
}

fn is_compressed_key(bytes: &[u8]) -> bool {
    bytes.len() == 33 && matches!(bytes, [2 | 3, ..])
}

fn is_key(bytes: &[u8]) -> bool {
    is_compressed_key(bytes) || (bytes.len() == 65 && matches!(bytes, [4, ..]))
}

/// True if a witness item has the length of a control block of Taproot.
const fn is_control_block(item: &[u8]) -> bool {
    match item.len().checked_sub(CONTROL_BLOCK) {
        Some(path) => path.is_multiple_of(CONTROL_STEP),
        None => false,
    }
}

/// True if bytes are an ECDSA signature in strict DER followed by a hash type (BIP 66).
fn is_signature(bytes: &[u8]) -> bool {
    let [0x30, length, rest @ .., _type] = bytes else { return false };
    if bytes.len() > 73 || usize::from(*length) != rest.len() {
        return false;
    }
    let Some(rest) = after_number(rest) else { return false };
    after_number(rest).is_some_and(<[u8]>::is_empty)
}

/// The bytes after a minimally encoded positive number in DER; `None` if there is no such number.
fn after_number(bytes: &[u8]) -> Option<&[u8]> {
    let [2, length, rest @ ..] = bytes else { return None };
    let (number, rest) = rest.split_at_checked(usize::from(*length))?;
    match number {
        [] | [0x80..=0xff, ..] | [0, 0..=0x7f, ..] => None,
        _ => Some(rest),
    }
}

#[cfg(test)]
mod tests;
