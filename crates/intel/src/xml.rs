//! Reading XML element by element, in constant memory.
//!
//! Lists are untrusted input: document type declarations are refused, entities beyond XML's own five are errors, and
//! depth and the size of any single piece are bounded.

use std::{
    io::{self, BufRead, Read},
    sync::Arc,
};

use assay_input::{EncodingError, encoding_error};
use quick_xml::{
    Reader,
    events::{BytesStart, Event},
};

/// Deepest nesting; OFAC's list uses eleven levels.
const DEEPEST: usize = 64;
/// Largest tag, text or comment in bytes; OFAC's longest text has a few thousand bytes.
const LARGEST_PIECE: usize = 1024 * 1024;

/// Overhead in bytes that each returned tag or text counts in addition to its own bytes: about the memory that a
/// reader needs to keep it.
const WEIGHT: usize = 64;
/// Limit of returned bytes until [`Elements::begin_part`] is called.
const FIRST_ALLOWANCE: usize = 1024 * 1024;

/// Reason why XML could not be read. Lines count from one.
#[derive(Debug, thiserror::Error)]
pub enum XmlError {
    /// The input could not be read or unpacked.
    #[error("line {line}: failed to read: {source}")]
    Read {
        /// Line of the error.
        line: u64,
        /// The I/O error.
        #[source]
        source: Arc<io::Error>,
    },
    /// The input is no text of its encoding.
    #[error("line {line}: {problem}")]
    Encoding {
        /// Line of the error.
        line: u64,
        /// Bytes that were found, and the mend.
        problem: EncodingError,
    },
    /// The input is not well-formed.
    #[error("line {line}: not well-formed XML: {detail}")]
    Malformed {
        /// Line of the error.
        line: u64,
        /// Description of the problem.
        detail: String,
    },
    /// The input ends too early.
    #[error("line {line}: the file ends inside `{element}`: it is truncated")]
    Truncated {
        /// Line of the error.
        line: u64,
        /// The innermost open element.
        element: String,
    },
    /// The input has a document type declaration, which lists never need and attacks use.
    #[error("line {line}: document type declarations are refused")]
    DocumentType {
        /// Line of the error.
        line: u64,
    },
    /// The input uses an entity that XML does not define.
    #[error("line {line}: unknown entity `&{name};`")]
    UnknownEntity {
        /// Line of the error.
        line: u64,
        /// The entity.
        name: String,
    },
    /// The input is nested too deeply.
    #[error("line {line}: nested deeper than {DEEPEST} elements")]
    TooDeep {
        /// Line of the error.
        line: u64,
    },
    /// A part of the input is larger than any part of a real list.
    #[error(
        "line {line}: this part of the file is larger than any real one: more than {allowed} bytes"
    )]
    TooLarge {
        /// Line of the error.
        line: u64,
        /// Limit in bytes.
        allowed: usize,
    },
    /// Unexpected content: another format, or a part is missing.
    #[error("line {line}: {detail}")]
    Unexpected {
        /// Line of the error.
        line: u64,
        /// Found and expected content.
        detail: String,
    },
}

