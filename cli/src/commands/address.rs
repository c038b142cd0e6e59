//! `assay address`: validation and canonical form of addresses.

use std::io::{self, BufRead, Write};

use assay_engine::{
    address::{AddressError, CanonicalAddress},
    chain::ChainId,
};
use clap::Args;
use serde::Serialize;

use super::{Done, Failure, Output, output, terminal::output_row};

const EXAMPLES: &str = "\
Examples:
  assay address btc 1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa
  assay address eth - --json < addresses.txt";

/// Validate addresses and print their kind and canonical form
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct AddressArgs {
    /// Blockchain, such as btc, eth or trx
    chain: ChainId,
    /// Addresses to validate; `-` reads them from standard input, one a line
    #[arg(required = true, value_name = "ADDRESS")]
    addresses: Vec<String>,
    /// Print one JSON object a line: input, valid, kind, canonical, reason
    #[arg(long)]
    json: bool,
    /// Exit with code 3 if an address is invalid
    #[arg(long)]
    exit_code: bool,
}

#[derive(Serialize)]
struct Line<'a> {
    input: &'a str,
    valid: bool,
    kind: Option<&'static str>,
    canonical: Option<&'a str>,
    reason: Option<&'static str>,
    message: Option<String>,
}

pub(super) fn run(args: &AddressArgs) -> Result<Done, Failure> {
    let mut output = output();
    let mut all_valid = true;
    for text in &args.addresses {
        if text == "-" {
            for line in io::stdin().lock().split(b'\n') {
                let line = line?;
                let line = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(&line));
                all_valid &= print(&mut output, args, &line)?;
            }
        } else {
            all_valid &= print(&mut output, args, text)?;
        }
    }
    Ok(if args.exit_code && !all_valid { Done::Code(3) } else { Done::Success })
}

fn print(output: &mut Output, args: &AddressArgs, text: &str) -> Result<bool, Failure> {
    let read = CanonicalAddress::parse(args.chain, text);
    if args.json {
        let line = Line {
            input: text,
            valid: read.is_ok(),
            kind: read.as_ref().ok().map(|address| address.kind().as_str()),
            canonical: read.as_ref().ok().map(CanonicalAddress::as_str),
            reason: read.as_ref().err().map(AddressError::reason),
            message: read.as_ref().err().map(ToString::to_string),
        };
        let line = serde_json::to_string(&line).map_err(io::Error::from)?;
        writeln!(output, "{line}")?;
    } else {
        match &read {
            Ok(address) => {
                let text = format!("{address}  {}", address.kind().as_str());
                write!(output, "{}", output_row(&text))?;
            }
            Err(error) => {
                let text = format!("{}  not valid: {error}", printable(text));
                write!(output, "{}", output_row(&text))?;
            }
        }
    }
    Ok(read.is_ok())
}

/// The text with control characters made visible.
fn printable(text: &str) -> String {
    text.chars()
        .flat_map(|character| {
            let escaped =
                character.is_control().then(|| character.escape_default().collect::<String>());
            escaped.unwrap_or_else(|| character.to_string()).chars().collect::<Vec<_>>()
        })
        .collect()
}
