//! A database of Assay for a test.

use std::{fs, sync::OnceLock};

use assay_test_servers::Postgres;

use crate::assay;

/// A database with Assay's schema on the server that the tests of this process share: a copy of a database that is
/// migrated once.
///
/// # Panics
///
/// Panics if there is no server, or the database cannot be migrated.
#[must_use]
pub fn migrated_database() -> Postgres {
    static TEMPLATE: OnceLock<Postgres> = OnceLock::new();
    let template = TEMPLATE.get_or_init(|| {
        let database = Postgres::shared(None);
        let directory = tempfile::tempdir().expect("a directory");
        fs::write(
            directory.path().join("assay.toml"),
            format!("database-url = \"{}\"\n", database.url()),
        )
        .expect("a file of settings");
        let _ = assay(directory.path(), ["migrate"]).ok();
        database
    });
    Postgres::shared(Some(template))
}
