//! Pictures of an answer to a check, in SVG.
//!
//! A picture is a function of the answer as callers get it ([`AnswerView`]), so that one drawing serves a check that
//! was just made, and one that was kept by an earlier release. Pictures have no scripts and load nothing. Their
//! colors are CSS variables with a light and a dark value.
//!
//! - [`flow_picture`]: sources of funds, the subject, destinations
//! - [`waterfall`]: components of the score, whose bars sum to it
//! - [`pattern_picture`]: the form of a behavior pattern
//! - [`column_chart`]: columns over days or weeks

mod answer;
mod columns;
mod flow;
mod pattern;
mod raster;
mod score;
mod svg;
pub mod text;

pub use answer::{
    ActivityCountsView, ActivityView, AmountView, AnswerView, BlockView, ComponentView,
    CoverageView, DecisiveView, EntityView, ExposurePathView, ExposureView, KeptMoneyView,
    LabelView, LatestBlockView, ListingView, MessageView, PatternView, SourceView, TokenUseView,
    TransferView, UnreadableAnswer, WalletView,
};
pub use columns::{ChartColumn, column_chart};
pub use flow::{endpoint_in_words, flow_picture};
pub use pattern::pattern_picture;
pub use raster::PngError;
pub use score::waterfall;
pub use svg::{Picture, STYLE};

#[cfg(test)]
mod tests;
