//! The search page: recent checks, and the results of words.

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::evidence::ListingStatus;
use assay_intel::{FoundAddress, FoundEntity};
use jiff::Timestamp;
use maud::{Markup, html};

use super::{
    checks::{CheckColumns, RecentChecks, checks_table},
    evidence::link,
    frame::{Visitor, framed},
};
use crate::{ExampleAddress, MOUNT};

/// Largest number of a party's addresses that are shown at once.
const MOST_ADDRESSES: usize = 12;
/// Number of addresses to try that are shown at once.
const FIRST_EXAMPLES: usize = 12;

/// Result of a search that is neither an address nor a check.
#[derive(Clone, Debug)]
pub(crate) struct SearchResult {
    /// The text.
    pub(crate) text: String,
    /// Checks with the text as their reference.
    pub(crate) checks: RecentChecks,
    /// Listed parties with a similar name.
    pub(crate) entities: Vec<FoundEntity>,
    /// Addresses that the text can be.
    pub(crate) addresses: Vec<CanonicalAddress>,
}

/// Content of the search page.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SearchContent<'a> {
    /// Nothing was searched: addresses to try, if there are any.
    Examples(&'a [ExampleAddress]),
    /// Something was searched.
    Result(&'a SearchResult),
}

/// Returns the search page.
pub(crate) fn search_page(
    visitor: &Visitor,
    content: &SearchContent<'_>,
    recent: &RecentChecks,
    now: Timestamp,
) -> Markup {
    let (above, below, query) = match content {
        SearchContent::Examples(addresses) => (lead(), examples(addresses), ""),
        SearchContent::Result(result) => (found(result, now), html! {}, result.text.as_str()),
    };
    let is_first_visit = is_none(recent);
    let recent = html! {
        h2 { "Recent checks" }
        (checks_table(recent, now, "None yet.", CheckColumns::All))
    };
    let content = html! {
        (above)
        // Before the first check, addresses to try come first.
        @if is_first_visit { (below) (recent) } @else { (recent) (below) }
    };
    framed(visitor, "Search", "", query, &content)
}

/// True if checks were searched and none was found.
const fn is_none(checks: &RecentChecks) -> bool {
    matches!(checks, RecentChecks::Found(found) if found.is_empty())
}

fn lead() -> Markup {
    html! {
        h1 { "Check an address" }
        p.lead {
            "Paste an address of any chain into the field above. The answer says what is known about it, what could not "
            "be checked, and where its money came from and went."
        }
        p.soft.lead {
            "The field also takes a transaction, the id of a check, a reference that you gave a check, or the name of a "
            "listed party."
        }
    }
}

fn examples(addresses: &[ExampleAddress]) -> Markup {
    html! {
        @if !addresses.is_empty() {
            @let (first, more) = addresses.split_at(addresses.len().min(FIRST_EXAMPLES));
            h2 { "Addresses to try" }
            (examples_table(first))
            @if !more.is_empty() { details { summary { (more.len()) " more" } (examples_table(more)) } }
        }
    }
}

fn examples_table(addresses: &[ExampleAddress]) -> Markup {
    html! {
        div.scroll tabindex="0" { table.narrow.stack {
            thead { tr { th { "Known of it" } th { "Chain" } th { "Address" } } }
            tbody {
                @for ExampleAddress { address, description } in addresses {
                    tr {
                        td { (description) }
                        td data-head="Chain" { (address.chain()) }
                        td.address { a href={ (MOUNT) (check_path(address)) } { (address.as_str()) } }
                    }
                }
            }
        } }
    }
}

fn found(result: &SearchResult, now: Timestamp) -> Markup {
    let SearchResult { text, checks, entities, addresses } = result;
    let with_reference = html! {
        h2 { "Checks with this reference" }
        (checks_table(checks, now, "None.", CheckColumns::All))
    };
    let parties = html! {
        h2 { "Listed parties with a similar name" }
        @if entities.is_empty() {
            p.soft { "None. Parties without crypto addresses are not searched." }
        } @else {
            @for entity in entities { (party(entity)) }
        }
    };
    html! {
        h1 { "Results for \u{201c}" (text) "\u{201d}" }
        @if !addresses.is_empty() {
            p {
                "It can be an address of "
                @for (index, address) in addresses.iter().enumerate() {
                    @if index > 0 { ", " }
                    a href={ (MOUNT) (check_path(address)) } { (address.chain().info().name) }
                }
                "."
            }
        }
        // A name that is no reference is one of a party.
        @if is_none(checks) && !entities.is_empty() { (parties) (with_reference) } @else { (with_reference) (parties) }
    }
}

/// A listed party with the addresses that its list names.
fn party(entity: &FoundEntity) -> Markup {
    html! {
        article {
            h3 { (entity.name) " " span.soft { (entity.list_name) ", " (entity.programs.join(", ")) } }
            @if entity.matched_name != entity.name { p { "Also known as " b { (entity.matched_name) } } }
            p.soft {
                @if let Some(day) = entity.listed_on { "Listed " (day) ". " }
                @if let Some(order) = &entity.order_number { "Entry " (order) ". " }
                @if let Some(page) = &entity.official_link { (link(page)) }
            }
            (addresses(&entity.addresses))
        }
    }
}

fn addresses(addresses: &[FoundAddress]) -> Markup {
    let (shown, more) = addresses.split_at(addresses.len().min(MOST_ADDRESSES));
    let list = |addresses: &[FoundAddress]| {
        html! { ul.plain { @for address in addresses { (listed_address(address)) } } }
    };
    html! {
        (list(shown))
        @if !more.is_empty() { details { summary { (more.len()) " more addresses" } (list(more)) } }
    }
}

fn listed_address(found: &FoundAddress) -> Markup {
    let chains = found.blockchains.iter().filter_map(|chain| chain.parse::<ChainId>().ok());
    let parsed = chains.filter_map(|chain| CanonicalAddress::parse(chain, &found.address).ok());
    let parsed: Vec<CanonicalAddress> = parsed.collect();
    html! {
        li {
            span.address { (found.address) }
            @if parsed.is_empty() { " " span.soft { (found.asset_code) ", of a chain that is not supported" } }
            @for address in &parsed {
                " " a href={ (MOUNT) (check_path(address)) } { "Check on " (address.chain().info().name) }
            }
            @if let Some(state) = ended(found.status) { " " b { (state) } }
        }
    }
}

/// State of a listing that is not in force.
const fn ended(status: ListingStatus) -> Option<&'static str> {
    match status {
        ListingStatus::Active => None,
        ListingStatus::RecentlyExpired => Some("expired recently"),
        ListingStatus::Expired => Some("expired"),
        ListingStatus::Delisted => Some("delisted"),
        ListingStatus::NotYetListed => Some("not yet in force"),
    }
}

/// Returns the path of the check of an address, below the console's.
pub(crate) fn check_path(address: &CanonicalAddress) -> String {
    use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
    let encoded = utf8_percent_encode(address.as_str(), NON_ALPHANUMERIC);
    format!("/check/{}/{encoded}", address.chain())
}
