//! Pages as functions of what they show. Every text is escaped where it is written.

mod activity;
mod answer;
mod checks;
mod data;
mod evidence;
mod flows;
mod frame;
mod keys;
mod policy;
mod search;
mod transfer;
mod usage;

pub(crate) use activity::ActivityContent;
pub(crate) use answer::{AnswerContent, answer_page};
pub(crate) use checks::{RecentChecks, checks_of_page, checks_page};
pub(crate) use data::{ConsoleChain, ReadySources, chains_page, sources_page};
pub(crate) use flows::{FurtherFlows, further_flows_page};
pub(crate) use frame::{
    Visitor, confirm_page, message_page, not_signed_in_page, sign_in_page, signed_in_page,
    signed_out_page,
};
pub(crate) use keys::{KeyForm, KeysContent, keys_page, new_key_page};
pub(crate) use policy::policy_page;
pub(crate) use search::{SearchContent, SearchResult, check_path, search_page};
pub(crate) use transfer::{TransferForm, transfer_page};
pub(crate) use usage::{UsageContent, usage_page};

/// Style sheet of the console; that of pictures follows it.
pub(crate) const STYLE: &str = include_str!("style.css");

/// Script of the pages of answers.
pub(crate) const SCRIPT: &str = include_str!("script.js");