/// An opening tag.
pub(crate) struct Element(BytesStart<'static>);

impl Element {
    /// The element's name without its namespace prefix.
    pub(crate) fn name(&self) -> &str {
        local(self.0.name().0)
    }

    fn attributes(&self) -> Result<Vec<(String, String)>, String> {
        self.0
            .attributes()
            .map(|attribute| {
                let attribute = attribute.map_err(|error| error.to_string())?;
                let value = attribute
                    .normalized_value(quick_xml::XmlVersion::Explicit1_0)
                    .map_err(|error| error.to_string())?;
                Ok((local(attribute.key.0).to_owned(), value.into_owned()))
            })
            .collect()
    }

    fn attribute(&self, name: &str) -> Option<Result<String, String>> {
        self.0.attributes().find_map(|attribute| match attribute {
            Ok(attribute) if local(attribute.key.0) == name => Some(
                attribute
                    .normalized_value(quick_xml::XmlVersion::Explicit1_0)
                    .map(std::borrow::Cow::into_owned)
                    .map_err(|error| error.to_string()),
            ),
            Ok(_) => None,
            Err(error) => Some(Err(error.to_string())),
        })
    }
}

/// An element with all its content, for small parts of a file, such as a party of a list.
#[derive(Debug, Default)]
pub(crate) struct ElementTree {
    /// The element's name without its namespace prefix.
    pub(crate) name: String,
    attributes: Vec<(String, String)>,
    /// The element's text, without the text of children.
    text: String,
    pub(crate) children: Vec<Self>,
}

impl ElementTree {
    /// The element's text without surrounding white space.
    pub(crate) fn text(&self) -> &str {
        self.text.trim()
    }

    /// The value of an attribute without surrounding white space; `None` if it is blank or missing.
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(attribute, _)| attribute == name);
        found.map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
    }

    /// The children with a name.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Self> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// The first child with a name.
    pub(crate) fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }

    /// The text of the first child with a name; `None` if it is blank or missing.
    pub(crate) fn text_of(&self, name: &str) -> Option<&str> {
        self.child(name).map(Self::text).filter(|text| !text.is_empty())
    }

    /// The texts of the element and of all elements within it, except for those named `without`.
    pub(crate) fn texts<'a>(&'a self, without: &[&str], texts: &mut Vec<&'a str>) {
        if without.contains(&&*self.name) {
            return;
        }
        if !self.text().is_empty() {
            texts.push(self.text());
        }
        for child in &self.children {
            child.texts(without, texts);
        }
    }
}

fn local(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, local)| local)
}

/// A cursor over elements. The reader of an element reads exactly up to the element's end.
pub(crate) struct Elements<R> {
    reader: Reader<LimitedPieces<R>>,
    buffer: Vec<u8>,
    open: Vec<String>,
    /// Limit of returned bytes, and the number of bytes that were returned.
    allowed: usize,
    returned_bytes: usize,
}

impl<R: BufRead> Elements<R> {
    pub(crate) fn new(input: R) -> Self {
        let mut reader = Reader::from_reader(LimitedPieces { inner: input, piece: 0, line: 1 });
        reader.config_mut().expand_empty_elements = true;
        let (allowed, returned_bytes) = (FIRST_ALLOWANCE, 0);
        Self { reader, buffer: Vec::new(), open: Vec::new(), allowed, returned_bytes }
    }

    /// Begins a part of the file from which tags and texts of at most `bytes` are returned. Skipped
    /// elements do not count: the limit bounds the memory that a reader can use, regardless of the
    /// file's size.
    pub(crate) fn begin_part(&mut self, bytes: usize) {
        (self.allowed, self.returned_bytes) = (bytes, 0);
    }

    /// Number of bytes that were returned from the current part.
    pub(crate) const fn returned_bytes(&self) -> usize {
        self.returned_bytes
    }

    fn count_returned(&mut self, bytes: usize) -> Result<(), XmlError> {
        self.returned_bytes += bytes + WEIGHT;
        if self.returned_bytes > self.allowed {
            return Err(XmlError::TooLarge { line: self.line(), allowed: self.allowed });
        }
        Ok(())
    }

    /// The root element, which must have the name `expected`.
    pub(crate) fn root(&mut self, expected: &str) -> Result<Element, XmlError> {
        match self.child()? {
            Some(root) if root.name() == expected => Ok(root),
            Some(root) => {
                Err(self.unexpected(format!("found `{}`, expected `{expected}`", root.name())))
            }
            None => Err(self.unexpected(format!("found no element, expected `{expected}`"))),
        }
    }

    /// The next child of the current element; `None` at its end.
    pub(crate) fn child(&mut self) -> Result<Option<Element>, XmlError> {
        loop {
            match self.next()? {
                XmlPiece::Start(element) => {
                    self.count_returned(element.0.len())?;
                    return Ok(Some(element));
                }
                XmlPiece::End => return Ok(None),
                XmlPiece::Text(_) => {}
            }
        }
    }

