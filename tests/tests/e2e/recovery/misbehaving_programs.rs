//! Programs that misbehave, through the whole agent: each is recorded as what it was, the agent takes the next run, and
//! nothing of any of them is left.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use speedup_tests::pool::Pool;

use crate::SPEEDUP;

/// A program that misbehaves, or one that does not.
struct Case {
    name: &'static str,
    shell: &'static str,
    recorded: Recorded,
    /// How long it lasts at least.
    least_ms: u64,
}

/// What a program must be recorded as.
enum Recorded {
    Measured,
    /// With this code of the failure, and this in its words.
    Failed(&'static str, &'static str),
}
use Recorded::{Failed, Measured};

const fn case(name: &'static str, shell: &'static str, recorded: Recorded, least_ms: u64) -> Case {
    Case { name, shell, recorded, least_ms }
}

/// The time of those that never end is up after 400 ms; they are killed a second later if they do not heed that.
const CASES: [Case; 16] = [
    case(
        "daemon",
        "(env -i setsid sh -c \"sleep 1000 & sleep 1000\" < /dev/null > /dev/null 2>&1 &); exit 0",
        Measured,
        0,
    ),
    case("closes_streams", "exec <&- >&- 2>&-; sleep 0.02", Measured, 20),
    case(
        "fills_both_streams",
        "head -c 3000000 /dev/zero >&2 & head -c 3000000 /dev/zero; wait",
        Measured,
        0,
    ),
    case("stops_itself", "kill -STOP $$", Failed("timeout", "400"), 400),
    case("stops_its_group", "kill -STOP 0", Failed("timeout", "400"), 400),
    case("executes_again", "exec sh -c \"exec sh -c \\\"sleep 0.03; exit 0\\\"\"", Measured, 30),
    case("executes_again_and_fails", "exec sh -c \"exec sh -c \\\"exit 9\\\"\"", Failed("exit", "9"), 0),
    case("is_killed", "sleep 0.02; kill -KILL $$", Failed("signal", "9"), 20),
    case("dumps_core", "ulimit -c $(ulimit -H -c); kill -QUIT $$", Failed("signal", "3"), 0),
    case("leaves_its_group", "exec setsid --wait sleep 1000", Failed("timeout", "400"), 400),
    case(
        "ignores_all_requests",
        "trap \"\" TERM INT HUP QUIT; while :; do sleep 1; done",
        Failed("timeout", "400"),
        1_400,
    ),
    case(
        "ends_at_the_request",
        "trap \"exit 0\" TERM; while :; do sleep 0.01; done",
        Failed("timeout", "400"),
        400,
    ),
    case("kills_its_group", "kill -TERM 0; sleep 1000", Failed("signal", "15"), 0),
    case("prints_binary", r"printf \\000\\377\\376\\033[31m\\200\\n; printf \\000 >&2", Measured, 0),
    case("writes_where_it_may_not", "echo > /no/such/file || exit 4", Failed("exit", "4"), 0),
    case("is_well", "true", Measured, 0),
];

/// Those under a limit of the plan.
const LIMITED: [Case; 3] = [
    case("without_memory", "dd if=/dev/zero of=/dev/null bs=300M count=1", Failed("exit", "exit code 1"), 0),
    case(
        "without_descriptors",
        "exec 3< /dev/null 4< /dev/null 5< /dev/null; exec 6< /dev/null; true",
        Failed("exit", "exit code 2"),
        0,
    ),
    case("is_well", "true", Measured, 0),
];

fn plan(cases: &[Case], rest: &str) -> String {
    let benchmark =
        |case: &Case| format!("[benchmarks.{}]\nshell = '{}'\ntimeout = \"400ms\"\n", case.name, case.shell);
    let benchmarks: String = cases.iter().map(benchmark).collect();
    format!(
        "[experiment]\nname = \"misbehaviour\"\nseed = 3\n[versions.old]\nbaseline = true\n[versions.new]\n{benchmarks}\
         [repetitions]\nruns = 1\n[independence]\npolicy = \"any\"\n[output]\nkeep_of = \"all\"\nlimit = \"8MiB\"\n{rest}"
    )
}

/// Carries the cases out and compares each record; gives the rows by benchmark.
fn recorded(pool: &mut Pool, cases: &[Case], rest: &str) -> BTreeMap<String, Vec<Value>> {
    let experiment = pool.finish(&plan(cases, rest));
    let export = pool.speedup(&["export", &experiment, "--format", "jsonl", "-o", "-"]);
    let text = String::from_utf8(export.stdout).expect("UTF-8, whatever the programs print");
    let mut rows: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for line in text.lines() {
        let row: Value = serde_json::from_str(line).expect("JSON");
        rows.entry(row["benchmark"].as_str().expect("a name").to_owned()).or_default().push(row);
    }
    for case in cases {
        assert_eq!(rows[case.name].len(), 2, "one attempt of each run: {:?}", rows[case.name]);
        rows[case.name].iter().for_each(|row| compare(case, row));
    }
    // The agent adopts whatever loses its parent: without a child of its own nothing is left anywhere.
    assert_eq!(pool.agent_process(0).children(), Vec::<String>::new());
    rows
}

