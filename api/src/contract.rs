//! The contract of an operation: its parameters and bodies, taken from the types of its handler's
//! arguments and answer. A handler reads and returns only what the API's description states.

use std::sync::Arc;

use axum::{
    Extension, Json,
    extract::{Path, Query, State, rejection::QueryRejection},
    handler::Handler,
    http::{HeaderMap, Method},
    routing::{self, MethodRouter},
};
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::{
    App,
    request::{
        body::{JsonBody, RowsBody},
        problem::ProblemResponse,
    },
    response::{JSON, JSON_LINES, JsonRows, JsonText},
};

/// Function that adds a type's schema to a document.
pub(super) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// Media type and schema of a body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Content {
    pub(super) media_type: &'static str,
    pub(super) schema: SchemaOf,
    /// True if the body is an array of what the operation's example shows.
    pub(super) is_array: bool,
}

impl Content {
    const fn new<T: JsonSchema>(media_type: &'static str) -> Self {
        Self { media_type, schema: SchemaGenerator::subschema_for::<T>, is_array: false }
    }

    /// Returns the forms of a body with rows: one row a line, and an array of rows.
    const fn rows<T: JsonSchema>() -> [Self; 2] {
        let array = Self { is_array: true, ..Self::new::<Vec<T>>(JSON) };
        [Self::new::<T>(JSON_LINES), array]
    }
}

/// Parameters of an operation: the properties of an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameters {
    /// `path`, `query` or `header`.
    pub(super) location: &'static str,
    /// Schema of the object.
    pub(super) schema: SchemaOf,
}

/// Parameters and bodies of an operation.
#[derive(Clone, Debug)]
pub(super) struct Contract {
    /// Parameters in the path and in the query.
    pub(super) parameters: Vec<Parameters>,
    /// Bodies of a request, of which callers send one; none for requests without a body.
    pub(super) request: Vec<Content>,
    /// Bodies of a response with status 200.
    pub(super) response: Vec<Content>,
}

/// Handler of an operation with its method and its contract.
#[derive(Clone, Debug)]
pub(super) struct Endpoint {
    pub(super) method: Method,
    pub(super) router: MethodRouter<Arc<App>>,
    pub(super) contract: Contract,
}

impl Endpoint {
    /// Adds the header field of an idempotency key.
    pub(super) fn with_idempotency_key(mut self) -> Self {
        let schema = IdempotencyFields::json_schema;
        self.contract.parameters.push(Parameters { location: "header", schema });
        self
    }
}

/// Header fields of a request that may have an idempotency key.
#[derive(JsonSchema)]
struct IdempotencyFields {
    /// Random text of 1 to 255 characters, quoted or bare, such as a UUID. A repetition of the request with the same key
    /// and body within 24 hours gets the same answer and is not charged again.
    #[schemars(rename = "Idempotency-Key", length(min = 1, max = 257), example = &"8e03978e-40d5-43e8-bc93-6894a57f9324")]
    _key: Option<String>,
}

/// Returns the endpoint that answers `GET` by a handler.
pub(super) fn get<H, T, A>(handler: H) -> Endpoint
where
    H: Handler<T, Arc<App>> + DescribedHandler<A>,
    T: 'static,
{
    Endpoint { method: Method::GET, router: routing::get(handler), contract: H::contract() }
}

/// Returns the endpoint that answers `POST` by a handler.
pub(super) fn post<H, T, A>(handler: H) -> Endpoint
where
    H: Handler<T, Arc<App>> + DescribedHandler<A>,
    T: 'static,
{
    Endpoint { method: Method::POST, router: routing::post(handler), contract: H::contract() }
}

/// Handler whose arguments and answer describe its contract. `A` is the tuple of its arguments.
pub(super) trait DescribedHandler<A> {
    /// Returns the contract.
    fn contract() -> Contract;
}

/// Argument of a handler.
pub(super) trait Argument {
    /// Adds the parameters or the body that the argument reads. Most arguments read nothing from callers.
    fn describe(_contract: &mut Contract) {}
}

impl<T> Argument for State<T> {}
impl<T> Argument for Extension<T> {}
impl Argument for HeaderMap {}

impl<T: JsonSchema> Argument for Path<T> {
    fn describe(contract: &mut Contract) {
        contract.parameters.push(Parameters { location: "path", schema: T::json_schema });
    }
}

impl<T: JsonSchema> Argument for Result<Query<T>, QueryRejection> {
    fn describe(contract: &mut Contract) {
        contract.parameters.push(Parameters { location: "query", schema: T::json_schema });
    }
}

impl<T: JsonSchema> Argument for JsonBody<T> {
    fn describe(contract: &mut Contract) {
        contract.request.push(Content::new::<T>(JSON));
    }
}

impl<T: JsonSchema> Argument for RowsBody<T> {
    fn describe(contract: &mut Contract) {
        contract.request.extend(Content::rows::<T>());
    }
}

/// Answer of a handler.
pub(super) trait Answer {
    /// Media types and schemas of the body.
    const CONTENTS: &'static [Content];
}

impl<T: JsonSchema> Answer for Json<T> {
    const CONTENTS: &'static [Content] = &[Content::new::<T>(JSON)];
}

impl<T: JsonSchema> Answer for JsonText<T> {
    const CONTENTS: &'static [Content] = &[Content::new::<T>(JSON)];
}

impl<T: JsonSchema> Answer for JsonRows<T> {
    const CONTENTS: &'static [Content] = &Content::rows::<T>();
}

impl<A: Answer> Answer for Result<A, ProblemResponse> {
    const CONTENTS: &'static [Content] = A::CONTENTS;
}

macro_rules! described {
    ($($argument:ident),+) => {
        impl<F, R, $($argument),+> DescribedHandler<($($argument,)+)> for F
        where
            F: Fn($($argument),+) -> R,
            R: Future<Output: Answer>,
            $($argument: Argument),+
        {
            fn contract() -> Contract {
                let response = R::Output::CONTENTS.to_vec();
                let mut contract = Contract { parameters: Vec::new(), request: Vec::new(), response };
                $($argument::describe(&mut contract);)+
                contract
            }
        }
    };
}

described!(A1);
described!(A1, A2);
described!(A1, A2, A3);
described!(A1, A2, A3, A4);
described!(A1, A2, A3, A4, A5);
described!(A1, A2, A3, A4, A5, A6);
described!(A1, A2, A3, A4, A5, A6, A7);
