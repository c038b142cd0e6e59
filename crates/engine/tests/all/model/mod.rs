//! Tests of the risk model: calibration points and properties.
mod calibration;
mod common;
mod deviations;
mod histories;
mod many_labels;
mod planned;
mod prices;
mod properties;
mod rules;
mod sentences;
mod unowned;
