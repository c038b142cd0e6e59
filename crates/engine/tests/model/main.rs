//! The risk model seen from outside: calibration points and promises.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod calibration;
mod common;
mod deviations;
mod properties;
