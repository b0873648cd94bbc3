//! Plans that are read: the examples, the defaults, the author's order; and that no text makes the reader panic. Plans
//! that are refused are in [`refusals`].

mod builds;
mod commits;
mod files;
mod refusals;
mod software;

use std::time::Duration;

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::experiment::environment::{
    CpuChoice, Environment, HugePages, PageCache, ResourceLimits, Scheduler, Setting, SizeChoice,
};
use crate::experiment::metric::{Better, Metric, OwnMetric, Pattern, Stream};
use crate::experiment::software::Software;
use crate::experiment::{Center, CommandLine, Family, KeepOutput, MetricVerdict, Policy, Scope, Weights};
use crate::plan::Cell;
use crate::run::work::WorkOrder;
use crate::value::id::{BenchmarkIndex, RunIndex, VersionIndex};
use crate::value::time::Span;

const LOCALE: &str = include_str!("../../../../examples/locale.toml");
const BUILDS: &str = include_str!("../../../../examples/builds.toml");

pub(super) const SHORTEST: &str = r#"[experiment]
name = "shortest"
[versions.before]
baseline = true
[versions.after]
[benchmarks.true]
command = ["true"]
"#;

fn read(text: &str) -> Experiment {
    parse(text, Seed(7)).unwrap_or_else(|error| panic!("{error}"))
}

fn names_of_versions(experiment: &Experiment) -> Vec<&str> {
    experiment.versions.iter().map(|version| version.name.as_str()).collect()
}

#[test]
fn the_locale_example_compares_two_locales_on_many_tools() {
    let experiment = read(LOCALE);
    assert_eq!(experiment.seed, Seed(42));
    assert_eq!(names_of_versions(&experiment), ["utf8", "c"]);
    assert_eq!(experiment.versions[0].env["LC_ALL"], "C.UTF-8");
    assert_eq!(experiment.versions[1].env["LC_ALL"], "C");
    assert!(experiment.benchmarks.len() >= 30);
    assert_eq!(experiment.benchmarks[0].name, "sort");
    assert_eq!((experiment.runs, experiment.independence.policy), (10, Policy::Any));
    let hashed = experiment.benchmarks.iter().filter(|b| b.expect.stdout_blake3.is_some()).count();
    assert!(hashed >= 30, "outputs are checked");
    assert!(experiment.setup.is_some());
}

#[test]
fn every_placeholder_of_the_locale_example_is_filled_in() {
    let experiment = read(LOCALE);
    let benchmarks = 0..experiment.benchmarks.len() as u32;
    for (benchmark, version) in benchmarks.flat_map(|b| [(b, 0), (b, 1)]) {
        let cell = Cell { benchmark: BenchmarkIndex(benchmark), version: VersionIndex(version) };
        let order = WorkOrder::new(&experiment, cell, RunIndex(0));
        order.resolve("/in").unwrap();
        order.resolve_setup("/in").unwrap();
    }
}

