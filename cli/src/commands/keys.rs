//! `assay keys`: API keys. A key is shown once, when it is created.

use std::io::Write;

use assay_service::{
    keys::{NewKey, issue},
    revoked_keys,
};
use assay_store::{
    ControlStore, Store,
    control::{KeyRecord, key_environment},
};
use assay_tenancy::{
    Name, Period,
    key::{ApiKey, KeyEnvironment, KeyId, Scope},
};
use clap::{Args, Subcommand};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::{
    CommandOutcome, Context, Failure, backup::reconcile, output, print_json, terminal::output_width,
};
use crate::render::{ago, table};

#[derive(Debug, Subcommand)]
pub(super) enum KeysCommand {
    Create(CreateArgs),
    List(ListArgs),
    Rotate(RotateArgs),
    Revoke(RevokeArgs),
    Reconcile(ReconcileArgs),
}

const EXAMPLES: &str = "\
Examples:
  assay keys create --tenant acme --name 'payments back end' --expires-in 90d
  assay keys create --tenant acme --sandbox --name 'integration tests'";

/// Create an API key for a tenant and print it once
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct CreateArgs {
    /// Tenant
    #[arg(long, value_name = "NAME")]
    tenant: Name,
    /// Display name of the key
    #[arg(long, default_value = "")]
    name: String,
    /// Scopes: check, screen, usage, admin:read
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "check,screen,usage",
        value_name = "SCOPES"
    )]
    scopes: Vec<Scope>,
    /// Lifetime, such as 90d [default: no expiry]
    #[arg(long, value_name = "TIME", value_parser = lifetime)]
    expires_in: Option<Period>,
    /// Create a key of the sandbox: its answers are chosen by the request, and no real data is read
    #[arg(long)]
    sandbox: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// List API keys by tenant, without their secrets
#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// Restrict to one tenant
    #[arg(long, value_name = "NAME")]
    tenant: Option<Name>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Create a successor of an API key and print it once
///
/// The old key stays valid for the overlap.
#[derive(Debug, Args)]
pub(super) struct RotateArgs {
    /// Id of the old key
    id: KeyId,
    /// Time for which the old key stays valid
    #[arg(long, default_value = "24h", value_name = "TIME")]
    overlap: Period,
    /// Lifetime of the successor [default: the lifetime of the old key]
    #[arg(long, value_name = "TIME", value_parser = lifetime)]
    expires_in: Option<Period>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Revoke an API key at once and permanently
#[derive(Debug, Args)]
pub(super) struct RevokeArgs {
    /// Id of the key
    id: KeyId,
}

/// Revoke again the keys that were revoked since a restored backup
///
/// For a database that was restored with the database's own tools. Revokes the keys on the list of revoked keys
/// (--revocations). Without a list, every key is revoked unless --trust-keys is given.
#[derive(Debug, Args)]
pub(super) struct ReconcileArgs {
    /// Without a list of revoked keys: keep all keys valid
    #[arg(long)]
    trust_keys: bool,
}

/// An API key without its secret.
#[derive(Serialize)]
struct KeyView<'a> {
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    tenant: &'a Name,
    name: &'a str,
    environment: &'static str,
    scopes: &'a [Scope],
    state: &'static str,
    created_at: Timestamp,
    expires_at: Option<Timestamp>,
    revoked_at: Option<Timestamp>,
    last_used_at: Option<Timestamp>,
}

fn view<'a>(record: &'a KeyRecord, key: Option<&'a ApiKey>, now: Timestamp) -> KeyView<'a> {
    KeyView {
        id: record.id.as_str(),
        key: key.map(ApiKey::expose),
        tenant: &record.tenant,
        name: &record.name,
        environment: record.environment.as_str(),
        scopes: &record.scopes,
        state: record.state(now).as_str(),
        created_at: record.created_at,
        expires_at: record.expires_at,
        revoked_at: record.revoked_at,
        last_used_at: record.last_used_at,
    }
}

pub(super) async fn run(
    command: KeysCommand,
    context: &Context,
) -> Result<CommandOutcome, Failure> {
    let store = context.open().await?;
    let now = context.clock.now();
    match command {
        KeysCommand::Create(args) => create(&args, &*store, now).await,
        KeysCommand::List(args) => list(&args, &*store, now).await,
        KeysCommand::Rotate(args) => rotate(&args, &*store, context, now).await,
        KeysCommand::Reconcile(args) => {
            let list = context.revocations();
            reconcile(&*store, &list, args.trust_keys, now, &mut output()).await?;
            Ok(CommandOutcome::Success)
        }
        KeysCommand::Revoke(args) => {
            store.revoke_key(&args.id, now).await?;
            // The key is revoked already; a failure to record it must be reported.
            context.revocations().append(&args.id, now)?;
            if let Some((link, prefix)) = context.redis() {
                revoked_keys::publish(&link, &prefix, &args.id).await;
            }
            writeln!(output(), "{} revoked", args.id)?;
            Ok(CommandOutcome::Success)
        }
    }
}

