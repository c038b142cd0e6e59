//! Values of a node's JSON, read strictly: quantities and bytes in hexadecimal.

use std::{fmt, marker::PhantomData};

use assay_engine::account::AccountAddress;
use ruint::aliases::U256;
use serde::{Deserialize, Deserializer, de};

use crate::http::shortened;

/// A number of up to 64 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Quantity(pub(super) u64);

/// A number of up to 256 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Amount(pub(super) U256);

/// Half of a signature: a number of up to 256 bits, which some nodes write with leading zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Scalar(pub(super) U256);

/// Bytes of any length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Bytes(pub(super) Vec<u8>);

/// Bytes of a fixed length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fixed<const N: usize>(pub(super) [u8; N]);

/// A hash.
pub(super) type Hash = Fixed<32>;

/// An account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Account(pub(super) AccountAddress);

/// A value that is read from a text.
trait FromHex: Sized {
    /// The kind of value, for messages.
    const WHAT: &'static str;

    /// Reads the digits behind `0x`.
    fn from_digits(digits: &str) -> Result<Self, &'static str>;
}

impl FromHex for Quantity {
    const WHAT: &'static str = "a quantity of at most 64 bits";

    fn from_digits(digits: &str) -> Result<Self, &'static str> {
        shortest(digits)?;
        u64::from_str_radix(digits, 16).map(Self).map_err(|_| TOO_LARGE)
    }
}

impl FromHex for Amount {
    const WHAT: &'static str = "a quantity of at most 256 bits";

    fn from_digits(digits: &str) -> Result<Self, &'static str> {
        shortest(digits)?;
        U256::from_str_radix(digits, 16).map(Self).map_err(|_| TOO_LARGE)
    }
}

impl FromHex for Scalar {
    const WHAT: &'static str = "a number of at most 256 bits";

    fn from_digits(digits: &str) -> Result<Self, &'static str> {
        only_digits(digits)?;
        U256::from_str_radix(digits, 16).map(Self).map_err(|_| TOO_LARGE)
    }
}

impl FromHex for Bytes {
    const WHAT: &'static str = "bytes";

    fn from_digits(digits: &str) -> Result<Self, &'static str> {
        hex::decode(digits).map(Self).map_err(|_| "it is not an even number of hexadecimal digits")
    }
}

impl<const N: usize> FromHex for Fixed<N> {
    const WHAT: &'static str = "bytes of a fixed length";

    fn from_digits(digits: &str) -> Result<Self, &'static str> {
        let mut bytes = [0; N];
        hex::decode_to_slice(digits, &mut bytes).map_err(|_| WRONG_LENGTH)?;
        Ok(Self(bytes))
    }
}

impl FromHex for Account {
    const WHAT: &'static str = "an address";

    fn from_digits(digits: &str) -> Result<Self, &'static str> {
        let Fixed(bytes) = Fixed::<20>::from_digits(digits)?;
        Ok(Self(AccountAddress(bytes)))
    }
}

const TOO_LARGE: &str = "it is too large";
const WRONG_LENGTH: &str = "it has another number of hexadecimal digits";

fn only_digits(digits: &str) -> Result<(), &'static str> {
    // `from_str_radix` reads signs and underscores too.
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err("it is not written in hexadecimal digits");
    }
    Ok(())
}

/// Checks that a quantity is written without leading zeros, so that one number has one text.
fn shortest(digits: &str) -> Result<(), &'static str> {
    only_digits(digits)?;
    if digits.len() > 1 && digits.starts_with('0') {
        return Err("it has leading zeros");
    }
    Ok(())
}

struct Reader<T>(PhantomData<T>);

impl<T: FromHex> de::Visitor<'_> for Reader<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} in hexadecimal", T::WHAT)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        let digits = text.strip_prefix("0x").ok_or("it does not begin with 0x");
        digits.and_then(T::from_digits).map_err(|reason| {
            E::custom(format_args!("`{}` is not {}: {reason}", shortened(text), T::WHAT))
        })
    }
}

macro_rules! read_from_text {
    ($($kind:ty),*) => {$(
        impl<'de> Deserialize<'de> for $kind {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(Reader(PhantomData))
            }
        }
    )*};
}

read_from_text!(Quantity, Amount, Scalar, Bytes, Account);

impl<'de, const N: usize> Deserialize<'de> for Fixed<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Reader(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn quantities_have_one_text_each() {
        assert_eq!(read(r#""0x0""#), Ok(Quantity(0)));
        assert_eq!(read(r#""0xffffffffffffffff""#), Ok(Quantity(u64::MAX)));
        assert_eq!(read(&format!(r#""0x{}""#, "f".repeat(64))), Ok(Amount(U256::MAX)));
        for wrong in
            [r#""0x""#, r#""0x01""#, r#""1""#, r#""0x+1""#, r#""0x1_0""#, r#""0xg""#, "1", "null"]
        {
            assert!(read::<Quantity>(wrong).is_err(), "{wrong}");
            assert!(read::<Amount>(wrong).is_err(), "{wrong}");
        }
        assert!(read::<Quantity>(r#""0x10000000000000000""#).is_err());
        assert!(read::<Amount>(&format!(r#""0x1{}""#, "0".repeat(64))).is_err());
        assert_eq!(read(r#""0x0001""#), Ok(Scalar(U256::from(1))));
    }

    #[test]
    fn bytes_have_their_length() {
        assert_eq!(read(r#""0x""#), Ok(Bytes(Vec::new())));
        assert_eq!(read(r#""0xAb""#), Ok(Bytes(vec![0xab])));
        assert!(read::<Bytes>(r#""0xabc""#).is_err());
        let said = read::<Hash>(r#""0xab""#).unwrap_err();
        assert!(said.contains("`0xab` is not bytes of a fixed length"), "{said}");
        assert!(read::<Account>(&format!(r#""0x{}""#, "1".repeat(40))).is_ok());
        assert!(read::<Account>(&format!(r#""{}""#, "1".repeat(40))).is_err());
    }
}
