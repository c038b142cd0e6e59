//! The console: pages for people with a browser, rendered on the server.
//!
//! Every view is a link, works without scripts and asks no other server. A person signs in at an OpenID Connect issuer, or on
//! one machine by a link that the program prints and that is good once. The session then acts as a caller of one tenant, and
//! sees what a key of this tenant sees, as far as the person's role permits.
//!
//! - [`session`]: sign-in links, and the tokens of links and sessions
//! - [`pending`]: a sign-in at the issuer that is not finished
//! - [`attempts`]: the number of failed sign-ins at the issuer, by the address of the caller
//! - [`cookie`]: the cookies of a session and of a sign-in
//! - [`security`]: header fields of pages, and tokens of forms
//! - [`recognize`]: the meaning of a text in the search field
//! - [`routes`]: the handlers
//! - [`pages`]: the pages, as functions of what they show

mod attempts;
mod cookie;
mod pages;
mod pending;
mod recognize;
mod routes;
mod security;
mod session;

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use assay_address::CanonicalAddress;
use assay_oidc::Issuer;
use assay_request::{problem::Problem, transfer::TransferRequest};
use assay_service::{Caller, Service, administration::Administration};
use assay_tenancy::Name;
use async_trait::async_trait;
use axum::Router;
use tokio::sync::Semaphore;

pub use attempts::CallerAddress;
use attempts::CodeExchanges;
pub use routes::{OPEN_PATHS, PATHS};
use session::{SignInLinks, Token};

/// Interval between looks for tenants that may check addresses since.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Largest number of pictures that are drawn as PNG at the same time.
const MOST_DRAWINGS: usize = 2;

/// Largest number of sign-ins that ask the issuer at the same time.
const MAX_ISSUER_REQUESTS: usize = 8;

/// Largest number of sessions that are read at the same time: fewer than the database's connections.
const MAX_SESSION_READS: usize = 2;

/// Path at which the router is mounted.
pub const MOUNT: &str = "/console";

/// Answers to checks as the API gives them: charged, kept and counted.
#[async_trait]
pub trait CheckAnswers: fmt::Debug + Send + Sync {
    /// Checks an address for a caller, and returns the answer as the API writes it.
    ///
    /// # Errors
    ///
    /// Returns the problem that the API would respond with; nothing is charged then.
    async fn check_address(
        &self,
        caller: &Caller,
        address: &CanonicalAddress,
    ) -> Result<String, Problem>;

    /// Checks a transfer, or a withdrawal that is not sent yet, as [`CheckAnswers::check_address`] checks an address.
    ///
    /// # Errors
    ///
    /// Returns the problem that the API would respond with; nothing is charged then.
    async fn check_transfer(
        &self,
        caller: &Caller,
        request: TransferRequest,
    ) -> Result<String, Problem>;
}

/// Printer of sign-in links: it is given a tenant's name, and the path and query of a link.
pub type LinkPrinter = Box<dyn Fn(&str, &str) + Send + Sync>;

/// Address that the search page offers to people who try the program.
#[derive(Clone, Debug)]
pub struct ExampleAddress {
    /// The address.
    pub address: CanonicalAddress,
    /// Description in a few words.
    pub description: &'static str,
}

/// Properties of a console.
pub struct ConsoleSettings {
    /// True if people reach the server by TLS: cookies are then sent by TLS only.
    pub is_secure: bool,
    /// OpenID Connect issuer at which people sign in; unset if they sign in by links.
    pub issuer: Option<Arc<Issuer>>,
    /// Printer that shows a new link to the person who runs the server.
    pub printer: LinkPrinter,
    /// Addresses that the search page offers.
    pub examples: Vec<ExampleAddress>,
    /// Means of changing keys and sources; unset if manifests of a cluster decide them: pages then show the manifest to
    /// apply.
    pub administration: Option<Administration>,
}

impl fmt::Debug for ConsoleSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ConsoleSettings")
            .field("is_secure", &self.is_secure)
            .field("issuer", &self.issuer)
            .field("administration", &self.administration)
            .finish_non_exhaustive()
    }
}

