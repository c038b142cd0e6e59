//! Hedera: `SHARD.REALM.NUMBER`, with an optional checksum of five letters (HIP-15). The canonical form has no
//! checksum.

use super::{AddressKind, Parsed, Payload, error::AddressError};

const EXPECTED: &str = "`0.0.NUMBER`, or with the checksum of HIP-15 `0.0.NUMBER-abcde`";

pub(super) fn parse(text: &str) -> Result<Parsed, AddressError> {
    let (number, checksum) = match text.split_once('-') {
        Some((number, checksum)) => (number, Some(checksum)),
        None => (text, None),
    };
    let parts: Vec<&str> = number.split('.').collect();
    let is_number = |part: &&str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_digit())
            && (*part == "0" || !part.starts_with('0'))
            && part.parse::<u64>().is_ok_and(|number| i64::try_from(number).is_ok())
    };
    if parts.len() != 3 || !parts.iter().all(is_number) {
        return Err(AddressError::UnknownForm { expected: EXPECTED });
    }
    if checksum.is_some_and(|checksum| checksum != checksum_of(number)) {
        return Err(AddressError::WrongChecksum { scheme: "HIP-15" });
    }
    let payload = Payload::Text(number.to_owned());
    Ok(Parsed { kind: AddressKind::Account, payload, canonical: number.to_owned() })
}

/// The account with a number.
pub(super) fn write(number: u64) -> String {
    format!("0.0.{number}")
}

/// The checksum of HIP-15 on the main network, whose ledger has the number 0.
fn checksum_of(address: &str) -> String {
    const P3: u64 = 26 * 26 * 26;
    const P5: u64 = P3 * 26 * 26;
    const WEIGHT: u64 = 31;
    let digits: Vec<u64> = address
        .bytes()
        .map(|byte| if byte == b'.' { 10 } else { u64::from(byte.saturating_sub(b'0')) })
        .collect();
    let every_second = |from: usize| digits.iter().skip(from).step_by(2).sum::<u64>() % 11;
    let weighted = digits.iter().fold(0, |sum, digit| (WEIGHT * sum + digit) % P3);
    // Ledger 0 and six zero bytes.
    let ledger = 0_u64;
    let length = u64::try_from(digits.len()).unwrap_or_default() % 5;
    let sum =
        (((length * 11 + every_second(0)) * 11 + every_second(1)) * P3 + weighted + ledger) % P5;
    let mut rest = (sum * 1_000_003) % P5;
    let mut letters = [b'a'; 5];
    for letter in letters.iter_mut().rev() {
        *letter += u8::try_from(rest % 26).unwrap_or_default();
        rest /= 26;
    }
    letters.iter().map(|letter| char::from(*letter)).collect()
}
