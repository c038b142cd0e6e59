//! The `assay-operator` program.

use std::process::ExitCode;

use assay_operator::{run, settings::OperatorSettings};
use clap::Parser;

fn main() -> ExitCode {
    run::main(OperatorSettings::parse())
}
