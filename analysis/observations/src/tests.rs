//! Rows as a reader of the export sees them.

use std::{collections::BTreeMap, convert::Infallible, sync::Arc};

use serde_json::Value as Json;
use speedup_core::experiment::build::{Build, Product, USUAL_TIMEOUT, UsedBuild};
use speedup_core::experiment::files::{Content, ContentHash};
use speedup_core::experiment::{CommandLine, environment::Setting, metric::Absence, metric::Metric};
use speedup_core::{
    machine::event::AttemptEnd, machine::event::EndedAttempt, machine::event::Tally, plan, plan::Plan,
    run::AfterLoss, run::LossReason, run::Obstacle, run::conditions::Conditions, run::conditions::FileSystem,
    run::conditions::Location, run::conditions::Unmet, run::disturbance::Disturbance, run::lease::Evidence,
    run::lease::Lease, run::lease::LeaseSeat, run::program::Program, run::program::ProgramContent,
    run::reading::CpuTime, run::reading::Load, run::reading::Reading, run::record::Failure,
    run::record::Outcome, run::record::Output, run::record::Record, run::record::RestReading,
    run::timer::TimerError, value::id::AgentEpoch, value::id::Attempt, value::id::LeaseEpoch,
    value::id::RunIndex, value::seed::Seed, value::time::Span, value::time::Timestamp,
};
use speedup_proto::convert::{ExperimentStatus, StatusPhase};

use super::*;
mod arrow;
mod tools;

const PLAN: &str = "[experiment]\nname = \"locale\"\n[versions.utf8]\nbaseline = true\n[versions.c]\n\
    env = { LC_ALL = \"C\" }\n[benchmarks.sort]\ncommand = [\"sort\", \"/etc/services\"]\n[repetitions]\nruns = 3\n";

fn status() -> ExperimentStatus {
    ExperimentStatus {
        experiment: "0193a5b2-7c3d-7000-8000-000000000001".parse().unwrap(),
        name: "locale".to_owned(),
        tags: vec!["night".to_owned()],
        submitted: Timestamp(1_700_000_000_000_000_000),
        submitted_by: "ada@lab".to_owned(),
        phase: StatusPhase::Running,
        tally: Tally { waiting: 60, ..Tally::default() },
        cells: 2,
        hosts_here: 3,
        words: String::new(),
        bisects: false,
    }
}

fn plan() -> Plan {
    let own = "\n[metrics]\ncollect = [\"user\", \"max_rss\", \"cycles\"]\n[metrics.output.wall_ns]\nregex = '(x)'\n";
    Plan::draw(plan::file::parse(&format!("{PLAN}{own}"), Seed(42)).unwrap())
}

fn record(outcome: Outcome) -> Record {
    let stderr = Output { bytes: 3, blake3: [0xab; 32], kept: vec![b'n', b'o', 0xff] };
    Record {
        started_unix_ns: 5,
        metrics: BTreeMap::from([(Metric::Wall, 1_234_567), (Metric::MaxRss, 4_096)]),
        user_only: [Metric::Wall].into(),
        absent: [(Metric::User, Absence::NotCounted), (Metric::Cycles, Absence::Unsupported)].into(),
        series: [("wall_ns".to_owned(), vec![1.5, -0.1, 1e300])].into(),
        stderr,
        survivors: 1,
        agent_switches: 2,
        timer: Some(TimerError { bias_ns: -3, spread_ns: 40 }),
        ..Record::bare(outcome)
    }
}

fn ended(plan: &Plan, run: u32, attempt: u32, end: AttemptEnd) -> EndedAttempt {
    let previous = Some((status().experiment, RunIndex(9)));
    let evidence = Evidence { served_in_all: 4, previous, ..Evidence::first("boot-1".parse().unwrap()) };
    let lease = Lease {
        epoch: LeaseEpoch(70 + u64::from(run)),
        experiment: status().experiment,
        run: RunIndex(run),
        attempt: Attempt(attempt),
        host: "host-a".parse().unwrap(),
        agent_epoch: AgentEpoch(3),
        granted: Timestamp(1_700_000_000_000_000_001),
        deadline: Timestamp(1_700_000_100_000_000_000),
        started: None,
        evidence,
        seat: None,
    };
    let ended = Timestamp(1_700_000_001_000_000_000);
    EndedAttempt { lease, cell: plan.cell_number(RunIndex(run)), ended, end }
}

