//! Request bodies in a content coding (`Content-Encoding`), decoded while they arrive and within bounds.

use std::io::{self, Write};

use assay_request::problem::{Code, Problem};
use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, header},
};
use flate2::write::MultiGzDecoder;
use http_body_util::BodyExt;
use zstd::{
    stream::{raw, zio},
    zstd_safe::DParameter,
};

/// Content codings that a request body may have, as `Accept-Encoding` lists them.
pub(crate) const CODINGS: &str = "gzip, zstd, identity";

/// Decoded bytes up to which any ratio to the coded bytes is accepted.
const RATIO_FROM_BYTES: u64 = 1 << 20;
/// Largest ratio of decoded bytes to coded bytes beyond these.
const RATIO: u64 = 200;
/// Number of coded bytes that are decoded at once, so that their decoded bytes stay few.
const PIECE_BYTES: usize = 4096;
/// Largest window of zstd, as the logarithm of bytes (RFC 9659).
const ZSTD_WINDOW_LOG: u32 = 23;

/// Body of a request whose bytes are decoded.
pub(crate) struct CodedBody {
    body: Body,
    /// Coded bytes that arrived and are not decoded yet.
    pending: Bytes,
    decoder: Option<Decoder>,
    coded: u64,
    decoded: u64,
}

/// Reason why a body ended before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyError {
    /// The connection ended.
    Broken,
    /// The bytes are not in the content coding that they have by the header.
    Malformed(&'static str),
    /// The decoded bytes are too many.
    TooLarge,
}

impl BodyError {
    /// The error for people.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Broken => "the body ended too early".to_owned(),
            Self::Malformed(coding) => {
                format!("the body is not valid {coding}, its `Content-Encoding`")
            }
            Self::TooLarge => {
                format!("the decoded body is larger than {RATIO} times the body that was sent")
            }
        }
    }
}

impl CodedBody {
    /// Wraps the body of a request with these header fields.
    ///
    /// # Errors
    ///
    /// Returns a problem that names the accepted codings if the body has another one.
    pub(crate) fn new(headers: &HeaderMap, body: Body) -> Result<Self, Problem> {
        let decoder = Decoder::of(headers)?;
        Ok(Self { body, pending: Bytes::new(), decoder, coded: 0, decoded: 0 })
    }

    /// Returns the next decoded bytes; `None` at the end of the body.
    pub(crate) async fn next(&mut self) -> Option<Result<Bytes, BodyError>> {
        loop {
            if self.pending.is_empty() {
                let frame = match self.body.frame().await {
                    None => return self.end(),
                    Some(Err(_)) => return Some(Err(BodyError::Broken)),
                    Some(Ok(frame)) => frame,
                };
                let Ok(data) = frame.into_data() else { continue };
                self.pending = data;
            }
            let Some(decoder) = &mut self.decoder else {
                return Some(Ok(std::mem::take(&mut self.pending)));
            };
            let piece = self.pending.split_to(PIECE_BYTES.min(self.pending.len()));
            self.coded += piece.len() as u64;
            let most = (self.coded * RATIO).max(RATIO_FROM_BYTES).saturating_sub(self.decoded);
            match decoder.decode(&piece, most) {
                Ok(bytes) if bytes.is_empty() => {}
                piece => {
                    self.decoded += piece.as_ref().map_or(0, |bytes| bytes.len() as u64);
                    return Some(piece.map(Bytes::from));
                }
            }
        }
    }

    /// The error of coded bytes that end too early, once.
    fn end(&mut self) -> Option<Result<Bytes, BodyError>> {
        // A body without any byte has no row, in any coding.
        let decoder = self.decoder.take().filter(|_| self.coded > 0)?;
        decoder.finish().err().map(Err)
    }
}