    /// The text of the current element up to its end, without children.
    pub(crate) fn text(&mut self) -> Result<String, XmlError> {
        let mut text = String::new();
        loop {
            match self.next()? {
                XmlPiece::Text(piece) => text.push_str(&piece),
                XmlPiece::Start(_) => self.skip()?,
                XmlPiece::End => {
                    self.count_returned(text.len())?;
                    return Ok(text);
                }
            }
            if text.len() > LARGEST_PIECE {
                return Err(self.malformed("a text is too long"));
            }
        }
    }

    /// Reads the current element, whose opening tag is `element`, with all its content.
    pub(crate) fn tree(&mut self, element: &Element) -> Result<ElementTree, XmlError> {
        let attributes = element.attributes().map_err(|detail| self.malformed(&detail))?;
        let mut tree =
            ElementTree { name: element.name().to_owned(), attributes, ..ElementTree::default() };
        loop {
            match self.next()? {
                XmlPiece::Text(piece) => {
                    self.count_returned(piece.len())?;
                    tree.text.push_str(&piece);
                }
                XmlPiece::Start(child) => {
                    self.count_returned(child.0.len())?;
                    tree.children.push(self.tree(&child)?);
                }
                XmlPiece::End => return Ok(tree),
            }
        }
    }

    /// Skips the rest of the current element.
    pub(crate) fn skip(&mut self) -> Result<(), XmlError> {
        let level = self.open.len();
        while self.open.len() >= level {
            self.next()?;
        }
        Ok(())
    }

    /// Checks that only comments and white space follow the root element.
    pub(crate) fn finish(mut self) -> Result<(), XmlError> {
        match self.child()? {
            None => Ok(()),
            Some(second) => {
                Err(self.malformed(&format!("a second root element, `{}`", second.name())))
            }
        }
    }

    /// An attribute of `element`.
    pub(crate) fn attribute(
        &self,
        element: &Element,
        name: &str,
    ) -> Result<Option<String>, XmlError> {
        element.attribute(name).transpose().map_err(|detail| self.malformed(&detail))
    }

    /// A required attribute of `element`.
    pub(crate) fn required(&self, element: &Element, name: &str) -> Result<String, XmlError> {
        self.attribute(element, name)?.ok_or_else(|| {
            self.unexpected(format!("`{}` has no attribute `{name}`", element.name()))
        })
    }

    /// An error about unexpected content at this line.
    pub(crate) fn unexpected(&self, detail: String) -> XmlError {
        XmlError::Unexpected { line: self.line(), detail }
    }

    fn malformed(&self, detail: &str) -> XmlError {
        XmlError::Malformed { line: self.line(), detail: detail.to_owned() }
    }

    fn line(&self) -> u64 {
        self.reader.get_ref().line
    }

    fn next(&mut self) -> Result<XmlPiece, XmlError> {
        loop {
            self.buffer.clear();
            self.reader.get_mut().piece = 0;
            let line = self.reader.get_ref().line;
            let event = match self.reader.read_event_into(&mut self.buffer) {
                Ok(event) => event,
                Err(quick_xml::Error::Io(source)) => {
                    return Err(match encoding_error(&source) {
                        Some(problem) => XmlError::Encoding { line, problem: problem.clone() },
                        None => XmlError::Read { line, source },
                    });
                }
                Err(error) => {
                    return Err(XmlError::Malformed { line, detail: error.to_string() });
                }
            };
            match event {
                Event::Start(start) => {
                    let element = Element(start.into_owned());
                    self.open.push(element.name().to_owned());
                    if self.open.len() > DEEPEST {
                        return Err(XmlError::TooDeep { line });
                    }
                    return Ok(XmlPiece::Start(element));
                }
                Event::End(_) => {
                    self.open.pop();
                    return Ok(XmlPiece::End);
                }
                Event::Text(text) => return Ok(XmlPiece::Text(text.xml10_content().into_owned())),
                Event::CData(text) => return Ok(XmlPiece::Text(text.xml10_content().into_owned())),
                Event::GeneralRef(reference) => {
                    let name = reference.xml10_content();
                    let text = match reference.resolve_char_ref() {
                        Ok(Some(character)) => Some(character.to_string()),
                        Ok(None) => predefined(&name).map(str::to_owned),
                        Err(error) => {
                            return Err(XmlError::Malformed { line, detail: error.to_string() });
                        }
                    };
                    return text.map(XmlPiece::Text).ok_or_else(|| XmlError::UnknownEntity {
                        line,
                        name: name.chars().take(64).collect(),
                    });
                }
                Event::DocType(_) => return Err(XmlError::DocumentType { line }),
                Event::Eof => {
                    return match self.open.last() {
                        None => Ok(XmlPiece::End),
                        Some(element) => {
                            Err(XmlError::Truncated { line, element: element.clone() })
                        }
                    };
                }
                Event::Empty(_) | Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
            }
        }
    }
}

