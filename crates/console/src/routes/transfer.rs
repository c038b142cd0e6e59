//! Handler of transfers: forms, and the answer to what they ask.

use std::sync::Arc;

use assay_picture::AnswerView;
use assay_request::{check::TransferDirection, transfer::TransferRequest};
use axum::{
    extract::{Query, State, rejection::QueryRejection},
    http::{HeaderMap, StatusCode},
    response::Response,
};
use serde::Deserialize;

use super::{
    person::SignedIn,
    response::{page, refused},
};
use crate::{
    Console,
    pages::{TransferForm, transfer_page},
    security::is_foreign,
};

/// Fields of both forms; an empty one counts as absent.
#[derive(Debug, Default, Deserialize)]
pub(super) struct TransferQuery {
    #[serde(default)]
    blockchain: String,
    #[serde(default)]
    transaction: String,
    #[serde(default)]
    address: String,
    #[serde(default)]
    place: String,
    #[serde(default)]
    direction: String,
    #[serde(default)]
    to: String,
    #[serde(default)]
    asset: String,
    #[serde(default)]
    amount: String,
}

/// `GET /console/transfer`: checks the transfer that the parameters name, or shows the forms.
pub(super) async fn transfer(
    State(console): State<Arc<Console>>,
    person: SignedIn,
    headers: HeaderMap,
    query: Result<Query<TransferQuery>, QueryRejection>,
) -> Response {
    let asked = query.map(|Query(query)| query).unwrap_or_default();
    let Some(request) = asked.request().filter(|_| !is_foreign(&headers)) else {
        let form = TransferForm {
            blockchain: asked.blockchain,
            transaction: asked.transaction,
            to: asked.to,
        };
        return page(StatusCode::OK, transfer_page(&person.visitor, &form));
    };
    match console.checks.check_transfer(&person.caller, request).await {
        Ok(answer) => console.show(&person, AnswerView::read(&answer), false).await,
        Err(problem) => refused(&person.visitor, &problem),
    }
}

impl TransferQuery {
    /// Returns the request of a form that was filled in; `None` if the chain or the transfer is missing.
    fn request(&self) -> Option<TransferRequest> {
        let given = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let (transaction, to) = (given(&self.transaction), given(&self.to));
        if transaction.is_none() && to.is_none() {
            return None;
        }
        // Bitcoin's outputs and Ethereum's event logs are both counted; other places have commas.
        let number: Option<u32> = self.place.trim().parse().ok();
        let blockchain = given(&self.blockchain)?;
        let has_outputs = blockchain
            .parse::<assay_address::ChainId>()
            .is_ok_and(|chain| chain.info().outputs().is_some());
        Some(TransferRequest {
            blockchain,
            transaction,
            output: number.filter(|_| has_outputs),
            log_index: number.filter(|_| !has_outputs),
            trace_index: given(&self.place).filter(|_| number.is_none()),
            address: given(&self.address),
            to,
            from: None,
            asset: given(&self.asset),
            amount: given(&self.amount),
            direction: match self.direction.as_str() {
                "deposit" => TransferDirection::Deposit,
                _ => TransferDirection::Withdrawal,
            },
            reference: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(blockchain: &str, place: &str) -> TransferQuery {
        TransferQuery {
            blockchain: blockchain.to_owned(),
            transaction: "ab".repeat(32),
            place: place.to_owned(),
            direction: "deposit".to_owned(),
            ..TransferQuery::default()
        }
    }

    #[test]
    fn a_place_is_an_output_a_log_or_a_trace() {
        let bitcoin = query("btc", " 1 ").request().unwrap();
        assert_eq!((bitcoin.output, bitcoin.log_index), (Some(1), None));
        assert_eq!(bitcoin.direction, TransferDirection::Deposit);
        let log = query("eth", "12").request().unwrap();
        assert_eq!((log.output, log.log_index), (None, Some(12)));
        let trace = query("eth", "0,1").request().unwrap();
        assert_eq!(trace.trace_index.as_deref(), Some("0,1"));
    }

    #[test]
    fn a_form_without_chain_or_transfer_is_no_request() {
        assert!(query("", "1").request().is_none());
        assert!(TransferQuery { transaction: " ".into(), ..query("btc", "") }.request().is_none());
    }
}
