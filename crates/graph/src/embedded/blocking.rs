//! Calls of the store from asynchronous code. They wait for the disk at most, never for one another.

use tokio::runtime::{Handle, RuntimeFlavor};

/// Runs a call that may block, without holding up the other tasks of a runtime of several threads.
pub(super) fn blocking<T>(call: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(call),
        _ => call(),
    }
}
