//! What other tools write, read; what they did not write, refused.

mod golden;
mod hostile;
mod layouts;
mod refusals;
mod round_trip;
