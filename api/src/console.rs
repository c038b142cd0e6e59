//! The console's place in the API: its checks are those of the API, with the same permits, charges and records.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use assay_address::{CanonicalAddress, ChainId};
use assay_console::CheckAnswers;
use assay_request::{
    check::TransferDirection,
    problem::{Code, Problem},
    transfer::{TransferRequest, TransferSubject},
};
use assay_service::{Caller, CheckError, CheckOutcome};
use axum::http::StatusCode;
use tokio::time::timeout;

use crate::{
    App,
    request::{
        answer_records::AnswerRecords,
        gate::{charge_check, shed},
        load::{Class, TenantBounds, TenantPermit},
    },
    routes::check::{RequestEcho, failed},
};

/// Time that is left for writing the page when a check is given up.
const MARGIN: Duration = Duration::from_secs(1);

/// Checks that people make in the console.
#[derive(Clone, Debug)]
pub struct ConsoleChecks(Arc<App>);

impl ConsoleChecks {
    /// Returns the checks of a server.
    #[must_use]
    pub const fn new(app: Arc<App>) -> Self {
        Self(app)
    }
}

#[async_trait::async_trait]
impl CheckAnswers for ConsoleChecks {
    async fn check_address(
        &self,
        caller: &Caller,
        address: &CanonicalAddress,
    ) -> Result<String, Problem> {
        let service = &self.0.service;
        let echo = self.echo(None, None, None);
        let checking = service.check(caller, address, None, echo.now);
        self.answer(caller, address.chain(), echo, checking).await
    }

    async fn check_transfer(
        &self,
        caller: &Caller,
        request: TransferRequest,
    ) -> Result<String, Problem> {
        let subject = request.subject()?;
        let chain = match &subject {
            TransferSubject::Sent(query) => query.chain,
            TransferSubject::Planned(planned) => planned.to.chain(),
        };
        let direction = Some(request.direction);
        let echo = self.echo(request.reference, direction, request.address.or(request.to));
        let (service, now) = (&self.0.service, echo.now);
        let checking = async move {
            match subject {
                TransferSubject::Sent(query) => {
                    service.check_transfer(caller, query, None, now).await
                }
                TransferSubject::Planned(planned) => {
                    service.check_withdrawal(caller, planned, None, now).await
                }
            }
        };
        self.answer(caller, chain, echo, checking).await
    }
}

impl ConsoleChecks {
    /// Returns the properties of a request that arrives now.
    fn echo(
        &self,
        reference: Option<String>,
        direction: Option<TransferDirection>,
        address_submitted: Option<String>,
    ) -> RequestEcho {
        let (arrived, now) = (Instant::now(), self.0.service.clock.now());
        RequestEcho { arrived, now, reference, direction, address_submitted }
    }

    /// Takes permits and the charge of a check, waits for its outcome, and returns the answer, which is recorded.
    async fn answer(
        &self,
        caller: &Caller,
        chain: ChainId,
        echo: RequestEcho,
        checking: impl Future<Output = Result<CheckOutcome, CheckError>> + Send,
    ) -> Result<String, Problem> {
        let (app, class) = (&self.0, Class::Single);
        let bounds = TenantBounds::new(&caller.tenant.name, &caller.tenant.plan);
        let permit = TenantPermit::take(&app.load, bounds, class)
            .map_err(|reason| shed(app, class, reason, None))?;
        permit.move_to(chain).map_err(|reason| shed(app, class, reason, Some(chain)))?;
        app.service.key_use.note(&caller.key, echo.now);
        let charge = charge_check(app, caller, echo.now).await?;
        let left = app.settings.request_timeout.saturating_sub(MARGIN);
        let outcome = timeout(left, checking).await.map_err(|_| {
            Problem::new(Code::Unavailable, "the check took too long; load the page again")
        })?;
        let (answer, record) = echo.write(app, caller, chain, &outcome.map_err(failed)?)?;
        AnswerRecords { checks: vec![record], ..AnswerRecords::default() }.commit(app, caller);
        charge.finish(StatusCode::OK);
        Ok(answer)
    }
}
