//! The verdicts that a plan declares beside the headlines.

use super::{changed_report, synthetic::Synthetic};
use crate::study::{EndpointReport, EndpointVerdict, Report};
use crate::{conclusion::ReasonCode, conclusion::Verdict, gate::Conclusion, gate::GateRulings};
use speedup_core::{experiment::metric::Better, experiment::metric::Metric, run::record::Record};

const RATE: &str = "[metrics.output.rate]\nregex = 'x ([0-9]+)'\nunit = \"MB/s\"\nbetter = \"higher\"\n[analysis.verdicts.rate]\n";

/// The report of so many benchmarks and runs of a cell in 2 versions, when the record of each run is changed: the function is told the
/// version and the repetition, from 0.
fn report(benchmarks: usize, runs: u32, more: &str, change: impl Fn(u32, u64, &mut Record)) -> Report {
    changed_report(&Synthetic::new(benchmarks, 2, runs, more), change)
}

pub(super) fn wall(record: &mut Record, value: u64) {
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
    let gate = GateRulings::new(Conclusion::of_report(&report));
    let [regression] = &gate.regressions[..] else { panic!("{gate:?}") };
    assert!(regression.to_string().starts_with("v1 on b0: p95 of wall "), "{regression}");
}

#[test]
fn a_tail_is_refused_with_the_runs_that_it_takes() {
    let report = report(1, 20, "[analysis]\nquantiles = [0.9, 0.99]\n", |version, at, record| {
        wall(record, 1_000_000 + 1000 * (at % 7) + u64::from(version));
    });
    for (endpoint, runs) in report.endpoints.iter().zip([" 36 ", " 368 "]) {
        let row = &endpoint.rows[0];
        assert_eq!((row.verdict, row.ratio), (EndpointVerdict::NotEnoughData, None));
        assert!(row.reason.as_ref().unwrap().sentence.contains(runs), "{row:?}");
        // It counts in the family all the same.
        assert_eq!(row.adjusted[0].p_value, 1.0);
    }
    let told = &report.suites[0].multiplicity[0].sentence;
    assert!(told.contains("1 benchmark and 2 "), "{told}");
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
    assert!((ratio - 90.95 / 100.95).abs() < 1e-5, "{ratio}");
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

/// Page faults, mostly none: the difference of the medians, by the order statistics.
#[test]
fn values_that_may_be_zero_are_compared_by_their_difference() {
    for center in ["median", "mean", "trimmed"] {
        let plan =
            format!("[analysis]\ncenter = \"{center}\"\n[analysis.verdicts.max_rss]\nmargin = \"10%\"\n");
        let report = report(1, 12, &plan, |version, at, record| {
            record.metrics.insert(Metric::MaxRss, at % 3 + u64::from(version) * 5);
        });
        let row = &report.endpoints[0].rows[0];
        assert_eq!((row.verdict, row.ratio, &row.interval), (EndpointVerdict::Worse, None, &None), "{row:?}");
        let difference = row.difference.as_ref().unwrap();
        assert!((difference.estimate - 5.0).abs() < 1e-9, "{difference:?}");
        let (lower, upper) = difference.interval.ends().unwrap();
        assert!(lower > 3.0 && lower < 5.0 && upper > 5.0 && upper < 7.0, "{center}: {lower} {upper}");
        assert!(row.p_value.unwrap() < 0.05 && row.p_same.unwrap() > 0.9);
        let gate = GateRulings::new(Conclusion::of_report(&report));
        let regression = gate.regressions.iter().map(ToString::to_string).find(|one| one.contains("max_rss"));
        assert!(regression.is_some_and(|one| one.starts_with("v1 on b0: max_rss worse")), "{gate:?}");
    }
}

/// Higher is better, and the candidate's rate is 0: the difference keeps its sign, and the verdict is worse.
#[test]
fn the_difference_is_the_candidates_less_the_baselines_whichever_is_better() {
    let report = report(1, 12, RATE, |version, at, record| {
        let rate = if version == 1 { 0.0 } else { 100.0 + (at % 3) as f64 };
        record.series.insert("rate".to_owned(), vec![rate]);
    });
    let row = &report.endpoints[0].rows[0];
    let difference = row.difference.as_ref().unwrap();
    assert_eq!((row.verdict, difference.estimate), (EndpointVerdict::Worse, -101.0));
    assert!(difference.interval.ends().unwrap().1 < -99.0, "{difference:?}");
}

/// Equal throughout: the same where a margin is declared, by either centre, and said where none is.
#[test]
fn values_that_are_all_equal_are_the_same_only_with_a_margin() {
    for (value, center) in
        [(0, "median"), (0, "mean"), (0, "trimmed"), (4096, "median"), (4096, "mean"), (4096, "trimmed")]
    {
        let of = |runs, margin: &str| {
            let plan = format!("[analysis]\ncenter = \"{center}\"\n[analysis.verdicts.max_rss]\n{margin}");
            report(1, runs, &plan, |_, _, record| {
                record.metrics.insert(Metric::MaxRss, value);
            })
        };
        let row = |report: &Report| report.endpoints[0].rows[0].clone();
        let with = row(&of(12, "margin = \"1%\"\n"));
        assert_eq!((with.verdict, with.p_value), (EndpointVerdict::Same, Some(1.0)), "{with:?}");
        assert!((with.p_same.unwrap() - 2.0_f64.powi(-12)).abs() < 1e-9, "{with:?}");
        let without = row(&of(12, ""));
        assert_eq!(without.verdict, EndpointVerdict::Undecided);
        assert!(without.note.unwrap().contains(&format!("({value}). ")));
        let few = row(&of(5, "margin = \"1%\"\n"));
        assert!(few.reason.unwrap().sentence.contains(" 6 "));
    }
}

#[test]
fn a_mean_without_error_is_refused_and_a_margin_of_nothing_is_told() {
    let report = |center: &str, value: fn(u32, u64) -> u64| {
        let plan =
            format!("[analysis]\ncenter = \"{center}\"\n[analysis.verdicts.max_rss]\nmargin = \"5%\"\n");
        let report = report(1, 12, &plan, |version, at, record| {
            record.metrics.insert(Metric::MaxRss, value(version, at));
        });
        report.endpoints[0].rows[0].clone()
    };
    let constant = report("mean", |version, _| u64::from(version) * 5);
    assert_eq!(constant.reason.as_ref().unwrap().code, ReasonCode::Constant, "{constant:?}");
    for center in ["trimmed", "median"] {
        assert_eq!(report(center, |version, _| u64::from(version) * 5).verdict, EndpointVerdict::Worse);
    }
    let rare = report("median", |_, at| u64::from(at % 4 == 0));
    assert!(rare.note.as_ref().unwrap().starts_with("The margin is a share"), "{rare:?}");
}

/// What is compared within pairs or classes is so by its difference as well.
#[test]
fn differences_keep_the_design() {
    for (more, unit) in [
        ("[independence]\npolicy = \"distinct\"\n[design]\norder = \"blocked\"\n", "visit"),
        ("[independence]\npolicy = \"distinct\"\nhosts = \"classes\"\n", "run"),
    ] {
        for center in ["median", "mean", "trimmed"] {
            let plan = format!("{more}[analysis]\ncenter = \"{center}\"\n[analysis.verdicts.max_rss]\n");
            let synthetic = Synthetic::new(1, 2, 36, &plan).visits();
            let synthetic = if unit == "run" { synthetic.of_two_classes() } else { synthetic };
            let report = changed_report(&synthetic, |version, at, record| {
                record
                    .metrics
                    .insert(Metric::MaxRss, 2 * (at % 3) + if version == 1 { 0 } else { 3 + at % 2 });
            });
            let row = &report.endpoints[0].rows[0];
            assert_eq!(row.verdict, EndpointVerdict::Better, "{center}: {row:?}");
            assert_eq!(row.unit.as_str(), unit, "{center}: {row:?}");
            let difference = row.difference.as_ref().unwrap();
            assert!(difference.estimate < -2.0 && difference.estimate > -5.0, "{difference:?}");
        }
    }
}

/// Each host counts by the tail of its own runs where it has ten, and by one of them where not: then it takes 36 hosts.
#[test]
fn a_tail_of_hosts_is_by_their_own_tails_or_by_a_run_of_each() {
    let row = |repetitions: &str| {
        let more = "[analysis]\nquantiles = [0.9]\n[independence]\npolicy = \"rebooted\"\nscope = \"cell\"\n";
        let synthetic = Synthetic::nested(1, 2, repetitions, more).visits();
        let report = changed_report(&synthetic, |version, at, record| {
            let stalls = version == 1 && at % 4 == 0;
            wall(record, 1_000_000 + 100 * (at * 7 % 13) + if stalls { 900_000 } else { 0 });
        });
        report.endpoints[0].rows[0].clone()
    };
    let own = row("hosts = 8\nboots = 2\nruns = 8\n");
    assert_eq!((own.verdict, own.unit.as_str()), (EndpointVerdict::Worse, "host"), "{own:?}");
    assert!(own.note.as_ref().unwrap().contains("p90 of its own runs"), "{own:?}");
    let drawn = row("hosts = 40\nboots = 1\nruns = 4\n");
    assert_eq!((drawn.verdict, drawn.unit.as_str()), (EndpointVerdict::Worse, "host"), "{drawn:?}");
    assert!(drawn.note.as_ref().unwrap().contains("drawn"), "{drawn:?}");
    let few = row("hosts = 8\nboots = 2\nruns = 2\n");
    let reason = few.reason.as_ref().unwrap();
    assert_eq!((reason.code.as_str(), few.verdict), ("too_few_units", EndpointVerdict::NotEnoughData));
    assert!(reason.sentence.contains("36 hosts") && reason.sentence.contains("10 runs"), "{few:?}");
    let five = row("hosts = 5\nboots = 2\nruns = 8\n");
    assert!(five.reason.as_ref().unwrap().sentence.contains("6 hosts"), "{five:?}");
    let boots = row("boots = 12\nruns = 10\n");
    assert_eq!((boots.verdict, boots.unit.as_str()), (EndpointVerdict::Worse, "boot"), "{boots:?}");
}

/// The two versions of a visit share a host: each keeps half of the risk, so that p90 takes 42 visits and not 36.
#[test]
fn a_tail_of_visits_supposes_nothing_of_what_their_versions_share() {
    let row = |visits: u32| {
        let more = "[analysis]\nquantiles = [0.9]\n[independence]\npolicy = \"distinct\"\n[design]\norder = \"blocked\"\n";
        let synthetic = Synthetic::new(1, 2, visits, more).visits();
        let report = changed_report(&synthetic, |version, at, record| {
            let stalls = version == 1 && at % 4 == 0;
            wall(record, 1_000_000 + 100 * at + if stalls { 900_000 } else { 0 });
        });
        report.endpoints[0].rows[0].clone()
    };
    let refused = row(41).reason.unwrap();
    assert!(refused.sentence.contains(" 42 "), "{refused:?}");
    let tail = row(60);
    assert_eq!((tail.verdict, tail.unit.as_str(), &tail.note), (EndpointVerdict::Worse, "visit", &None));
    let method = tail.interval.as_ref().unwrap().method().unwrap().to_owned();
    assert!(method.contains("(Bonferroni)"), "{method}");
}
