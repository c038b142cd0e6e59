//! Cells of rows, and the values that they state.

use std::collections::BTreeMap;

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::{
    account::{AccountAddress, Asset, AssetId, imitated_ticker, scored_asset},
    utxo::Txid,
};
use jiff::Timestamp;
use ruint::aliases::U256;
use rustc_hash::FxHashMap;

/// A cell of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum CellValue<'a> {
    /// No value.
    Missing,
    /// Text, or a number as it is written.
    Text(&'a str),
    /// Bytes of a typed file.
    Bytes(&'a [u8]),
    /// Bytes of a fixed length: a number in them may have either order.
    Fixed(&'a [u8]),
    /// A whole number of a typed file.
    Number(i128),
    /// A whole number of more than 127 bits of a typed file.
    Amount(U256),
    /// A floating-point number, or a decimal with a fraction.
    Fraction,
    /// A truth value.
    Boolean(bool),
    /// A point in time.
    Time(Timestamp),
}

impl<'a> CellValue<'a> {
    /// The cell without white space around it; `Missing` for a blank text.
    fn trimmed(self) -> Self {
        match self {
            Self::Text(text) => match text.trim_ascii() {
                "" => Self::Missing,
                text => Self::Text(text),
            },
            other => other,
        }
    }

    /// The text of the cell; `None` without a value.
    pub(super) fn text(self) -> Option<&'a str> {
        match self.trimmed() {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Parses values of one chain, and remembers addresses whose checksum was verified.
#[derive(Debug)]
pub(super) struct Values {
    chain: ChainId,
    accounts: FxHashMap<Box<str>, AccountAddress>,
    last_time: Option<(String, Timestamp)>,
    lookalikes: BTreeMap<AccountAddress, String>,
}

/// Most tokens that imitate a scored asset that are remembered.
const MOST_LOOKALIKES: usize = 100_000;
/// Most addresses that are remembered.
const MOST_REMEMBERED: usize = 100_000;

type Parsed<T> = Result<Option<T>, String>;

impl Values {
    pub(super) fn new(chain: ChainId) -> Self {
        let (accounts, lookalikes) = (FxHashMap::default(), BTreeMap::new());
        Self { chain, accounts, last_time: None, lookalikes }
    }

    /// Notes the name or symbol of a token, if it imitates that of a scored asset.
    pub(super) fn note_name(&mut self, asset: Asset, name: &str) {
        let Asset::Token(contract) = asset else { return };
        if self.lookalikes.len() >= MOST_LOOKALIKES
            || self.lookalikes.contains_key(&contract)
            || scored_asset(AssetId { chain: self.chain, asset }).is_some()
        {
            return;
        }
        if let Some(ticker) = imitated_ticker(self.chain, name) {
            self.lookalikes.insert(contract, ticker.to_owned());
        }
    }

    /// Tickers of scored assets whose names or symbols tokens with other contracts imitate, by contract.
    pub(super) const fn lookalikes(&self) -> &BTreeMap<AccountAddress, String> {
        &self.lookalikes
    }

    pub(super) const fn chain(&self) -> ChainId {
        self.chain
    }

    /// The account that a cell names.
    pub(super) fn account(&mut self, cell: CellValue<'_>) -> Parsed<AccountAddress> {
        match cell.trimmed() {
            CellValue::Missing => Ok(None),
            CellValue::Text(text) => self.account_text(text).map(Some),
            CellValue::Bytes(bytes) | CellValue::Fixed(bytes) => {
                account_bytes(self.chain, bytes).map(Some)
            }
            _ => Err("a number is no address".to_owned()),
        }
    }

    fn account_text(&mut self, text: &str) -> Result<AccountAddress, String> {
        if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("\\x"))
            && digits.len() == 40
            && let Some(bytes) = lowercase_hex::<20>(digits)
        {
            return Ok(AccountAddress(bytes));
        }
        if let Some(known) = self.accounts.get(text) {
            return Ok(*known);
        }
        let account = self.parse_account(text)?;
        if self.accounts.len() >= MOST_REMEMBERED {
            self.accounts.clear();
        }
        self.accounts.insert(text.into(), account);
        Ok(account)
    }

    fn parse_account(&self, text: &str) -> Result<AccountAddress, String> {
        if let Some(bytes) = base64_bytes::<20>(text) {
            return Ok(AccountAddress(bytes));
        }
        // The EVM's form of an address, which programs write for TRON too.
        let is_evm_form = text.len() == 42 && text.starts_with("0x");
        let chain =
            if is_evm_form && self.chain == ChainId::TRX { ChainId::ETH } else { self.chain };
        let parsed = CanonicalAddress::parse(chain, text);
        let address = parsed.map_err(|error| format!("`{}`: {error}", shortened(text)))?;
        AccountAddress::of(&address)
            .ok_or_else(|| format!("`{}` is no account of 20 bytes", shortened(text)))
    }

    /// The asset that a cell names.
    pub(super) fn asset(&mut self, cell: CellValue<'_>) -> Parsed<Asset> {
        match cell.trimmed() {
            CellValue::Missing => Ok(None),
            CellValue::Text("native") => Ok(Some(Asset::Native)),
            CellValue::Text(text) if text.starts_with("0x") || self.accounts.contains_key(text) => {
                match self.account_text(text) {
                    Ok(contract) => Ok(Some(Asset::Token(contract))),
                    Err(_) => self.parse_asset(text),
                }
            }
            CellValue::Text(text) => self.parse_asset(text),
            CellValue::Number(number) if self.chain == ChainId::TRX => {
                self.parse_asset(&number.to_string())
            }
            other => Ok(self.account(other)?.map(Asset::Token)),
        }
    }

    fn parse_asset(&self, text: &str) -> Parsed<Asset> {
        Asset::parse(self.chain, text).map(Some).map_err(|error| error.to_string())
    }

    /// The point in time that a cell states.
    pub(super) fn time(&mut self, cell: CellValue<'_>) -> Parsed<Timestamp> {
        match cell.trimmed() {
            CellValue::Missing => Ok(None),
            CellValue::Time(time) => Ok(Some(time)),
            CellValue::Number(seconds) => seconds_time(seconds).map(Some),
            CellValue::Text(text) => {
                if let Some((last, time)) = &self.last_time
                    && last == text
                {
                    return Ok(Some(*time));
                }
                let time = parse_time(text)?;
                self.last_time = Some((text.to_owned(), time));
                Ok(Some(time))
            }
            _ => Err(EXPECTED_TIME.to_owned()),
        }
    }
}

const EXPECTED_TIME: &str =
    "write the time in seconds since 1970, or as RFC 3339 (2026-11-27T07:05:00Z)";

fn seconds_time(seconds: i128) -> Result<Timestamp, String> {
    let time = i64::try_from(seconds).ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    let time = time.filter(|time| time.as_second() >= 0);
    time.ok_or_else(|| {
        let unit = if seconds > 0 { ", not in milliseconds" } else { "" };
        format!("{seconds} is no time of a block{unit}: {EXPECTED_TIME}")
    })
}

fn parse_time(text: &str) -> Result<Timestamp, String> {
    if let Ok(seconds) = text.parse::<i128>() {
        return seconds_time(seconds);
    }
    let refused = || format!("`{}` is no time with its zone: {EXPECTED_TIME}", shortened(text));
    // Warehouses write a space for the T, and UTC for the Z.
    let mut written = text.replacen(' ', "T", 1);
    for zone in [" UTC", "UTC", "+00", "+0000"] {
        if let Some(start) = written.strip_suffix(zone) {
            written = format!("{start}Z");
            break;
        }
    }
    let time: Timestamp = written.parse().map_err(|_| refused())?;
    if time.as_second() < 0 { Err(refused()) } else { Ok(time) }
}

/// The transaction that a cell names.
pub(super) fn txid(cell: CellValue<'_>) -> Parsed<Txid> {
    match cell.trimmed() {
        CellValue::Missing => Ok(None),
        CellValue::Text(text) => {
            let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("\\x"));
            let digits = digits.unwrap_or(text);
            let bytes = lowercase_hex::<32>(digits)
                .or_else(|| lowercase_hex::<32>(&digits.to_ascii_lowercase()))
                .or_else(|| base64_bytes::<32>(text));
            let expected = "is no transaction: write its 64 hexadecimal digits";
            let bytes = bytes.ok_or_else(|| format!("`{}` {expected}", shortened(text)))?;
            Ok(Some(Txid::from_bytes(bytes)))
        }
        CellValue::Bytes(bytes) | CellValue::Fixed(bytes) => match <[u8; 32]>::try_from(bytes) {
            Ok(bytes) => Ok(Some(Txid::from_bytes(bytes))),
            Err(_) => Err(format!("{} bytes are no transaction, which has 32", bytes.len())),
        },
        _ => Err("a number is no transaction".to_owned()),
    }
}

/// The amount in base units that a cell states.
pub(super) fn amount(cell: CellValue<'_>) -> Parsed<U256> {
    match cell.trimmed() {
        CellValue::Missing => Ok(None),
        CellValue::Text(text) => parse_amount(text).map(Some),
        CellValue::Number(number) => match u128::try_from(number) {
            Ok(number) => Ok(Some(U256::from(number))),
            Err(_) => Err(format!("{number} is negative: {EXPECTED_AMOUNT}")),
        },
        CellValue::Amount(amount) => Ok(Some(amount)),
        CellValue::Bytes(bytes) => match <[u8; 32]>::try_from(bytes) {
            Ok(bytes) => Ok(Some(U256::from_be_bytes(bytes))),
            Err(_) => Err(format!("{} bytes are no amount: write it as decimal text", bytes.len())),
        },
        CellValue::Fixed(_) => Err(
            "bytes of a fixed length are no amount, since their order is not stated: write it as decimal text"
                .to_owned(),
        ),
        CellValue::Fraction => {
            Err(format!("a floating-point number or a fraction is not exact: {EXPECTED_AMOUNT}"))
        }
        CellValue::Boolean(_) | CellValue::Time(_) => Err(EXPECTED_AMOUNT.to_owned()),
    }
}

const EXPECTED_AMOUNT: &str = "write base units as a whole decimal number";

/// Parses a decimal number of at most 2^256 - 1.
fn parse_amount(text: &str) -> Result<U256, String> {
    let bytes = text.as_bytes();
    if !bytes.iter().all(u8::is_ascii_digit) {
        let kind = match text {
            _ if text.starts_with("0x") || text.starts_with("0X") => "is hexadecimal",
            _ if text.starts_with('-') => "is negative",
            _ if bytes.iter().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(byte)) => {
                "is a floating-point number or a fraction, which is not exact"
            }
            _ => "is no number",
        };
        return Err(format!("`{}` {kind}: {EXPECTED_AMOUNT}", shortened(text)));
    }
    // 38 digits fit into 128 bits.
    if bytes.len() <= 38 {
        let mut number = 0_u128;
        for byte in bytes {
            number = number.wrapping_mul(10).wrapping_add(u128::from(byte.wrapping_sub(b'0')));
        }
        return Ok(U256::from(number));
    }
    U256::from_str_radix(text, 10).map_err(|_| too_large(text))
}

fn too_large(text: &str) -> String {
    format!("`{}` is larger than 2^256 - 1, the largest amount", shortened(text))
}

/// The amount in base units that a cell of a warehouse states. Some write zeros at the end as an exponent, exactly:
/// `199e17`. Floating-point numbers have a point or a sign.
pub(super) fn exported_amount(cell: CellValue<'_>) -> Parsed<U256> {
    if let CellValue::Text(text) = cell.trimmed()
        && let Some((digits, exponent)) = text.split_once('e')
        && !digits.is_empty()
        && digits.bytes().chain(exponent.bytes()).all(|byte| byte.is_ascii_digit())
        && let Ok(exponent) = exponent.parse::<u8>()
    {
        let digits = parse_amount(digits)?;
        let power = U256::from(10_u8).checked_pow(U256::from(exponent));
        let amount = power.and_then(|power| digits.checked_mul(power));
        return amount.map(Some).ok_or_else(|| too_large(text));
    }
    amount(cell)
}

/// The number that a cell states.
pub(super) fn number(cell: CellValue<'_>) -> Parsed<u64> {
    let found = match cell.trimmed() {
        CellValue::Missing => return Ok(None),
        CellValue::Text(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => {
            text.parse().ok()
        }
        CellValue::Number(number) => u64::try_from(number).ok(),
        CellValue::Text(text) => {
            return Err(format!("`{}` is no whole decimal number", shortened(text)));
        }
        _ => None,
    };
    found.map(Some).ok_or_else(|| "no whole number below 2^64".to_owned())
}

/// The number that a cell states, as a position.
pub(super) fn position(cell: CellValue<'_>) -> Parsed<u32> {
    let found = number(cell)?;
    found
        .map(|found| u32::try_from(found).map_err(|_| format!("{found} is above 2^32 - 1")))
        .transpose()
}

/// The truth value that a cell states: a status of 1 or 0, or true or false.
pub(super) fn truth(cell: CellValue<'_>) -> Parsed<bool> {
    match cell.trimmed() {
        CellValue::Missing => Ok(None),
        CellValue::Boolean(value) => Ok(Some(value)),
        CellValue::Number(1) | CellValue::Text("1" | "true" | "TRUE" | "True" | "t" | "0x1") => {
            Ok(Some(true))
        }
        CellValue::Number(0) | CellValue::Text("0" | "false" | "FALSE" | "False" | "f" | "0x0") => {
            Ok(Some(false))
        }
        CellValue::Text(text) => Err(format!("`{}` is neither 1 nor 0", shortened(text))),
        _ => Err("a status is neither 1 nor 0".to_owned()),
    }
}

/// The path of a call in the calls of its transaction, which is empty for the call of the transaction itself.
pub(super) fn path(text: &str) -> Result<Vec<u32>, String> {
    let inner = text.trim_ascii().trim_matches(['[', ']', '{', '}', '(', ')']);
    let parts = inner.split([',', '_', ' ', ';']).filter(|part| !part.is_empty());
    let numbers = parts.map(|part| part.trim_matches(['"', '\'']).parse::<u32>());
    let path: Result<Vec<u32>, _> = numbers.collect();
    let path = path.map_err(|_| format!("`{}` is no address of a trace", shortened(text)))?;
    if path.len() > LONGEST_PATH {
        return Err(format!("a trace is at most {LONGEST_PATH} calls deep"));
    }
    Ok(path)
}

/// Greatest depth of calls: the EVM allows 1,024.
const LONGEST_PATH: usize = 1_024;

fn account_bytes(chain: ChainId, bytes: &[u8]) -> Result<AccountAddress, String> {
    let account = match bytes {
        [0x41, account @ ..] if chain == ChainId::TRX && account.len() == 20 => account,
        other => other,
    };
    match <[u8; 20]>::try_from(account) {
        Ok(account) => Ok(AccountAddress(account)),
        Err(_) => Err(format!("{} bytes are no address, which has 20", bytes.len())),
    }
}

/// The bytes of hexadecimal digits in lower case; `None` for any other text.
fn lowercase_hex<const N: usize>(digits: &str) -> Option<[u8; N]> {
    let digits = digits.as_bytes();
    if digits.len() != 2 * N {
        return None;
    }
    let value = |digit: u8| DIGITS.get(usize::from(digit)).copied().unwrap_or(u8::MAX);
    let mut bytes = [0; N];
    let mut all = 0;
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let [high, low] = *pair else { return None };
        let (high, low) = (value(high), value(low));
        all |= high | low;
        *byte = high << 4 | (low & 15);
    }
    (all < 16).then_some(bytes)
}

/// Values of hexadecimal digits in lower case; 255 for other bytes.
#[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
const DIGITS: [u8; 256] = {
    let mut values = [u8::MAX; 256];
    let mut byte = 0_u8;
    while byte < u8::MAX {
        values[byte as usize] = digit(byte);
        byte += 1;
    }
    values
};

const fn digit(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        _ => u8::MAX,
    }
}

