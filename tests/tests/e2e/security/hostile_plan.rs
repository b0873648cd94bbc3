//! Plans that mean harm: too large, or with names that lead elsewhere. Each is refused by name, and the service goes on.

use std::{collections::BTreeMap, fmt::Write as _};

use speedup_core::experiment::build::Build;
use speedup_core::experiment::files::{ContentHash, FileSource, StagedFile};
use speedup_core::experiment::{Benchmark, CommandLine, Experiment, MAX_BENCHMARKS};
use speedup_core::plan;
use speedup_core::value::seed::Seed;
use speedup_core::value::time::Span;
use speedup_proto::{v1, v1::experiments_client::ExperimentsClient};
use speedup_tests::pool::Pool;
use tonic::{Code, Status, transport::Channel};

use crate::SPEEDUP;

const PLAN: &str = "[experiment]\nname = \"p\"\nseed = 1\n[versions.a]\nbaseline = true\n[versions.b]\n\
    [benchmarks.x]\ncommand = [\"true\"]\n[repetitions]\nruns = 1\n[independence]\npolicy = \"any\"\n";
/// As many benchmarks as no suite has.
const MILLION: usize = 1_000_000;

fn experiment() -> Experiment {
    plan::file::parse(PLAN, Seed(1)).expect("a plan")
}

/// What is answered to an experiment that no plan file was read for.
async fn refusal(experiments: &mut ExperimentsClient<Channel>, experiment: &Experiment) -> Status {
    let plan = Some(v1::submit_request::Plan::Experiment(experiment.into()));
    let request = v1::SubmitRequest { plan, wait_for_hosts: true, ..Default::default() };
    experiments.submit(request).await.expect_err("a refusal")
}

fn goes_on(pool: &Pool) {
    pool.finish(PLAN);
}

#[tokio::test]
async fn a_million_benchmarks_are_refused_by_name() {
    let pool = Pool::start(SPEEDUP, 1);
    for (count, told) in [(2 * MAX_BENCHMARKS, "200000 benchmarks"), (MILLION, "more than 16777216 bytes")] {
        let head = PLAN.replace("[benchmarks.x]\ncommand = [\"true\"]\n", "");
        let mut text = format!("{head}[benchmarks]\n");
        (0..count).for_each(|number| writeln!(text, "b{number}={{command=[\"a\"]}}").expect("a text"));
        let file = pool.path().join("million.toml");
        std::fs::write(&file, text).expect("a plan");
        let refused = pool.speedup(&["submit", file.to_str().expect("UTF-8")]);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && said.contains(told), "{count}: {said}");
        assert!(said.len() < 10_000, "{} bytes are told of {count} benchmarks", said.len());
    }
    // Who sends a message of his own gets no further.
    let mut experiments = ExperimentsClient::new(pool.channel(None).await);
    let named = |number: usize, one: &Benchmark| Benchmark { name: format!("b{number}"), ..one.clone() };
    for (count, code) in [(MAX_BENCHMARKS + 1, Code::InvalidArgument), (MILLION, Code::OutOfRange)] {
        let mut many = experiment();
        let one = many.benchmarks[0].clone();
        many.benchmarks = (0..count).map(|number| named(number, &one)).collect();
        if count == MILLION {
            // Past the bound of a message, which is refused before it is read.
            let word = "x".repeat(64);
            let command = CommandLine::Exact(vec![word]);
            many.benchmarks.iter_mut().for_each(|one| one.command = command.clone());
        }
        let refused = refusal(&mut experiments, &many).await;
        assert_eq!(refused.code(), code, "{count}: {refused}");
        if code == Code::InvalidArgument {
            assert!(refused.message().contains("benchmarks: 100001 entries"), "{refused}");
        }
    }
    goes_on(&pool);
}

#[tokio::test]
async fn names_that_lead_elsewhere_are_refused() {
    let pool = Pool::start(SPEEDUP, 1);
    let mut experiments = ExperimentsClient::new(pool.channel(None).await);
    let long = "x".repeat(100_000);
    for bad in ["../../etc/passwd", "/etc/passwd", "a/b", "..", ".", "", "a\0b", "a\n", "\u{202e}a", &long] {
        let source =
            || FileSource::Shared { path: "/bin/sh".to_owned(), blake3: ContentHash([0; 32]), bytes: None };
        let file = |name: &str, source| vec![StagedFile { name: name.to_owned(), source }];
        let mut wrong = vec![
            Experiment { files: file(bad, source()), ..experiment() },
            built(&[(bad, "prog")]),
            renamed(bad),
        ];
        // Within the working directory these are files like others.
        if !["a/b", "\u{202e}a"].contains(&bad) {
            wrong.push(built(&[("prog", bad)]));
        }
        if !bad.starts_with('/') {
            let FileSource::Shared { blake3, bytes, .. } = source() else { unreachable!() };
            let shared = FileSource::Shared { path: bad.to_owned(), blake3, bytes };
            wrong.push(Experiment { files: file("f", shared), ..experiment() });
        }
        for (number, wrong) in wrong.iter().enumerate() {
            let refused = refusal(&mut experiments, wrong).await;
            assert_eq!(refused.code(), Code::InvalidArgument, "{number}: {refused}");
            let told = refused.message().len();
            assert!(told < 4_000, "{told} bytes are told of a name of {}, {number}", bad.len());
        }
    }
    for bad in ["out/../../key", "out//prog", "./prog", "out/"] {
        let refused = refusal(&mut experiments, &built(&[("prog", bad)])).await;
        assert!(refused.message().contains(bad), "{bad}: {refused}");
    }
    goes_on(&pool);
}

/// An experiment whose first version is built, with these products.
fn built(products: &[(&str, &str)]) -> Experiment {
    let mut experiment = experiment();
    let owned = |(name, path): &(&str, &str)| ((*name).to_owned(), (*path).to_owned());
    experiment.versions[0].build = Some(Build {
        command: CommandLine::Exact(vec!["true".to_owned()]),
        builds: 1,
        products: products.iter().map(owned).collect::<BTreeMap<_, _>>(),
        timeout: Span::from_secs(1),
    });
    experiment
}

/// An experiment whose benchmark has this name.
fn renamed(name: &str) -> Experiment {
    let mut experiment = experiment();
    experiment.benchmarks[0].name = name.to_owned();
    experiment
}
