//! Endpoint of a listener: a router, and the checks of addresses, which do not pass the router.
//!
//! Checks of addresses are nearly all requests of an API. The frame, the gate and the handler of such a check are one
//! future, without the boxes and copies of a router's layers; all other requests pass the router, with the same frame
//! and gate.

use std::{convert::Infallible, sync::Arc};

use assay_request::head;
use axum::{Router, extract::Request, http::Method, response::Response};
use tower_service::Service;

use crate::{
    App, Audience,
    connection::table::ConnectionMark,
    deprecation::Deprecation,
    metrics::{AnsweredSeries, RouteLabel},
    operations::operations,
    request::{
        frame::{RequestInfo, frame_around},
        gate::{Gate, gate_around},
        parsed_addresses::ParsedAddresses,
    },
    routes::check::check_address_directly,
};

/// Identifier of the operation that checks an address.
const CHECK_ADDRESS: &str = "check_address";

/// Endpoint of a listener.
#[derive(Clone, Debug)]
pub struct ApiEndpoint {
    router: Router,
    direct: Option<Arc<DirectChecks>>,
}

impl From<Router> for ApiEndpoint {
    fn from(router: Router) -> Self {
        Self { router, direct: None }
    }
}

/// Checks of addresses that do not pass the router.
#[derive(Debug)]
struct DirectChecks {
    app: Arc<App>,
    /// Paths of the operation.
    paths: [&'static str; 2],
    /// Series of the successful responses of each path.
    answered: [AnsweredSeries; 2],
    gate: Gate,
    addresses: ParsedAddresses,
}

impl ApiEndpoint {
    /// Returns the endpoint with a router, beside which checks of addresses are answered.
    pub(crate) fn with_direct_checks(router: Router, app: &Arc<App>) -> Self {
        let operation = operations().into_iter().find(|operation| operation.id == CHECK_ADDRESS);
        let direct = operation.filter(|operation| Deprecation::of(operation.id).is_none());
        let direct = direct.map(|operation| {
            let app = Arc::clone(app);
            let (paths, gate) = (operation.paths, operation.gate);
            let (answered, addresses) = Default::default();
            Arc::new(DirectChecks { app, paths, answered, gate, addresses })
        });
        Self { router, direct }
    }

    /// Answers a request on a connection. Requests that pass the router have the extension `mark`.
    pub(crate) async fn answer(
        self,
        mut request: Request,
        mark: ConnectionMark,
    ) -> Result<Response, Infallible> {
        let Self { mut router, direct } = self;
        let direct = direct
            .and_then(|direct| route_of(&direct.paths, &request).map(|route| (direct, route)));
        if let Some((direct, route)) = direct {
            return Ok(direct.answer(route, request, &mark).await);
        }
        request.extensions_mut().insert(mark);
        router.call(request).await
    }
}

impl DirectChecks {
    async fn answer(
        &self,
        route: &'static str,
        request: Request,
        mark: &ConnectionMark,
    ) -> Response {
        let app = &self.app;
        let framed = |request: Request, RequestInfo { arrived, .. }: RequestInfo<'_>| {
            gate_around(app, self.gate, Some(mark), request, move |request, admitted| {
                check_address_directly(app, &self.addresses, admitted, arrived, request)
            })
        };
        let mut series = self.paths.iter().zip(&self.answered);
        let answered = series.find_map(|(path, series)| (*path == route).then_some(series));
        let label = RouteLabel { pattern: route, answered };
        frame_around(app, Audience::Api, label, request, framed).await
    }
}

/// Returns the path of a request that is a check of an address; `None` if the request passes the router. Requests with an
/// idempotency key do.
fn route_of(paths: &[&'static str], request: &Request) -> Option<&'static str> {
    let path = request.uri().path();
    let route = paths.iter().find(|route| **route == path)?;
    let is_direct =
        request.method() == Method::POST && !head::has_idempotency_key(request.headers());
    is_direct.then_some(*route)
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    const PATHS: [&str; 2] = ["/api/v1/check/address", "/v1/check/address"];

    fn route(method: Method, uri: &str, header: &str) -> Option<&'static str> {
        let request = Request::builder().method(method).uri(uri).header(header, "a");
        route_of(&PATHS, &request.body(Body::empty()).unwrap())
    }

    #[test]
    fn only_plain_checks_of_an_address_pass_no_router() {
        assert_eq!(route(Method::POST, PATHS[0], "x-api-key"), Some(PATHS[0]));
        assert_eq!(route(Method::POST, "/v1/check/address?a=1", "x-api-key"), Some(PATHS[1]));
        assert_eq!(route(Method::POST, PATHS[0], "idempotency-key"), None);
        assert_eq!(route(Method::OPTIONS, PATHS[0], "origin"), None);
        assert_eq!(route(Method::GET, PATHS[0], "x-api-key"), None);
        assert_eq!(route(Method::POST, "/api/v1/check/addresses", "x-api-key"), None);
        assert_eq!(route(Method::POST, "/api/v1/check/address/", "x-api-key"), None);
    }
}
