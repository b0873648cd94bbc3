//! What stands beside the verdicts: scaling and ranks in the forms for programs, and on the page of an experiment
//! that grows.

use speedup_analysis::study::ScalingValue;

use super::*;

fn number(text: &str) -> f64 {
    text.parse().unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

/// That a row has these numbers, in every digit.
fn assert_has(row: &CsvRow, estimate: f64, interval: &IntervalReport) {
    let (lower, upper) = interval.ends().expect("an interval");
    let numbers = ["estimate", "estimate_lower", "estimate_upper"].map(|column| number(&row[column]));
    assert_eq!(numbers, [estimate, lower, upper], "{row:?}");
    assert!(!row["interval_method"].is_empty() && row["speedup"].is_empty(), "{row:?}");
}

#[test]
fn csv_has_each_estimate_of_a_scaling_series() {
    let report = report("scaled");
    let [series] = &report.scaling[..] else { panic!("one series") };
    let found = rows(&report, "scaling");
    // Of two versions three values on each of four numbers of hosts and a share, and four ratios.
    assert_eq!(found.len(), 2 * (3 * 4 + 1) + 4);
    assert!(found.iter().all(|row| row["series"] == "solve" && row["experiment"] == report.head.experiment));
    let of = |endpoint: &str, candidate: &str, hosts: &str| {
        let is_it = |row: &&CsvRow| {
            (&*row["endpoint"], &*row["candidate"], &*row["hosts"]) == (endpoint, candidate, hosts)
        };
        let all: Vec<CsvRow> = found.iter().filter(is_it).cloned().collect();
        let [row] = &all[..] else { panic!("one row of {endpoint}: {all:?}") };
        row.clone()
    };
    for version in &series.versions {
        let last = version.rows.last().unwrap();
        let value = |value: &Option<ScalingValue>| value.clone().unwrap();
        for (endpoint, value) in [
            ("speedup", value(&last.speedup)),
            ("efficiency", value(&last.efficiency)),
            ("serial_fraction", value(&last.serial_fraction)),
        ] {
            let row = of(endpoint, &version.version, "16");
            assert_has(&row, value.estimate, &value.interval);
            assert_eq!((&*row["benchmark"], &*row["candidate_runs"]), ("solve-16hosts", "20"));
            assert_eq!(number(&row["candidate_mean_ns"]), last.mean);
        }
        let share = version.serial_share.as_ref().unwrap();
        let row = of("serial_share", &version.version, "");
        assert_has(&row, share.estimate, &share.interval);
        assert_eq!(number(&row["p_value"]), share.fit_p_value.unwrap());
    }
    let ratio = &series.comparisons[0].rows[3];
    let row = of("efficiency_ratio", "new", "16");
    assert_has(&row, ratio.ratio.as_ref().unwrap().estimate, &ratio.ratio.as_ref().unwrap().interval);
    assert_eq!(row["verdict"], ratio.verdict.words());
}

#[test]
fn csv_has_the_reason_in_the_place_of_a_share() {
    let mut report = report("scaled");
    let version = &mut report.scaling[0].versions[0];
    version.serial_share = None;
    version.reason = Some(Reason { code: ReasonCode::TooFewRuns.into(), sentence: String::new() });
    let found = rows(&report, "scaling");
    let shares: Vec<_> = found.iter().filter(|row| row["endpoint"] == "serial_share").collect();
    assert_eq!((&*shares[0]["reason"], &*shares[0]["estimate"]), ("too_few_runs", ""));
    assert_eq!(shares.len(), 2);
}

#[test]
fn csv_has_what_ranks_took() {
    let report = report("ranked");
    let found = rows(&report, "ranks");
    let endpoints: Vec<(&str, &str)> =
        found.iter().map(|row| (&*row["candidate"], &*row["endpoint"])).collect();
    let of = |version| ["slowest_rank_ns", "speedup", "skew_ns", "imbalance"].map(|name| (version, name));
    let expected: Vec<(&str, &str)> =
        of("old").into_iter().filter(|(_, name)| *name != "speedup").chain(of("new")).collect();
    assert_eq!(endpoints, expected);
    let new = &report.ranks[0].versions[1];
    for (row, value) in found[3..].iter().zip([&new.slowest_ns, &new.speedup, &new.skew_ns, &new.imbalance]) {
        assert_has(row, value.as_ref().unwrap().estimate, &value.as_ref().unwrap().interval);
        assert_eq!((&*row["hosts"], &*row["candidate_runs"], &*row["benchmark"]), ("4", "20", "solve"));
    }
}

#[test]
fn gauges_have_each_estimate_of_a_scaling_series() {
    let report = report("scaled");
    let text = openmetrics::text(&report);
    let lines = |name: &str| -> Vec<&str> {
        text.lines().filter(|line| line.starts_with(&format!("speedup_scaling_{name}{{"))).collect()
    };
    for (name, samples) in [
        ("speedup", 8),
        ("efficiency", 8),
        ("serial_fraction", 8),
        ("serial_share", 2),
        ("efficiency_ratio", 4),
    ] {
        for end in ["", "_lower", "_upper"] {
            assert_eq!(lines(&format!("{name}{end}")).len(), samples, "{name}{end}");
        }
    }
    let efficiency = report.scaling[0].versions[1].rows[4].efficiency.as_ref().unwrap().estimate;
    let expected = format!(
        "speedup_scaling_efficiency{{experiment=\"{}\",series=\"solve\",version=\"new\",hosts=\"16\"}} {efficiency}",
        report.head.name
    );
    assert!(lines("efficiency").contains(&expected.as_str()), "{expected} is missing");
    let without = openmetrics::text(&super::report("figures"));
    assert!(!without.contains("scaling"));
}

/// What stands on the page of an experiment while it grows.
#[test]
fn the_page_of_a_running_experiment_has_scaling_and_ranks() {
    let page = Document::page(&report("scaled"), 0, 50);
    let of_scaling = page.sections.iter().find(|section| section.kind == Kind::Scaling).unwrap();
    assert!(of_scaling.blocks.iter().any(|block| matches!(block, Element::Figure(_))));
    assert!(html::part(&page).contains("id=\"scaling\""));
    let page = html::part(&Document::page(&report("ranked"), 0, 50));
    assert!(page.contains("id=\"ranks\""));
}
