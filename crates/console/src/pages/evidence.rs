//! Evidence of an answer: listings, labels, behavior, associated addresses.

use assay_address::{CanonicalAddress, ChainId};
use assay_picture::{
    LabelView, ListingView, PatternView, WalletView, pattern_picture,
    text::{counted, words},
};
use maud::{Markup, PreEscaped, html};

use super::{answer::sentence, flows::transaction_as, search::check_path};
use crate::MOUNT;

/// Largest number of associated addresses that are shown at once; the others follow in a part that opens.
const MOST_WALLETS: usize = 10;

/// A text as a link if it is the address of a web page, else as a text.
pub(super) fn link(text: &str) -> Markup {
    if text.starts_with("https://") || text.starts_with("http://") {
        html! { a href=(text) rel="noreferrer noopener nofollow" { (text) } }
    } else {
        html! { (text) }
    }
}

pub(super) fn listed(listing: &ListingView) -> Markup {
    let rows = [
        ("Programs", Some(listing.programs.join(", ")).filter(|text| !text.is_empty())),
        ("Order", listing.order_number.clone()),
        ("Basis", listing.legal_basis.clone()),
        ("Official page", listing.official_link.clone()),
        ("Entity listed", listing.entity_listed_on.map(|day| day.to_string())),
        ("Address listed", listing.listed_on.map(|day| day.to_string())),
        ("Delisted", listing.delisted_on.map(|day| day.to_string())),
        ("As published", Some(listing.address_as_published.clone())),
        ("Remarks", listing.remarks.clone()),
    ];
    html! {
        article {
            h3 { (listing.entity) " " span.soft { (listing.list_name) ", " (listing.entity_id) } }
            p { b { (words(&listing.status)) } ", " (listing.effect) " list" }
            dl.facts {
                @for (name, value) in rows {
                    @if let Some(value) = value { dt { (name) } dd { (link(&value)) } }
                }
            }
        }
    }
}

pub(super) fn labels(labels: &[LabelView]) -> Markup {
    html! {
        div.scroll tabindex="0" { table.stack {
            thead { tr { th { "Category" } th { "Entity" } th { "Evidence" } th.number { "Confidence" } th { "Source" } th { "Status" } th { "Reason" } } }
            tbody {
                @for label in labels {
                    tr {
                        td { b { (words(&label.category)) } }
                        td data-head="Entity" { (label.entity.as_deref().unwrap_or("")) }
                        td data-head="Evidence" { (words(&label.tier)) }
                        td.number data-head="Confidence" { (label.confidence) " %" }
                        td data-head="Source" { (label.source) span.soft { " (" (label.upstream) ")" } }
                        td data-head="Status" { (words(&label.status)) }
                        td data-head="Reason" {
                            @if let Some(reason) = &label.reason { (reason) " " }
                            @if let Some(reference) = &label.reference { (link(reference)) }
                        }
                    }
                }
            }
        } }
    }
}

pub(super) fn behavior(chain: ChainId, pattern: &PatternView) -> Markup {
    let points = format!("+{}", pattern.contribution);
    let why = pattern.unscored_reason.as_deref().map(words);
    html! {
        article.pattern {
            div.form { (PreEscaped(pattern_picture(pattern).inline())) }
            div {
                h3 { (words(&pattern.pattern)) " " span.soft { "as " (pattern.role) } }
                p { (sentence(&pattern.description)) }
                p.soft {
                    @if pattern.scored { (points) " points" } @else { "not scored" }
                    @if let Some(why) = why { ": " (why) }
                    ", confidence " (pattern.confidence) " %, "
                    (counted(pattern.count, "occurrence", "occurrences"))
                }
                @if !pattern.transactions.is_empty() {
                    details {
                        summary { (counted(pattern.transactions.len().try_into().unwrap_or(u64::MAX), "transaction", "transactions")) }
                        ul { @for transaction in &pattern.transactions { li { (transaction_as(chain, transaction, transaction)) } } }
                    }
                }
            }
        }
    }
}

pub(super) fn wallets(wallets: &[WalletView]) -> Markup {
    let (shown, more) = wallets.split_at(wallets.len().min(MOST_WALLETS));
    let table = |wallets: &[WalletView]| {
        html! {
            div.scroll tabindex="0" { table.stack {
                thead { tr { th { "Address" } th { "Chain" } th { "Relation" } th { "Shown by" } th.number { "Confidence" } th { "Known as" } } }
                tbody {
                    @for wallet in wallets {
                        tr {
                            td.address {
                                @match CanonicalAddress::parse(wallet.blockchain, &wallet.address) {
                                    Ok(address) => a href={ (MOUNT) (check_path(&address)) } { (wallet.address) },
                                    Err(_) => (wallet.address),
                                }
                            }
                            td data-head="Chain" { (wallet.blockchain) }
                            td data-head="Relation" { (words(&wallet.relation)) }
                            td data-head="Shown by" { (words(&wallet.heuristic)) }
                            td.number data-head="Confidence" { (wallet.confidence) " %" }
                            td data-head="Known as" {
                                @if let Some(entity) = &wallet.entity { (entity) " " }
                                @if !wallet.categories.is_empty() { span.soft { (words(&wallet.categories.join(", "))) } " " }
                                @if wallet.listed { b { "listed" } }
                            }
                        }
                    }
                }
            } }
        }
    };
    html! {
        (table(shown))
        @if !more.is_empty() {
            details { summary { (more.len()) " more" } (table(more)) }
        }
    }
}