fn lost(after: AfterLoss, late: Option<Arc<Record>>) -> AttemptEnd {
    AttemptEnd::Lost {
        reason: LossReason::NotExecuted { reason: "no such program".to_owned(), obstacle: Obstacle::Host },
        after,
        late,
    }
}

/// One attempt of each kind, at a plan of six runs.
fn attempts(plan: &Plan) -> Vec<EndedAttempt> {
    let failed = Outcome::Failed(Failure::Exit { code: 3, expected: 0 });
    vec![
        ended(plan, 0, 1, AttemptEnd::reported(record(Outcome::Measured))),
        ended(plan, 1, 1, AttemptEnd::reported(record(failed))),
        ended(plan, 2, 1, lost(AfterLoss::Again(Attempt(2)), Some(Arc::new(record(Outcome::Measured))))),
        ended(plan, 2, 2, AttemptEnd::reported(record(Outcome::Measured))),
        ended(plan, 3, 1, lost(AfterLoss::Again(Attempt(2)), None)),
        ended(plan, 4, 3, lost(AfterLoss::Abandoned, None)),
    ]
}

fn exported(format: ExportForm, phase: StatusPhase) -> String {
    let plan = plan();
    let attempts = attempts(&plan);
    String::from_utf8(written(format, &plan, &ExperimentStatus { phase, ..status() }, &attempts)).unwrap()
}

fn written(format: ExportForm, plan: &Plan, status: &ExperimentStatus, attempts: &[EndedAttempt]) -> Vec<u8> {
    in_pages(format, plan, status, attempts.chunks(attempts.len().max(1)))
}

fn in_pages<'a>(
    format: ExportForm,
    plan: &Plan,
    status: &ExperimentStatus,
    pages: impl Iterator<Item = &'a [EndedAttempt]>,
) -> Vec<u8> {
    let sheet = RunSheet::new(status, plan);
    let form = RowForm::new(format, &sheet);
    let mut bytes = Vec::new();
    let mut writer = RowWriter::new(&form, &mut bytes).unwrap();
    for page in pages {
        let page = form.page(page.iter().cloned().map(Ok::<_, Infallible>)).unwrap();
        writer.page(page).unwrap();
    }
    writer.end().unwrap();
    bytes
}

fn csv_rows(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let names = reader.headers().unwrap().clone();
    let row = |record: csv::StringRecord| {
        names.iter().zip(&record).map(|(k, v)| (k.to_owned(), v.to_owned())).collect()
    };
    reader.records().map(|record| row(record.unwrap())).collect()
}

fn json_rows(text: &str) -> Vec<serde_json::Map<String, Json>> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_planned_run_has_one_row_that_says_what_became_of_it() {
    let rows = csv_rows(&exported(ExportForm::Csv, StatusPhase::Running));
    let ends: BTreeMap<&str, &str> = rows
        .iter()
        .filter(|row| !row["run_state"].is_empty())
        .map(|row| (row["run"].as_str(), row["run_state"].as_str()))
        .collect();
    let expected = ["measured", "failed", "measured", "open", "abandoned", "open"];
    assert_eq!(ends.values().copied().collect::<Vec<_>>(), expected);
    assert_eq!(rows.iter().filter(|row| !row["run_state"].is_empty()).count(), 6);
}

#[test]
fn what_does_not_count_says_why() {
    let rows = csv_rows(&exported(ExportForm::Csv, StatusPhase::Running));
    let why: Vec<_> = rows
        .iter()
        .map(|row| (row["run"].as_str(), row["counts"] == "true", row["why_not"].as_str()))
        .collect();
    let expected = [
        ("0", true, ""),
        ("1", false, "failed"),
        ("2", false, "lost"),
        ("2", false, "superseded"),
        ("2", true, ""),
        ("3", false, "lost"),
        ("4", false, "lost"),
        ("3", false, "not_executed_yet"),
        ("5", false, "not_executed_yet"),
    ];
    assert_eq!(why, expected);
}

