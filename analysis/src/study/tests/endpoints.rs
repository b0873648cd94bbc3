//! The verdicts that a plan declares beside the headlines.

use super::changed_report;
use super::synthetic::Synthetic;
use crate::gate::{Conclusion, Judgement};
use crate::study::{EndpointReport, EndpointVerdict, Report, Verdict};
use speedup_core::experiment::metric::{Better, Metric};
use speedup_core::run::record::Record;
use speedup_statistics::inference::Threshold;

const RATE: &str = "[metrics.output.rate]\nregex = 'x ([0-9]+)'\nunit = \"MB/s\"\nbetter = \"higher\"\n[analysis.verdicts.rate]\n";

/// The report of so many benchmarks and runs of a cell in 2 versions, when the record of each run is changed: the function is told the
/// version and the repetition, from 0.
fn report(benchmarks: usize, runs: u32, more: &str, change: impl Fn(u32, u64, &mut Record)) -> Report {
    changed_report(&Synthetic::new(benchmarks, 2, runs, more), change)
}

fn wall(record: &mut Record, value: u64) {
    record.metrics.insert(Metric::Wall, value);
}

fn verdicts(endpoint: &EndpointReport) -> Vec<EndpointVerdict> {
    endpoint.rows.iter().map(|row| row.verdict).collect()
}

/// One run in ten of the candidate stalls: its 95th percentile is worse, and its median is the same.
#[test]
fn a_tail_gets_worse_where_the_centre_does_not() {
    let report =
        report(1, 200, "[analysis]\nmargin = \"2%\"\nquantiles = [0.95]\n", |version, at, record| {
            let stalls = version == 1 && at % 10 == 3;
            wall(record, 1_000_000 + 100 * at + if stalls { 900_000 } else { 0 });
        });
    let [tail] = &report.endpoints[..] else { panic!("one endpoint") };
    assert_eq!((tail.name().as_str(), tail.better), ("p95 of wall", Better::Lower));
    assert_eq!(verdicts(tail), [EndpointVerdict::Worse]);
    assert!(tail.rows[0].ratio.unwrap() < 0.6);
    assert_eq!(report.benchmarks[0].comparisons[0].verdict, Verdict::Same);
    let gate = Judgement::new(Conclusion::of_report(&report), Threshold::NONE);
    let [regression] = &gate.regressions[..] else { panic!("{gate:?}") };
    assert!(regression.to_string().starts_with("v1 on b0: p95 of wall worse, 0.5"), "{regression}");
}

#[test]
fn a_tail_is_refused_with_the_runs_that_it_takes() {
    let report = report(1, 20, "[analysis]\nquantiles = [0.9, 0.99]\n", |version, at, record| {
        wall(record, 1_000_000 + 1000 * (at % 7) + u64::from(version));
    });
    for (endpoint, runs) in report.endpoints.iter().zip(["takes 36 indep", "takes 368 indep"]) {
        let row = &endpoint.rows[0];
        assert_eq!((row.verdict, row.ratio), (EndpointVerdict::NotEnoughData, None));
        assert!(row.reason.as_ref().unwrap().sentence.contains(runs), "{row:?}");
        // It counts in the family all the same.
        assert_eq!(row.adjusted[0].p_value, 1.0);
    }
    let told = &report.suites[0].multiplicity[0].sentence;
    assert!(told.contains("adjusted for 1 benchmark and 2 verdicts on other endpoints"), "{told}");
}

#[test]
fn a_metric_gets_a_verdict_with_its_margin_and_its_direction() {
    let plan = format!("{RATE}[analysis.verdicts.max_rss]\nmargin = \"5%\"\n");
    let report = report(2, 20, &plan, |version, at, record| {
        record.metrics.insert(Metric::MaxRss, 4096 * (1000 + at % 3));
        let rate = if version == 1 { 90.0 } else { 100.0 };
        record.series.insert("rate".to_owned(), vec![rate + at as f64 / 10.0]);
    });
    let [rate, memory] = &report.endpoints[..] else { panic!("two endpoints") };
    assert_eq!((memory.name().as_str(), verdicts(memory)), ("max_rss", vec![EndpointVerdict::Same; 2]));
    assert_eq!((rate.better, verdicts(rate)), (Better::Higher, vec![EndpointVerdict::Worse; 2]));
    let ratio = rate.rows[0].ratio.unwrap();
    assert!((ratio - 90.95 / 100.95).abs() < 1e-9, "{ratio}");
    // The tables of medians say where the verdicts stand.
    let sentence = |name: &str| &report.metrics.iter().find(|one| one.metric == name).unwrap().sentence;
    assert!(sentence("max_rss").contains("endpoints") && sentence("rate").contains("endpoints"));
    assert!(!sentence("user").contains("endpoints"));
}

/// A family of its own leaves the headlines as they are; the common one does not.
#[test]
fn endpoints_share_the_risk_that_the_plan_says() {
    let of = |family: &str| {
        let more = format!("[analysis.verdicts.max_rss]\nfamily = \"{family}\"\n");
        report(2, 12, &more, |version, at, record| {
            wall(record, 1_000_000 + 10_000 * at - u64::from(version) * 90_000);
            record.metrics.insert(Metric::MaxRss, 4096 * (1000 + (7 * at + u64::from(version)) % 12));
        })
    };
    let p = |report: &Report| report.benchmarks[0].comparisons[0].adjusted[0].p_value;
    let (common, own) = (of("common"), of("own"));
    let plain = report(2, 12, "", |version, at, record| {
        wall(record, 1_000_000 + 10_000 * at - u64::from(version) * 90_000);
    });
    assert_eq!(p(&own), p(&plain));
    assert!(p(&common) > p(&own), "{} {}", p(&common), p(&own));
    let [memory] = &own.endpoints[..] else { panic!("one endpoint") };
    assert_eq!(memory.rows[0].adjusted.len(), 2);
}

#[test]
fn values_that_are_not_positive_are_refused_by_their_reason() {
    let report = report(1, 12, "[analysis.verdicts.max_rss]\n", |_, at, record| {
        record.metrics.insert(Metric::MaxRss, at % 2);
    });
    let row = &report.endpoints[0].rows[0];
    assert_eq!(row.verdict, EndpointVerdict::NotEnoughData);
    assert_eq!(row.reason.as_ref().unwrap().code, "not_positive");
}

/// The mean of a host's runs is no run.
#[test]
fn a_tail_of_hosts_is_refused() {
    let more = "[analysis]\nquantiles = [0.9]\n[independence]\npolicy = \"rebooted\"\nscope = \"cell\"\n";
    let synthetic = Synthetic::nested(1, 2, "hosts = 8\nboots = 2\nruns = 2\n", more);
    let report = synthetic.report();
    let row = &report.endpoints[0].rows[0];
    assert_eq!(row.reason.as_ref().unwrap().code, "no_single_runs", "{row:?}");
}
