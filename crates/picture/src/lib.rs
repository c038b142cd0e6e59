//! Pictures of an answer to a check, in SVG.
//!
//! A picture is a function of the answer as callers get it ([`AnswerView`]), so that one drawing serves a check that
//! was just made, and one that was kept by an earlier release. Pictures have no scripts and load nothing. Their
//! colors are CSS variables with a light and a dark value. All but the flow picture fit in the narrowest windows.
//!
//! - [`flow_picture`]: sources of funds, the subject, destinations; [`linked_flow_picture`] leads to pages of addresses;
//!   [`narrow_flow_pictures`] are for windows in which the picture does not fit
//! - [`waterfall`]: components of the score, whose bars sum to it
//! - [`pattern_picture`]: the form of a behavior pattern
//! - [`timeline_picture`]: activity by week, month or quarter
//! - [`column_chart`]: columns over days

mod answer;
mod columns;
mod flow;
mod pattern;
mod raster;
mod score;
mod svg;
pub mod text;
mod timeline;
mod tone;

pub use answer::{
    ActivityCountsView, ActivityView, AmountView, AnswerView, BlockView, ComponentView,
    CoverageView, DecisiveView, EntityView, ExposurePathView, ExposureView, KeptMoneyView,
    LabelView, LatestBlockView, ListingView, MessageView, PatternView, SourceView, TokenUseView,
    TransferView, UnreadableAnswer, WalletView,
};
pub use columns::{ChartColumn, column_chart};
pub use flow::{
    AddressLink, endpoint_in_words, flow_picture, is_risky, linked_flow_picture,
    narrow_flow_pictures, no_flows_in_words,
};
pub use pattern::pattern_picture;
pub use raster::PngError;
pub use score::waterfall;
pub use svg::{Picture, STYLE};
pub use timeline::{PeriodAmounts, PeriodLength, timeline_periods, timeline_picture};

#[cfg(test)]
mod tests;