fn compare(case: &Case, row: &Value) {
    match case.recorded {
        Measured => assert_eq!(row["outcome"], "measured", "{row}"),
        Failed(code, words) => {
            assert_eq!((&row["outcome"], &row["failure"]), (&"failed".into(), &code.into()), "{row}");
            assert!(row["failure_words"].as_str().is_some_and(|said| said.contains(words)), "{row}");
        }
    }
    let wall_ns = row["wall_ns"].as_u64().expect("a time");
    assert!(wall_ns >= case.least_ms * 1_000_000, "never shorter than the truth: {row}");
}

/// Whether this host dumps cores of any size into the working directory.
fn dumps_to_files() -> bool {
    let pattern = std::fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap_or_default();
    let is_unlimited = rustix::process::getrlimit(rustix::process::Resource::Core).maximum.is_none();
    is_unlimited && pattern.trim() == "core"
}

#[test]
fn each_program_is_recorded_as_what_it_was_and_nothing_of_it_is_left() {
    let mut pool = Pool::start(SPEEDUP, 1);
    let rows = recorded(&mut pool, &CASES, "");
    assert!(rows["daemon"].iter().all(|row| row["survivors"].as_u64() >= Some(1)), "{:?}", rows["daemon"]);
    for row in &rows["fills_both_streams"] {
        let bytes = (&row["stdout_bytes"], &row["stderr_bytes"]);
        assert_eq!(bytes, (&3_000_000.into(), &3_000_000.into()), "{row}");
    }
    let binary = b"\0\xff\xfe\x1b[31m\x80\n";
    for row in &rows["prints_binary"] {
        assert_eq!(row["stdout_blake3"], speedup_tests::blake3_hex(binary), "{row}");
        assert_eq!(row["stdout_kept"], String::from_utf8_lossy(binary).as_ref(), "{row}");
    }
    if dumps_to_files() {
        let words = rows["dumps_core"].iter().map(|row| &row["failure_words"]);
        assert!(
            words.into_iter().all(|words| words == "ended by signal 3, core dumped"),
            "{:?}",
            rows["dumps_core"]
        );
    }
    let epochs: BTreeSet<Option<u64>> =
        rows.values().flatten().map(|row| row["agent_epoch"].as_u64()).collect();
    assert_eq!(epochs.len(), 1, "the agent never started anew");
    let log = pool.logged("agent-0");
    assert!(!log.contains("WARN") && !log.contains("ERROR"), "{log}");
}

#[test]
fn who_runs_out_of_memory_or_descriptors_fails_and_the_agent_does_not() {
    let mut pool = Pool::start(SPEEDUP, 1);
    let limits = "[environment]\nlimits = { memory = \"128MiB\", open_files = 6, core = \"0B\" }\n";
    let rows = recorded(&mut pool, &LIMITED, limits);
    assert!(rows.values().flatten().all(|row| row["unmet"] == ""), "{rows:?}");
    // The agent itself has what it had.
    recorded(&mut pool, &CASES[..3], "");
}

#[test]
fn a_host_that_allows_no_meter_tells_a_value_or_a_reason_for_each() {
    let mut pool = Pool::without_agents(SPEEDUP);
    pool.add_agent_without_privilege();
    pool.wait_for_hosts(1);
    let metrics = [
        ("instructions", "instructions"),
        ("cache_misses", "cache_misses"),
        ("task_clock", "task_clock_ns"),
        ("energy_pkg", "energy_pkg_uj"),
        ("memory_peak", "memory_peak_bytes"),
        ("tree_cpu", "tree_cpu_ns"),
    ];
    let names = metrics.map(|(name, _)| format!("\"{name}\"")).join(", ");
    let rows = recorded(&mut pool, &CASES[..3], &format!("[metrics]\ncollect = [{names}]\n"));
    for row in rows.values().flatten() {
        let absent = row["absent"].as_str().unwrap_or_default();
        for (name, column) in metrics {
            let is_told = absent.split(' ').any(|pair| pair.starts_with(&format!("{name}:")));
            assert_ne!(row[column].is_null(), !is_told, "{name}: a value or else a reason: {row}");
        }
    }
}
