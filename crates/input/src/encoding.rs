//! Character encodings of text files.

use std::{fmt, str::FromStr};

use crate::binary;

/// Character encoding of a text, by its name in the WHATWG Encoding Standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoding(&'static encoding_rs::Encoding);

impl Encoding {
    /// UTF-8.
    pub const UTF_8: Self = Self(encoding_rs::UTF_8);
    /// Windows-1252, of Western Europe.
    pub const WINDOWS_1252: Self = Self(encoding_rs::WINDOWS_1252);

    /// The name of the encoding, such as `windows-1252`, in lower case.
    #[must_use]
    pub fn name(self) -> String {
        self.0.name().to_ascii_lowercase()
    }

    /// A decoder from the first byte after a byte order mark.
    pub(crate) fn decoder(self) -> encoding_rs::Decoder {
        self.0.new_decoder_without_bom_handling()
    }

    /// The bytes of a text, in reverse of a decoder; `None` if the encoding lacks one of its characters.
    #[must_use]
    pub fn encoded(self, text: &str) -> Option<Vec<u8>> {
        let units = text.encode_utf16();
        if self.0 == encoding_rs::UTF_16LE {
            return Some(units.flat_map(u16::to_le_bytes).collect());
        }
        if self.0 == encoding_rs::UTF_16BE {
            return Some(units.flat_map(u16::to_be_bytes).collect());
        }
        let (bytes, _, lossy) = self.0.encode(text);
        (!lossy).then(|| bytes.into_owned())
    }

    /// Decides the encoding of a text from its first bytes: by its byte order mark, else as declared, else by the
    /// declaration of XML, else UTF-8. Returns the length of the byte order mark, too.
    pub(crate) fn of(start: &[u8], declared: Option<Self>) -> Result<(Self, usize), EncodingError> {
        if UTF32_MARKS.iter().any(|mark| start.starts_with(mark)) {
            return Err(EncodingError::Utf32);
        }
        if let Some((encoding, length)) = encoding_rs::Encoding::for_bom(start) {
            return Ok((Self(encoding), length));
        }
        if let Some(file) = binary::kind(start) {
            return Err(EncodingError::Binary(file));
        }
        if let Some(declared) = declared {
            return Ok((declared, 0));
        }
        if let Some(name) = xml_encoding(start) {
            let known: Self = name.parse().map_err(|_| EncodingError::UnknownXml(name))?;
            // The declaration was read as ASCII, so that the text cannot be UTF-16.
            let wide = [encoding_rs::UTF_16LE, encoding_rs::UTF_16BE].contains(&known.0);
            return Ok((if wide { Self::UTF_8 } else { known }, 0));
        }
        let wide =
            |encoding| if is_xml_in(start) { Ok((Self(encoding), 0)) } else { unmarked(encoding) };
        match start {
            [first, 0, second, 0, ..] if *first != 0 && *second != 0 => wide(encoding_rs::UTF_16LE),
            [0, first, 0, second, ..] if *first != 0 && *second != 0 => wide(encoding_rs::UTF_16BE),
            _ => Ok((Self::UTF_8, 0)),
        }
    }
}

fn unmarked(encoding: &'static encoding_rs::Encoding) -> Result<(Encoding, usize), EncodingError> {
    Err(EncodingError::Unmarked(Encoding(encoding)))
}

const UTF32_MARKS: [&[u8]; 2] = [&[0xFF, 0xFE, 0, 0], &[0, 0, 0xFE, 0xFF]];

/// True if a text begins as XML in UTF-16 (XML 1.0, appendix F).
fn is_xml_in(start: &[u8]) -> bool {
    start.starts_with(b"<\0?\0") || start.starts_with(b"\0<\0?")
}

/// The encoding that the declaration of XML names.
fn xml_encoding(start: &[u8]) -> Option<String> {
    let declaration = start.strip_prefix(b"<?xml")?;
    let text: String =
        declaration.iter().take(DECLARATION_BYTES).copied().map(char::from).collect();
    let (declaration, _) = text.split_once("?>")?;
    let (_, value) = declaration.split_once("encoding")?;
    let value = value.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|quote| ['"', '\''].contains(quote))?;
    value.split(quote).nth(1).map(str::to_owned)
}

/// Longest declaration of XML that is read, in bytes.
pub(crate) const DECLARATION_BYTES: usize = 256;

impl fmt::Display for Encoding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name())
    }
}

