//! Examples for the OpenAPI document, produced by the engine from the demo data set at a fixed time.

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::{
    assessment::Assessment,
    evidence::{
        ChainFacts, ChainState, DirectionFlows, IngestMode, Listing, SourceKind, SourceState, Tip,
    },
    facts::Environment,
    ledger::{OwnerNumber, TransactionNumber},
    policy::{ListEffect, Policy, PolicySpec},
    reading::{BlockPosition, GatheredChain, Query, QueryProgress},
    score::Verdict,
    trace::{AttributionsByScript, Trace, TraceRules, TraceSubject},
    transfer::{FoundTransfer, TransferFacts},
    utxo::{
        OutputSelector, ScriptOwner, SideEntry, Transaction, TransactionView, Transfer, TxInput,
    },
};
use assay_intel::{IntelSnapshot, LabelIndex};
use assay_request::{
    check::TransferDirection,
    problem::{Code, Problem},
};
use assay_sample as sample;
use assay_service::{Screening, catalogue, chains::registry::ChainReaders};
use assay_store::{
    checks::{CheckKey, CheckSummary, FoundCheck},
    control::KeyState,
    intel::Intel,
    usage::Operation,
};
use assay_tenancy::{
    key::Scope,
    manifest::{Counts, Per},
};
use jiff::{Timestamp, tz::TimeZone};
use serde_json::{Value, json};

use crate::routes::{
    account::{
        AccountKey, AccountLimit, AccountPlan, AccountPolicy, AccountResponse, AccountTenant,
        LimitSource,
    },
    chains::{self, ChainsResponse},
    check::CheckResponse,
    check_list::{ChecksResponse, ListedCheck},
    entities::EntitiesResponse,
    sources::SourcesResponse,
    usage::{UsageResponse, UsageRow},
};

pub(crate) const IDENTIFIER: &str = "019a1b2c-3d4e-7f50-8a6b-7c8d9e0f1a2b";

