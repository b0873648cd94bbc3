//! Hosts against each other: which are unlike the others, what depends on them, and how often that is a false alarm.

use super::{sentence, synthetic::Synthetic, synthetic::Times};
use crate::{conclusion::Verdict, conclusion::WarningCode, study::*};
use rand::RngExt as _;
use speedup_core::{independence::Violation, value::seed::Seed};
use speedup_statistics::{diagnostics::host_effect::HostRanks, inference::ConfidenceLevel, sample::Sample};

fn outlying(report: &Report) -> &OutlyingReport {
    report.diagnostics.as_ref().unwrap().hosts.outlying().expect("hosts were compared")
}

#[test]
fn an_outlying_host_is_named_with_how_much_it_is_slower() {
    let report = Synthetic::new(6, 2, 24, "").hosts(8).slow_host(3, 1.05).report();
    let found = outlying(&report);
    assert_eq!((found.compared, found.hosts.len(), found.more), (8, 1, 0), "{:?}", found.hosts);
    let host = &found.hosts[0];
    assert_eq!(host.host, "host-3");
    assert!((host.slower_percent.unwrap() - 5.0).abs() < 0.7, "{host:?}");
    assert!(host.p_value.unwrap() <= host.adjusted && host.adjusted < 1e-6, "{host:?}");
    let said = sentence(&report, "outlying_hosts");
    assert!(said.contains("host-3 (") && said.contains("p-value < 0.0001"), "{said}");
    let without = &found.without[0];
    assert_eq!((without.verdict, &without.changed), (report.suites[0].verdict, &Vec::new()));
    assert!(without.sentence().contains("undecided (1."), "{}", without.sentence());
}

/// Two hosts do not hide each other, and the others do not look fast beside them.
#[test]
fn hosts_are_left_out_one_after_another() {
    let cells: Vec<(Sample, Vec<u32>)> =
        (0..12).map(|cell| of_cell(cell, 10, 2, &|host| f64::from(host < 2) * 8.0)).collect();
    let cells: Vec<(&Sample, &[u32])> = cells.iter().map(|(sample, hosts)| (sample, &hosts[..])).collect();
    let found = HostRanks::new(&cells, ConfidenceLevel::USUAL).unwrap();
    let mut named: Vec<u32> = found.outlying().iter().map(|host| host.host).collect();
    named.sort_unstable();
    assert_eq!(named, [0, 1]);
    assert!(found.outlying().iter().all(|host| host.slower > 0.0 && host.z > 0.0));
}

/// A verdict that one host makes: it has more of the candidate's runs than of the baseline's.
#[test]
fn what_depends_on_an_outlying_host_is_told() {
    let report = Synthetic::new(4, 2, 30, "").hosts(6).slow_host(1, 1.4).report();
    let found = outlying(&report);
    assert_eq!(found.hosts.iter().map(|host| host.host.as_str()).collect::<Vec<_>>(), ["host-1"]);
    let all = found.without[0].changed.len();
    let named: Vec<&str> = report.benchmarks.iter().map(|one| one.name.as_str()).collect();
    assert!(all <= 4 && found.without[0].changed.iter().all(|name| named.contains(&name.as_str())));
}

/// A cell in which each of `hosts` made `runs` runs, with a shift of its own in deviations of a skewed law.
fn of_cell(cell: u32, hosts: u32, runs: u32, shift: &dyn Fn(u32) -> f64) -> (Sample, Vec<u32>) {
    let mut random = Seed(u64::from(cell)).child("runs of a cell");
    let of: Vec<u32> = (0..hosts * runs).map(|run| run % hosts).collect();
    let mut time = |host: &u32| 1e8 + 1e6 * (shift(*host) - random.random_range(1e-9..1.0_f64).ln());
    let values = of.iter().map(&mut time).collect();
    (Sample::new(values).unwrap(), of)
}

