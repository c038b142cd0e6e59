//! Canonical JSON (RFC 8785) of compact JSON, as `serde_json` writes it.
//!
//! Texts and nearly all numbers are canonical already, and are copied. The members of objects are sorted. Numbers that
//! JavaScript writes differently are left to the library that knows the format.

use std::{cmp::Ordering, mem, str};

use memchr::memchr2;

/// Number of digits up to which every integer is a number of JavaScript.
const SAFE_DIGITS: usize = 15;

/// Location of a value in an assessment, as far as it decides about its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValueLocation {
    /// The assessment.
    Assessment,
    /// The list of its sources.
    Sources,
    /// One of its sources.
    Source,
    /// Anything else.
    Other,
}

impl ValueLocation {
    /// Returns the location of a member's value; `None` if the canonical JSON leaves the member out.
    fn member(self, name: &[u8]) -> Option<Self> {
        match (self, name) {
            (Self::Assessment, b"sources") => Some(Self::Sources),
            (Self::Source, b"fetched_at") => None,
            _ => Some(Self::Other),
        }
    }

    /// Returns the location of the elements of a list.
    fn element(self) -> Self {
        if self == Self::Sources { Self::Source } else { Self::Other }
    }
}

/// Returns the canonical JSON of an assessment's compact JSON, without `fetched_at` of its sources; `None` if the text is
/// no JSON.
pub(super) fn of_assessment(text: &str) -> Option<Vec<u8>> {
    write(text, ValueLocation::Assessment)
}

fn write(text: &str, location: ValueLocation) -> Option<Vec<u8>> {
    let mut writer = CanonicalWriter {
        left: text.as_bytes(),
        written: Vec::with_capacity(text.len()),
        members: Vec::new(),
        sorted: Vec::new(),
    };
    writer.value(location)?;
    writer.left.is_empty().then_some(writer.written)
}

/// Writer of the canonical JSON of a text, which it reads once.
struct CanonicalWriter<'a> {
    /// The part of the text that is not read yet.
    left: &'a [u8],
    written: Vec<u8>,
    /// Members of the objects that are being written, those of an inner object after those of the outer one.
    members: Vec<Member<'a>>,
    /// Memory in which the members of an object are sorted.
    sorted: Vec<u8>,
}

/// Member of an object.
#[derive(Clone, Copy, Debug)]
struct Member<'a> {
    /// The name as the text has it, without quotes.
    name: &'a [u8],
    /// Begin and end of the member in what is written.
    begin: usize,
    end: usize,
}

impl<'a> CanonicalWriter<'a> {
    fn value(&mut self, location: ValueLocation) -> Option<()> {
        match self.left.first()? {
            b'{' => self.object(location),
            b'[' => self.array(location),
            b'"' => {
                let text = self.string()?;
                self.write_quoted(text);
                Some(())
            }
            _ => self.word(),
        }
    }

    fn object(&mut self, location: ValueLocation) -> Option<()> {
        self.left = self.left.strip_prefix(b"{")?;
        self.written.push(b'{');
        let (content, outer) = (self.written.len(), self.members.len());
        let mut is_over = self.skip(b'}');
        while !is_over {
            let before = self.written.len();
            if before > content {
                self.written.push(b',');
            }
            let begin = self.written.len();
            let name = self.string()?;
            self.left = self.left.strip_prefix(b":")?;
            self.write_quoted(name);
            self.written.push(b':');
            let inner = location.member(name);
            self.value(inner.unwrap_or(ValueLocation::Other))?;
            if inner.is_some() {
                self.members.push(Member { name, begin, end: self.written.len() });
            } else {
                self.written.truncate(before);
            }
            is_over = self.skip(b'}');
            if !is_over {
                self.left = self.left.strip_prefix(b",")?;
            }
        }
        self.sort(content, outer)?;
        self.written.push(b'}');
        Some(())
    }

    /// Sorts the members of an object whose content was written from `content` on, and forgets them.
    fn sort(&mut self, content: usize, outer: usize) -> Option<()> {
        let members = self.members.get_mut(outer..)?;
        let before: fn(&Member<'_>, &Member<'_>) -> Ordering =
            if members.iter().all(|member| is_plain(member.name)) {
                |one, other| one.name.cmp(other.name)
            } else {
                |one, other| units(one.name).cmp(&units(other.name))
            };
        if !members.is_sorted_by(|one, other| before(one, other).is_le()) {
            members.sort_by(before);
            let mut sorted = mem::take(&mut self.sorted);
            sorted.clear();
            for Member { begin, end, .. } in members {
                if !sorted.is_empty() {
                    sorted.push(b',');
                }
                sorted.extend_from_slice(self.written.get(*begin..*end)?);
            }
            self.written.truncate(content);
            self.written.extend_from_slice(&sorted);
            self.sorted = sorted;
        }
        self.members.truncate(outer);
        Some(())
    }

    fn array(&mut self, location: ValueLocation) -> Option<()> {
        self.left = self.left.strip_prefix(b"[")?;
        self.written.push(b'[');
        let mut is_over = self.skip(b']');
        while !is_over {
            self.value(location.element())?;
            is_over = self.skip(b']');
            if !is_over {
                self.left = self.left.strip_prefix(b",")?;
                self.written.push(b',');
            }
        }
        self.written.push(b']');
        Some(())
    }

