//! The `assay-operator` program.

use std::process::ExitCode;

use assay_operator::{run, settings::Settings};
use clap::Parser;

fn main() -> ExitCode {
    run::main(Settings::parse())
}
