//! One golden file for each version of the report's shape: what was written once is read for ever. The command renders
//! these files in its own tests.
//!
//! `SPEEDUP_UPDATE_GOLDEN=1 cargo test -p speedup-analysis golden` writes them anew.

#![expect(clippy::disallowed_methods, reason = "a golden file is a file")]

use super::synthetic::{Synthetic, Times, with_ranks};
use crate::study::{Figures, Mixtures, Report, ReportOptions};
use serde_json::Value;
use speedup_core::{
    experiment::gang::ScalingLaw, experiment::metric::Metric, host::Exclusion, host::ExclusionCause,
    machine::event::AttemptEnd, machine::event::EndedAttempt, run::AfterLoss, run::LossReason, run::Obstacle,
    run::record::Failure, value::id::Attempt, value::time::Span, value::time::Timestamp,
};
use std::{path::PathBuf, sync::Arc};

/// Two versions, every verdict, failures and losses, one host.
fn finished() -> Synthetic {
    let names = "sort uniq-count compress-a-rather-large-archive grep join awk";
    let exit = Failure::Exit { code: 2, expected: 0 };
    Synthetic::named(names, "utf8 c", 30, "")
        .hosts(1)
        .times(0, 0, Times::normal(123e6, 3e6))
        .times(0, 1, Times::normal(100e6, 2e6))
        .times(1, 0, Times::Skewed { least: 20e6, scale: 1e6 })
        .times(1, 1, Times::Skewed { least: 16e6, scale: 1e6 })
        .times(2, 0, Times::normal(1_500e6, 40e6))
        .times(2, 1, Times::normal(1_620e6, 35e6))
        .times(3, 0, Times::normal(45e6, 1e6))
        .times(3, 1, Times::normal(44.9e6, 1e6))
        .fail(4, 1, 30, &exit, "join: file 1 is not in sorted order")
        .times(5, 0, Times::Constant(60e6))
        .times(5, 1, Times::Constant(60e6))
        .fail(0, 1, 2, &Failure::TimedOut { limit: Span::from_secs(60) }, "")
        .lose(3, 0, 5, LossReason::HostLost, AfterLoss::Again(Attempt(2)))
        .lose(
            3,
            1,
            6,
            LossReason::NotExecuted {
                reason: "no space left on device".to_owned(),
                obstacle: Obstacle::Host,
            },
            AfterLoss::Abandoned,
        )
        .late()
}

/// Three versions of benchmarks drawn from a population, on fresh hosts, not finished.
fn drawn() -> Synthetic {
    let names: Vec<String> = (0..40).map(|at| format!("polybench-{at:02}")).collect();
    let more = "[population]\nsample = 12\n[independence]\npolicy = \"distinct\"\n";
    let mut drawn = Synthetic::named(&names.join(" "), "gcc-12 gcc-13 clang", 35, more).take(900).running();
    for at in 0..12 {
        let base = 3e3 * f64::from(at + 1);
        drawn = drawn
            .times(at, 0, Times::normal(base, base / 50.0))
            .times(at, 1, Times::normal(base * (0.93 + 0.01 * f64::from(at)), base / 50.0))
            .times(at, 2, Times::Skewed { least: base * 0.9, scale: base / 20.0 });
    }
    drawn
}

/// Mixtures, clear ones: what is on the edge between two of them may fall to either side on another processor.
fn mixed() -> Report {
    let clusters = Times::TwoClusters { means: [90e6, 110e6], deviation: 1e6, share: 0.6 };
    let synthetic = Synthetic::named("sort grep", "old new", 40, "")
        .hosts(8)
        .times(0, 0, clusters)
        .times(0, 1, clusters)
        .times(1, 1, Times::normal(99.8e6, 1e6));
    let asked = ReportOptions { mixtures: Mixtures::Fitted, ..ReportOptions::default() };
    synthetic.study_of(&synthetic.attempts()).report_with(asked).unwrap()
}

