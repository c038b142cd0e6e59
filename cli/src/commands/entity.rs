//! `assay entity`: listed parties by name, with their addresses.

use std::io::Write;

use assay_engine::evidence::ListingStatus;
use assay_intel::{FoundEntity, IntelSnapshot};
use clap::Args;

use super::{CommandOutcome, Context, Failure, output, print_json, terminal::text_width};
use crate::render::Page;

const EXAMPLES: &str = "\
Examples:
  assay entity 'lazarus group'
  assay entity 'Юсупов Хасан' --json";

/// Find listed parties by name, with their programs and addresses
///
/// Names are matched across spelling, script and order of words; each match has a score of likeness from 75 to 100,
/// which is no part of a risk score. Parties without addresses are not searched.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct EntityArgs {
    /// Name of a person, company or vessel
    name: String,
    /// Largest number of parties
    #[arg(long, value_name = "NUMBER", default_value_t = 20)]
    limit: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: &EntityArgs, context: &Context) -> Result<CommandOutcome, Failure> {
    if args.name.trim().is_empty() {
        return Err(Failure::Usage("the name is blank".into()));
    }
    let store = context.open().await?;
    let snapshot = IntelSnapshot::load(&*store, None).await?;
    let today = snapshot.day(context.clock.now());
    let found = snapshot.entities_named(&args.name, today, args.limit);
    if args.json {
        print_json(&found)?;
    } else if found.is_empty() {
        writeln!(output(), "no listed party with addresses has a name like it")?;
    } else {
        write!(output(), "{}", drawn(&found, text_width()))?;
    }
    Ok(CommandOutcome::Success)
}

fn drawn(found: &[FoundEntity], width: usize) -> String {
    const NAMES: usize = 10;
    let mut page = Page::new(width);
    for entity in found {
        let list = &entity.list_name;
        page.hanging(
            "",
            "  ",
            format!("{}  {} ({list} {})", entity.score, entity.name, entity.entity_id),
        );
        if entity.matched_name != entity.name {
            page.field(4, NAMES, "found as", &entity.matched_name);
        }
        if !entity.programs.is_empty() {
            page.field(4, NAMES, "programs", entity.programs.join(", "));
        }
        let references = [
            ("order", &entity.order_number),
            ("basis", &entity.legal_basis),
            ("link", &entity.official_link),
            ("remarks", &entity.remarks),
        ];
        for (title, text) in references {
            if let Some(text) = text {
                page.field(4, NAMES, title, text);
            }
        }
        if !entity.identifiers.is_empty() {
            page.field(4, NAMES, "known by", entity.identifiers.join("; "));
        }
        for address in &entity.addresses {
            let chains = address.blockchains.first().map_or("", String::as_str);
            let status = match address.status {
                ListingStatus::Active => "active",
                ListingStatus::RecentlyExpired => "recently expired",
                ListingStatus::Expired => "expired",
                ListingStatus::Delisted => "delisted",
                ListingStatus::NotYetListed => "not yet in force",
            };
            page.field(4, NAMES, "address", format!("{chains} {}  {status}", address.address));
        }
    }
    page.finish()
}