#[test]
fn after_the_end_what_was_not_executed_was_cancelled() {
    let phase = StatusPhase::Finished { at: Timestamp(1), cancelled: true };
    let rows = csv_rows(&exported(ExportForm::Csv, phase));
    let last = rows.last().unwrap();
    assert_eq!((last["why_not"].as_str(), last["run_state"].as_str()), ("cancelled", "cancelled"));
    assert_eq!((last["attempt"].as_str(), last["host"].as_str()), ("", ""));
}

#[test]
fn a_row_tells_all_that_is_known() {
    let rows = csv_rows(&exported(ExportForm::Csv, StatusPhase::Running));
    let has = |row: usize, name: &str, value: &str| assert_eq!(rows[row][name], value, "{name}");
    has(0, "name", "locale");
    has(0, "benchmark", "sort");
    has(0, "granted", "2023-11-14T22:13:20.000000001Z");
    has(0, "granted_ns", "1700000000000000001");
    has(0, "started", "");
    has(0, "served_in_all", "4");
    has(0, "previous_run", "9");
    has(0, "wall_ns", "1234567");
    has(0, "max_rss_bytes", "4096");
    has(0, "user_ns", "");
    has(0, "absent", "user:not_counted cycles:unsupported");
    has(0, "user_only", "wall");
    // A metric of the user's that is called as one of ours keeps its own column.
    let values: Vec<f64> = rows[0]["output.wall_ns"].split(';').map(|one| one.parse().unwrap()).collect();
    assert_eq!(values, [1.5, -0.1, 1e300]);
    assert!(!rows[0].contains_key("minor_faults"), "nobody collected it");
    has(2, "absent", "");
    has(2, "output.wall_ns", "");
    has(0, "stderr_blake3", &"ab".repeat(32));
    has(1, "failure", "exit");
    has(1, "failure_words", "exit code 3 instead of 0");
    has(2, "loss", "not_executed");
    has(2, "loss_words", "no such program");
    has(2, "after", "again");
    has(2, "wall_ns", "");
    has(3, "outcome", "measured");
    has(3, "wall_ns", "1234567");
}

