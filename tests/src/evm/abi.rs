//! Inputs of contracts, as their functions read them (the ABI of Solidity).

use super::{Address, account::keccak};

/// An argument of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A value of one word: a number, an account, a truth value.
    Word([u8; 32]),
    /// Bytes of any length.
    Bytes(Vec<u8>),
    /// A list of any length.
    List(Vec<Self>),
    /// Fields in their order.
    Fields(Vec<Self>),
}

impl Argument {
    /// True if the argument's length follows from its type.
    fn is_static(&self) -> bool {
        match self {
            Self::Word(_) => true,
            Self::Bytes(_) | Self::List(_) => false,
            Self::Fields(fields) => fields.iter().all(Self::is_static),
        }
    }

    fn encoded(&self) -> Vec<u8> {
        match self {
            Self::Word(word) => word.to_vec(),
            Self::Bytes(bytes) => {
                let mut padded = bytes.clone();
                padded.resize(bytes.len().next_multiple_of(32), 0);
                [length(bytes.len()).to_vec(), padded].concat()
            }
            Self::List(items) => [length(items.len()).to_vec(), sequence(items)].concat(),
            Self::Fields(fields) => sequence(fields),
        }
    }
}

impl From<Address> for Argument {
    fn from(account: Address) -> Self {
        Self::Word(word(&account))
    }
}

impl From<u128> for Argument {
    fn from(number: u128) -> Self {
        Self::Word(word(&number.to_be_bytes()))
    }
}

impl From<Vec<u8>> for Argument {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes)
    }
}

/// A word that ends with bytes.
fn word(bytes: &[u8]) -> [u8; 32] {
    let mut word = [0; 32];
    word[32 - bytes.len()..].copy_from_slice(bytes);
    word
}

fn length(length: usize) -> [u8; 32] {
    word(&length.to_be_bytes())
}

/// Arguments one after the other: those of any length stand behind the others, which have their positions.
fn sequence(arguments: &[Argument]) -> Vec<u8> {
    let encoded: Vec<_> = arguments.iter().map(|it| (it.is_static(), it.encoded())).collect();
    let heads = encoded.iter().map(|(is_static, bytes)| if *is_static { bytes.len() } else { 32 });
    let mut position = heads.sum();
    let (mut head, mut tail) = (Vec::new(), Vec::new());
    for (is_static, bytes) in encoded {
        if is_static {
            head.extend(bytes);
        } else {
            head.extend(length(position));
            position += bytes.len();
            tail.extend(bytes);
        }
    }
    [head, tail].concat()
}

/// The input of a function, by its signature.
#[must_use]
pub fn call(signature: &str, arguments: &[Argument]) -> Vec<u8> {
    let selector = &keccak(signature.as_bytes())[..4];
    [selector, &sequence(arguments)].concat()
}

/// The input that creates a contract with arguments.
#[must_use]
pub fn creation(contract: &str, arguments: &[Argument]) -> Vec<u8> {
    [super::solidity::creation(contract), sequence(arguments)].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification of the ABI: `f(uint256,uint32[],bytes10,bytes)`.
    #[test]
    fn arguments_of_any_length_stand_behind_the_others() {
        let mut ten = [0; 32];
        ten[..10].copy_from_slice(b"1234567890");
        let arguments = [
            0x123.into(),
            Argument::List(vec![0x456.into(), 0x789.into()]),
            Argument::Word(ten),
            b"Hello, world!".to_vec().into(),
        ];
        let input = hex::encode(call("f(uint256,uint32[],bytes10,bytes)", &arguments));
        let number = |number: u32| format!("{number:064x}");
        let expected = [
            "8be65246".to_owned(),
            number(0x123),
            number(0x80),
            format!("{:0<64}", "31323334353637383930"),
            number(0xe0),
            number(2),
            number(0x456),
            number(0x789),
            number(13),
            format!("{:0<64}", "48656c6c6f2c20776f726c6421"),
        ];
        assert_eq!(input, expected.concat());
    }
}