enum XmlPiece {
    Start(Element),
    Text(String),
    End,
}

fn predefined(name: &str) -> Option<&'static str> {
    match name {
        "amp" => Some("&"),
        "lt" => Some("<"),
        "gt" => Some(">"),
        "quot" => Some("\""),
        "apos" => Some("'"),
        _ => None,
    }
}

/// Counts lines, and fails if a single tag, text or comment is too large.
struct LimitedPieces<R> {
    inner: R,
    piece: usize,
    line: u64,
}

impl<R: BufRead> Read for LimitedPieces<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let count = available.len().min(buffer.len());
        for (target, source) in buffer.iter_mut().zip(available) {
            *target = *source;
        }
        self.consume(count);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for LimitedPieces<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.piece > LARGEST_PIECE {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!("a single tag, text or comment is larger than {LARGEST_PIECE} bytes"),
            ));
        }
        self.inner.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        if let Ok(available) = self.inner.fill_buf() {
            let consumed = available.get(..count).unwrap_or(available);
            let lines = memchr::memchr_iter(b'\n', consumed).count();
            self.line += u64::try_from(lines).unwrap_or_default();
        }
        self.piece += count;
        self.inner.consume(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_text(xml: &str) -> Result<String, XmlError> {
        let mut elements = Elements::new(io::BufReader::new(xml.as_bytes()));
        elements.root("a")?;
        let text = elements.text()?;
        elements.finish()?;
        Ok(text)
    }

    #[test]
    fn text_is_read_with_its_entities() {
        let text = all_text("<?xml version='1.0'?><a>x &amp; &#121;<b>no</b><![CDATA[<z>]]></a>\n");
        assert_eq!(text.unwrap(), "x & y<z>");
    }

    #[test]
    fn errors_are_named_with_their_lines() {
        let cases = [
            ("", "line 1: found no element, expected `a`"),
            ("<html></html>", "line 1: found `html`, expected `a`"),
            ("<a>\n\n<b>", "line 3: the file ends inside `b`: it is truncated"),
            ("<a>\n<b></c></a>", "line 2: not well-formed XML: "),
            (
                "<!DOCTYPE a [<!ENTITY x \"y\">]><a>&x;</a>",
                "line 1: document type declarations are refused",
            ),
            ("<a>&lol;</a>", "line 1: unknown entity `&lol;`"),
            ("<a></a><b></b>", "line 1: not well-formed XML: a second root element, `b`"),
        ];
        for (xml, message) in cases {
            let error = all_text(xml).unwrap_err().to_string();
            assert!(error.starts_with(message), "{xml}: {error}");
        }
    }

    #[test]
    fn depth_and_size_are_bounded() {
        let deep = "<a>".repeat(100_000);
        assert!(matches!(all_text(&deep), Err(XmlError::TooDeep { .. })));
        let large = format!("<a>{}", "x".repeat(LARGEST_PIECE * 3));
        let error = all_text(&large).unwrap_err().to_string();
        assert!(error.contains("a single tag, text or comment is larger than"), "{error}");
        let large = format!("<a b='{}'>", "x".repeat(LARGEST_PIECE * 3));
        assert!(matches!(all_text(&large), Err(XmlError::Read { .. })));
    }
}
