//! `assay backup` and `assay restore`: the embedded database, while it is in use and when it is not.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use assay_database::sqlite::private_directory;
use assay_service::revocations::{self, RevocationError};
use assay_store::{ControlStore, SqliteStore, Store};
use clap::Args;

use super::{Context, Done, Failure, output, serve};
use crate::render::counted;

/// Write a copy of the embedded database to a file, also while a server uses it
///
/// Back PostgreSQL up with its own tools. The list of revoked keys (`revoked-keys.jsonl` in the data
/// directory, or --revocations) is no part of the copy: keep it up to date elsewhere, so that it is newer
/// than any backup.
#[derive(Debug, Args)]
pub(super) struct BackupArgs {
    /// The file to write; it must not be there yet
    file: PathBuf,
}

/// Put a backup in the place of the embedded database
///
/// Keys that were revoked since the backup stay dead: the list of revoked keys says which. Where there is
/// no list, every key of the backup is revoked, unless --trust-keys says that none was.
#[derive(Debug, Args)]
pub(super) struct RestoreArgs {
    /// The backup
    file: PathBuf,
    /// Without a list of revoked keys: let the backup's keys live
    #[arg(long)]
    trust_keys: bool,
}

impl From<RevocationError> for Failure {
    fn from(error: RevocationError) -> Self {
        match error {
            RevocationError::Store(error) => error.into(),
            other => Self::Failed(other.to_string()),
        }
    }
}

fn embedded(context: &Context) -> Result<&Path, Failure> {
    match context.settings.database() {
        None => Ok(&context.settings.data_dir),
        Some(_) => Err(Failure::Usage(
            "this is for the embedded database: back PostgreSQL up and restore it with its own tools, \
             then run `assay keys reconcile`"
                .into(),
        )),
    }
}

pub(super) async fn backup(args: &BackupArgs, context: &Context) -> Result<Done, Failure> {
    let store = SqliteStore::open(embedded(context)?).await?;
    if args.file.exists() {
        return Err(Failure::Usage(format!("{} is there already", args.file.display())));
    }
    store.back_up(&args.file).await?;
    store.close().await;
    writeln!(output(), "written to {}", args.file.display())?;
    Ok(Done::Well)
}

pub(super) async fn restore(args: &RestoreArgs, context: &Context) -> Result<Done, Failure> {
    let directory = embedded(context)?;
    let now = context.clock.now();
    if !directory.is_dir() {
        private_directory(directory)?;
    }
    let _lock = serve::lock(directory)?;
    // Beside the database first: what is no backup must not take its place.
    let beside = directory.join("restoring");
    let _ = fs::remove_dir_all(&beside);
    let kept =
        SqliteStore::restore(&args.file, &beside, directory, now).await.map_err(|error| {
            let _ = fs::remove_dir_all(&beside);
            Failure::Input(format!("{} cannot be restored: {error}", args.file.display()))
        })?;
    let store = SqliteStore::open(directory).await?;
    let list = context.revocations();
    let mut output = output();
    if let Some(kept) = kept {
        writeln!(output, "what was there before is kept as {}", kept.display())?;
    }
    reconcile(&store, &list, args.trust_keys, now, &mut output).await?;
    store.close().await;
    writeln!(output, "restored from {}", args.file.display())?;
    Ok(Done::Well)
}

/// Lets no key live that is known, or may have been, revoked since the store was backed up.
pub(super) async fn reconcile(
    store: &dyn ControlStore,
    list: &revocations::Revocations,
    trust_keys: bool,
    now: jiff::Timestamp,
    output: &mut impl Write,
) -> Result<(), Failure> {
    if list.is_there() {
        let revoked = list.enforce(store, now).await?;
        let keys = counted(revoked, "key", "keys");
        writeln!(output, "{keys} revoked by the list of revoked keys")?;
    } else if trust_keys {
        writeln!(output, "there is no list of revoked keys: the keys are trusted")?;
    } else {
        let revoked = revocations::revoke_all(store, now).await?;
        writeln!(
            output,
            "there is no list of revoked keys: {} revoked as a precaution",
            counted(revoked, "key", "keys")
        )?;
    }
    Ok(())
}