#[test]
fn conditions_are_told_and_what_is_unknown_is_empty() {
    let reading = |stolen_ns, celsius| Reading {
        cpu_time: Some(CpuTime { busy_ns: 0, iowait_ns: 0, stolen_ns }),
        temperature_mc: Some(celsius),
        ..Reading::default()
    };
    let conditions = Conditions {
        before: Reading {
            load: Some(Load { one_percent: 137, five_percent: 0, fifteen_percent: 0 }),
            ..reading(5, -1_000)
        },
        after: reading(25, 45_000),
        cpus: Some("2-3".parse().unwrap()),
        env_bytes: Some(4_096),
        env_padding: None,
        directory_bytes: Some(99),
        file_system: Some(FileSystem { kind: "nfs4".to_owned(), location: Location::Network }),
        software: None,
        applied: vec![Setting::Cpus],
        unmet: [Setting::Governor, Setting::Turbo]
            .map(|setting| Unmet { setting, reason: String::new() })
            .into(),
        disturbances: vec![Disturbance::Stolen { ns: 20 }, Disturbance::Throttled { count: 1 }],
    };
    let (plan, status) = (plan(), status());
    let rest = RestReading { waited: Span(7), temperature_mc: Some(-3), ..RestReading::default() };
    let record = Record {
        conditions: Some(Box::new(conditions)),
        rest: Some(rest),
        canary_failed: Some("exit code 1".to_owned()),
        program: Some(Box::new(Program {
            path: "/usr/bin/sort".to_owned(),
            content: ProgramContent::Blake3(ContentHash([0xab; 32])),
        })),
        ..record(Outcome::Measured)
    };
    let attempts = [ended(&plan, 0, 1, AttemptEnd::reported(record))];
    let rows = csv_rows(&String::from_utf8(written(ExportForm::Csv, &plan, &status, &attempts)).unwrap());
    let expected = [
        ("disturbed", "true"),
        ("disturbances", "stolen throttled"),
        ("unmet", "governor turbo"),
        ("cpus", "2-3"),
        ("env_bytes", "4096"),
        ("directory_bytes", "99"),
        ("file_system", "nfs4"),
        ("rest_waited_ns", "7"),
        ("rest_load_percent", ""),
        ("rest_temperature_mc", "-3"),
        ("canary_ns", ""),
        ("canary_failed", "exit code 1"),
        ("program", "/usr/bin/sort"),
        ("program_blake3", "abababababababababababababababababababababababababababababababab"),
        ("program_unknown", ""),
        ("steal_ns", "20"),
        ("throttled", ""),
        ("pressure_cpu_us", ""),
        ("load_before_percent", "137"),
        ("load_after_percent", ""),
        ("frequency_before_khz", ""),
        ("temperature_before_mc", "-1000"),
        ("temperature_after_mc", "45000"),
    ];
    for (name, value) in expected {
        assert_eq!(rows[0][name], value, "{name}");
        assert_eq!(rows[1][name], "", "{name} of a run that was not executed");
    }
    let without = &csv_rows(&exported(ExportForm::Csv, StatusPhase::Running))[0];
    assert_eq!((without["disturbed"].as_str(), without["unmet"].as_str()), ("", ""), "not false: unknown");
}

/// Of a run on several hosts the row that counts says over how many leaf switches they were spread.
#[test]
fn a_run_tells_its_leaf_switches() {
    let plan = plan();
    let measured = || AttemptEnd::reported(record(Outcome::Measured));
    let mut seats =
        [ended(&plan, 0, 1, measured()), ended(&plan, 0, 1, measured()), ended(&plan, 1, 1, measured())];
    for (ended, path) in seats.iter_mut().zip(["top.a", "top.b", "top.a"]) {
        ended.lease.evidence.switches = Some(path.parse().unwrap());
    }
    let mut gang = [seats[0].lease.clone(), seats[1].lease.clone()];
    for (number, lease) in (0..).zip(&mut gang) {
        lease.epoch.0 += u64::from(number);
        lease.seat = Some(Box::new(LeaseSeat::numbered(number)));
    }
    LeaseSeat::introduce(&mut gang);
    [seats[0].lease, seats[1].lease] = gang;
    let text = String::from_utf8(written(ExportForm::Csv, &plan, &status(), &seats)).unwrap();
    let rows = csv_rows(&text);
    let told = |counts: &str, run: &str| {
        let row = rows.iter().find(|row| row["counts"] == counts && row["run"] == run).unwrap();
        (row["switches"].clone(), row["leaf_switches"].clone())
    };
    assert_eq!(told("true", "0"), ("top.a".to_owned(), "2".to_owned()));
    assert_eq!(told("true", "1"), ("top.a".to_owned(), "1".to_owned()), "of one host");
    assert_eq!(told("false", "2"), (String::new(), String::new()), "it was not executed");
}

#[test]
fn a_file_is_the_same_however_attempts_come_in_pages() {
    for format in [ExportForm::Csv, ExportForm::Jsonl, ExportForm::Go] {
        for (plan, attempts) in [(plan(), attempts(&plan())), with_builds()] {
            let whole = written(format, &plan, &status(), &attempts);
            for page in 1..attempts.len() {
                let in_pages = in_pages(format, &plan, &status(), attempts.chunks(page));
                assert_eq!(in_pages, whole, "{format:?} in pages of {page}");
            }
        }
    }
}

