//! Errors of texts that are not an address of the requested chain: the cause, and the correct form.

use crate::ChainId;

/// Reason for which a submitted text is not an address. Positions count characters from one.
///
/// Errors never repeat the whole text, because it may hold a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Nothing was submitted.
    #[error("the address is empty")]
    Empty,
    /// A space, tab or line break.
    #[error("character {position} is white space ({code_point}): remove it")]
    WhiteSpace {
        /// Position in the text.
        position: usize,
        /// The character as `U+XXXX`.
        code_point: CodePoint,
    },
    /// A character that is not shown, such as a zero-width space or a direction mark.
    #[error("character {position} is invisible ({code_point}): remove it")]
    InvisibleCharacter {
        /// Position in the text.
        position: usize,
        /// The character as `U+XXXX`.
        code_point: CodePoint,
    },
    /// A character of another script that looks like an ASCII letter or digit.
    #[error(
        "character {position} is `{character}` ({code_point}), which only looks like `{resembles}`: \
         do not trust where this text comes from"
    )]
    LookAlikeCharacter {
        /// Position in the text.
        position: usize,
        /// The character itself.
        character: char,
        /// The character as `U+XXXX`.
        code_point: CodePoint,
        /// The ASCII character that the found character resembles.
        resembles: char,
    },
    /// A character outside the alphabet of this form of address.
    #[error("character {position} is `{character}`, which is not in the {alphabet} alphabet")]
    CharacterNotInAlphabet {
        /// Position in the text.
        position: usize,
        /// The character itself.
        character: char,
        /// The alphabet's name.
        alphabet: &'static str,
    },
    /// The text is too short or too long.
    #[error("wrong length: {found}, expected {expected}")]
    WrongLength {
        /// Length of the text, with its unit.
        found: String,
        /// Length that this form requires, with its unit.
        expected: &'static str,
    },
    /// The checksum does not match: a character was mistyped, lost or swapped.
    #[error("wrong {scheme} checksum: at least one character was mistyped")]
    WrongChecksum {
        /// The checksum's name.
        scheme: &'static str,
    },
    /// The case of the letters, which is a checksum (EIP-55), does not match.
    #[error(
        "wrong EIP-55 checksum: the case of the letters does not match the address (first at \
         character {position}); check the address, and only if it is right submit it in lower case"
    )]
    CaseMismatch {
        /// The first letter whose case is wrong.
        position: usize,
    },
    /// Bech32 or CashAddr with letters of both cases.
    #[error("mixed upper and lower case: this form of address uses one case only")]
    MixedCase,
    /// The checksum variant does not fit the witness version.
    #[error(
        "witness version {version} needs a {expected} checksum (BIP 350), this one has {found}"
    )]
    WrongChecksumVariant {
        /// The witness version.
        version: u8,
        /// The checksum variant that the witness version uses.
        expected: &'static str,
        /// The variant found.
        found: &'static str,
    },
    /// The checksum is valid, but the content is not a witness program.
    #[error("not a witness program: {detail}")]
    InvalidWitnessProgram {
        /// Rule that the text breaks.
        detail: String,
    },
    /// The checksum is valid, but the version is of no known kind of address.
    #[error("unknown version {version}: not an address kind of this chain")]
    UnknownVersion {
        /// The version as the chain's own documents write it.
        version: String,
    },
    /// The checksum is valid, but the content breaks a rule of the chain.
    #[error("the checksum is right, but {detail}")]
    InvalidPayload {
        /// Rule that the text breaks.
        detail: String,
    },
    /// An address of a test network.
    #[error("this is a {network} address: test coins have no value and are not assessed")]
    TestNetwork {
        /// The network's name.
        network: &'static str,
    },
    /// The text is a valid address, but of other chains.
    #[error("this is {}: ask for that blockchain", other_chains(.chains))]
    OtherChain {
        /// The chains on which the text is a valid address, in the table's order; never empty.
        chains: Vec<ChainId>,
    },
    /// Another well-known text that people paste by mistake; `what` names it and gives advice.
    #[error("this is {what}")]
    NotAnAddress {
        /// Kind of text that was recognized.
        what: &'static str,
    },
    /// An address with something before or after it, such as a payment link or a destination tag.
    #[error("{surroundings}: submit only the address, {addresses}")]
    Surrounded {
        /// The text around the address, described.
        surroundings: String,
        /// The addresses in the text, which were read.
        addresses: FoundAddresses,
    },
    /// The text has no address format of this chain.
    #[error("not a form of address that this chain uses: expected {expected}")]
    UnknownForm {
        /// The address formats of the chain.
        expected: &'static str,
    },
}

impl AddressError {
    /// A stable identifier of the cause, for programs.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::WhiteSpace { .. } => "white_space",
            Self::InvisibleCharacter { .. } => "invisible_character",
            Self::LookAlikeCharacter { .. } => "look_alike_character",
            Self::CharacterNotInAlphabet { .. } => "character_not_in_alphabet",
            Self::WrongLength { .. } => "wrong_length",
            Self::WrongChecksum { .. } => "wrong_checksum",
            Self::CaseMismatch { .. } => "case_mismatch",
            Self::MixedCase => "mixed_case",
            Self::WrongChecksumVariant { .. } => "wrong_checksum_variant",
            Self::InvalidWitnessProgram { .. } => "invalid_witness_program",
            Self::UnknownVersion { .. } => "unknown_version",
            Self::InvalidPayload { .. } => "invalid_payload",
            Self::TestNetwork { .. } => "test_network",
            Self::OtherChain { .. } => "other_chain",
            Self::NotAnAddress { .. } | Self::Surrounded { .. } => "not_an_address",
            Self::UnknownForm { .. } => "unknown_form",
        }
    }
}

fn other_chains(chains: &[ChainId]) -> String {
    let ids: Vec<_> = chains.iter().map(|chain| chain.as_str()).collect();
    match (chains, ids.as_slice()) {
        ([chain], [id]) => {
            let asset = chain.info().native().code;
            // Tickers are spelt out or spoken: these letters begin with a vowel either way.
            let article = if asset.starts_with(['A', 'E', 'L', 'M', 'X']) { "an" } else { "a" };
            format!("{article} {asset} address (`{id}`)")
        }
        _ => format!("an address of {}", ids.join(", ")),
    }
}

/// Addresses that a text contains. `Debug` does not show them, so that no address reaches a log by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct FoundAddresses {
    /// The addresses as they were written; never empty.
    pub addresses: Vec<String>,
    /// The chain that was asked for, if the addresses are not its own.
    pub other_than: Option<ChainId>,
}

impl std::fmt::Display for FoundAddresses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let quoted: Vec<String> =
            self.addresses.iter().map(|address| format!("`{address}`")).collect();
        match &*quoted {
            [one] => f.write_str(one)?,
            several => write!(f, "that one of {} which is meant", several.join(", "))?,
        }
        match self.other_than {
            Some(chain) => write!(f, ", which is of another blockchain than {chain}"),
            None => Ok(()),
        }
    }
}

impl std::fmt::Debug for FoundAddresses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FoundAddresses({})", self.addresses.len())
    }
}

/// A Unicode code point, shown as `U+200B`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodePoint(pub char);

impl std::fmt::Display for CodePoint {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "U+{:04X}", u32::from(self.0))
    }
}
