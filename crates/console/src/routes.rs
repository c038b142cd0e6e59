//! Handlers: each finds the session, reads what its page shows, and writes the page.

mod account;
mod activity;
mod flows;
mod guard;
mod oidc;
mod person;
mod response;
mod sign_in;
mod transfer;

use std::{collections::BTreeMap, sync::Arc};

use assay_address::{CanonicalAddress, ChainId};
use assay_picture::{AnswerView, STYLE as PICTURE_STYLE, UnreadableAnswer};
use assay_request::problem::{Code, Problem};
use assay_service::{Caller, background::fetch_failures::FetchFailures};
use assay_store::{
    checks::{CheckFilter, CheckQuery},
    sessions::SessionRole,
};
use axum::{
    Router,
    extract::{DefaultBodyLimit, Path, Query, State, rejection::QueryRejection},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware::from_fn_with_state,
    response::Response,
    routing::{get, post},
};
use jiff::Timestamp;
use serde::Deserialize;

use self::{
    guard::{GuardState, guard},
    person::SignedIn,
    response::{file, go_to, page, page_with_script, refused},
};
use crate::{
    Console, MOUNT,
    pages::{
        self, AnswerContent, ConsoleChain, RecentChecks, SearchContent, SearchResult, answer_page,
        chains_page, checks_of_page, checks_page, message_page, search_page, sources_page,
    },
    recognize::{SearchTarget, recognize},
    security::is_foreign,
};

/// Paths of the console that need no session, but for files.
pub const OPEN_PATHS: [&str; 3] =
    ["/console/sign-in", "/console/oidc/start", "/console/oidc/callback"];

/// Paths of the console, as labels of requests.
pub const PATHS: [&str; 22] = [
    "/console/oidc/start",
    "/console/oidc/callback",
    "/console/sign-out/everybody",
    "/console/checks/{check_id}/flows.png",
    "/console/keys",
    "/console/keys/{key}/revoke",
    "/console/usage",
    "/console/policy",
    "/console/sources/{source}/enable",
    "/console/transfer",
    "/console",
    "/console/search",
    "/console/check/{blockchain}/{address}",
    "/console/checks",
    "/console/checks/{check_id}",
    "/console/checks/{check_id}/flows",
    "/console/checks/{check_id}/flows.svg",
    "/console/sources",
    "/console/chains",
    "/console/sign-in",
    "/console/sign-out",
    "/console/{file}",
];

/// Number of checks on the search page, on the page of checks, and of one address.
const ON_SEARCH_PAGE: usize = 8;
const ON_CHECKS_PAGE: usize = 100;
const OF_ADDRESS: usize = 10;
/// Number of listed parties that a search by name shows.
const PARTIES: usize = 20;
/// Largest form, in bytes.
const MAX_FORM_BYTES: usize = 4 * 1024;

type Shared = State<Arc<Console>>;

/// Returns the router of the console: what each role may do, what needs no session, and files.
pub(crate) fn router<S: Clone + Send + Sync + 'static>(console: &Arc<Console>) -> Router<S> {
    let for_viewers = Router::new()
        .route("/", get(home))
        .route("/search", get(search))
        .route("/check/{blockchain}/{address}", get(check))
        .route("/checks", get(list_checks))
        .route("/checks/{check_id}", get(show_check))
        .route("/checks/{check_id}/flows", get(flows::further_flows))
        .route("/checks/{check_id}/flows.svg", get(flows::picture))
        .route("/checks/{check_id}/flows.png", get(flows::picture_as_png))
        .route("/sources", get(sources))
        .route("/chains", get(chains))
        .route("/keys", get(account::keys))
        .route("/usage", get(account::usage))
        .route("/policy", get(account::policy))
        .route("/sign-out", post(sign_in::sign_out));
    let for_analysts = Router::new().route("/transfer", get(transfer::transfer));
    let for_admins = Router::new()
        .route("/keys", post(account::create_key))
        .route("/keys/{key}/revoke", post(account::revoke_key))
        .route("/sources/{source}/enable", post(account::enable_source))
        .route("/sign-out/everybody", post(sign_in::sign_everybody_out));
    let guarded = |routes: Router<Arc<Console>>, needed| {
        let state = GuardState { console: Arc::clone(console), needed };
        routes.route_layer(from_fn_with_state(state, guard))
    };
    Router::new()
        .merge(guarded(for_viewers, SessionRole::Viewer))
        .merge(guarded(for_analysts, SessionRole::Analyst))
        .merge(guarded(for_admins, SessionRole::Admin))
        .route("/sign-in", get(sign_in::sign_in))
        .route("/oidc/start", get(oidc::start))
        .route("/oidc/callback", get(oidc::callback))
        .route("/{file}", get(static_file))
        .layer(DefaultBodyLimit::max(MAX_FORM_BYTES))
        .with_state(Arc::clone(console))
}