fn at() -> Timestamp {
    Timestamp::from_second(1_770_812_415).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Returns the demo data set's first publication, as a store would return it.
fn intel() -> Intel {
    let (mut listings, mut sources) = (Vec::new(), Vec::new());
    for (source, publication) in sample::publications().into_iter().take(1) {
        sources.push(SourceState {
            id: source.clone(),
            kind: SourceKind::Sanctions,
            lists: sample::SAMPLE_LIST.parse().into_iter().collect(),
            unmatched: std::collections::BTreeMap::new(),
            publications: vec![publication.published_on],
            fetched_at: at(),
            digest: "5f".repeat(32),
            entries: u64::try_from(publication.entries.len()).unwrap_or_default(),
            sample: true,
        });
        listings.extend(publication.entries.into_iter().map(|entry| Listing {
            source: source.clone(),
            entry,
            listed_on: None,
            delisted_on: None,
        }));
    }
    Intel {
        environment: Environment::Sample,
        generation: 1,
        data_revision: "1-0f3ac2b71d9e".into(),
        sources,
        listings,
        label_generation: 0,
        label_revision: [0; 32],
        suppressions: Vec::new(),
        price_sources: Vec::new(),
        price_generation: 0,
        prices: None,
    }
}

fn policy() -> Policy {
    let lists = sample::SAMPLE_LIST.parse().map(|list| (list, ListEffect::Blocking));
    let mut spec = PolicySpec { lists: lists.into_iter().collect(), ..PolicySpec::default() };
    for source in &mut spec.mandatory_sources {
        sample::SAMPLE_LIST.clone_into(&mut source.name);
    }
    Policy::compile(spec).unwrap_or_default()
}

fn subject() -> Option<CanonicalAddress> {
    sample::examples().into_iter().next().map(|example| example.address)
}

pub(crate) fn check_request() -> Value {
    let address = subject().map(|address| address.to_string());
    json!({ "blockchain": "btc", "address": address, "reference": "order-4711", "direction": "deposit" })
}

pub(crate) fn check_response() -> Value {
    let Some(subject) = subject() else {
        return Value::Null;
    };
    let facts = IntelSnapshot::new(intel(), &LabelIndex::default()).facts(&subject);
    answer(&assay_engine::assess(&subject, &facts, &policy(), at()))
}

pub(crate) fn check_addresses_request() -> Value {
    let wrong = json!({ "blockchain": "btc", "address": "nonsense" });
    json!({ "checks": [check_request(), wrong] })
}

pub(crate) fn check_addresses_response() -> Value {
    let problem = Problem::new(Code::InvalidAddress, "not a valid btc address: too short")
        .field("address", "not a valid btc address: too short");
    let problem = problem.details("/api/v1/check/addresses", IDENTIFIER);
    let problem = serde_json::to_value(problem).unwrap_or_default();
    json!({ "results": [check_response(), problem] })
}

/// Returns the answer of a check with this assessment.
fn answer(assessment: &Assessment) -> Value {
    let response = CheckResponse {
        check_id: IDENTIFIER.into(),
        reference: Some("order-4711".into()),
        direction: Some(TransferDirection::Deposit),
        address_submitted: assessment.address.clone(),
        assessment,
        chains: None,
        assessed_at: at(),
        assessment_digest: &assessment.digest(),
        cached: false,
        processing_time_ms: 0.214,
    };
    serde_json::to_value(response).unwrap_or_default()
}

/// Returns the request for the demo data set's example of a transfer.
pub(crate) fn checks_response() -> Value {
    let answer = check_response().to_string();
    let found = CheckSummary::of_answer(&answer).map(|summary| FoundCheck {
        key: CheckKey { made_at: at().as_millisecond(), id: IDENTIFIER.to_owned() },
        summary,
    });
    let response = ChecksResponse {
        checks: found.into_iter().map(ListedCheck::from).collect(),
        next_cursor: None,
    };
    serde_json::to_value(response).unwrap_or_default()
}

pub(crate) fn transfer_request() -> Value {
    let Some((transaction, output)) = sample::transfer() else {
        return Value::Null;
    };
    json!({
        "blockchain": "btc",
        "transaction": transaction.txid.to_string(),
        "output": output,
        "direction": "deposit",
        "reference": "order-4711",
    })
}

/// Returns the answer to [`transfer_request`]. The sender is listed, so that the trace needs no other transaction.
pub(crate) fn transfer_response() -> Value {
    let Some(facts) = transfer_facts() else {
        return Value::Null;
    };
    answer(&assay_engine::assess_transfer(&facts, &policy(), at()))
}

fn transfer_facts() -> Option<TransferFacts> {
    let (transaction, output) = sample::transfer()?;
    let (chain, policy) = (ChainId::BTC, policy());
    let intel = IntelSnapshot::new(intel(), &LabelIndex::default());
    let rules = TraceRules::new(&policy, chain.info());
    let selector = OutputSelector::Index(output);
    let (mut gathered, number) = gathered(&transaction);
    let transfer = Transfer::select(chain, transaction, &selector, rules.read_limits()).ok()?;
    let today = at().to_zoned(TimeZone::UTC).date();
    let attribute = |owner: &ScriptOwner| intel.attribution(chain, owner, &policy, today);
    let attributions = AttributionsByScript::new(attribute);
    let (owner, history) = (OwnerNumber::NOBODY, transfer.deposit(number));
    let subject = TraceSubject { chain, owner, history: &history, rules, today };
    let mut trace = Trace::begin(&gathered, subject, &attributions).ok()?;
    while let QueryProgress::Reads(request) = trace.advance(&gathered).ok()? {
        request.transactions.iter().for_each(|number| gathered.fail(*number));
        request.outputs.iter().for_each(|number| gathered.fail_output(*number));
    }
    let mut flows = trace.finish(&gathered).ok()?;
    for ledger in &mut flows.ledgers {
        ledger.destination = DirectionFlows::default();
    }
    let tip_height = transfer.transaction.height + 11;
    let tip = Tip {
        height: tip_height,
        hash: "0f".repeat(32),
        time: at(),
        reported_at: at(),
        start: 0,
        ingest_mode: IngestMode::Ingested,
        sample: true,
    };
    let chain_facts = ChainFacts { tip, flows, behavior: None, activity: None };
    let mut receiver = intel.facts(&transfer.receiver);
    receiver.chain = ChainState::Followed(Box::new(chain_facts));
    let senders = transfer.senders().into_iter();
    let senders = senders.map(|(owner, _)| attribute(owner).end).collect();
    let direction = TransferDirection::Deposit;
    let transfer = FoundTransfer::Outputs(Box::new(transfer));
    Some(TransferFacts { direction, transfer, senders, receiver, destinations: None, tip_height })
}

/// Returns a chain of which one transaction was read.
fn gathered(view: &TransactionView) -> (GatheredChain, TransactionNumber) {
    let TransactionView { txid, kind, height, time, inputs, outputs } = view;
    let input = |entry: &SideEntry| TxInput::new(entry.outpoint, Some(entry.output.clone()));
    let transaction = Transaction {
        txid: *txid,
        kind: *kind,
        inputs: inputs.largest.iter().map(input).collect(),
        outputs: outputs.largest.iter().map(|entry| entry.output.clone()).collect(),
    };
    let mut gathered = GatheredChain::default();
    let number =
        gathered.add(&transaction, BlockPosition { height: *height, time: *time, index: 0 });
    (gathered, number)
}

/// Returns the answer that lists blockchains, shortened to the first blockchain.
pub(crate) fn chains_response() -> Value {
    let intel = intel();
    let data_revision = intel.data_revision.clone();
    let snapshot = IntelSnapshot::new(intel, &LabelIndex::default());
    let mut chains = chains::rows(&snapshot, &std::collections::BTreeMap::new());
    chains.truncate(1);
    serde_json::to_value(ChainsResponse { chains, data_revision }).unwrap_or_default()
}

/// Returns the parties whose names are similar to the name of a party of the demo data set.
pub(crate) fn entities_response() -> Value {
    let intel = intel();
    let data_revision = intel.data_revision.clone();
    let name = intel.listings.first().map(|listing| listing.entry.entity.name.clone());
    let name = name.unwrap_or_default();
    let snapshot = IntelSnapshot::new(intel, &LabelIndex::default());
    let today = at().to_zoned(TimeZone::UTC).date();
    let entities = snapshot.entities_named(&name, today, 1);
    serde_json::to_value(EntitiesResponse { name, entities, data_revision }).unwrap_or_default()
}

pub(crate) fn sources_response() -> Value {
    let intel = intel();
    let response = SourcesResponse {
        sources: assay_engine::assess_sources(&intel.sources, &policy(), at()),
        data_revision: intel.data_revision,
        environment: intel.environment,
    };
    serde_json::to_value(response).unwrap_or_default()
}

/// Returns the outcomes of the sandbox that are verdicts.
pub(crate) fn sandbox_response() -> Value {
    let mut catalog = assay_sandbox::catalog(ChainId::BTC);
    catalog.outcomes.truncate(3);
    json!(catalog)
}

/// Returns the catalogue of the terms in answers, shortened to one entry of each kind.
pub(crate) fn signals_response() -> Value {
    let mut catalogue = catalogue(&Policy::default());
    catalogue.categories.truncate(1);
    catalogue.heuristics.truncate(1);
    catalogue.patterns.truncate(1);
    catalogue.rules.truncate(1);
    serde_json::to_value(catalogue).unwrap_or_default()
}

pub(crate) fn screen_request() -> Value {
    let address = subject().map(|address| address.to_string());
    json!({ "blockchain": "btc", "address": address, "reference": "customer-7" })
}

pub(crate) fn screen_response() -> Value {
    let Some(subject) = subject() else {
        return Value::Null;
    };
    let intel = IntelSnapshot::new(intel(), &LabelIndex::default());
    let (chains, policy) = (ChainReaders::default(), policy());
    let screening = Screening {
        chains: &chains,
        intel: &intel,
        policy: &policy,
        now: at(),
        intel_stale: false,
    };
    let found = screening.by_lists_and_labels(&subject);
    let row = crate::routes::screen::ScreenResponse::answered(
        1,
        Some("customer-7".into()),
        &subject,
        found,
    );
    serde_json::to_value(row).unwrap_or_default()
}

pub(crate) fn account_response() -> Value {
    let requests = |name: &str, requests, seconds, counts| AccountLimit {
        name: name.into(),
        requests,
        window_seconds: seconds,
        counts,
        per: Per::Tenant,
        source: LimitSource::Plan,
        rate_limit: None,
        until: None,
        plan_requests: requests,
    };
    let raised = AccountLimit {
        requests: 250_000,
        source: LimitSource::RateLimit,
        rate_limit: Some("acme-year-end".into()),
        until: Timestamp::from_second(1_772_323_200).ok(),
        ..requests("daily", 100_000, 86_400, Counts::Checks)
    };
    let response = AccountResponse {
        tenant: AccountTenant { name: "acme".into(), display_name: "Acme Payments".into() },
        plan: AccountPlan {
            name: "business".into(),
            display_name: "Business".into(),
            max_screen_rows: 100_000,
            max_full_screen_rows: 10_000,
            max_in_flight: None,
            max_streams: Some(8),
            cache_seconds: 300,
            checks_kept_seconds: 30 * 86_400,
            usage_kept_seconds: 400 * 86_400,
        },
        limits: vec![requests("burst", 20, 1, Counts::Requests), raised],
        policy: AccountPolicy {
            name: "default".into(),
            revision: Policy::default().revision().to_string(),
        },
        keys: vec![AccountKey {
            id: "2f8VnJ3kQx1".into(),
            name: "back end".into(),
            environment: "live".into(),
            scopes: vec![Scope::Check.to_string(), Scope::AdminRead.to_string()],
            state: KeyState::Active.as_str().into(),
            created_at: Timestamp::from_second(1_767_225_600).unwrap_or_default(),
            expires_at: None,
            revoked_at: None,
            last_used_at: Some(at()),
        }],
    };
    serde_json::to_value(response).unwrap_or_default()
}

pub(crate) fn usage_response() -> Value {
    let day = jiff::civil::date(2026, 2, 11);
    let row = |verdict: Verdict, count| UsageRow {
        day,
        key: "2f8VnJ3kQx1".into(),
        plan: "business".into(),
        operation: Operation::Check.as_str().into(),
        verdict: verdict.as_str().into(),
        count,
    };
    let usage = vec![row(Verdict::Allow, 1187), row(Verdict::Block, 17)];
    let total = usage.iter().map(|row| row.count).sum();
    let from = jiff::civil::date(2026, 2, 1);
    serde_json::to_value(UsageResponse { from, to: day, total, usage }).unwrap_or_default()
}