/// The bytes of a base64 text with padding; `None` for any other text.
fn base64_bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let body = text.trim_end_matches('=');
    let padding = text.len() - body.len();
    if text.len() != N.div_ceil(3) * 4 || padding != (3 - N % 3) % 3 {
        return None;
    }
    let mut bytes = [0; N];
    let mut filled = bytes.iter_mut();
    let (mut bits, mut count) = (0_u32, 0);
    for letter in body.bytes() {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            *filled.next()? = u8::try_from(bits >> count & 0xFF).ok()?;
        }
    }
    (filled.next().is_none() && bits & ((1 << count) - 1) == 0).then_some(bytes)
}

/// A text of a file in a message.
pub(super) fn shortened(text: &str) -> String {
    let start: String = text.chars().take(80).collect();
    start.escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn amounts_are_exact_up_to_256_bits() {
        let max = U256::MAX.to_string();
        for text in ["0", "1", "0001", "99999999999999999999999999999999999999", &max] {
            let expected = U256::from_str_radix(text, 10).unwrap();
            assert_eq!(amount(CellValue::Text(text)), Ok(Some(expected)), "{text}");
        }
        assert_eq!(amount(CellValue::Text(" 5 ")), Ok(Some(U256::from(5_u8))));
        assert!(amount(CellValue::Bytes(&[1, 0])).unwrap_err().contains("decimal text"));
        assert_eq!(amount(CellValue::Text("")), Ok(None));
    }

    #[test]
    fn amounts_that_are_not_exact_are_refused_with_what_to_write() {
        let beyond = format!("{}0", U256::MAX);
        for (text, reason) in [
            ("0x10", "is hexadecimal"),
            ("-5", "is negative"),
            ("1.0", "not exact"),
            ("1e18", "not exact"),
            ("1,000", "is no number"),
            ("٣", "is no number"),
            ("NaN", "is no number"),
            (&beyond, "larger than 2^256 - 1"),
        ] {
            let error = amount(CellValue::Text(text)).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
        assert!(amount(CellValue::Fraction).unwrap_err().contains("base units"));
        assert!(amount(CellValue::Number(-1)).unwrap_err().contains("negative"));
    }

    #[test]
    fn warehouses_may_write_zeros_as_an_exponent() {
        let text = |text| exported_amount(CellValue::Text(text));
        assert_eq!(text("199e17"), amount(CellValue::Text("19900000000000000000")));
        assert_eq!(text("5e0"), Ok(Some(U256::from(5_u8))));
        assert!(text("2e77").unwrap_err().contains("larger than"));
        for refused in ["1.99e19", "1e+20", "1E20", "e5", "5e", "1e-3", "1e300"] {
            assert!(text(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn times_are_read_as_warehouses_write_them() {
        let mut values = Values::new(ChainId::ETH);
        let expected = Timestamp::from_second(1_683_029_999).unwrap();
        for text in [
            "1683029999",
            "2023-05-02T12:19:59Z",
            "2023-05-02 12:19:59 UTC",
            "2023-05-02 12:19:59.000 UTC",
            "2023-05-02 12:19:59+00:00",
            "2023-05-02 14:19:59+02:00",
            "2023-05-02 12:19:59+00",
        ] {
            assert_eq!(values.time(CellValue::Text(text)), Ok(Some(expected)), "{text}");
        }
        for text in
            ["1683029999000", "-5", "2023-05-02 12:19:59", "2023-05-02", "x", "1683029999.0"]
        {
            let error = values.time(CellValue::Text(text)).unwrap_err();
            assert!(error.contains("seconds since 1970"), "{text}: {error}");
        }
        assert!(
            values.time(CellValue::Text("1683029999000")).unwrap_err().contains("milliseconds")
        );
    }

    #[test]
    fn addresses_are_read_in_the_forms_of_their_chain() {
        let mut ethereum = Values::new(ChainId::ETH);
        let tether = "0xdAC17F958D2ee523a2206206994597C13D831ec7";
        let expected = ethereum.account(CellValue::Text(tether)).unwrap();
        let lower = tether.to_lowercase();
        for text in [&*lower, &format!("\\x{}", &lower[2..]), "2sF/lY0u5SOiIGIGmUWXwT2DHsc="] {
            assert_eq!(ethereum.account(CellValue::Text(text)), Ok(expected), "{text}");
        }
        let wrong = "0xDAC17F958D2ee523a2206206994597C13D831ec7";
        for text in [wrong, &lower[2..], "0xdac1", "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", "USDT"] {
            assert!(ethereum.account(CellValue::Text(text)).is_err(), "{text}");
        }
        let mut tron = Values::new(ChainId::TRX);
        let expected = tron.account(CellValue::Text("TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t")).unwrap();
        for text in [
            "41a614f803b6fd780986a42c78ec9c7f77e6ded13c",
            "0x41a614f803b6fd780986a42c78ec9c7f77e6ded13c",
            "0xa614f803b6fd780986a42c78ec9c7f77e6ded13c",
            "phT4A7b9eAmGpCx47Jx/d+be0Tw=",
        ] {
            assert_eq!(tron.account(CellValue::Text(text)), Ok(expected), "{text}");
        }
        assert!(tron.account(CellValue::Text("TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6u")).is_err());
    }

    #[test]
    fn paths_of_traces_are_read_as_warehouses_write_them() {
        for text in ["0,1,12", "[0, 1, 12]", "{0,1,12}", "0_1_12", "[0 1 12]"] {
            assert_eq!(path(text), Ok(vec![0, 1, 12]), "{text}");
        }
        assert_eq!(path(""), Ok(Vec::new()));
        assert_eq!(path("[]"), Ok(Vec::new()));
        assert!(path("0,a").is_err() && path("-1").is_err());
    }

    proptest! {
        #[test]
        fn every_amount_is_read_back(limbs in any::<[u64; 4]>()) {
            let number = U256::from_limbs(limbs);
            prop_assert_eq!(amount(CellValue::Text(&number.to_string())), Ok(Some(number)));
            prop_assert_eq!(amount(CellValue::Bytes(&number.to_be_bytes::<32>())), Ok(Some(number)));
        }

        #[test]
        fn no_text_makes_a_parser_fail(text in ".{0,90}") {
            let mut values = Values::new(ChainId::TRX);
            let cell = CellValue::Text(&text);
            let _ = (values.account(cell), values.time(cell), values.asset(cell));
            let _ = (txid(cell), amount(cell), number(cell), position(cell), truth(cell), path(&text));
        }
    }
}
