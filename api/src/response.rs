//! Responses with a body type that the API's description names.

use std::{convert::Infallible, fmt, io::Write as _, marker::PhantomData};

use assay_request::row::RowFormat;
use axum::{
    body::{Body, Bytes},
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use futures_util::{Stream, StreamExt, stream};
use serde::Serialize;

pub(crate) const JSON: &str = "application/json";
/// Number of header fields for which a response has room from its beginning.
const HEADER_FIELDS: usize = 16;
/// Size in bytes up to which the value of a header field is written without a buffer on the heap.
const FIELD_BYTES: usize = 256;
pub(crate) const JSON_LINES: &str = "application/x-ndjson";

/// Response with a `T` as JSON that was serialized before.
#[derive(Debug)]
pub struct JsonText<T> {
    response: Response,
    content: PhantomData<fn() -> T>,
}

impl<T> JsonText<T> {
    /// Returns the response with a text, the JSON of a `T`.
    #[must_use]
    pub(crate) fn new(text: impl Into<Bytes>) -> Self {
        Self::from_response(json_response(text))
    }

    /// Marks a response whose body is the JSON of a `T`.
    pub(crate) fn from_response(response: Response) -> Self {
        Self { response, content: PhantomData }
    }

    /// Returns the response, for changes of header fields and extensions.
    pub(crate) const fn parts_mut(&mut self) -> &mut Response {
        &mut self.response
    }
}

impl<T> IntoResponse for JsonText<T> {
    fn into_response(self) -> Response {
        self.response
    }
}

/// Returns the value of a header field. Its text must be visible ASCII.
pub(crate) fn field_value(text: fmt::Arguments<'_>) -> Option<HeaderValue> {
    let mut buffer = [0; FIELD_BYTES];
    let mut free = &mut buffer[..];
    let value = match free.write_fmt(text) {
        Ok(()) => {
            let written = FIELD_BYTES - free.len();
            HeaderValue::from_bytes(buffer.get(..written).unwrap_or_default())
        }
        Err(_) => HeaderValue::from_str(&text.to_string()),
    };
    value.ok()
}

/// Returns the response with a text of JSON.
pub(crate) fn json_response(text: impl Into<Bytes>) -> Response {
    let mut response = Response::new(Body::from(text.into()));
    response.headers_mut().reserve(HEADER_FIELDS);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON));
    response
}

/// Response with a stream of `T`s: on lines of JSON, or in an array.
#[derive(Debug)]
pub struct JsonRows<T> {
    media_type: &'static str,
    body: Body,
    content: PhantomData<fn() -> T>,
}

impl<T: Serialize + 'static> JsonRows<T> {
    /// Returns the response, which writes each batch of rows as soon as it arrives.
    #[must_use]
    pub(crate) fn new(
        format: RowFormat,
        batches: impl Stream<Item = Vec<T>> + Send + 'static,
    ) -> Self {
        let (media_type, body) = match format {
            RowFormat::Lines => {
                let lines = batches.map(|batch| lines_of(&batch));
                (JSON_LINES, Body::from_stream(lines.map(Ok::<Bytes, Infallible>)))
            }
            RowFormat::Array => {
                let array = array_of(batches);
                (JSON, Body::from_stream(array.map(Ok::<Bytes, Infallible>)))
            }
        };
        Self { media_type, body, content: PhantomData }
    }
}

impl<T> IntoResponse for JsonRows<T> {
    fn into_response(self) -> Response {
        ([(header::CONTENT_TYPE, self.media_type)], self.body).into_response()
    }
}

fn lines_of<T: Serialize>(batch: &[T]) -> Bytes {
    let mut bytes = Vec::with_capacity(batch.len() * 256);
    for value in batch {
        // Values of our own types always serialize.
        let _ = serde_json::to_writer(&mut bytes, value);
        bytes.push(b'\n');
    }
    bytes.into()
}

/// Returns the bytes of one array. An array whose computation was interrupted lacks its end.
fn array_of<T: Serialize>(batches: impl Stream<Item = Vec<T>>) -> impl Stream<Item = Bytes> {
    let mut is_first = true;
    let rows = batches.map(move |batch| {
        let mut bytes = Vec::with_capacity(batch.len() * 256);
        for value in batch {
            if !std::mem::take(&mut is_first) {
                bytes.push(b',');
            }
            let _ = serde_json::to_writer(&mut bytes, &value);
        }
        bytes.into()
    });
    let one = |text: &'static str| stream::iter([Bytes::from_static(text.as_bytes())]);
    one("[").chain(rows).chain(one("]\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn batches_make_one_array() {
        for (batches, expected) in
            [(vec![], "[]\n"), (vec![vec![1]], "[1]\n"), (vec![vec![1, 2], vec![3]], "[1,2,3]\n")]
        {
            let array: Vec<Bytes> = array_of(stream::iter(batches)).collect().await;
            assert_eq!(array.concat(), expected.as_bytes());
        }
    }
}