/// A slow host, one that was quarantined, a canary that drifts on another, and a metric of the plan's own.
fn watched() -> Report {
    let more = "[canary]\nshell = \"sum /bin/ls\"\n[metrics.output.rate]\nregex = 'x ([0-9]+)'\nunit = \"MB/s\"\nbetter = \"higher\"\n";
    let synthetic = Synthetic::named("sort grep", "old new", 40, more).hosts(8).slow_host(3, 1.05).times(
        0,
        1,
        Times::normal(97e6, 1e6),
    );
    let exclusion = Exclusion {
        host: "host-5".parse().unwrap(),
        at: Timestamp(1_790_000_030_000_000_000),
        cause: ExclusionCause::Quarantined {
            by: "coordinator".to_owned(),
            reason: "three attempts in a row were lost on it".to_owned(),
        },
        resumed: None,
    };
    let mut study = synthetic.study().with_exclusions(vec![exclusion]);
    for (mut attempt, at) in synthetic.attempts().into_iter().zip(0_u32..) {
        let drifts = attempt.lease.host.as_str() == "host-6";
        let EndedAttempt { end: AttemptEnd::Reported(record), .. } = &mut attempt else { panic!("reported") };
        let record = Arc::make_mut(record);
        let wall = record.metrics[&Metric::Wall];
        let canary = 10_000_000 + u64::from(at * 7_919 % 101) * 1_000;
        record.canary = Some(Span(canary + if drifts { u64::from(at) * 5_000 } else { 0 }));
        let rate = 1e10 / wall as f64;
        record.series.insert("rate".to_owned(), vec![0.995 * rate, rate, 1.005 * rate]);
        study.add(&attempt).unwrap();
    }
    study.report(None).unwrap()
}

/// The first of four looks: one benchmark is concluded, one is not.
fn looked() -> Report {
    let synthetic =
        Synthetic::looking("sort grep", "old new", "looks = 4\nmaximum = 40\nspending = \"pocock\"\n")
            .times(0, 1, Times::normal(90e6, 1e6))
            .times(1, 1, Times::normal(99.8e6, 1e6));
    synthetic.report()
}

/// With what plots are drawn from: clusters, a benchmark without runs of one version, and one whose times are all equal.
fn drawn_figures() -> Report {
    let exit = Failure::Exit { code: 2, expected: 0 };
    let synthetic = Synthetic::named("sort grep join awk", "old new", 60, "")
        .hosts(6)
        .times(0, 0, Times::normal(123e6, 3e6))
        .times(0, 1, Times::normal(100e6, 2e6))
        .times(1, 0, Times::TwoClusters { means: [45e6, 52e6], deviation: 0.5e6, share: 0.6 })
        .times(1, 1, Times::TwoClusters { means: [44e6, 51.5e6], deviation: 0.5e6, share: 0.5 })
        .fail(2, 1, 60, &exit, "join: file 1 is not in sorted order")
        .times(3, 0, Times::Constant(60e6))
        .times(3, 1, Times::Constant(60e6));
    let asked = ReportOptions { figures: Figures::Drawn, ..ReportOptions::default() };
    synthetic.study_of(&synthetic.attempts()).report_with(asked).unwrap()
}

/// One version built six times, whose builds differ, beside one that came as it is.
fn built() -> Report {
    let synthetic = Synthetic::named("sort grep", "old new", 24, "").built(6).build_spread(0.02, 3).times(
        0,
        1,
        Times::normal(90e6, 1e6),
    );
    synthetic.report()
}

/// One program on several numbers of hosts: a version by Amdahl's law, and one that talks more the more hosts there are.
fn scaled() -> Report {
    let hosts = [1, 2, 4, 8, 16];
    let names = hosts.map(|hosts| format!("solve-{hosts}hosts")).join(" ");
    let synthetic = Synthetic::named(&names, "old new", 20, "").scaling(ScalingLaw::Strong, &hosts);
    let with_times = hosts.into_iter().zip(0..).fold(synthetic, |synthetic, (hosts, at)| {
        let hosts = f64::from(hosts);
        let [old, new] = [0.1 + 0.9 / hosts, 0.8 * (0.02 + 0.98 / hosts + 0.01 * hosts.log2().powi(2))];
        let law = |mean: f64| Times::normal(60e9 * mean, 1e9 * mean);
        synthetic.times(at, 0, law(old)).times(at, 1, law(new))
    });
    with_times.report()
}

/// Runs of 16 ranks on 4 of 7 hosts, of which one rank is the slowest too often, one host is slow, and one rank of
/// one run told nothing.
fn ranked() -> Report {
    let synthetic = Synthetic::named("solve", "old new", 20, "").of_ranks(4, 4);
    let host = |run: u32, seat: u32| Some(format!("node-{}", (run + seat * (1 + run % 2)) % 7));
    let mut attempts = synthetic.with_parts(&host);
    let slow = |run: u32, rank: u32| {
        let on_slow_host = host(run, rank / 4).as_deref() == Some("node-4") && rank.is_multiple_of(4);
        if rank == 5 && run.is_multiple_of(2) { 3_000_000 } else { u64::from(on_slow_host) * 2_000_000 }
    };
    with_ranks(&mut attempts, 4, &|run, rank| {
        90_000_000 + u64::from((run * 7_919 + rank * 104_729) % 1_009) * 1_000 + slow(run, rank)
    });
    let told_last = attempts.iter_mut().rfind(|ended| ended.lease.is_of_member());
    if let Some(EndedAttempt { end: AttemptEnd::Reported(record), .. }) = told_last {
        Arc::make_mut(record).ranks.pop();
    }
    synthetic.study_of(&attempts).report(None).unwrap()
}

