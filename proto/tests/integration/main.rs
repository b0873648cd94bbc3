//! The conversions: what goes out comes back, what is hostile is refused, what is stored stays readable. And the .proto files: each
//! part is documented, and what a release wrote stays readable.

#![expect(clippy::unwrap_used, reason = "all of it is tests")]

mod checkpoint_payload;
mod direct;
mod documented;
mod golden;
mod hostile;
mod refusal;
mod released;
mod round_trip;
mod strategy;