/// `GET /console`: the search field and recent checks.
async fn home(State(console): Shared, person: SignedIn) -> Response {
    let recent = console.recent(&person, CheckFilter::default(), ON_SEARCH_PAGE).await;
    page(
        StatusCode::OK,
        search_page(
            &person.visitor,
            &SearchContent::Examples(&console.settings.examples),
            &recent,
            person.now,
        ),
    )
}

/// Parameters of a search.
#[derive(Debug, Default, Deserialize)]
struct SearchQuery {
    #[serde(default)]
    q: String,
}

/// `GET /console/search`: leads to what a text names.
async fn search(
    State(console): Shared,
    person: SignedIn,
    query: Result<Query<SearchQuery>, QueryRejection>,
) -> Response {
    let SearchQuery { q } = query.map(|Query(query)| query).unwrap_or_default();
    let (text, addresses) = match recognize(&q) {
        SearchTarget::Nothing => return go_to(MOUNT),
        SearchTarget::Check(id) => return go_to(&format!("{MOUNT}/checks/{id}")),
        SearchTarget::Address { likeliest, .. } => {
            return go_to(&format!("{MOUNT}{}", pages::check_path(&likeliest)));
        }
        SearchTarget::Transaction(id) => {
            return go_to(&format!("{MOUNT}/transfer?transaction={id}"));
        }
        SearchTarget::Words { text, addresses } => (text, addresses),
    };
    let with_reference = CheckFilter { reference: Some(text.clone()), ..CheckFilter::default() };
    let intel = console.service.intel();
    let today = intel.day(person.now);
    let result = SearchResult {
        checks: console.recent(&person, with_reference, ON_SEARCH_PAGE).await,
        entities: intel.entities_named(&text, today, PARTIES),
        text,
        addresses,
    };
    let recent = console.recent(&person, CheckFilter::default(), ON_SEARCH_PAGE).await;
    page(
        StatusCode::OK,
        search_page(&person.visitor, &SearchContent::Result(&result), &recent, person.now),
    )
}

/// `GET /console/check/{blockchain}/{address}`: checks an address, and shows the answer; for people who make no checks, the
/// earlier ones.
async fn check(
    State(console): Shared,
    person: SignedIn,
    headers: HeaderMap,
    Path((blockchain, address)): Path<(String, String)>,
) -> Response {
    let chain: ChainId = match blockchain.parse() {
        Ok(chain) => chain,
        Err(error) => {
            let problem = Problem::new(Code::UnsupportedChain, format!("{error}"));
            return refused(&person.visitor, &problem);
        }
    };
    let subject = match CanonicalAddress::parse(chain, &address) {
        Ok(subject) => subject,
        Err(error) => {
            let problem = Problem::new(Code::InvalidAddress, error.to_string());
            return refused(&person.visitor, &problem);
        }
    };
    if person.visitor.role < SessionRole::Analyst {
        return console.show_checks_of(&person, &subject).await;
    }
    // Another site's link must not use up the tenant's checks, nor a browser that fetches ahead.
    if is_foreign(&headers) {
        return page(StatusCode::OK, pages::confirm_page(&person.visitor, &subject));
    }
    match console.checks.check_address(&person.caller, &subject).await {
        Ok(answer) => console.show(&person, AnswerView::read(&answer), false).await,
        Err(problem) => refused(&person.visitor, &problem),
    }
}

/// `GET /console/checks`: earlier checks.
async fn list_checks(State(console): Shared, person: SignedIn) -> Response {
    let found = console.recent(&person, CheckFilter::default(), ON_CHECKS_PAGE).await;
    page(StatusCode::OK, checks_page(&person.visitor, &found, person.now))
}

/// `GET /console/checks/{check_id}`: an earlier answer.
async fn show_check(State(console): Shared, person: SignedIn, Path(id): Path<String>) -> Response {
    match console.read_kept_check(&person.caller, &id, person.now).await {
        Ok(answer) => console.show(&person, AnswerView::read(&answer), true).await,
        Err(problem) => refused(&person.visitor, &problem),
    }
}

/// `GET /console/sources`: the sources with their freshness.
async fn sources(State(console): Shared, person: SignedIn) -> Response {
    let policy = &person.caller.tenant.policy;
    let sources = console.service.assessed_sources(policy, person.now).await;
    let failures = FetchFailures::read(&*console.service.databases.store).await;
    let directory = &console.service.access().directory;
    let ready = pages::ReadySources {
        is_enabled: &|name| directory.feeds.keys().any(|feed| feed.as_str() == name),
        can_enable: console.fetches_sources() && person.runs_the_server(),
    };
    page(StatusCode::OK, sources_page(&person.visitor, &sources, &failures, &ready, person.now))
}