#[test]
fn an_environment_is_read_with_all_its_settings() {
    let experiment = read(&format!(
        "{SHORTEST}[prepare]\nshell = \"cp {{input}}/words .\"\n[cleanup]\ncommand = [\"rm\", \"words\"]\ntimeout = \"1s\"\n\
         [environment]\ncpus = \"cores:2\"\nhousekeeping = 1\nnice = -5\nscheduler = \"fifo:50\"\naslr = false\n\
         env_bytes_random = 4096\ndirectory_bytes_random = 200\npage_cache = \"drop\"\ntransparent_huge_pages = \"never\"\n\
         governor = \"performance\"\nturbo = false\nsettle = \"500ms\"\nstrict = true\n\
         limits = {{ open_files = 64, memory = \"1GiB\", stack = \"8MiB\", core = \"0B\", processes = 9 }}\nmodules = [\"gcc/12\"]\n"
    ));
    let expected = Environment {
        cpus: CpuChoice::Cores(2),
        housekeeping: 1,
        nice: Some(-5),
        scheduler: Some(Scheduler::Fifo(50)),
        aslr: Some(false),
        env_size: SizeChoice::Random(4_096),
        directory_length: SizeChoice::Random(200),
        page_cache: PageCache::Drop,
        huge_pages: Some(HugePages::Never),
        governor: Some("performance".to_owned()),
        turbo: Some(false),
        settle: Span::from_millis(500),
        limits: ResourceLimits {
            open_files: Some(64),
            memory: Some(1 << 30),
            stack: Some(8 << 20),
            core: Some(0),
            processes: Some(9),
        },
        strict: true,
        software: Software { modules: vec!["gcc/12".to_owned()], ..Software::default() },
    };
    assert_eq!(experiment.environment, expected);
    assert_eq!(expected.asked(), Setting::ALL);
    let cleanup = experiment.cleanup.as_ref().unwrap();
    assert_eq!(cleanup.timeout, Span::from_secs(1));
    let order = |run| {
        let cell = Cell { benchmark: BenchmarkIndex(0), version: VersionIndex(1) };
        WorkOrder::new(&experiment, cell, RunIndex(run))
    };
    assert_eq!(order(0).resolve_prepare("/in").unwrap().unwrap().argv[2], "cp /in/words .");
    assert_eq!(order(0).resolve_cleanup("/in").unwrap().unwrap().argv, ["rm", "words"]);
    // Drawn by the seed and the run alone: these never change.
    let drawn: Vec<u32> = (0..4).filter_map(|run| order(run).env_padding).collect();
    assert_eq!(drawn, PADDING_OF_SEED_7);
    assert!((0..200).filter_map(|run| order(run).env_padding).all(|bytes| bytes <= 4_096));
    let lengths: Vec<u32> = (0..400).filter_map(|run| order(run).directory_padding).collect();
    assert_eq!(lengths[..4], LENGTHS_OF_SEED_7);
    assert!(lengths.len() == 400 && lengths.iter().all(|bytes| *bytes <= 200));
}

/// The first paddings of seed 7 with at most 4096 bytes.
const PADDING_OF_SEED_7: [u32; 4] = [3_997, 2_179, 1_386, 4_045];

/// The first lengths of seed 7 with at most 200 bytes.
const LENGTHS_OF_SEED_7: [u32; 4] = [197, 76, 122, 105];

#[test]
fn without_an_environment_everything_stays_as_the_host_is() {
    let experiment = read(SHORTEST);
    assert_eq!(experiment.environment, Environment::default());
    assert_eq!(experiment.environment.asked(), []);
    assert_eq!((experiment.prepare, experiment.cleanup), (None, None));
    assert_eq!(read(&format!("{SHORTEST}[environment]\n")).environment, Environment::default());
}

#[test]
fn the_shortest_plan_has_the_documented_defaults() {
    let experiment = read(SHORTEST);
    assert_eq!(experiment.seed, Seed(7), "the fallback");
    assert_eq!((experiment.runs, experiment.drawn, experiment.limits.attempts), (31, None, 3));
    assert_eq!(experiment.metrics, [Metric::Wall, Metric::User, Metric::System, Metric::MaxRss]);
    assert_eq!(experiment.independence.policy, Policy::Distinct);
    assert_eq!(experiment.independence.scope, Scope::Benchmark);
    let analysis = experiment.analysis;
    assert_eq!((analysis.confidence, analysis.weights, analysis.precision), (0.95, Weights::Equal, 0.05));
    let output = experiment.output;
    assert_eq!((output.limit, output.keep, output.keep_of), (64 << 20, 16 << 10, KeepOutput::Failed));
    let benchmark = &experiment.benchmarks[0];
    assert_eq!((benchmark.timeout, benchmark.warmup), (Span::from_secs(600), 0));
    assert_eq!((benchmark.expect.exit, benchmark.expect.stdout_blake3), (0, None));
}