#[test]
fn repetitions_count_within_their_cell() {
    let mut numbers: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for row in csv_rows(&exported(ExportForm::Csv, StatusPhase::Running)) {
        if !row["run_state"].is_empty() {
            numbers.entry(row["version"].clone()).or_default().push(row["repetition"].parse().unwrap());
        }
    }
    for (_, mut of_version) in numbers {
        of_version.sort_unstable();
        assert_eq!(of_version, [1, 2, 3]);
    }
}

#[test]
fn json_lines_have_the_same_names_and_the_kept_output() {
    let csv = csv_rows(&exported(ExportForm::Csv, StatusPhase::Running));
    let json = json_rows(&exported(ExportForm::Jsonl, StatusPhase::Running));
    assert_eq!(csv.len(), json.len());
    for (csv, json) in csv.iter().zip(&json) {
        for (name, text) in csv {
            let same = match &json[name] {
                Json::Null => String::new(),
                Json::String(text) => text.clone(),
                Json::Array(values) => {
                    let values = values.iter().map(|one| one.as_f64().unwrap().to_string());
                    values.collect::<Vec<_>>().join(";")
                }
                other => other.to_string(),
            };
            assert_eq!(same, *text, "{name}");
        }
    }
    assert_eq!(json[1]["stderr_kept"], "no\u{fffd}");
    assert_eq!(json[4]["counts"], true);
    assert_eq!(json[8]["stderr_kept"], Json::Null);
}

/// A plan whose version b is built twice, with an attempt at each build and one at a run that uses the second.
fn with_builds() -> (Plan, Vec<EndedAttempt>) {
    let Plan { mut experiment, .. } = plan();
    experiment.versions[1].build = Some(Build {
        command: CommandLine::Shell("make".to_owned()),
        builds: 2,
        products: [("prog".to_owned(), "prog".to_owned())].into(),
        timeout: USUAL_TIMEOUT,
    });
    let plan = Plan::draw(experiment).with_first_runs().into_owned();
    let content = Content { blake3: ContentHash([0xab; 32]), bytes: 9, executable: true };
    let products = vec![Product { name: "prog".to_owned(), content }];
    let made = Record { products: products.clone(), ..record(Outcome::Measured) };
    let runs = plan.builds()..plan.runs();
    let uses =
        runs.map(RunIndex).find(|run| plan.build_of(*run) == Some(RunIndex(1))).expect("two builds are used");
    let mut run = ended(&plan, uses.0, 1, AttemptEnd::reported(record(Outcome::Measured)));
    run.lease.evidence.build = Some(Box::new(UsedBuild { run: RunIndex(1), products }));
    let attempts = vec![
        ended(&plan, 0, 1, AttemptEnd::reported(made)),
        ended(&plan, 1, 1, lost(AfterLoss::Again(Attempt(2)), None)),
        run,
    ];
    (plan, attempts)
}

fn built(format: ExportForm) -> String {
    let (plan, attempts) = with_builds();
    String::from_utf8(written(format, &plan, &status(), &attempts)).unwrap()
}

#[test]
fn builds_are_no_rows_and_rows_name_their_build() {
    let rows = csv_rows(&built(ExportForm::Csv));
    assert!(rows.iter().all(|row| row["run"].parse::<u32>().unwrap() >= 2), "builds have no rows");
    let named: Vec<&str> =
        rows.iter().map(|row| row["build"].as_str()).filter(|build| !build.is_empty()).collect();
    assert_eq!(named, ["1"]);
}

#[test]
fn json_lists_builds_by_themselves() {
    let text = built(ExportForm::Jsonl);
    let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let builds = last["builds"].as_array().unwrap();
    assert_eq!(builds.len(), 2);
    assert_eq!((&builds[0]["run"], &builds[0]["measured"]), (&0.into(), &true.into()));
    assert_eq!(builds[0]["products"]["prog"], "ab".repeat(32));
    assert_eq!(builds[0]["host"], "host-a");
    assert!(builds[1]["why_not"].as_str().unwrap().contains("no such program"));
    assert!(
        !exported(ExportForm::Jsonl, StatusPhase::Running).contains("\"builds\""),
        "where there are none, no list"
    );
}
