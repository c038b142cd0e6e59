//! `assay migrate`: the schema of the database, created or upgraded.

use std::{io::Write, time::Duration};

use assay_database::postgres::DatabaseAddress;
use assay_store::{
    PostgresStore, Store,
    postgres::{Roles, roles_sql},
};
use assay_tenancy::Period;
use clap::Args;
use tokio::time::{self, Instant};

use super::{Context, Done, Failure, output};

/// Interval between connection attempts.
const AGAIN: Duration = Duration::from_secs(1);

const EXAMPLES: &str = "\
Examples:
  assay migrate --database-url-file /run/secrets/migrate-url
  assay migrate --print-roles | psql --set=ON_ERROR_STOP=1 \"$SUPERUSER_URL\"";

/// Create the schema of the database, or upgrade it
///
/// Run it before a new version serves. Concurrent runs wait for each other. A schema of a newer version
/// is refused unless that version declares it compatible. On PostgreSQL, also creates the roles for
/// serving, ingesting, controlling and migrating if the login may create roles.
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

pub(super) async fn run(args: &MigrateArgs, context: &Context) -> Result<Done, Failure> {
    if args.print_roles {
        output().write_all(roles_sql().as_bytes())?;
        return Ok(Done::Well);
    }
    if let Some(address) = context.settings.database() {
        until_there(&address, Duration::from_secs(args.wait.seconds())).await;
    }
    let store = context.open_or_create().await?;
    let environment = store.environment().await?.as_str();
    store.close().await;
    writeln!(output(), "the database is up to date ({environment} data)")?;
    if let Some(address) = context.settings.database() {
        let store = PostgresStore::open(address).await?;
        let roles = store.arrange_roles().await?;
        store.close().await;
        match roles {
            Roles::Ready => writeln!(output(), "the roles exist and have their grants")?,
            Roles::Missing => writeln!(
                output(),
                "the roles are missing and this login may not create them: run the output of `assay \
                 migrate --print-roles` as a superuser; until then, programs have the rights of their logins"
            )?,
        }
    }
    Ok(Done::Well)
}

/// Waits until the database is reachable: it may start together with this program.
async fn until_there(address: &DatabaseAddress, patience: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < patience {
        match PostgresStore::open(address.clone()).await {
            Err(error) if error.is_absence() => time::sleep(AGAIN).await,
            Ok(store) => {
                store.close().await;
                break;
            }
            // The database is reachable; the migration comes next.
            Err(_) => break,
        }
    }
}
