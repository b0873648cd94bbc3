//! The conversions: what goes out comes back, what is hostile is refused, what is stored stays readable.

#![expect(clippy::unwrap_used, reason = "all of it is tests")]

mod direct;
mod golden;
mod hostile;
mod refusal;
mod round_trip;
mod strategy;