/// The promise: without any difference between hosts, one is named in at most a twentieth of experiments, whatever the law of
/// the times; with few hosts and runs, where a normal law would name too many, and where hosts served once in a cell.
#[test]
fn alike_hosts_are_named_in_at_most_a_twentieth() {
    const EXPERIMENTS: u32 = 1_000;
    for (hosts, runs, cells) in [(3, 1, 4), (4, 3, 2), (8, 2, 6), (20, 1, 10)] {
        let alarms = (0..EXPERIMENTS).filter(|experiment| {
            let one = |cell: u32| of_cell(experiment * cells + cell + hosts * 100_000, hosts, runs, &|_| 0.0);
            let cells: Vec<(Sample, Vec<u32>)> = (0..cells).map(one).collect();
            let cells: Vec<(&Sample, &[u32])> = cells.iter().map(|(sample, of)| (sample, &of[..])).collect();
            !HostRanks::new(&cells, ConfidenceLevel::USUAL).unwrap().outlying().is_empty()
        });
        // Of 1000 at 5 %, at most 73 with a probability of 99.9 %; the law is discrete, so there are mostly fewer.
        let alarms = alarms.count();
        assert!(alarms <= 73, "{hosts} hosts, {runs} runs, {cells} cells: {alarms}");
        assert!(hosts < 8 || alarms >= 20, "a test that never alarms: {alarms}");
    }
}

/// Classes are known to differ: of the verdict on a suite, the observed speedups and the hosts none is taken in by that.
#[test]
fn suites_and_hosts_are_compared_within_classes() {
    let plan = "[independence]\npolicy = \"distinct\"\nhosts = \"classes\"\n";
    let mut synthetic = Synthetic::new(3, 2, 36, plan).visits().of_two_classes();
    for benchmark in 0..3 {
        synthetic = synthetic.times(benchmark, 1, Times::normal(97e6, 1e6));
    }
    let report = synthetic.report();
    let suite = &report.suites[0];
    assert_eq!((suite.verdict, suite.over), (Verdict::Faster, 3));
    let (lower, upper) = suite.interval.as_ref().unwrap().ends().unwrap();
    assert!(lower > 1.02 && upper < 1.04, "{lower} {upper}");
    assert!(suite.sentence.contains("within the classes"), "{}", suite.sentence);
    for overall in &suite.overall {
        assert!((overall.speedup - 1.0 / 0.97).abs() < 0.01, "{overall:?}");
    }
    for means in &suite.speedup_means {
        assert!((means.geometric - 1.0 / 0.97).abs() < 0.01, "{means:?}");
    }
    for benchmark in &report.benchmarks {
        let observed = benchmark.comparisons[0].observed.unwrap();
        for speedup in [observed.min, observed.mean, observed.median] {
            assert!((speedup - 1.0 / 0.97).abs() < 0.01, "{observed:?}");
        }
    }
    assert_eq!((suite.proportions[0].of, suite.proportions[0].count), (Verdict::Faster, 3));
}

/// Each host serves all benchmarks once, and one class is half slower: of a class no host is unlike the others.
#[test]
fn a_class_is_no_outlying_host() {
    let report = |hosts: &str| {
        let plan = format!("[independence]\npolicy = \"any\"\nhosts = \"{hosts}\"\n");
        Synthetic::new(3, 2, 24, &plan).hosts(12).of_two_classes_by_host().report()
    };
    let blocked = report("classes");
    assert!(outlying(&blocked).hosts.is_empty(), "{:?}", outlying(&blocked).hosts);
    assert!(blocked.warnings.iter().all(|warning| warning.code != WarningCode::HostEffect));
    let pooled = report("any");
    assert!(pooled.warnings.iter().any(|warning| warning.code == WarningCode::HostEffect));
}

/// What is said of independence where each run is on a further host.
fn on_two_hosts(synthetic: Synthetic, second: &dyn Fn(u32) -> String) -> IndependenceReport {
    let host = |run, seat| (seat == 1).then(|| second(run));
    on_hosts(&synthetic.of_ranks(2, 1), &host, false)
}