/// The console of a server.
#[derive(Debug)]
pub struct Console {
    service: Arc<Service>,
    checks: Arc<dyn CheckAnswers>,
    links: SignInLinks<Name>,
    /// Tenants for which a link was printed.
    linked: Mutex<BTreeSet<Name>>,
    /// Permits for drawing pictures as PNG, each of which uses a core for a moment.
    drawing: Arc<Semaphore>,
    /// Permits for requests to the issuer.
    issuer_requests: Arc<Semaphore>,
    /// Exchanges of codes at the issuer.
    code_exchanges: CodeExchanges,
    /// Permits for reading sessions, which strangers cause, too.
    reading: Semaphore,
    settings: ConsoleSettings,
}

impl Console {
    /// Creates a console without links or sessions. `checks` answers checks.
    #[must_use]
    pub fn new(
        service: Arc<Service>,
        checks: Arc<dyn CheckAnswers>,
        settings: ConsoleSettings,
    ) -> Arc<Self> {
        Arc::new(Self {
            service,
            checks,
            links: SignInLinks::default(),
            linked: Mutex::default(),
            drawing: Arc::new(Semaphore::new(MOST_DRAWINGS)),
            issuer_requests: Arc::new(Semaphore::new(MAX_ISSUER_REQUESTS)),
            code_exchanges: CodeExchanges::default(),
            reading: Semaphore::new(MAX_SESSION_READS),
            settings,
        })
    }

    /// Prints a sign-in link for each tenant that has an active key for checks, unless one was printed. Each link is good
    /// once; when it is used, the next one of its tenant is printed. If people sign in at an issuer, there are no links.
    pub fn print_links(&self) {
        if self.settings.issuer.is_some() {
            return;
        }
        let callers = self.service.access().checking_callers(self.service.clock.now());
        for caller in callers {
            let name = &caller.tenant.name;
            // Every change is a single step, so that the state after a panic is consistent.
            let mut linked = self.linked.lock().unwrap_or_else(PoisonError::into_inner);
            let is_new = linked.insert(name.clone());
            drop(linked);
            if is_new {
                self.print_link(name);
            }
        }
    }

    /// Reads the metadata of the issuer in the background, if people sign in at one, and warns if it cannot be read.
    pub fn check_issuer(&self) {
        if let Some(issuer) = self.settings.issuer.clone() {
            tokio::task::spawn_blocking(move || {
                if let Err(error) = issuer.check() {
                    let cause = error.to_string();
                    tracing::warn!(cause = cause.as_str(), "nobody can sign in to the console");
                }
            });
        }
    }

    /// Prints links of tenants that get their first key while the server runs, until the future is dropped.
    pub async fn print_links_of_new_tenants(self: Arc<Self>) {
        let mut looked_at = None;
        loop {
            let access = self.service.access();
            let revisions = Some((access.manifests_revision, access.keys_revision));
            if looked_at != revisions {
                self.print_links();
                looked_at = revisions;
            }
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    }

    /// Prints a new link of a tenant.
    fn print_link(&self, tenant: &Name) {
        let token = Token::random();
        self.links.add(&token, tenant.clone());
        let path = format!("{MOUNT}/sign-in?token={}", token.expose());
        (self.settings.printer)(tenant.as_str(), &path);
    }

    /// Returns the authority that sessions of now have: issuer, client and role mapping; empty for links.
    fn authority(&self) -> &str {
        self.settings.issuer.as_ref().map_or("", |issuer| issuer.authority())
    }

    /// Returns the caller as whom a person of a tenant signs in.
    fn caller_of(&self, tenant: &Name) -> Option<Caller> {
        let callers = self.service.access().checking_callers(self.service.clock.now());
        callers.into_iter().find(|caller| caller.tenant.name == *tenant)
    }
}

/// Returns the router of the console, to be mounted at [`MOUNT`] in a router with any state. Requests have their
/// [`CallerAddress`] as an extension.
pub fn router<S: Clone + Send + Sync + 'static>(console: &Arc<Console>) -> Router<S> {
    routes::router(console)
}