/// Decoder of a content coding.
enum Decoder {
    Gzip(Box<MultiGzDecoder<Bounded>>),
    Zstd(Box<zio::Writer<Bounded, raw::Decoder<'static>>>),
}

impl Decoder {
    fn of(headers: &HeaderMap) -> Result<Option<Self>, Problem> {
        if !headers.contains_key(header::CONTENT_ENCODING) {
            return Ok(None);
        }
        let values = headers.get_all(header::CONTENT_ENCODING).iter();
        let values: Vec<_> =
            values.map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
        let values = values.join(",").to_ascii_lowercase();
        let codings: Vec<&str> = values
            .split(',')
            .map(str::trim)
            .filter(|coding| !coding.is_empty() && *coding != "identity")
            .collect();
        let refused = || {
            let shown: String = codings.join(", ").chars().take(100).collect();
            let detail = format!(
                "Content-Encoding is `{shown}`; send one of {CODINGS}, or leave the header out"
            );
            Problem::new(Code::UnsupportedMediaType, detail)
                .header(header::ACCEPT_ENCODING, CODINGS)
        };
        match codings.as_slice() {
            [] => Ok(None),
            ["gzip" | "x-gzip"] => {
                Ok(Some(Self::Gzip(Box::new(MultiGzDecoder::new(Bounded::default())))))
            }
            ["zstd"] => {
                let decoder = || -> io::Result<raw::Decoder<'static>> {
                    let mut decoder = raw::Decoder::new()?;
                    decoder.set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG))?;
                    Ok(decoder)
                };
                let decoder = decoder().map_err(|_| refused())?;
                Ok(Some(Self::Zstd(Box::new(zio::Writer::new(Bounded::default(), decoder)))))
            }
            _ => Err(refused()),
        }
    }

    const fn name(&self) -> &'static str {
        match self {
            Self::Gzip(_) => "gzip",
            Self::Zstd(_) => "zstd",
        }
    }

    fn target(&mut self) -> &mut Bounded {
        match self {
            Self::Gzip(decoder) => decoder.get_mut(),
            Self::Zstd(decoder) => decoder.writer_mut(),
        }
    }

    /// Decodes a piece to at most `most` bytes.
    fn decode(&mut self, piece: &[u8], most: u64) -> Result<Vec<u8>, BodyError> {
        self.target().left = most;
        let decoded = match self {
            Self::Gzip(decoder) => decoder.write_all(piece).and_then(|()| decoder.flush()),
            Self::Zstd(decoder) => decoder.write_all(piece).and_then(|()| decoder.flush()),
        };
        decoded.map_err(|_| self.failed())?;
        Ok(std::mem::take(&mut self.target().bytes))
    }

    /// Checks that nothing is missing at the end.
    fn finish(mut self) -> Result<(), BodyError> {
        let finished = match &mut self {
            Self::Gzip(decoder) => decoder.try_finish(),
            Self::Zstd(decoder) => decoder.finish(),
        };
        finished.map_err(|_| self.failed())
    }

    fn failed(&mut self) -> BodyError {
        if self.target().is_exceeded {
            BodyError::TooLarge
        } else {
            BodyError::Malformed(self.name())
        }
    }
}

/// Decoded bytes, at most as many as are left.
#[derive(Default)]
struct Bounded {
    bytes: Vec<u8>,
    left: u64,
    is_exceeded: bool,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(left) = self.left.checked_sub(bytes.len() as u64) else {
            self.is_exceeded = true;
            return Err(io::ErrorKind::FileTooLarge.into());
        };
        self.left = left;
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn headers(coding: &str) -> HeaderMap {
        let value = HeaderValue::from_str(coding).unwrap();
        HeaderMap::from_iter([(header::CONTENT_ENCODING, value)])
    }

    async fn decode(coding: &str, bytes: Vec<u8>) -> Result<Vec<u8>, BodyError> {
        let mut body = CodedBody::new(&headers(coding), Body::from(bytes)).unwrap();
        let mut decoded = Vec::new();
        while let Some(bytes) = body.next().await {
            decoded.extend_from_slice(&bytes?);
        }
        Ok(decoded)
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        packed.write_all(bytes).unwrap();
        packed.finish().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        zstd::encode_all(bytes, 3).unwrap()
    }

    #[tokio::test]
    async fn every_accepted_coding_gives_the_same_bytes() {
        let text: Vec<u8> = (0..200_000_u32).flat_map(u32::to_le_bytes).collect();
        for (coding, bytes) in [
            ("gzip", gzip(&text)),
            ("X-GZIP", gzip(&text)),
            ("zstd", zstd(&text)),
            ("identity", text.clone()),
            ("", text.clone()),
            ("gzip", [gzip(&text[..7]), gzip(&text[7..])].concat()),
            ("zstd", [zstd(&text[..7]), zstd(&text[7..])].concat()),
        ] {
            assert!(decode(coding, bytes).await.unwrap() == text, "{coding}");
        }
    }

    #[tokio::test]
    async fn a_body_that_is_cut_or_of_another_coding_is_refused() {
        let text = b"{\"blockchain\": \"eth\"}".repeat(9);
        for (coding, bytes) in [("gzip", gzip(&text)), ("zstd", zstd(&text))] {
            let cut = bytes[..bytes.len() - 5].to_vec();
            assert_eq!(decode(coding, cut).await, Err(BodyError::Malformed(coding)));
            assert_eq!(decode(coding, text.clone()).await, Err(BodyError::Malformed(coding)));
        }
    }

    #[tokio::test]
    async fn a_bomb_is_refused_and_not_unpacked() {
        let zeros = vec![b' '; 64 << 20];
        assert_eq!(decode("gzip", gzip(&zeros)).await, Err(BodyError::TooLarge));
        assert_eq!(decode("zstd", zstd(&zeros)).await, Err(BodyError::TooLarge));
    }

    #[test]
    fn other_codings_are_refused_with_those_that_are_accepted() {
        for coding in ["br", "deflate", "gzip, gzip", "compress"] {
            let problem = CodedBody::new(&headers(coding), Body::empty()).err().unwrap();
            assert_eq!(problem.code(), Code::UnsupportedMediaType);
            let accepted = HeaderValue::from_static(CODINGS);
            assert_eq!(problem.headers(), [(header::ACCEPT_ENCODING, accepted)]);
        }
    }
}
