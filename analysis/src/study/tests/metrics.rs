//! The other metrics of a report: those of a plan's own, and what is lacking.

use super::{changed_report, synthetic::Synthetic};
use crate::conclusion::{ReasonCode, Warning};
use crate::study::{IntervalReport, MetricReport, OwnComparison, Report, RunUnit};
use speedup_core::experiment::metric::{Absence, Better, Metric};
use speedup_core::{machine::event::AttemptEnd, machine::event::EndedAttempt, run::record::Record};
use std::sync::Arc;

const OWN: &str = "[metrics.output.rate]\nregex = 'x ([0-9]+)'\nunit = \"MB/s\"\nbetter = \"higher\"\n\
    [metrics.output.pause]\npointer = \"/pause\"\n";

/// The report of an experiment of 2 benchmarks and 2 versions, 10 runs of each cell, when the record of each run is changed:
/// the function is told the version and the repetition, from 0.
fn report(change: impl Fn(u32, u64, &mut Record)) -> Report {
    changed_report(&Synthetic::new(2, 2, 10, OWN), change)
}

fn warning<'r>(report: &'r Report, code: &str) -> Option<&'r Warning> {
    report.warnings.iter().find(|warning| warning.code.as_str() == code)
}

fn metric<'r>(report: &'r Report, name: &str) -> &'r MetricReport {
    report.metrics.iter().find(|metric| metric.metric == name).unwrap()
}

#[test]
fn the_value_of_a_run_is_the_mean_of_its_iterations() {
    let report = report(|version, repetition, record| {
        let (first, shift) = if version == 0 { (100.0, 0.0) } else { (200.0, 5.0) };
        let around = first + repetition as f64;
        record.series.insert("rate".to_owned(), vec![around - 3.0, around + 1.0, around + 2.0]);
        record.series.insert("pause".to_owned(), vec![10.0 + shift]);
    });
    let rate = metric(&report, "rate");
    assert_eq!((rate.unit.as_str(), rate.better, rate.own), ("MB/s", Better::Higher, true));
    assert!(rate.sentence.contains("mean of the iterations"), "{}", rate.sentence);
    for row in &rate.rows {
        assert_eq!(row.medians, [Some(104.5), Some(204.5)]);
        assert_eq!(row.ratios, [Some(204.5 / 104.5)]);
    }
    let pause = metric(&report, "pause");
    assert_eq!(pause.unit.as_str(), "");
    assert_eq!(pause.better, Better::Lower);
    assert_eq!(*pause.rows[0].ratios, [Some(10.0 / 15.0)][..]);
    let names: Vec<&str> = report.metrics.iter().map(|metric| metric.metric.as_str()).collect();
    assert_eq!(names, ["user", "max_rss", "rate", "pause"], "own metrics come last, as the plan has them");
    assert_eq!(warning(&report, "own_metric_lacks_runs"), None);
}

#[test]
fn a_value_that_cannot_be_computed_with_is_told() {
    let report = report(|_, repetition, record| {
        record.series.insert("rate".to_owned(), vec![if repetition == 3 { 1e305 } else { 1.0 }]);
        record.series.insert("pause".to_owned(), vec![1.0]);
    });
    let warning = warning(&report, "own_metric_lacks_runs").unwrap();
    assert_eq!(warning.concerns, ["b0", "b1"]);
    assert!(warning.sentence.contains("no value of rate"), "{}", warning.sentence);
}

#[test]
fn what_is_absent_is_counted_with_its_reason() {
    let own = |record: &mut Record| {
        record.series.insert("rate".to_owned(), vec![1.0]);
        record.series.insert("pause".to_owned(), vec![1.0]);
    };
    let lacking = report(|version, repetition, record| {
        own(record);
        record.absent.insert(Metric::Instructions, Absence::Unsupported);
        if version == 1 && repetition < 3 {
            record.metrics.remove(&Metric::MaxRss);
            record.absent.insert(Metric::MaxRss, Absence::BelowFloor);
        }
    });
    let told = warning(&lacking, "metric_absent").unwrap();
    assert_eq!(told.concerns, ["b0", "b1"]);
    for part in ["max_rss: absent in 6 of 40", "instructions: absent in 40 of 40"] {
        assert!(told.sentence.contains(part), "{part}: {}", told.sentence);
    }
    // A program that never exceeds the agent's memory is told of in the table of memory, if there is one.
    let small = |versions: std::ops::Range<u32>| {
        report(|version, _, record| {
            own(record);
            if versions.contains(&version) {
                record.metrics.remove(&Metric::MaxRss);
                record.absent.insert(Metric::MaxRss, Absence::BelowFloor);
            }
        })
    };
    assert_eq!(warning(&small(1..2), "metric_absent"), None);
    let all = small(0..2);
    let told = &warning(&all, "metric_absent").unwrap().sentence;
    assert!(told.starts_with("max_rss: absent in 40 of 40"), "{told}");
}

