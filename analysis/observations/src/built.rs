//! Builds in an export: no observations of the comparison, and so no rows.

use std::collections::BTreeMap;

use serde::Serialize;
use speedup_core::experiment::files::ContentHash;
use speedup_core::experiment::metric::Metric;
use speedup_core::machine::event::{AttemptEnd, EndedAttempt};
use speedup_core::plan::Plan;

/// An attempt at a build.
#[derive(Debug, Serialize)]
pub(super) struct Built {
    /// The run of the plan, by which rows of runs name their build.
    run: u32,
    version: String,
    attempt: u32,
    host: String,
    /// Whether runs may use it.
    measured: bool,
    /// Why they may not.
    why_not: Option<String>,
    wall_ns: Option<u64>,
    products: BTreeMap<String, ContentHash>,
}

impl Built {
    pub(super) fn new(plan: &Plan, ended: &EndedAttempt) -> Self {
        let lease = &ended.lease;
        let version = plan.experiment.version(plan.task(lease.run).version());
        let (record, loss) = match &ended.end {
            AttemptEnd::Reported(record) => (Some(record), None),
            AttemptEnd::Lost { reason, .. } => (None, Some(reason.words())),
        };
        let failure = record.and_then(|record| record.outcome.why_not());
        let products = record.into_iter().flat_map(|record| &record.products);
        Self {
            run: lease.run.0,
            version: version.map_or_else(String::new, |version| version.name.clone()),
            attempt: lease.attempt.0,
            host: lease.host.as_str().to_owned(),
            measured: record.is_some() && failure.is_none(),
            why_not: failure.or(loss),
            wall_ns: record.and_then(|record| record.metrics.get(&Metric::Wall).copied()),
            products: products.map(|product| (product.name.clone(), product.content.blake3)).collect(),
        }
    }
}
