//! `assay backup` and `assay restore`: backups of the embedded database.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use assay_database::sqlite::create_private_directory;
use assay_service::revocations::{self, RevocationError};
use assay_store::{ControlStore, SqliteStore, Store};
use clap::Args;

use super::{CommandOutcome, Context, Failure, output, serve};
use crate::render::counted;

/// Back up the embedded database to a file
///
/// A server may use the database meanwhile. PostgreSQL is backed up with its own tools. The backup does
/// not contain the list of revoked keys (`revoked-keys.jsonl` in the data directory, or --revocations):
/// copy that list continuously, so that it is newer than any backup.
#[derive(Debug, Args)]
pub(super) struct BackupArgs {
    /// File to write, which must not exist
    file: PathBuf,
}

/// Replace the embedded database by a backup
///
/// Keys on the list of revoked keys (--revocations) are revoked again. Without a list, every key of the
/// backup is revoked unless --trust-keys is given. No server may use the database.
#[derive(Debug, Args)]
pub(super) struct RestoreArgs {
    /// Backup to restore
    file: PathBuf,
    /// Without a list of revoked keys: keep the keys of the backup valid
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
            "this command is for the embedded database: back up and restore PostgreSQL with its own \
             tools, then run `assay keys reconcile`"
                .into(),
        )),
    }
}

pub(super) async fn backup(
    args: &BackupArgs,
    context: &Context,
) -> Result<CommandOutcome, Failure> {
    let store = SqliteStore::open(embedded(context)?).await?;
    if args.file.exists() {
        return Err(Failure::Usage(format!(
            "{} exists already: name another file",
            args.file.display()
        )));
    }
    store.back_up(&args.file).await?;
    store.close().await;
    writeln!(output(), "written to {}", args.file.display())?;
    Ok(CommandOutcome::Success)
}

pub(super) async fn restore(
    args: &RestoreArgs,
    context: &Context,
) -> Result<CommandOutcome, Failure> {
    let directory = embedded(context)?;
    let now = context.clock.now();
    if !directory.is_dir() {
        create_private_directory(directory)?;
    }
    let _lock = serve::lock(directory)?;
    // First beside the database: an invalid backup must not replace it.
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
        writeln!(output, "the previous database is kept as {}", kept.display())?;
    }
    reconcile(&store, &list, args.trust_keys, now, &mut output).await?;
    store.close().await;
    writeln!(output, "restored from {}", args.file.display())?;
    Ok(CommandOutcome::Success)
}

/// Revokes the keys that were, or may have been, revoked since the store was backed up.
pub(super) async fn reconcile(
    store: &dyn ControlStore,
    list: &revocations::Revocations,
    trust_keys: bool,
    now: jiff::Timestamp,
    output: &mut impl Write,
) -> Result<(), Failure> {
    if list.exists() {
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