#[test]
fn the_reason_told_is_that_of_the_first_run_whatever_the_order_of_arrival() {
    let synthetic = Synthetic::new(2, 2, 10, OWN);
    let of = |attempts: &mut dyn Iterator<Item = EndedAttempt>| {
        let mut study = synthetic.study();
        for mut attempt in attempts {
            let run = attempt.lease.run;
            let EndedAttempt { end: AttemptEnd::Reported(record), .. } = &mut attempt else {
                panic!("reported")
            };
            let reason = format!("run {run}");
            Arc::make_mut(record).absent.insert(Metric::EnergyPackage, Absence::Unreadable { reason });
            study.add(&attempt).unwrap();
        }
        study.report(None).unwrap()
    };
    let forth = of(&mut synthetic.attempts().into_iter());
    assert_eq!(forth, of(&mut synthetic.attempts().into_iter().rev()));
    assert!(warning(&forth, "metric_absent").unwrap().sentence.contains("run 0."));
}

#[test]
fn a_count_without_the_kernels_part_is_told() {
    let counted = |mixed: bool| {
        report(|_, repetition, record| {
            record.metrics.insert(Metric::Instructions, 1_000);
            if !mixed || repetition % 2 == 0 {
                record.user_only.insert(Metric::Instructions);
            }
        })
    };
    let all = counted(false);
    let sentence = &warning(&all, "counted_in_user_mode_only").unwrap().sentence;
    assert!(sentence.contains("instructions in 40 of 40"), "{sentence}");
    let half = counted(true);
    let sentence = &warning(&half, "counted_in_user_mode_only").unwrap().sentence;
    assert!(sentence.contains("instructions in 20 of 40"), "{sentence}");
    assert!(sentence.contains("not comparable"), "{sentence}");
}

/// Of nested runs hosts are independent: the interval is of their means, as that of the wall times; of a metric of which more
/// is better it is the candidate's over the baseline's.
#[test]
fn own_metrics_have_intervals_by_the_plans_levels() {
    let of = |plan: &str, repetitions: &str| {
        let more = format!("{OWN}[independence]\npolicy = \"distinct\"\n{plan}");
        let synthetic = Synthetic::nested(1, 2, repetitions, &more).visits().host_spread(0.05);
        synthetic.changed_report(|_, _, record| {
            // Two iterations about the wall time, and the same as a rate.
            let wall = record.metrics[&Metric::Wall] as f64;
            record.series.insert("pause".to_owned(), vec![0.99 * wall, 1.01 * wall]);
            record.series.insert("rate".to_owned(), vec![1e12 / wall]);
        })
    };
    let nested = of("", "hosts = 10\nboots = 2\nruns = 5\n");
    let wall = nested.benchmarks[0].comparisons[0].mean.as_ref().unwrap().interval.ends().unwrap();
    let OwnComparison { ratio, interval, unit } = &metric(&nested, "pause").rows[0].comparisons[0];
    let (lower, upper) = interval.ends().unwrap();
    assert!((lower - wall.0).abs() < 1e-6 && (upper - wall.1).abs() < 1e-6, "{wall:?} {lower} {upper}");
    assert!(*unit == RunUnit::Host && (lower..upper).contains(&ratio.unwrap()));
    let iterations = metric(&nested, "pause").rows[0].iterations[0].unwrap();
    assert_eq!((iterations.iterations, iterations.runs), (200, 100));
    let within = iterations.within_runs.unwrap();
    assert!(0.0 < within && within < 0.5, "the spread of hosts is larger: {within}");
    let rate = &metric(&nested, "rate").rows[0];
    assert_eq!(rate.iterations[0].unwrap().within_runs, None, "one iteration a run");
    let (lower, upper) = rate.comparisons[0].interval.ends().unwrap();
    assert!((lower / wall.0 - 1.0).abs() < 0.02 && (upper / wall.1 - 1.0).abs() < 0.02, "{lower} {upper}");
    // Pairs have the interval of pairs, and independent runs Fieller's, as a declared mean of the wall times; the columns have the ratio.
    for (order, unit) in [("[design]\norder = \"blocked\"\n", "visit"), ("", "run")] {
        let report = of(&format!("{order}[analysis]\ncenter = \"mean\"\n"), "runs = 12\n");
        let wall = report.benchmarks[0].comparisons[0].headline().unwrap().interval.ends().unwrap();
        let row = &metric(&report, "pause").rows[0];
        let found = &row.comparisons[0];
        let (lower, upper) = found.interval.ends().unwrap();
        assert!(found.unit.as_str() == unit && (lower - wall.0).abs() < 1e-6);
        assert!((upper - wall.1).abs() < 1e-6);
        let of_means = row.means[0].unwrap() / row.means[1].unwrap();
        assert!((found.ratio.unwrap() / of_means - 1.0).abs() < 1e-9);
        assert_eq!(row.ratio_of_means(0, Better::Lower), Some(of_means));
    }
}

#[test]
fn under_looks_own_metrics_have_no_interval() {
    let synthetic = Synthetic::nested(1, 2, "looks = 2\nmaximum = 20\n", OWN);
    let report = synthetic.changed_report(|_, lease, record| {
        record.series.insert("rate".to_owned(), vec![lease.run.0.into(), 1e3]);
        record.series.insert("pause".to_owned(), vec![1.0]);
    });
    let IntervalReport::Missing { reason } = &metric(&report, "rate").rows[0].comparisons[0].interval else {
        panic!("an interval under looks")
    };
    assert_eq!(reason.code, ReasonCode::LookedSequentially);
}
