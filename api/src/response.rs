//! Responses with a body type that the API's description names.

use std::{convert::Infallible, marker::PhantomData};

use axum::{
    body::{Body, Bytes},
    http::header,
    response::{IntoResponse, Response},
};
use futures_util::{Stream, StreamExt};
use serde::Serialize;

pub(crate) const JSON: &str = "application/json";
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
    pub(crate) fn new(text: String) -> Self {
        let response = ([(header::CONTENT_TYPE, JSON)], text).into_response();
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

/// Response with a stream of `T`s, each on a line of JSON.
#[derive(Debug)]
pub struct JsonLines<T> {
    body: Body,
    content: PhantomData<fn() -> T>,
}

impl<T: Serialize> JsonLines<T> {
    /// Returns the response, which writes each batch of rows as soon as it arrives.
    #[must_use]
    pub(crate) fn new(batches: impl Stream<Item = Vec<T>> + Send + 'static) -> Self {
        let lines = batches.map(|batch| Ok::<Bytes, Infallible>(lines_of(&batch)));
        Self { body: Body::from_stream(lines), content: PhantomData }
    }
}

impl<T> IntoResponse for JsonLines<T> {
    fn into_response(self) -> Response {
        ([(header::CONTENT_TYPE, JSON_LINES)], self.body).into_response()
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
