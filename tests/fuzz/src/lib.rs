//! Fuzz targets: what must hold for any input. libFuzzer searches for counterexamples (`tests/fuzz.sh`);
//! `tests/seeds.rs` runs every target on its seeds and on changes of them.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a target stops at the first surprise"
)]

pub mod address;
pub mod body;
pub mod head;
pub mod key;
pub mod limiter_answer;
pub mod ofac_xml;
pub mod official_list;
pub mod raw_block;
