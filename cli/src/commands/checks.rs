//! `assay checks`: earlier checks of a tenant, by what people remember of them.

use std::io::Write;

use assay_address::{CanonicalAddress, ChainId};
use assay_store::{
    checks::{CheckFilter, CheckQuery, FoundCheck},
    usage::UsageStore,
};
use assay_tenancy::Name;
use clap::Args;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{CommandOutcome, Context, Failure, output, print_json, terminal::output_width};
use crate::render::table;

/// Largest number of checks of one page.
const PAGE: usize = 100;

const EXAMPLES: &str = "\
Examples:
  assay checks --tenant acme --verdict block      the newest checks that were blocked
  assay checks --tenant acme --reference 'order 1' --json";

/// Find earlier checks of a tenant, the newest first
///
/// A check is found if it meets all conditions, for as long as the plan of the tenant keeps answers. A running server
/// writes answers a moment after it gives them.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ChecksArgs {
    /// Tenant that requested the checks
    #[arg(long, value_name = "NAME")]
    tenant: Name,
    /// Restrict to one blockchain
    #[arg(long, value_name = "CHAIN")]
    blockchain: Option<ChainId>,
    /// Restrict to one address; without --blockchain, as answers show it
    #[arg(long, value_name = "ADDRESS")]
    address: Option<String>,
    /// Restrict to one reference of the caller
    #[arg(long, value_name = "TEXT")]
    reference: Option<String>,
    /// Restrict to one verdict
    #[arg(long, value_parser = ["allow", "indeterminate", "review", "block"])]
    verdict: Option<String>,
    /// Restrict to one reason's code or minimum score rule
    #[arg(long, value_name = "RULE")]
    rule: Option<String>,
    /// Time from which checks are listed, such as 2026-11-20T00:00:00Z
    #[arg(long, value_name = "TIME")]
    from: Option<Timestamp>,
    /// Time before which checks are listed
    #[arg(long, value_name = "TIME")]
    to: Option<Timestamp>,
    /// Largest number of checks
    #[arg(long, value_name = "NUMBER", default_value_t = 20)]
    limit: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: &ChecksArgs, context: &Context) -> Result<CommandOutcome, Failure> {
    let store = context.open().await?;
    let checks = find(&*store, args).await?;
    if args.json {
        let rows: Vec<Value> = checks.iter().map(row).collect();
        return print_json(&rows);
    }
    let header = ["TIME", "CHECK", "CHAIN", "ADDRESS", "REFERENCE", "SCORE", "VERDICT", "RULES"];
    let rows = checks.iter().map(|FoundCheck { key, summary }| {
        [
            time(key.made_at).to_string(),
            key.id.clone(),
            summary.blockchain.clone(),
            summary.address.clone(),
            summary.reference.clone().unwrap_or_default(),
            summary.score.to_string(),
            summary.verdict.clone(),
            summary.rules.join(", "),
        ]
    });
    let rows: Vec<_> = std::iter::once(header.map(str::to_owned)).chain(rows).collect();
    write!(output(), "{}", table(&rows, output_width()))?;
    Ok(CommandOutcome::Success)
}

/// Reads pages until enough checks are found.
async fn find(
    store: &(impl UsageStore + ?Sized),
    args: &ChecksArgs,
) -> Result<Vec<FoundCheck>, Failure> {
    let address = match (&args.address, args.blockchain) {
        (Some(address), Some(chain)) => {
            let address = CanonicalAddress::parse(chain, address).map_err(|error| {
                Failure::Input(format!("`{address}` is not a valid {chain} address: {error}"))
            })?;
            Some(address.as_str().to_owned())
        }
        (address, _) => address.clone(),
    };
    let filter = CheckFilter {
        blockchain: args.blockchain.map(|chain| chain.as_str().to_owned()),
        address,
        reference: args.reference.clone(),
        verdict: args.verdict.clone(),
        rule: args.rule.clone(),
        from: args.from,
        to: args.to,
    };
    let mut query = CheckQuery { filter, after: None, limit: PAGE };
    let mut checks = Vec::new();
    while checks.len() < args.limit {
        query.limit = PAGE.min(args.limit - checks.len());
        let page = store.find_checks(&args.tenant, &query).await?;
        checks.extend(page.checks);
        if page.next.is_none() {
            break;
        }
        query.after = page.next;
    }
    Ok(checks)
}

fn time(milliseconds: i64) -> Timestamp {
    Timestamp::from_millisecond(milliseconds).unwrap_or_default()
}

fn row(FoundCheck { key, summary }: &FoundCheck) -> Value {
    json!({
        "check_id": key.id,
        "checked_at": time(key.made_at),
        "reference": summary.reference,
        "blockchain": summary.blockchain,
        "address": summary.address,
        "risk_score": summary.score,
        "verdict": summary.verdict,
        "rules": summary.rules,
    })
}
