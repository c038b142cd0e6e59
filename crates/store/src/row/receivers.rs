//! Rows of receivers that tenants checked.

use assay_address::CanonicalAddress;

use super::Row;
use crate::{StoreError, receivers::KnownReceiver, value};

pub(crate) fn receiver(row: &Row) -> Result<KnownReceiver, StoreError> {
    let chain = value::parsed("receivers.chain", row.text("chain")?)?;
    let address = CanonicalAddress::parse(chain, row.text("address")?)
        .map_err(|error| StoreError::unreadable("receivers.address", error))?;
    let time = row.integer("first_checked_at")?;
    Ok(KnownReceiver {
        address,
        first_checked_at: value::time("receivers.first_checked_at", time)?,
    })
}
