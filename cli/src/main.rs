//! The `assay` program.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// Allocator of the program: a request allocates small values that another thread frees, at which the allocator of the
/// C library is slow.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    assay_cli::run()
}
