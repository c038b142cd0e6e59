//! The risk model seen from outside: calibration points and promises.
mod calibration;
mod common;
mod deviations;
mod properties;
mod rules;
mod sentences;