/// `GET /console/chains`: the chains with their newest blocks.
async fn chains(State(console): Shared, person: SignedIn) -> Response {
    let readers = console.service.chains();
    let latest: BTreeMap<ChainId, (u64, Timestamp)> = match readers.latest_blocks().await {
        Ok(tips) => tips.iter().map(|(chain, tip)| (*chain, (tip.height, tip.time))).collect(),
        Err(error) => {
            tracing::error!(%error, "failed to read the latest blocks");
            BTreeMap::new()
        }
    };
    let intel = console.service.intel();
    let numbers = intel.addresses_by_chain();
    let rows: Vec<ConsoleChain> = ChainId::all()
        .filter(|chain| *chain != ChainId::OTHER)
        .map(|chain| {
            let (listed, labeled) = numbers.get(&chain).copied().unwrap_or_default();
            ConsoleChain {
                id: chain.as_str(),
                name: chain.info().name,
                latest: latest.get(&chain).copied(),
                has_flows: readers.is_followed(chain),
                listed,
                labeled,
            }
        })
        .collect();
    page(StatusCode::OK, chains_page(&person.visitor, &rows, person.now))
}

/// `GET /console/{file}`: the style sheet, the script and the icon. Everything else is not found.
async fn static_file(Path(name): Path<String>) -> Response {
    let mut response = match name.as_str() {
        "style.css" => {
            file("text/css; charset=utf-8", format!("{}\n{PICTURE_STYLE}", pages::STYLE))
        }
        "script.js" => file("text/javascript; charset=utf-8", pages::SCRIPT),
        "icon.svg" => file("image/svg+xml", include_str!("icon.svg").to_owned()),
        _ => {
            let text = "Nothing exists at this path.";
            return page(StatusCode::NOT_FOUND, message_page(None, "Not found", text));
        }
    };
    let one_hour = HeaderValue::from_static("public, max-age=3600");
    response.headers_mut().insert(header::CACHE_CONTROL, one_hour);
    response
}

impl Console {
    /// Returns the page of the earlier checks of an address, for a person who makes none.
    async fn show_checks_of(&self, person: &SignedIn, address: &CanonicalAddress) -> Response {
        let of_address = CheckFilter {
            blockchain: Some(address.chain().as_str().to_owned()),
            address: Some(address.as_str().to_owned()),
            ..CheckFilter::default()
        };
        let found = self.recent(person, of_address, ON_CHECKS_PAGE).await;
        let content = checks_of_page(&person.visitor, address, &found, person.now);
        page(StatusCode::OK, content)
    }

    /// True if people may enable sources, which the server then fetches.
    fn fetches_sources(&self) -> bool {
        self.settings.administration.as_ref().is_some_and(|means| means.source_paths.is_some())
    }

    /// Returns the page of an answer, with the earlier checks of its address. `is_earlier`: the answer was given to another
    /// request.
    async fn show(
        &self,
        person: &SignedIn,
        answer: Result<AnswerView, UnreadableAnswer>,
        is_earlier: bool,
    ) -> Response {
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => return refused(&person.visitor, &unreadable(&error)),
        };
        let of_address = CheckFilter {
            blockchain: Some(answer.blockchain.as_str().to_owned()),
            address: Some(answer.address.clone()),
            ..CheckFilter::default()
        };
        let (mut earlier, activity) = tokio::join!(
            self.recent(person, of_address, OF_ADDRESS + 1),
            self.activity_of(&answer, person.now)
        );
        if let RecentChecks::Found(found) = &mut earlier {
            found.retain(|check| Some(&check.key.id) != answer.check_id.as_ref());
            found.truncate(OF_ADDRESS);
        }
        let content = AnswerContent {
            answer: &answer,
            is_earlier,
            activity: activity.as_ref(),
            earlier: &earlier,
        };
        page_with_script(StatusCode::OK, answer_page(&person.visitor, content, person.now))
    }

    /// Finds the newest checks of a person's tenant that meet conditions.
    async fn recent(&self, person: &SignedIn, filter: CheckFilter, limit: usize) -> RecentChecks {
        if !person.caller.keeps_checks() {
            return RecentChecks::NotKept;
        }
        let query = CheckQuery { filter, after: None, limit };
        match self.service.find_checks(&person.caller, query, person.now).await {
            Ok(found) => RecentChecks::Found(found.checks),
            Err(error) => {
                tracing::error!(%error, "failed to find kept checks");
                RecentChecks::Unavailable
            }
        }
    }

    /// Reads a kept answer of a caller's tenant.
    async fn read_kept_check(
        &self,
        caller: &Caller,
        id: &str,
        now: Timestamp,
    ) -> Result<String, Problem> {
        match self.service.kept_check(caller, id, now).await {
            Ok(Some(check)) => Ok(check.answer.to_string()),
            Ok(None) => {
                let kept = caller.tenant.plan.retention.checks;
                let detail = format!(
                    "there is no check with this id, or it is older than the plan's retention of {kept}"
                );
                Err(Problem::new(Code::NotFound, detail))
            }
            Err(error) => {
                tracing::error!(%error, "failed to read a kept answer");
                Err(Problem::new(Code::Unavailable, "kept answers cannot be read at present"))
            }
        }
    }
}

fn unreadable(error: &UnreadableAnswer) -> Problem {
    tracing::error!(%error, "failed to read an answer");
    Problem::new(Code::InternalError, "the answer cannot be shown; it was logged")
}
