//! Pages of TronGrid's lists: their rows in order, and the fingerprint of the next page.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::{
    ListOrder,
    client::{AnswerError, json},
    paging::RowMark,
};

#[derive(Deserialize)]
struct PageAnswer<'a> {
    #[serde(borrow, default)]
    data: Option<Vec<&'a RawValue>>,
    success: Option<bool>,
    #[serde(alias = "Error")]
    error: Option<String>,
    #[serde(default)]
    meta: MetaAnswer,
}

#[derive(Default, Deserialize)]
struct MetaAnswer {
    fingerprint: Option<String>,
}

/// Order and bounds of the times of a page's rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageBounds {
    pub(super) order: ListOrder,
    /// Time of the last row of the page before.
    pub(super) from: Option<Timestamp>,
    /// The newest time that a block may have; `None` if it is not known.
    pub(super) newest: Option<Timestamp>,
}

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReadPage<T> {
    /// The rows with their marks, in which the time of the block in milliseconds stands for its height; `None` for a row that moved
    /// nothing.
    pub(super) rows: Vec<(RowMark, Option<T>)>,
    /// Fingerprint of the next page.
    pub(super) next: Option<String>,
}

impl<T> ReadPage<T> {
    /// Reads a page. `read` reads one row.
    pub(super) fn read(
        body: &[u8],
        bounds: PageBounds,
        read: impl Fn(&[u8]) -> Result<(Timestamp, Option<T>), AnswerError>,
    ) -> Result<Self, AnswerError> {
        let answer: PageAnswer<'_> = json(body)?;
        let data = data(&answer)?;
        let mut rows = Vec::with_capacity(data.len());
        let mut before = bounds.from;
        for (row, number) in data.iter().zip(1_u32..) {
            let of_row = |reason| AnswerError::Invalid(format!("row {number}: {reason}"));
            let (time, read) = read(row.get().as_bytes()).map_err(|error| match error {
                AnswerError::Invalid(reason) => of_row(reason),
                error => error,
            })?;
            bounds.check(time, before).map_err(of_row)?;
            before = Some(time);
            let milliseconds = u64::try_from(time.as_millisecond()).unwrap_or(0);
            rows.push((RowMark::new(milliseconds, &[row.get()]), read));
        }
        let next = answer.meta.fingerprint.clone().filter(|next| !next.is_empty());
        Ok(Self { rows, next })
    }
}

impl PageBounds {
    fn check(self, time: Timestamp, before: Option<Timestamp>) -> Result<(), String> {
        if self.newest.is_some_and(|newest| time > newest) {
            return Err(format!("{time} is after the newest block"));
        }
        let is_ordered = before.is_none_or(|before| match self.order {
            ListOrder::OldestFirst => before <= time,
            ListOrder::NewestFirst => before >= time,
        });
        if is_ordered { Ok(()) } else { Err(format!("{time} is out of order")) }
    }
}

/// The rows of an answer that has one page only.
pub(super) fn data_of(body: &[u8]) -> Result<Vec<&RawValue>, AnswerError> {
    let answer: PageAnswer<'_> = json(body)?;
    data(&answer).map(<[_]>::to_vec)
}

fn data<'a, 'b>(answer: &'b PageAnswer<'a>) -> Result<&'b [&'a RawValue], AnswerError> {
    if let Some(error) = &answer.error {
        return Err(AnswerError::of_text(error));
    }
    if answer.success == Some(false) {
        return Err(AnswerError::of_text("it states no success"));
    }
    let data = answer.data.as_deref();
    data.ok_or_else(|| AnswerError::Unreadable("there is no data".to_owned()))
}
