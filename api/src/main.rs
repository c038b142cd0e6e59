//! The `assay` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    assay_api::cli::run()
}
