//! The requirements that a server and a database must meet.

use sqlx::{PgConnection, Row};

use crate::DatabaseError;

/// The oldest server that is tested against, as it numbers itself.
const OLDEST_SERVER: i32 = 150_000;

/// Refuses a server that is too old, and a database whose encoding cannot hold every name. `server` names the server
/// and the database in the error.
///
/// # Errors
///
/// [`DatabaseError::Unsuitable`] with the reason, or the failure of the statement.
pub async fn expect_suitable(
    connection: &mut PgConnection,
    server: &str,
) -> Result<(), DatabaseError> {
    let row = sqlx::query(
        "SELECT current_setting('server_version_num')::integer AS version,
                current_setting('server_version') AS version_text,
                current_setting('server_encoding') AS encoding",
    )
    .fetch_one(connection)
    .await?;
    let unsuitable = |reason| DatabaseError::Unsuitable { server: server.to_owned(), reason };
    if row.try_get::<i32, _>("version")? < OLDEST_SERVER {
        let version: &str = row.try_get("version_text")?;
        return Err(unsuitable(format!(
            "its server is PostgreSQL {version}, 15 or newer is needed"
        )));
    }
    match row.try_get("encoding")? {
        "UTF8" => Ok(()),
        other => Err(unsuitable(format!("its encoding is {other}, UTF8 is needed"))),
    }
}
