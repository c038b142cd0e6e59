//! `assay migrate`: the schema of the database, created or upgraded.

use std::{io::Write, time::Duration};

use assay_database::postgres::DatabaseAddress;
use assay_store::{
    PostgresStore, Store, StoreError,
    postgres::{Roles, roles_sql},
};
use assay_tenancy::Period;
use clap::Args;
use tokio::time::{self, Instant};

use super::{CommandOutcome, Context, Failure, output};

/// Interval between connection attempts.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

const EXAMPLES: &str = "\
Examples:
  assay migrate --database-url-file /run/secrets/migrate-url
  assay migrate --print-roles | psql --set=ON_ERROR_STOP=1 \"$SUPERUSER_URL\"";

/// Create the schema of the database, or upgrade it
///
/// Run this command before a new version serves. Concurrent runs wait for each other. A schema of a newer version is
/// refused unless that version declares it compatible. On PostgreSQL, also creates the roles for serving, ingesting,
/// controlling and migrating if the login may create roles.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct MigrateArgs {
    /// Print the SQL that creates and grants PostgreSQL's roles, and exit
    #[arg(long)]
    print_roles: bool,
    /// Time to wait until the database is reachable, such as 5m
    #[arg(long, value_name = "TIME", default_value = "0s")]
    wait: Period,
}

pub(super) async fn run(args: &MigrateArgs, context: &Context) -> Result<CommandOutcome, Failure> {
    if args.print_roles {
        output().write_all(roles_sql().as_bytes())?;
        return Ok(CommandOutcome::Success);
    }
    let until = Instant::now() + Duration::from_secs(args.wait.seconds());
    if let Some(address) = context.settings.database() {
        wait_until_reachable(until, async || open_store(address.clone()).await).await;
    }
    let store = context.open_or_create().await?;
    let environment = store.environment().await?.as_str();
    store.close().await;
    writeln!(output(), "the database is up to date ({environment} data)")?;
    if let Some(address) = context.settings.database() {
        let store = PostgresStore::open(address).await?;
        let roles = store.ensure_roles().await?;
        store.close().await;
        report(roles)?;
    }
    Ok(CommandOutcome::Success)
}

/// Prints the state of the roles, and the way to create missing roles.
fn report(roles: Roles) -> Result<(), Failure> {
    match roles {
        Roles::Ready => writeln!(output(), "the roles exist and have their grants")?,
        Roles::Missing => writeln!(
            output(),
            "the roles are missing or incomplete and this login may not change them: run the output of `assay \
             migrate --print-roles` as a superuser; until then, programs have the rights of their logins"
        )?,
    }
    Ok(())
}

async fn open_store(address: DatabaseAddress) -> Result<(), StoreError> {
    PostgresStore::open(address).await?.close().await;
    Ok(())
}

/// Waits until a database is reachable, at most until a time: the database may start together with this program.
async fn wait_until_reachable(until: Instant, open: impl AsyncFn() -> Result<(), StoreError>) {
    while Instant::now() < until {
        match open().await {
            Err(error) if error.is_unavailable() => time::sleep(RETRY_INTERVAL).await,
            // The database is reachable; the migration comes next.
            _ => break,
        }
    }
}