/// Sets are seen in the attempts themselves: their leases say nothing here.
#[test]
fn a_set_of_hosts_is_fresh_once_and_a_host_among_others_again() {
    let synthetic = || Synthetic::new(1, 2, 3, "").of_sets().in_turn(3, None);
    let fresh = on_two_hosts(synthetic(), &|run| format!("second-{}", run / 3));
    assert_eq!((fresh.runs, fresh.hosts, fresh.fresh_runs), (6, 5, 6), "{}", fresh.sentence);
    assert_eq!(fresh.kind, IndependenceKind::Sets, "{}", fresh.sentence);
    assert!(fresh.sentence.contains("up to 3 "), "{}", fresh.sentence);
    let again = on_two_hosts(synthetic(), &|_| "second".to_owned());
    assert_eq!((again.kind, again.fresh_runs), (IndependenceKind::Broken, 3), "{}", again.sentence);
    assert_eq!(again.evidence.violations, [(Violation::SetUsed, 3)].into_iter().collect());
    let alone = on_two_hosts(Synthetic::new(1, 2, 3, "").of_sets(), &|run| format!("second-{run}"));
    assert_eq!(alone.kind, IndependenceKind::Provided, "{}", alone.sentence);
}

/// Each run is on two hosts. The second is what its part says, and a run is fresh only if both are.
#[test]
fn a_run_on_several_hosts_is_as_fresh_as_all_of_them() {
    let independence = |second: &dyn Fn(u32) -> String| on_two_hosts(Synthetic::new(1, 2, 3, ""), second);
    let fresh = independence(&|run| format!("second-{run}"));
    assert_eq!((fresh.runs, fresh.hosts, fresh.fresh_runs), (6, 12, 6), "{}", fresh.sentence);
    assert_eq!(fresh.kind, IndependenceKind::Provided, "{}", fresh.sentence);
    let reused = independence(&|run| format!("second-{}", run / 2));
    assert_eq!((reused.runs, reused.hosts, reused.fresh_runs), (6, 9, 3), "{}", reused.sentence);
    assert_eq!(reused.kind, IndependenceKind::NotProvided, "{}", reused.sentence);
    assert_eq!(reused.most_runs_on_one_host, 2);
}

/// Of a run on several hosts that one is named which was not fresh, the first of several, whatever the order in
/// which attempts come.
#[test]
fn the_host_that_was_not_fresh_is_named() {
    let synthetic = || {
        let distinct = "[independence]\npolicy = \"distinct\"\n";
        Synthetic::new(1, 2, 3, distinct).of_ranks(4, 1)
    };
    let named = |host: &dyn Fn(u32, u32) -> Option<String>| {
        let [there, back] = [false, true].map(|turned| on_hosts(&synthetic(), host, turned));
        assert_eq!(there, back);
        let of = |run: &ViolatingRun| (run.run, run.host.clone());
        there.evidence.violating_runs.iter().map(of).collect::<Vec<_>>()
    };
    let own = |run: u32, seat: u32| format!("host-{run}-{seat}");
    assert_eq!(named(&|run, seat| Some(own(run, seat))), []);
    let once = named(&|run, seat| Some(if (run, seat) == (4, 2) { own(1, 3) } else { own(run, seat) }));
    assert_eq!(once, [(4, own(1, 3))]);
    let first =
        named(&|run, seat| Some(if run == 5 && seat % 2 == 0 { own(0, 3 - seat) } else { own(run, seat) }));
    assert_eq!(first, [(5, own(0, 3))], "its first host, and another");
    let twice =
        named(&|run, seat| Some(if run == 5 && seat > 1 { own(0, 5 - seat) } else { own(run, seat) }));
    assert_eq!(twice, [(5, own(0, 3))], "the first of two by its seat, not by its name");
}

/// What the evidence says of runs whose seats are on these hosts.
fn on_hosts(
    synthetic: &Synthetic,
    host: &dyn Fn(u32, u32) -> Option<String>,
    turned: bool,
) -> IndependenceReport {
    let mut attempts = synthetic.with_parts(host);
    if turned {
        attempts.reverse();
    }
    synthetic.study_of(&attempts).report(None).unwrap().independence
}
