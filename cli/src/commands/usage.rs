//! `assay usage` and `assay purge`: the charges of tenants, and the deletion of records after their retention.

use std::io::Write;

use assay_service::background::purge::{
    COMMON_RETENTION, CommonPurged, PurgeError, TenantPurged, forget, purge_common, purge_tenants,
};
use assay_store::{
    sessions::SessionsOver,
    usage::{Purge, UsageCount},
};
use assay_tenancy::Name;
use clap::Args;
use jiff::{Timestamp, ToSpan, civil::Date, tz::TimeZone};
use serde_json::{Value, json};

use super::{
    CommandOutcome, Context, Failure, check::directory, output, print_json, terminal::output_width,
};
use crate::render::table;

/// Days that are shown by default.
const DEFAULT_DAYS: i32 = 30;

/// Show the usage charged to tenants, by day, key, plan, operation and verdict
#[derive(Debug, Args)]
pub(super) struct UsageArgs {
    /// Restrict to one tenant
    #[arg(long, value_name = "NAME")]
    tenant: Option<Name>,
    /// First day in UTC [default: 30 days before the last]
    #[arg(long, value_name = "DATE")]
    from: Option<Date>,
    /// Last day in UTC [default: today]
    #[arg(long, value_name = "DATE")]
    to: Option<Date>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const PURGE_EXAMPLES: &str = "\
Examples:
  assay purge                      delete records whose retention has ended
  assay purge --tenant acme --all  delete all records of acme's requests";

/// Delete answers and usage whose retention has ended
///
/// The plan of each tenant sets the retention. Without --tenant, also deletes responses of on-demand chain sources
/// and ended background jobs older than 30 days, and expired rate limit counters. A former tenant of a cluster is
/// deleted with its last record, and its keys are revoked.
#[derive(Debug, Args)]
#[command(after_help = PURGE_EXAMPLES)]
pub(super) struct PurgeArgs {
    /// Restrict to one tenant
    #[arg(long, value_name = "NAME")]
    tenant: Option<Name>,
    /// Delete all records of the tenant, regardless of age
    #[arg(long, requires = "tenant")]
    all: bool,
}

pub(super) async fn usage(args: &UsageArgs, context: &Context) -> Result<CommandOutcome, Failure> {
    let store = context.open().await?;
    let to = args.to.unwrap_or_else(|| today(context.clock.now()));
    let from = args.from.unwrap_or_else(|| to.saturating_sub(DEFAULT_DAYS.days()));
    let counts = store.usage(args.tenant.as_ref(), from, to).await?;
    if args.json {
        let rows: Vec<Value> = counts.iter().map(row).collect();
        return print_json(&rows);
    }
    let header = ["TENANT", "DAY", "KEY", "PLAN", "OPERATION", "VERDICT", "COUNT"];
    let rows = counts.iter().map(|UsageCount { charged, count }| {
        [
            charged.tenant.to_string(),
            charged.day.to_string(),
            charged.key.to_string(),
            charged.plan.to_string(),
            charged.operation.as_str().to_owned(),
            charged.verdict.to_string(),
            count.to_string(),
        ]
    });
    let rows: Vec<_> = std::iter::once(header.map(str::to_owned)).chain(rows).collect();
    write!(output(), "{}", table(&rows, output_width()))?;
    Ok(CommandOutcome::Success)
}

fn row(UsageCount { charged, count }: &UsageCount) -> Value {
    json!({
        "tenant": charged.tenant,
        "day": charged.day,
        "key": charged.key.as_str(),
        "plan": charged.plan,
        "operation": charged.operation.as_str(),
        "verdict": charged.verdict,
        "count": count,
    })
}

pub(super) async fn purge(args: &PurgeArgs, context: &Context) -> Result<CommandOutcome, Failure> {
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
        store.purge_receivers(tenant, Timestamp::MAX).await?;
        store.purge_keys(tenant, Timestamp::MAX).await?;
        store.purge_sessions(tenant, SessionsOver::ALL).await?;
        writeln!(output, "{tenant}: {} answers, {} rows of usage", purged.checks, purged.usage)?;
        if directory.former_tenants.contains_key(tenant) {
            forget(tenant, &*store, &context.revocations(), now).await?;
            writeln!(output, "{tenant}: deleted")?;
        }
        return Ok(CommandOutcome::Success);
    }
    let is_known = |name: &&Name| {
        directory.tenants.contains_key(*name) || directory.former_tenants.contains_key(*name)
    };
    if let Some(tenant) = args.tenant.as_ref().filter(|name| !is_known(name)) {
        return Err(Failure::Input(format!("no such tenant: `{tenant}`")));
    }
    let only = args.tenant.as_ref();
    for purged in purge_tenants(&*store, &directory, only, &context.revocations(), now).await? {
        let TenantPurged { tenant, retention, purged, is_forgotten } = purged;
        writeln!(
            output,
            "{tenant}: {} answers older than {}, {} rows of usage older than {}",
            purged.checks, retention.checks, purged.usage, retention.usage
        )?;
        if is_forgotten {
            writeln!(output, "{tenant}: deleted")?;
        }
    }
    if args.tenant.is_none() {
        let CommonPurged { fetched, jobs } = purge_common(&*store, now).await?;
        writeln!(output, "on-demand responses: {fetched} older than {COMMON_RETENTION}")?;
        writeln!(output, "ended background jobs: {jobs} older than {COMMON_RETENTION}")?;
    }
    Ok(CommandOutcome::Success)
}

impl From<PurgeError> for Failure {
    fn from(error: PurgeError) -> Self {
        match error {
            PurgeError::Store(error) => error.into(),
            PurgeError::Revocation(error) => error.into(),
        }
    }
}

fn today(now: Timestamp) -> Date {
    now.to_zoned(TimeZone::UTC).date()
}
