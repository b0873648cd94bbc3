//! What other tools write, read; what they did not write, refused.

mod golden;
mod hostile;
mod refusals;
mod round_trip;