async fn create(
    args: &CreateArgs,
    store: &dyn Store,
    now: Timestamp,
) -> Result<CommandOutcome, Failure> {
    let control = store.control().await?;
    let is_tenant = |manifest: &&assay_store::control::ManifestRecord| {
        manifest.kind == assay_tenancy::manifest::Kind::Tenant && manifest.name == args.tenant
    };
    if control.manifests.iter().find(is_tenant).is_none() {
        return Err(Failure::Input(format!(
            "no such tenant: `{}` (apply a Tenant manifest first)",
            args.tenant
        )));
    }
    let new_key = NewKey {
        tenant: args.tenant.clone(),
        name: args.name.clone(),
        scopes: args.scopes.clone(),
        expires_at: args.expires_in.map(|time| time_after(now, time)).transpose()?,
    };
    let environment = if args.sandbox {
        KeyEnvironment::Sandbox
    } else {
        key_environment(store.environment().await?)
    };
    let (key, record) = issue(environment, new_key, now);
    store.add_key(&record, None).await?;
    print_key(&key, &record, args.json, now)
}

/// Parses the lifetime of a key: a key without one would never be accepted.
fn lifetime(text: &str) -> Result<Period, String> {
    match text.parse::<Period>() {
        Ok(period) if period.seconds() == 0 => Err("must be longer than nothing".into()),
        Ok(period) => Ok(period),
        Err(error) => Err(error.to_string()),
    }
}

async fn rotate(
    args: &RotateArgs,
    store: &dyn Store,
    context: &Context,
    now: Timestamp,
) -> Result<CommandOutcome, Failure> {
    let control = store.control().await?;
    let old = control
        .keys
        .iter()
        .find(|record| record.id == args.id)
        .ok_or_else(|| Failure::Input(format!("no such key: `{}`", args.id)))?;
    if !old.is_active(now) {
        return Err(Failure::Input(format!(
            "key `{}` is revoked or expired: create a new one with `assay keys create`",
            args.id
        )));
    }
    let new_key = NewKey {
        tenant: old.tenant.clone(),
        name: old.name.clone(),
        scopes: old.scopes.clone(),
        expires_at: match (args.expires_in, old.expires_at) {
            (Some(time), _) => Some(time_after(now, time)?),
            // The successor has the lifetime of its predecessor.
            (None, Some(expires)) => {
                now.checked_add(expires.duration_since(old.created_at)).ok().or(Some(expires))
            }
            (None, None) => None,
        },
    };
    let (key, record) = issue(old.environment, new_key, now);
    let ends = time_after(now, args.overlap)?;
    store.add_key(&record, Some((&old.id, ends))).await?;
    context.revocations().append(&old.id, ends)?;
    print_key(&key, &record, args.json, now)
}

async fn list(
    args: &ListArgs,
    store: &dyn ControlStore,
    now: Timestamp,
) -> Result<CommandOutcome, Failure> {
    let control = store.control().await?;
    let of_tenant =
        |record: &&KeyRecord| args.tenant.as_ref().is_none_or(|tenant| record.tenant == *tenant);
    let mut records: Vec<&KeyRecord> = control.keys.iter().filter(of_tenant).collect();
    records.sort_by(|one, other| {
        (&one.tenant, one.created_at, &one.name).cmp(&(
            &other.tenant,
            other.created_at,
            &other.name,
        ))
    });
    let chosen: Vec<KeyView<'_>> =
        records.into_iter().map(|record| view(record, None, now)).collect();
    if args.json {
        return print_json(&chosen);
    }
    let header = [
        "ID",
        "TENANT",
        "NAME",
        "ENVIRONMENT",
        "STATE",
        "SCOPES",
        "CREATED",
        "EXPIRES",
        "LAST USED",
    ]
    .map(str::to_owned);
    let rows = chosen.iter().map(|key| {
        let scopes: Vec<&str> = key.scopes.iter().map(|scope| scope.as_str()).collect();
        [
            key.id.to_owned(),
            key.tenant.to_string(),
            key.name.to_owned(),
            key.environment.to_owned(),
            key.state.to_owned(),
            scopes.join(","),
            ago(key.created_at, now),
            key.expires_at.map_or_else(|| "never".to_owned(), |at| at.to_string()),
            key.last_used_at.map_or_else(|| "never".to_owned(), |at| ago(at, now)),
        ]
    });
    let rows: Vec<_> = std::iter::once(header).chain(rows).collect();
    write!(output(), "{}", table(&rows, output_width()))?;
    Ok(CommandOutcome::Success)
}

fn time_after(now: Timestamp, time: Period) -> Result<Timestamp, Failure> {
    let seconds = i64::try_from(time.seconds()).unwrap_or(i64::MAX);
    now.checked_add(SignedDuration::from_secs(seconds))
        .map_err(|_| Failure::Usage(format!("{time} is too long")))
}

fn print_key(
    key: &ApiKey,
    record: &KeyRecord,
    json: bool,
    now: Timestamp,
) -> Result<CommandOutcome, Failure> {
    if json {
        print_json(&view(record, Some(key), now))?;
    } else {
        writeln!(output(), "{}", key.expose())?;
        writeln!(
            anstream::stderr(),
            "key {} of tenant {}: store it now, it is not shown again",
            record.id,
            record.tenant
        )?;
    }
    Ok(CommandOutcome::Success)
}
