//! The names on the page are those of the documentation, each with its labels.

use std::{collections::BTreeSet, time::Duration};

use super::*;
use crate::metrics::{Metrics, Outcome, RefusedCall, RefusedConnection, RefusedEnrolment};

fn described(page: &str) -> BTreeSet<String> {
    let name = |line: &str| Some(line.strip_prefix("# TYPE ")?.split(' ').next()?.to_owned());
    page.lines().filter_map(name).collect()
}

#[test]
fn every_metric_is_documented_and_nothing_else_is() {
    let metrics = Metrics::default();
    let gauges = Gauges::new(metrics.registrar());
    metrics.called("/speedup.v1.Hosts/List", "OK");
    metrics.answered("/speedup.v1.Hosts/List", Outcome::Ok, Duration::from_millis(3));
    gauges.show_machine(&MachineCounts::default());
    gauges.show_health(&BTreeSet::new());
    gauges.process.show();
    let page = metrics.page();
    let documentation = include_str!("../../../docs/operations.md");
    let name = |line: &str| {
        let name = line.strip_prefix("| `")?.split(['`', '{']).next()?;
        (name.starts_with("speedup_") || name.starts_with("process_")).then(|| name.to_owned())
    };
    let documented: BTreeSet<String> = documentation.lines().filter_map(name).collect();
    assert_eq!(described(&page), documented);
}

#[test]
fn what_happens_is_counted_by_few_labels() {
    let metrics = Metrics::default();
    let _gauges = Gauges::new(metrics.registrar());
    metrics.committed(&[], 5, Duration::from_millis(3));
    metrics.refused_connection(RefusedConnection::Handshake);
    metrics.refused_call(RefusedCall::Expired);
    metrics.refused_enrolment(RefusedEnrolment::Token);
    let page = metrics.page();
    for line in [
        "speedup_journal_sync_seconds_bucket{le=\"0.0025\"} 0",
        "speedup_journal_sync_seconds_bucket{le=\"0.005\"} 1",
        "speedup_journal_written_bytes_total 5",
        "speedup_connections_refused_total{reason=\"handshake\"} 1",
        "speedup_connections_refused_total{reason=\"full\"} 0",
        "speedup_calls_refused_total{reason=\"expired\"} 1",
        "speedup_calls_refused_total{reason=\"role\"} 0",
        "speedup_enrolments_refused_total{reason=\"token\"} 1",
        "speedup_enrolments_refused_total{reason=\"host_taken\"} 0",
        "speedup_attempts_lost_total{reason=\"host_lost\"} 0",
        "speedup_provision_engines{engine=\"slurm\"} 0",
        "speedup_provision_failures_total{engine=\"local\",reason=\"too_short\"} 0",
    ] {
        assert!(page.lines().any(|found| found == line), "{line} is not in\n{page}");
    }
}
