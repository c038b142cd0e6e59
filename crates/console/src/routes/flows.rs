//! Handlers of the flows of an earlier answer: pages of further flows, and the picture as a file.

use std::{sync::Arc, time::Duration};

use assay_engine::evidence::Direction;
use assay_picture::{AnswerView, Picture, PngError, flow_picture};
use assay_request::problem::{Code, Problem};
use axum::{
    extract::{Path, Query, State, rejection::QueryRejection},
    http::StatusCode,
    response::Response,
};
use serde::Deserialize;

use super::{
    person::SignedIn,
    response::{file, page, refused},
    unreadable,
};
use crate::{
    Console,
    pages::{FurtherFlows, further_flows_page},
    security::protect_picture,
};

/// Longest time that a picture waits for others to be drawn.
const DRAWING_PATIENCE: Duration = Duration::from_secs(10);

/// Parameters of a page of further flows.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FlowsQuery {
    /// Direction of the flows; sources, if unset.
    direction: Option<Direction>,
    /// Number of the first flow, counted from 1.
    from: usize,
}

/// `GET /console/checks/{check_id}/flows`: flows beyond those on the page of an earlier answer.
pub(super) async fn further_flows(
    State(console): State<Arc<Console>>,
    person: SignedIn,
    Path(id): Path<String>,
    query: Result<Query<FlowsQuery>, QueryRejection>,
) -> Response {
    let asked = query.map(|Query(query)| query).unwrap_or_default();
    let direction = asked.direction.unwrap_or(Direction::Source);
    match console.kept_answer(&person, &id).await {
        Ok(answer) => {
            let content = FurtherFlows { answer: &answer, direction, from: asked.from };
            page(StatusCode::OK, further_flows_page(&person.visitor, content))
        }
        Err(refusal) => *refusal,
    }
}

/// `GET /console/checks/{check_id}/flows.svg`: the flow picture of an earlier answer as a file.
pub(super) async fn picture(
    State(console): State<Arc<Console>>,
    person: SignedIn,
    Path(id): Path<String>,
) -> Response {
    match console.flow_picture(&person, &id).await {
        Ok(picture) => {
            let mut response = file("image/svg+xml; charset=utf-8", picture.file());
            protect_picture(response.headers_mut());
            response
        }
        Err(refusal) => *refusal,
    }
}

/// `GET /console/checks/{check_id}/flows.png`: the flow picture of an earlier answer as pixels.
pub(super) async fn picture_as_png(
    State(console): State<Arc<Console>>,
    person: SignedIn,
    Path(id): Path<String>,
) -> Response {
    let picture = match console.flow_picture(&person, &id).await {
        Ok(found) => found,
        Err(refusal) => return *refusal,
    };
    // The permit is held until the picture is drawn, also if nobody waits for it any longer.
    let waiting = Arc::clone(&console.drawing).acquire_owned();
    let Ok(permit) = tokio::time::timeout(DRAWING_PATIENCE, waiting).await else {
        let detail = "too many pictures are being drawn: try again in a moment, or use the SVG";
        return refused(&person.visitor, &Problem::new(Code::Unavailable, detail));
    };
    let drawing = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        picture.png()
    });
    match drawing.await {
        Ok(Ok(png)) => {
            let mut response = file("image/png", png);
            protect_picture(response.headers_mut());
            response
        }
        Ok(Err(error @ PngError::TooLarge { .. })) => {
            let detail = format!("{error}: use the SVG, which has no limit");
            refused(&person.visitor, &Problem::new(Code::InvalidRequest, detail))
        }
        Ok(Err(error)) => {
            tracing::error!(%error, "failed to draw a picture");
            refused(&person.visitor, &Problem::new(Code::InternalError, error.to_string()))
        }
        Err(error) => {
            tracing::error!(%error, "failed to draw a picture");
            let detail = "the picture cannot be drawn; it was logged";
            refused(&person.visitor, &Problem::new(Code::InternalError, detail))
        }
    }
}

impl Console {
    /// Reads an earlier answer of a person's tenant, or returns the response that refuses it.
    async fn kept_answer(&self, person: &SignedIn, id: &str) -> Result<AnswerView, Box<Response>> {
        let refuse = |problem: &Problem| Box::new(refused(&person.visitor, problem));
        let kept = self.read_kept_check(&person.caller, id, person.now).await;
        let answer = kept.map_err(|problem| refuse(&problem))?;
        AnswerView::read(&answer).map_err(|error| refuse(&unreadable(&error)))
    }

    /// Returns the flow picture of an earlier answer, or the response that refuses it.
    async fn flow_picture(&self, person: &SignedIn, id: &str) -> Result<Picture, Box<Response>> {
        Ok(flow_picture(&self.kept_answer(person, id).await?))
    }
}
