//! `assay usage` and `assay purge`: what was charged, and forgetting what is older than it is kept.

use std::io::{self, Write};

use assay_store::{
    ControlStore, StoreError,
    control::{KeyRecord, ManifestRecord},
    usage::{Purge, UsageCount},
};
use assay_tenancy::{
    Name, Period,
    manifest::{FormerTenantSpec, Kind, RetentionSpec},
};
use clap::Args;
use jiff::{SignedDuration, Timestamp, ToSpan, civil::Date, tz::TimeZone};
use serde_json::{Value, json};

use super::{Context, Done, Failure, check::directory, output};
use crate::render::table;

/// How long what is no tenant's is kept. Fetched histories are used for less than a day; a settled
/// transaction could be used for good, and is fetched again in the end. No server goes on with writing
/// usage after so long a silence.
const COMMON_RETENTION: Period = Period::from_seconds(30 * 86_400);
/// Days that are shown where nothing is said.
const USUAL_DAYS: i32 = 30;

/// Show what tenants were charged, by day, key, plan, operation and verdict
#[derive(Debug, Args)]
pub(super) struct UsageArgs {
    /// Only one tenant
    #[arg(long, value_name = "NAME")]
    tenant: Option<Name>,
    /// First day (UTC) [default: 30 days before the last]
    #[arg(long, value_name = "DATE")]
    from: Option<Date>,
    /// Last day (UTC) [default: today]
    #[arg(long, value_name = "DATE")]
    to: Option<Date>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const PURGE_EXAMPLES: &str = "\
Examples:
  assay purge                     what is older than each plan keeps it
  assay purge --tenant acme --all  everything recorded about acme's requests";

/// Delete answers and usage that are older than the tenants' plans keep them
///
/// For all tenants, it also deletes what was fetched on demand more than 30 days ago, and counters of
/// limits whose windows ended long ago. Tenants that were deleted in a cluster are kept as long as what
/// is recorded of them; then they are forgotten, and their keys are revoked.
#[derive(Debug, Args)]
#[command(after_help = PURGE_EXAMPLES)]
pub(super) struct PurgeArgs {
    /// Only one tenant
    #[arg(long, value_name = "NAME")]
    tenant: Option<Name>,
    /// Everything, however young
    #[arg(long, requires = "tenant")]
    all: bool,
}

pub(super) async fn usage(args: &UsageArgs, context: &Context) -> Result<Done, Failure> {
    let store = context.open().await?;
    let to = args.to.unwrap_or_else(|| today(context.clock.now()));
    let from = args.from.unwrap_or_else(|| to.saturating_sub(USUAL_DAYS.days()));
    let counts = store.usage(args.tenant.as_ref(), from, to).await?;
    let mut output = output();
    if args.json {
        let rows: Vec<Value> = counts.iter().map(row).collect();
        let text = serde_json::to_string_pretty(&rows).map_err(io::Error::from)?;
        writeln!(output, "{text}")?;
        return Ok(Done::Well);
    }
    let header = ["TENANT", "DAY", "KEY", "PLAN", "OPERATION", "OUTCOME", "COUNT"];
    let rows = counts.iter().map(|UsageCount { charged, count }| {
        [
            charged.tenant.to_string(),
            charged.day.to_string(),
            charged.key.to_string(),
            charged.plan.to_string(),
            charged.operation.as_str().to_owned(),
            charged.verdict.clone(),
            count.to_string(),
        ]
    });
    let rows: Vec<_> = std::iter::once(header.map(str::to_owned)).chain(rows).collect();
    write!(output, "{}", table(&rows))?;
    Ok(Done::Well)
}

fn row(UsageCount { charged, count }: &UsageCount) -> Value {
    json!({
        "tenant": charged.tenant,
        "day": charged.day,
        "key": charged.key.as_str(),
        "plan": charged.plan,
        "operation": charged.operation.as_str(),
        "outcome": charged.verdict,
        "count": count,
    })
}

pub(super) async fn purge(args: &PurgeArgs, context: &Context) -> Result<Done, Failure> {
    let store = context.open().await?;
    let now = context.clock.now();
    let directory = directory(&*store).await?;
    let mut output = output();
    if let (Some(tenant), true) = (&args.tenant, args.all) {
        // Also where the tenant itself is gone already.
        let everything = Purge {
            tenant: tenant.clone(),
            checks_before: Timestamp::MAX,
            usage_before: Date::MAX,
        };
        let purged = store.purge_tenant(&everything).await?;
        writeln!(output, "{tenant}: {} answers, {} rows of usage", purged.checks, purged.usage)?;
        if directory.former_tenants.contains_key(tenant) {
            forget(tenant, &*store, context).await?;
            writeln!(output, "{tenant}: forgotten")?;
        }
        return Ok(Done::Well);
    }
    let is_known = |name: &&Name| {
        directory.tenants.contains_key(*name) || directory.former_tenants.contains_key(*name)
    };
    if let Some(tenant) = args.tenant.as_ref().filter(|name| !is_known(name)) {
        return Err(Failure::Input(format!("there is no tenant `{tenant}`")));
    }
    let tenants = directory.tenants.values().map(|tenant| (&tenant.name, tenant.plan.retention));
    let former = directory.former_tenants.iter().map(|(name, former)| (name, former.retention));
    let is_chosen = |name: &Name| args.tenant.as_ref().is_none_or(|chosen| chosen == name);
    for (name, retention) in tenants.chain(former).filter(|(name, _)| is_chosen(name)) {
        let is_forgotten = |former: &FormerTenantSpec| former.is_forgotten(now);
        let forgotten = directory.former_tenants.get(name).is_some_and(is_forgotten);
        let purged = store.purge_tenant(&older(name, retention, forgotten, now)).await?;
        writeln!(
            output,
            "{name}: {} answers older than {}, {} rows of usage older than {}",
            purged.checks, retention.checks, purged.usage, retention.usage
        )?;
        if forgotten {
            forget(name, &*store, context).await?;
            writeln!(output, "{name}: forgotten")?;
        }
    }
    if args.tenant.is_none() {
        let before = earlier(now, COMMON_RETENTION);
        let fetched = store.purge_fetched(before).await?;
        store.purge_usage_writers(before).await?;
        if let Some(coordination) = store.coordination() {
            coordination.purge_quotas().await?;
        }
        writeln!(output, "on demand: {fetched} fetched texts older than {COMMON_RETENTION}")?;
    }
    Ok(Done::Well)
}

/// What of a tenant's is older than it is kept. Days are counted whole, so that of one that is forgotten
/// the last would be left.
fn older(name: &Name, retention: RetentionSpec, forgotten: bool, now: Timestamp) -> Purge {
    let usage_before = if forgotten { Date::MAX } else { today(earlier(now, retention.usage)) };
    Purge { tenant: name.clone(), checks_before: earlier(now, retention.checks), usage_before }
}

/// Forgets a tenant that was deleted: its keys are revoked, and it cannot come back.
async fn forget(name: &Name, store: &dyn ControlStore, context: &Context) -> Result<(), Failure> {
    let now = context.clock.now();
    loop {
        let control = store.control().await?;
        let is_former =
            |record: &ManifestRecord| record.kind == Kind::FormerTenant && record.name == *name;
        // It may have come back meanwhile.
        if !control.manifests.iter().any(is_former) {
            return Ok(());
        }
        let good = |key: &&KeyRecord| key.tenant == *name && key.is_active(now);
        for key in control.keys.iter().filter(good) {
            store.revoke_key(&key.id, now).await?;
            context.revocations().note(&key.id, now)?;
        }
        let revision = store.control().await?.revision;
        let former = [(Kind::FormerTenant, name.clone())];
        match store.put_manifests(&[], &former, revision, now).await {
            Err(StoreError::Conflict) => {}
            done => return Ok(done?),
        }
    }
}

fn earlier(now: Timestamp, period: Period) -> Timestamp {
    let seconds = i64::try_from(period.seconds()).unwrap_or(i64::MAX);
    now.saturating_sub(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MIN)
}

fn today(now: Timestamp) -> Date {
    now.to_zoned(TimeZone::UTC).date()
}
