//! Outputs in the compressed form of Bitcoin Core's databases: amounts without trailing zeros, and
//! standard scripts by their hash or key.

use ruint::aliases::U256;

use super::{RawError, cursor::Cursor};

/// Number of special forms of scripts; a larger number is the length of another script plus this number.
const SCRIPT_FORMS: u64 = 6;

const OP_DUP: u8 = 0x76;
const OP_EQUAL: u8 = 0x87;
const OP_EQUALVERIFY: u8 = 0x88;
const OP_HASH160: u8 = 0xa9;
const OP_CHECKSIG: u8 = 0xac;

/// Modulus of the field of secp256k1: 2^256 - 2^32 - 977.
const FIELD: U256 = U256::from_limbs([0xffff_fffe_ffff_fc2f, u64::MAX, u64::MAX, u64::MAX]);

/// Output that has a script of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpentOutput {
    /// Value of the output in base units.
    pub value: u64,
    /// Script that locks the output.
    pub script: Vec<u8>,
}

impl SpentOutput {
    /// Reads a compressed output.
    pub(super) fn read(bytes: &mut Cursor<'_>) -> Result<Self, RawError> {
        let at = bytes.offset();
        let value = expand_amount(bytes.base128("an output's amount")?);
        let value = value.ok_or(RawError::TooLarge { what: "an output's amount", at })?;
        Ok(Self { value, script: read_script(bytes)? })
    }
}

/// Expands a compressed amount; `None` if it has more than 64 bits.
///
/// The last digit of the compressed form is the number of trailing zeros, up to nine. Below nine, the next digit, in a
/// system of nine digits, is the last nonzero digit of the amount less one.
fn expand_amount(compressed: u64) -> Option<u64> {
    let Some(rest) = compressed.checked_sub(1) else { return Some(0) };
    let (zeros, rest) = (rest % 10, rest / 10);
    let digits = if zeros < 9 {
        (rest / 9).checked_mul(10)?.checked_add(rest % 9 + 1)?
    } else {
        rest.checked_add(1)?
    };
    digits.checked_mul(10_u64.checked_pow(u32::try_from(zeros).ok()?)?)
}

fn read_script(bytes: &mut Cursor<'_>) -> Result<Vec<u8>, RawError> {
    const WHAT: &str = "a compressed script";
    let at = bytes.offset();
    let form = bytes.base128(WHAT)?;
    Ok(match form {
        0 => {
            let hash = bytes.array::<20>(WHAT)?;
            [&[OP_DUP, OP_HASH160, 20][..], &hash, &[OP_EQUALVERIFY, OP_CHECKSIG]].concat()
        }
        1 => [&[OP_HASH160, 20][..], &bytes.array::<20>(WHAT)?, &[OP_EQUAL]].concat(),
        2 | 3 => {
            let parity = if form == 2 { 2 } else { 3 };
            [&[33, parity][..], &bytes.array::<32>(WHAT)?, &[OP_CHECKSIG]].concat()
        }
        4 | 5 => {
            let x = bytes.array(WHAT)?;
            let y = other_coordinate(x, form == 5).ok_or(RawError::NoKey { at })?;
            [&[65, 4][..], &x, &y, &[OP_CHECKSIG]].concat()
        }
        other => {
            let length = other - SCRIPT_FORMS;
            let missing = RawError::TooLarge { what: "the length of a script", at };
            bytes.take(usize::try_from(length).map_err(|_| missing)?, WHAT)?.to_vec()
        }
    })
}