/// Runs on 3 hosts below one, two or three leaf switches, of which the candidate's have more.
fn placed() -> Report {
    let synthetic = Synthetic::named("solve reduce", "old new", 20, "").of_ranks(3, 1);
    let plan = synthetic.study().plan().clone();
    let mut study = synthetic.study();
    for mut ended in synthetic.with_parts(&|run, seat| Some(format!("node-{run}-{seat}"))) {
        let run = ended.lease.run;
        let version = plan.cell(run).map_or(0, |cell| cell.version.0);
        let spans = 1 + (run.0 * 7 % 5).min(1 + version);
        let seat = ended.lease.seat.as_ref().map_or(0, |seat| seat.number);
        ended.lease.evidence.switches = format!("core.leaf-{}", seat % spans).parse().ok();
        if let AttemptEnd::Reported(record) = &mut ended.end
            && let Some(wall) = Arc::make_mut(record).metrics.get_mut(&Metric::Wall)
        {
            *wall += *wall / 50 * u64::from(spans - 1);
        }
        study.add(&ended).unwrap();
    }
    study.report(None).unwrap()
}

fn empty() -> Synthetic {
    Synthetic::named("sort", "utf8 c", 30, "").take(0).running()
}

#[test]
fn reports_of_version_1_are_as_they_were() {
    let reports = [
        // What was stored before trimmed means were the default says what it said then.
        ("by_size", finished().without_center().report()),
        ("finished", finished().report()),
        ("drawn", drawn().report()),
        ("empty", empty().report()),
        ("mixed", mixed()),
        ("watched", watched()),
        ("looked", looked()),
        ("figures", drawn_figures()),
        ("built", built()),
        ("scaled", scaled()),
        ("ranked", ranked()),
        ("placed", placed()),
    ];
    for (name, report) in reports {
        let path: PathBuf =
            [env!("CARGO_MANIFEST_DIR"), "tests/golden", &format!("report_v1_{name}.json")].iter().collect();
        if std::env::var_os("SPEEDUP_UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, serde_json::to_string_pretty(&report).unwrap() + "\n").unwrap();
        }
        let kept =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let read: Report = serde_json::from_str(&kept).unwrap();
        let (now, then) = (serde_json::to_value(&report).unwrap(), serde_json::to_value(&read).unwrap());
        assert_close(&now, &then, name);
    }
}

/// The first files of this version knew nothing of what was added since.
#[test]
fn the_first_report_of_version_1_is_still_read() {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests/golden/report_v1_first.json"].iter().collect();
    let kept = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let read: Report = serde_json::from_str(&kept).unwrap();
    assert_eq!((read.benchmarks.len(), read.diagnostics), (6, None));
    assert!(read.suites[0].multiplicity.is_empty());
    let cells = read.benchmarks.iter().flat_map(|benchmark| &benchmark.cells);
    assert!(cells.clone().count() == 12 && cells.clone().all(|cell| cell.diagnostics.is_none()));
}

/// Equal but for the last digits of numbers: the logarithm of another C library may round another way.
fn assert_close(now: &Value, then: &Value, at: &str) {
    match (now, then) {
        (Value::Number(now), Value::Number(then)) => {
            let (now, then) = (now.as_f64().unwrap(), then.as_f64().unwrap());
            assert!((now - then).abs() <= 1e-9 * then.abs().max(1e-3), "{at}: {now} was {then}");
        }
        (Value::Array(now), Value::Array(then)) => {
            assert_eq!(now.len(), then.len(), "{at}");
            now.iter()
                .zip(then)
                .enumerate()
                .for_each(|(k, (now, then))| assert_close(now, then, &format!("{at}[{k}]")));
        }
        (Value::Object(now), Value::Object(then)) => {
            assert_eq!(now.keys().collect::<Vec<_>>(), then.keys().collect::<Vec<_>>(), "{at}");
            now.iter().for_each(|(key, value)| assert_close(value, &then[key], &format!("{at}.{key}")));
        }
        (now, then) => assert_eq!(now, then, "{at}"),
    }
}