/// What reads a template, as that of a track, leaves the centre open; a share is one of a trimmed mean.
#[test]
fn the_centre_is_written_down_when_a_plan_is_read() {
    let of = |more: &str| {
        let text = format!("{SHORTEST}[analysis]\n{more}\n");
        let analysis = read(&text).analysis;
        let template = parse_template(&text, Seed(7), &mut look::NoPlanLook).unwrap().analysis;
        assert_eq!(analysis.trim, template.trim);
        (analysis.center, template.center, analysis.trim)
    };
    assert_eq!(of(""), (Some(Center::Trimmed), None, None));
    assert_eq!(of("center = \"median\""), (Some(Center::Median), Some(Center::Median), None));
    assert_eq!(of("trim = 0.2"), (Some(Center::Trimmed), Some(Center::Trimmed), Some(0.2)));
    for (refused, why) in [
        ("trim = 0.3", "0 to 0.25"),
        ("trim = -0.1", "0 to 0.25"),
        ("center = \"mean\"\ntrim = 0.1", "the share is of a trimmed mean"),
    ] {
        let error = parse(&format!("{SHORTEST}[analysis]\n{refused}\n"), Seed(7)).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn everything_that_can_be_said_is_read() {
    let experiment = read(
        r#"
        [experiment]
        name = "all"
        description = "two\nlines"
        seed = 18_446_744_073_709_551_615
        [versions.z]
        env = { A = "{input}/{letter}" }
        vars = { letter = "z" }
        [versions.a]
        vars.letter = "a"
        shell = "./a {letter}"
        [versions.m]
        baseline = true
        vars.letter = "m"
        [benchmarks]
        second.command = ["./{letter}", "{{literal}}"]
        second.weight = 2
        second.expect.accept_all = true
        [benchmarks.first]
        shell = "echo {version} {benchmark}"
        env = { B = "1" }
        expect = { exit = 3, accept = [4, 5], stdout_blake3 = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262" }
        timeout = "1m 30s"
        warmup = 1
        directory = "/srv/{letter}"
        weight = 0.5
        [population]
        sample = 1
        [repetitions]
        runs = 5
        [metrics]
        collect = ["major_faults", "user", "user"]
        [independence]
        policy = "any"
        scope = "cell"
        [analysis]
        confidence = 0.99
        weights = "custom"
        precision = 0.1
        quantiles = [0.9, 0.99]
        verdicts.user = { margin = "2%", family = "own" }
        [analysis.verdicts.major_faults]
        [setup]
        command = ["make"]
        timeout = "1h"
        [limits]
        attempts = 1
        [output]
        limit = "1GiB"
        keep = "0B"
        keep_of = "all"
        "#,
    );
    assert_eq!(experiment.seed, Seed(u64::MAX));
    let verdict = |metric: &str, margin, family| MetricVerdict { metric: metric.to_owned(), margin, family };
    let verdicts = [verdict("user", Some(0.02), Family::Own), verdict("major_faults", None, Family::Common)];
    assert_eq!(experiment.analysis.quantiles[..], [0.9, 0.99][..]);
    assert_eq!(experiment.analysis.verdicts[..], verdicts[..]);
    assert_eq!(names_of_versions(&experiment), ["m", "z", "a"], "the baseline, then the author's order");
    let [second, first] = experiment.benchmarks.as_slice() else { panic!("two benchmarks") };
    assert_eq!((second.name.as_str(), second.weight, first.weight), ("second", Some(2.0), Some(0.5)));
    assert_eq!(first.command, CommandLine::Shell("echo {version} {benchmark}".to_owned()));
    assert_eq!(first.expect.stdout_blake3, Some(*blake3::hash(b"").as_bytes()));
    assert_eq!(Duration::from(first.timeout), Duration::from_secs(90));
    assert!([3, 4, 5].iter().all(|code| first.expect.accepts(*code)) && !first.expect.accepts(0));
    assert!(second.expect.accepts(255));
    let order = |benchmark, version| {
        let cell = Cell { benchmark: BenchmarkIndex(benchmark), version: VersionIndex(version) };
        WorkOrder::new(&experiment, cell, RunIndex(0)).resolve("/in").unwrap()
    };
    assert_eq!(order(0, 1).argv, ["./z", "{literal}"]);
    assert_eq!(order(0, 2).argv, ["/bin/sh", "-c", "./a a"], "the version's own command");
    assert_eq!(order(1, 1).directory.as_deref(), Some("/srv/z"));
    assert_eq!(experiment.metrics, [Metric::Wall, Metric::User, Metric::MajorFaults]);
    assert_eq!((experiment.output.limit, experiment.output.keep), (1 << 30, 0));
}

#[test]
fn metrics_of_ones_own_are_read_in_the_authors_order() {
    let text = r#"
        [metrics]
        collect = ["instructions", "energy_pkg", "tree_cpu"]
        [metrics.output.rate]
        regex = 'rate: ([0-9.]+)'
        unit = "MB/s"
        better = "higher"
        [metrics.output.mean]
        pointer = "/results/0/mean"
        from = "stderr"
        [metrics.output.bm]
        google_benchmark = "BM_sort/8"
        [metrics.output.go]
        go = "BenchmarkSort:B/op"
        "#;
    let experiment = read(&format!("{SHORTEST}{text}"));
    let collected = [Metric::Wall, Metric::Instructions, Metric::EnergyPackage, Metric::TreeCpu];
    assert_eq!(experiment.metrics, collected);
    let own = |name: &str, pattern, from, unit: &str, better| OwnMetric {
        name: name.to_owned(),
        pattern,
        from,
        unit: unit.to_owned(),
        better,
    };
    let regex = Pattern::Regex("rate: ([0-9.]+)".to_owned());
    let pointer = Pattern::Pointer("/results/0/mean".to_owned());
    let expected = [
        own("rate", regex, Stream::Stdout, "MB/s", Better::Higher),
        own("mean", pointer, Stream::Stderr, "", Better::Lower),
        own("bm", Pattern::GoogleBenchmark("BM_sort/8".to_owned()), Stream::Stdout, "", Better::Lower),
        own("go", Pattern::Go("BenchmarkSort:B/op".to_owned()), Stream::Stdout, "", Better::Lower),
    ];
    assert_eq!(experiment.own_metrics, expected);
    let cell = Cell { benchmark: BenchmarkIndex(0), version: VersionIndex(0) };
    assert_eq!(WorkOrder::new(&experiment, cell, RunIndex(0)).own_metrics, expected);
}

#[test]
fn every_key_of_the_schema_is_described() {
    fn undescribed(schema: &Value, path: &str, missing: &mut Vec<String>) {
        for (key, property) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{key}");
            if property["description"].as_str().is_none_or(str::is_empty) {
                missing.push(path.clone());
            }
            undescribed(property, &path, missing);
            undescribed(&property["additionalProperties"], &path, missing);
        }
    }
    let mut missing = Vec::new();
    undescribed(&schema(), "", &mut missing);
    assert_eq!(missing, [""; 0]);
}

/// The reader itself compares plans with the schema; this holds the schema against a second, plain reading of the
/// examples, as an editor would do it.
#[test]
fn the_examples_fit_the_schema() {
    fn fits(value: &Value, schema: &Value, path: &str) {
        match value {
            Value::Object(members) => {
                assert_eq!(schema["type"], "object", "{path}");
                for (key, member) in members {
                    let known = schema["properties"].get(key).unwrap_or(&schema["additionalProperties"]);
                    assert!(known.is_object(), "{path}.{key} is not in the schema");
                    fits(member, known, &format!("{path}.{key}"));
                }
                for required in schema["required"].as_array().into_iter().flatten() {
                    assert!(members.contains_key(required.as_str().unwrap()), "{path} lacks {required}");
                }
            }
            Value::Array(items) => items.iter().for_each(|item| fits(item, &schema["items"], path)),
            Value::String(word) if schema.get("oneOf").is_some() => {
                assert!(
                    schema["oneOf"].as_array().unwrap().iter().any(|one| one["const"] == *word),
                    "{path}"
                );
            }
            Value::String(_) => assert_eq!(schema["type"], "string", "{path}"),
            Value::Bool(_) => assert_eq!(schema["type"], "boolean", "{path}"),
            Value::Number(_) => assert!(schema["type"] == "integer" || schema["type"] == "number", "{path}"),
            Value::Null => panic!("{path}: TOML has no null"),
        }
    }
    for example in [LOCALE, BUILDS, SHORTEST] {
        fits(&toml::from_str(example).unwrap(), &schema(), "");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,60}|[a-z\\[\\]=.\"'{}\n #0-9\u{0}é]{0,80}") {
        if let Err(error) = parse(&text, Seed(1)) {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn a_mutated_example_is_read_or_refused(
        example in prop::sample::select(vec![LOCALE, BUILDS, SHORTEST]),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..20, "[\\PC\n\\[\\]={}\"]{0,3}"), 1..4),
    ) {
        let mut characters: Vec<char> = example.chars().collect();
        for (at, removed, inserted) in edits {
            let at = at.index(characters.len() + 1);
            let end = (at + removed).min(characters.len());
            characters.splice(at..end, inserted.chars());
        }
        let text: String = characters.into_iter().collect();
        match parse(&text, Seed(1)) {
            Ok(experiment) => prop_assert_eq!(experiment.check(), Ok(())),
            Err(error) => {
                let lines = text.matches('\n').count() + 1;
                prop_assert!(error.findings().iter().all(|finding| (1..=lines).contains(&finding.line)));
                prop_assert!(error.to_string().contains("hint: "));
            }
        }
    }
}