    /// Reads the content of a text.
    fn string(&mut self) -> Option<&'a [u8]> {
        let quoted = self.left.strip_prefix(b"\"")?;
        let mut length = 0;
        loop {
            length += memchr2(b'"', b'\\', quoted.get(length..)?)?;
            if quoted.get(length) == Some(&b'"') {
                break;
            }
            // The character after the backslash belongs to it.
            length += 2;
        }
        let (content, left) = quoted.split_at_checked(length)?;
        self.left = left.strip_prefix(b"\"")?;
        Some(content)
    }

    /// Reads and writes a number, `true`, `false` or `null`.
    fn word(&mut self) -> Option<()> {
        let is_end = |byte: &u8| matches!(byte, b',' | b']' | b'}');
        let length = self.left.iter().position(is_end).unwrap_or(self.left.len());
        let (word, left) = self.left.split_at_checked(length)?;
        self.left = left;
        if let Some(canonical) = plain(word) {
            self.written.extend_from_slice(canonical);
            return Some(());
        }
        let number: serde_json::Number = serde_json::from_slice(word).ok()?;
        serde_json_canonicalizer::to_writer(&number, &mut self.written).ok()
    }

    fn write_quoted(&mut self, content: &[u8]) {
        self.written.push(b'"');
        self.written.extend_from_slice(content);
        self.written.push(b'"');
    }

    /// Skips a byte if it is the next one.
    fn skip(&mut self, byte: u8) -> bool {
        let left = self.left.strip_prefix(&[byte]);
        self.left = left.unwrap_or(self.left);
        left.is_some()
    }
}

/// Returns the canonical form of a word that is a part of it: `true`, `false`, `null`, an integer with few digits, or a
/// decimal fraction; `None` of other numbers.
fn plain(word: &[u8]) -> Option<&[u8]> {
    if matches!(word, b"true" | b"false" | b"null") {
        return Some(word);
    }
    let digits = word.strip_prefix(b"-").unwrap_or(word);
    let (whole, fraction) = match digits.iter().position(|byte| *byte == b'.') {
        Some(point) => (digits.get(..point)?, digits.get(point + 1..)),
        None => (digits, None),
    };
    let are_digits = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let is_plain = are_digits(whole)
        && whole.len() <= SAFE_DIGITS
        && fraction.is_none_or(are_digits)
        // JavaScript has an exponent from the seventh digit after the point on, and no negative zero.
        && digits.iter().any(|byte| (b'1'..=b'9').contains(byte))
        && (whole != b"0" || fraction.is_none_or(|fraction| !fraction.starts_with(b"000000")));
    if is_plain && fraction.is_some_and(|fraction| fraction == b"0") {
        return word.strip_suffix(b".0");
    }
    (is_plain || word == b"0").then_some(word)
}

/// True if the order of a name among such names is that of its bytes in the text.
fn is_plain(name: &[u8]) -> bool {
    name.iter().all(|byte| byte.is_ascii() && *byte != b'\\')
}

/// Returns the code units in UTF-16 of a name, as the text has it, by which members are sorted.
fn units(name: &[u8]) -> Vec<u16> {
    let quoted = [b"\"", name, b"\""].concat();
    let name: String = serde_json::from_slice(&quoted).unwrap_or_default();
    name.encode_utf16().collect()
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};
    use serde_json::{Value, json};

    use super::*;

    /// Generates values with names and texts of all kinds, and numbers around the bounds of integers and fractions.
    fn values() -> impl Strategy<Value = Value> {
        let around = |bound: i64| (bound - 2..bound + 3).prop_map(Value::from);
        let one = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            (0..1001_u16).prop_map(|tenths| Value::from(f64::from(tenths) / 10.0)),
            (0..1001_u16, -25..25_i32)
                .prop_map(|(number, power)| Value::from(f64::from(number) * 10_f64.powi(power))),
            Just(Value::from(-0.0)),
            around(1 << 53),
            around(-(1 << 53)),
            any::<String>().prop_map(Value::from),
            "[\\x00-\\x7f]{0,9}".prop_map(Value::from),
        ];
        let names = prop_oneof![
            any::<String>(),
            "[a-c_\"\\\\\\x00-\\x1f]{0,3}",
            "[z\u{ffff}\u{10000}]{0,2}"
        ];
        one.prop_recursive(4, 64, 8, move |inner| {
            prop_oneof![
                vec(inner.clone(), 0..8).prop_map(Value::from),
                vec((names.clone(), inner), 0..8).prop_map(|fields| fields.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn canonical_json_is_that_of_the_library(value in values()) {
            let expected = serde_json_canonicalizer::to_string(&value).unwrap();
            let written = write(&value.to_string(), ValueLocation::Other).unwrap();
            prop_assert_eq!(String::from_utf8(written).unwrap(), expected);
        }

        #[test]
        fn any_text_is_read_without_a_panic(text in "[\\[\\]{}\",:\\\\0-9.eE+a-z-]{0,24}") {
            let _ = of_assessment(&text);
        }
    }

    #[test]
    fn the_times_of_sources_alone_are_left_out() {
        let assessment = json!({
            "sources": [{"id": "b", "fetched_at": 2, "age": 1}, {"fetched_at": 3}, {"of": {"fetched_at": 4}}],
            "fetched_at": 5,
            "labels": [{"sources": [{"fetched_at": 6}]}],
        });
        let written = of_assessment(&assessment.to_string()).unwrap();
        let expected = r#"{"fetched_at":5,"labels":[{"sources":[{"fetched_at":6}]}],"sources":[{"age":1,"id":"b"},{},{"of":{"fetched_at":4}}]}"#;
        assert_eq!(str::from_utf8(&written).unwrap(), expected);
        assert_eq!(of_assessment("{\"a\":1"), None, "no JSON");
    }
}
