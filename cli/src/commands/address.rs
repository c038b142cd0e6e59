//! `assay address`: validation and canonical form of addresses, and look-alikes among listed and labelled addresses.

use std::io::{self, BufRead, Write};

use assay_address::{AddressError, CanonicalAddress, ChainId};
use assay_intel::IntelSnapshot;
use clap::Args;
use serde::Serialize;

use super::{CommandOutcome, Context, Failure, Output, output, terminal::output_row};

const EXAMPLES: &str = "\
Examples:
  assay address btc 1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa
  assay address eth - --json < addresses.txt
  assay address eth 0x931546D9e66836AbF687d2bc64B30407bAc8C568 --near";

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
    /// Search for listed and labelled addresses that share the first and last four characters or more
    #[arg(long)]
    near: bool,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    near: Option<Vec<LookAlikeLine<'a>>>,
}

/// Listed or labelled address that looks like the input.
#[derive(Serialize)]
struct LookAlikeLine<'a> {
    address: &'a str,
    first: usize,
    last: usize,
    what: &'a str,
}

pub(super) async fn run(args: &AddressArgs, context: &Context) -> Result<CommandOutcome, Failure> {
    let intel = if args.near {
        Some(IntelSnapshot::load(&*context.open().await?, None).await?)
    } else {
        None
    };
    let intel = intel.as_ref();
    let mut output = output();
    let mut all_valid = true;
    for text in &args.addresses {
        if text == "-" {
            for line in io::stdin().lock().split(b'\n') {
                let line = line?;
                let line = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(&line));
                all_valid &= print(&mut output, args, intel, &line)?;
            }
        } else {
            all_valid &= print(&mut output, args, intel, text)?;
        }
    }
    Ok(if args.exit_code && !all_valid { CommandOutcome::Code(3) } else { CommandOutcome::Success })
}

fn print(
    output: &mut Output,
    args: &AddressArgs,
    intel: Option<&IntelSnapshot>,
    text: &str,
) -> Result<bool, Failure> {
    let read = CanonicalAddress::parse(args.chain, text);
    let near = intel
        .map(|intel| read.as_ref().map(|address| intel.look_alikes(address)).unwrap_or_default());
    if args.json {
        let line = Line {
            input: text,
            valid: read.is_ok(),
            kind: read.as_ref().ok().map(|address| address.kind().as_str()),
            canonical: read.as_ref().ok().map(CanonicalAddress::as_str),
            reason: read.as_ref().err().map(AddressError::reason),
            message: read.as_ref().err().map(ToString::to_string),
            near: near.as_ref().map(|near| {
                near.iter()
                    .map(|near| LookAlikeLine {
                        address: near.address.as_str(),
                        first: near.first,
                        last: near.last,
                        what: &near.what,
                    })
                    .collect()
            }),
        };
        let line = serde_json::to_string(&line).map_err(io::Error::from)?;
        writeln!(output, "{line}")?;
    } else {
        match &read {
            Ok(address) => {
                let text = format!("{address}  {}", address.kind().as_str());
                write!(output, "{}", output_row(&text))?;
                for near in near.iter().flatten() {
                    let text = format!(
                        "  near: {}  shares {} first and {} last characters; {}",
                        near.address, near.first, near.last, near.what
                    );
                    write!(output, "{}", output_row(&text))?;
                }
            }
            Err(error) => {
                let text = format!("{}  not valid: {error}", printable(text));
                write!(output, "{}", output_row(&text))?;
            }
        }
    }
    Ok(read.is_ok())
}

/// Returns the text with control characters made visible.
fn printable(text: &str) -> String {
    text.chars()
        .flat_map(|character| {
            let escaped =
                character.is_control().then(|| character.escape_default().collect::<String>());
            escaped.unwrap_or_else(|| character.to_string()).chars().collect::<Vec<_>>()
        })
        .collect()
}
