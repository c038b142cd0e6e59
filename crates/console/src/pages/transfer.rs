//! The forms of transfers.

use assay_address::ChainId;
use maud::{Markup, html};

use super::frame::{Visitor, framed};
use crate::MOUNT;

/// Values with which the forms are filled.
#[derive(Clone, Debug, Default)]
pub(crate) struct TransferForm {
    /// Identifier of the blockchain.
    pub(crate) blockchain: String,
    /// Identifier of the transaction.
    pub(crate) transaction: String,
    /// Receiver of a withdrawal that is not sent yet.
    pub(crate) to: String,
}

/// Returns the page with the forms for a transfer that was sent, and for a withdrawal that is not sent yet.
pub(crate) fn transfer_page(visitor: &Visitor, form: &TransferForm) -> Markup {
    let content = html! {
        h1 { "Check a transfer" }
        p.lead { "A deposit is assessed by the origins of its own money, a withdrawal by its receiver. Each counts as one check." }
        div.columns {
            section {
                h2 { "Sent already" }
                form.fields method="get" action={ (MOUNT) "/transfer" } {
                    (chain_field(&form.blockchain))
                    label { "Transaction" input name="transaction" value=(form.transaction) required maxlength="66" spellcheck="false" autocomplete="off"; }
                    label { "Receiver, or below its output, log or trace" input name="address" maxlength="200" spellcheck="false" autocomplete="off"; }
                    label { "Number of the output or log, or the trace" input name="place" maxlength="64" placeholder="instead of the receiver" autocomplete="off"; }
                    label { "Direction"
                        select name="direction" {
                            option value="deposit" { "deposit: money that came to you" }
                            option value="withdrawal" { "withdrawal: money that you sent" }
                        }
                    }
                    button { "Check" }
                }
            }
            section {
                h2 { "A withdrawal before it is sent" }
                form.fields method="get" action={ (MOUNT) "/transfer" } {
                    (chain_field(&form.blockchain))
                    label { "Receiver" input name="to" value=(form.to) required maxlength="200" spellcheck="false" autocomplete="off"; }
                    label { "Asset: native, or the contract of a token" input name="asset" value="native" required maxlength="128" spellcheck="false"; }
                    label { "Amount in base units" input name="amount" required inputmode="numeric" pattern="[0-9]{1,39}" placeholder="satoshi, wei" autocomplete="off"; }
                    button { "Check" }
                }
            }
        }
    };
    framed(visitor, "Check a transfer", "/transfer", "", &content)
}

fn chain_field(chosen: &str) -> Markup {
    let chains = ChainId::all().filter(|chain| *chain != ChainId::OTHER);
    html! {
        label { "Chain"
            select name="blockchain" required {
                @for chain in chains {
                    option value=(chain) selected[chain.as_str() == chosen] { (chain.info().name) }
                }
            }
        }
    }
}
