//! The `assay-operator` program.

use std::process::ExitCode;

use assay_operator::{generate_secrets, run, settings::OperatorSettings};
use clap::{CommandFactory, FromArgMatches};

fn main() -> ExitCode {
    let command = OperatorSettings::command()
        .subcommand(generate_secrets::command())
        .subcommand_negates_reqs(true);
    let matches = command.get_matches();
    if let Some((generate_secrets::NAME, matches)) = matches.subcommand() {
        return generate_secrets::main(matches);
    }
    match OperatorSettings::from_arg_matches(&matches) {
        Ok(settings) => run::main(settings),
        Err(error) => error.exit(),
    }
}