/// Returns the y coordinate of the point of secp256k1 with this x, odd or even; `None` if there is no such point.
fn other_coordinate(x: [u8; 32], odd: bool) -> Option<[u8; 32]> {
    let x = U256::from_be_bytes(x);
    if x >= FIELD {
        return None;
    }
    let square = x.pow_mod(U256::from(3), FIELD).add_mod(U256::from(7), FIELD);
    // The modulus is 3 modulo 4: this power is a root if there is one.
    let root = square.pow_mod((FIELD + U256::from(1)) >> 2, FIELD);
    if root.mul_mod(root, FIELD) != square {
        return None;
    }
    let y = if root.bit(0) == odd { root } else { FIELD - root };
    Some(y.to_be_bytes())
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Writes a number as Bitcoin Core's `VARINT` does.
    pub(crate) fn base128(mut number: u64, to: &mut Vec<u8>) {
        let mut bytes = vec![u8::try_from(number & 0x7f).unwrap()];
        while number > 0x7f {
            number = (number >> 7) - 1;
            bytes.push(u8::try_from(number & 0x7f).unwrap() | 0x80);
        }
        to.extend(bytes.iter().rev());
    }

    fn compress_amount(amount: u64) -> u64 {
        if amount == 0 {
            return 0;
        }
        let zeros =
            (0..9).take_while(|power| amount.is_multiple_of(10_u64.pow(power + 1))).count() as u64;
        let rest = amount / 10_u64.pow(u32::try_from(zeros).unwrap());
        if zeros < 9 { 1 + (rest / 10 * 9 + rest % 10 - 1) * 10 + zeros } else { rest * 10 }
    }

    /// Writes an output with a script in one of the special forms, or in none.
    pub(crate) fn compressed(value: u64, form: u64, rest: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        base128(compress_amount(value), &mut bytes);
        base128(form, &mut bytes);
        bytes.extend(rest);
        bytes
    }

    fn read(bytes: &[u8]) -> Result<SpentOutput, RawError> {
        SpentOutput::read(&mut Cursor::new(bytes))
    }

    #[test]
    fn amounts_as_bitcoin_core_compresses_them() {
        // From the table in Bitcoin Core's own description of the form.
        for (amount, compressed) in [
            (0, 0),
            (1, 1),
            (1_000_000, 7),
            (100_000_000, 9),
            (5_000_000_000, 50),
            (2_100_000_000_000_000, 21_000_000),
        ] {
            assert_eq!(expand_amount(compressed), Some(amount));
        }
        assert_eq!(expand_amount(u64::MAX), None);
    }

    #[test]
    fn scripts_of_every_form_are_restored() {
        let script =
            |form, rest: &[u8]| hex::encode(read(&compressed(7, form, rest)).unwrap().script);
        let hash = [0xab; 20];
        assert_eq!(script(0, &hash), format!("76a914{}88ac", "ab".repeat(20)));
        assert_eq!(script(1, &hash), format!("a914{}87", "ab".repeat(20)));
        // The key of the first block's coinbase, whose y coordinate is odd.
        let x = "678afdb0fe5548271967f1a67130b7105cd6a828e03909a67962e0ea1f61deb6";
        let y = "49f6bc3f4cef38c4f35504e51ec112de5c384df7ba0b8d578a4c702b6bf11d5f";
        let key = hex::decode(x).unwrap();
        assert_eq!(script(2, &key), format!("2102{x}ac"));
        assert_eq!(script(3, &key), format!("2103{x}ac"));
        assert_eq!(script(5, &key), format!("4104{x}{y}ac"));
        let even = script(4, &key);
        assert!(even.starts_with(&format!("4104{x}")) && !even.contains(y), "{even}");
        assert_eq!(script(6, &[]), "");
        assert_eq!(script(8, &[0x51, 0x52]), "5152");
    }

    #[test]
    fn a_key_off_the_curve_is_refused() {
        // No point of secp256k1 has the x coordinate 5, and none one beyond the field.
        let mut five = [0; 32];
        five[31] = 5;
        for x in [five, [0xff; 32]] {
            assert_eq!(read(&compressed(7, 4, &x)), Err(RawError::NoKey { at: 1 }));
        }
    }

    proptest! {
        #[test]
        fn any_output_is_read_as_it_was_written(
            value in any::<u64>(),
            script in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            // The largest amounts have no compressed form within 64 bits.
            let value = value >> 4;
            let bytes = compressed(value, script.len() as u64 + SCRIPT_FORMS, &script);
            prop_assert_eq!(read(&bytes), Ok(SpentOutput { value, script }));
        }

        #[test]
        fn no_bytes_cause_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = read(&bytes);
        }
    }
}
