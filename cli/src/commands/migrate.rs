//! `assay migrate`: the database made, or its schema brought up to date.

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

/// How soon a database that is not there yet is looked for again.
const AGAIN: Duration = Duration::from_secs(1);

const EXAMPLES: &str = "\
Examples:
  assay migrate --database-url-file /run/secrets/migrate-url
  assay migrate --print-roles | psql --set=ON_ERROR_STOP=1 \"$SUPERUSER_URL\"";

/// Make the database, or bring its schema up to date
///
/// Other commands do so too; this one does nothing else, to be run before a new version serves. Several
/// at once wait for each other. A database that a newer program wrote is used where that program says
/// that older ones can, and refused otherwise. In PostgreSQL it makes roles for serving, ingesting,
/// controlling and migrating, where it may make roles.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct MigrateArgs {
    /// Print the statements that make PostgreSQL's roles and give them their rights, for whoever may run
    /// them, and do nothing
    #[arg(long)]
    print_roles: bool,
    /// How long to wait for a database that cannot be reached yet, such as 5m; none by default
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
            Roles::Ready => writeln!(output(), "its roles have their rights")?,
            Roles::Missing => writeln!(
                output(),
                "its roles are missing and this login may not make them: until somebody who may runs \
                 what `assay migrate --print-roles` prints, every program has the rights of its login"
            )?,
        }
    }
    Ok(Done::Well)
}

/// Waits until somebody answers as the database: it may begin together with this program.
async fn until_there(address: &DatabaseAddress, patience: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < patience {
        match PostgresStore::open(address.clone()).await {
            Err(error) if error.is_absence() => time::sleep(AGAIN).await,
            Ok(store) => {
                store.close().await;
                break;
            }
            // There is one, and making it ready is what comes next.
            Err(_) => break,
        }
    }
}
