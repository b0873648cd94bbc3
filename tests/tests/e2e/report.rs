//! What comes out: reports, gates, metrics, bundles.

mod analysis;
mod bundles;
mod endpoints;
mod forms;
mod gates;
mod metrics;
mod repetition_rules;