/// Name that no supported encoding has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no such encoding: `{0}` (known: utf-8, utf-16le, utf-16be, windows-1250 to windows-1258, iso-8859-1 to \
     iso-8859-16, koi8-r, macintosh, shift_jis, euc-jp, gb18030, big5, euc-kr and their other names)"
)]
pub struct UnknownEncoding(String);

impl FromStr for Encoding {
    type Err = UnknownEncoding;

    fn from_str(name: &str) -> Result<Self, UnknownEncoding> {
        encoding_rs::Encoding::for_label_no_replacement(name.as_bytes())
            .filter(|found| *found != encoding_rs::X_USER_DEFINED)
            .map(Self)
            .ok_or_else(|| UnknownEncoding(name.chars().take(64).collect()))
    }
}

/// Reason why bytes are no text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodingError {
    /// The file is no text.
    #[error("it is {}: {}", .0.name, .0.mend)]
    Binary(&'static binary::BinaryFile),
    /// Bytes are not UTF-8, which the text has for want of another declaration.
    #[error(
        "bytes that are not UTF-8 at byte offset {offset}: declare the encoding of the file, such as `--encoding \
         windows-1252`, or save it as UTF-8"
    )]
    NotUtf8 {
        /// Offset of the first invalid byte from the start of the unpacked file.
        offset: u64,
    },
    /// Bytes are no text of the encoding.
    #[error(
        "bytes that are not {encoding} at byte offset {offset}: the file is damaged, or has another encoding"
    )]
    Malformed {
        /// Offset of the first invalid byte from the start of the unpacked file.
        offset: u64,
        /// The encoding.
        encoding: Encoding,
    },
    /// The text is UTF-16 and has no byte order mark.
    #[error(
        "it looks like UTF-16 without a byte order mark: declare it with `--encoding {0}`, or save it as UTF-8"
    )]
    Unmarked(Encoding),
    /// The text is UTF-32.
    #[error("a byte order mark of UTF-32, which is not supported: save the file as UTF-8")]
    Utf32,
    /// XML declares an encoding that is not known.
    #[error("the XML declares the encoding `{0}`, which is not known: save the file as UTF-8")]
    UnknownXml(String),
    /// The text has a NUL byte.
    #[error(
        "a NUL byte, as in a binary file, or in UTF-16 without a byte order mark: declare that with `--encoding \
         utf-16le`, or save the file as UTF-8"
    )]
    Nul,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encoding_is_known_by_mark_then_declaration_then_xml() {
        let of = |start: &[u8], declared: Option<&str>| {
            let declared = declared.map(|name| name.parse().unwrap());
            Encoding::of(start, declared).map(|(encoding, mark)| (encoding.name(), mark))
        };
        let known = |name: &str, mark| Ok((name.to_owned(), mark));
        assert_eq!(of(b"a,b", None), known("utf-8", 0));
        assert_eq!(of(b"\xEF\xBB\xBFa", Some("windows-1252")), known("utf-8", 3));
        assert_eq!(of(b"\xFF\xFEa\0", None), known("utf-16le", 2));
        assert_eq!(of(b"\xFE\xFF\0a", Some("utf-16le")), known("utf-16be", 2));
        assert_eq!(of(b"a,b", Some("latin1")), known("windows-1252", 0));
        let xml = b"<?xml version='1.0' encoding='ISO-8859-8'?><a/>";
        assert_eq!(of(xml, None), known("iso-8859-8", 0));
        assert_eq!(of(xml, Some("windows-1255")), known("windows-1255", 0));
        assert_eq!(of(b"<?xml encoding=\"utf-16\"?>", None), known("utf-8", 0));
        assert_eq!(of(b"<\0?\0x\0", None), known("utf-16le", 0));
        let unknown = of(b"<?xml version=\"1.0\" encoding=\"x\"?>", None);
        assert_eq!(unknown, Err(EncodingError::UnknownXml("x".to_owned())));
    }

    #[test]
    fn what_cannot_be_decoded_is_told_with_the_mend() {
        let told = |start: &[u8]| Encoding::of(start, None).unwrap_err().to_string();
        assert!(told(b"a\0b\0").ends_with("`--encoding utf-16le`, or save it as UTF-8"));
        assert!(told(b"\0a\0b").contains("`--encoding utf-16be`"));
        assert!(told(b"\xFF\xFE\0\0a\0\0\0").contains("UTF-32"));
        assert_eq!(told(b"%PDF-1.7"), "it is a PDF document: save its table as CSV (UTF-8)");
        for name in ["utf-7", "iso-2022-kr", "x-user-defined", "cp037"] {
            let error = name.parse::<Encoding>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("no such encoding: `{name}` (known: utf-8")));
        }
    }
}
