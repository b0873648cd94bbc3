//! Builds, from the plan to the runs: what a build made is collected, kept at the coordinator, and used on any host, each
//! byte of it by its hash.

mod deaths;
mod faults;

use std::{collections::BTreeMap, collections::BTreeSet, fs};

use speedup_core::machine::event::{AttemptEnd, EndedAttempt};
use speedup_core::plan::Plan;
use speedup_core::run::record::{Outcome, Record};
use speedup_core::value::id::RunIndex;
use speedup_proto::convert::{ExperimentStatus, ExportPart};
use speedup_proto::v1;
use speedup_proto::v1::experiments_client::ExperimentsClient;
use speedup_tests::{blake3_hex, pool::Pool};
use tokio_stream::StreamExt as _;

use crate::SPEEDUP;

/// A build that makes a script which prints itself, another one each time.
const SCRIPT: &str = "mkdir out; { echo \"#!/bin/sh\"; head -c 16 /dev/urandom | od -An -tx1 | sed \"s/^/#/\"; \
    echo \"exec cat \\\"\\$0\\\"\"; } > out/prog; chmod 755 out/prog";

/// A plan of two versions, each built so, whose runs execute what was built.
fn plan(build: &str, builds: u32, runs: u32, policy: &str) -> String {
    let build = format!("build_shell = '{build}'\nbuilds = {builds}\nproducts = {{ prog = \"out/prog\" }}\n");
    format!(
        "[experiment]\nname = \"builds\"\nseed = 11\n[versions.old]\nbaseline = true\n{build}[versions.new]\n{build}\
         [benchmarks.print]\ncommand = [\"{{build.prog}}\"]\n\
         [repetitions]\nruns = {runs}\n[independence]\npolicy = \"{policy}\"\n"
    )
}

/// What the coordinator tells of an experiment: all that an export is made of.
struct Told {
    status: ExperimentStatus,
    plan: Plan,
    attempts: Vec<EndedAttempt>,
}

impl Told {
    fn of(pool: &Pool, experiment: &str) -> Self {
        await_it(Self::ask(pool, experiment))
    }

    async fn ask(pool: &Pool, experiment: &str) -> Self {
        let mut client = ExperimentsClient::new(pool.channel(None).await);
        let request = v1::ExportRequest { experiment: experiment.to_owned(), ..v1::ExportRequest::default() };
        let mut chunks = client.export(request).await.expect("an export").into_inner();
        let (mut head, mut order, mut attempts) = (None, Vec::new(), Vec::new());
        while let Some(chunk) = chunks.next().await {
            match ExportPart::try_from(chunk.expect("a part")).expect("a part that is well formed") {
                ExportPart::Head { status, experiment, benchmarks, stages, .. } => {
                    head = Some((status, experiment, benchmarks, stages));
                }
                ExportPart::Order(piece) => order.extend(piece),
                ExportPart::Attempts(page) => attempts.extend(page.read().map(Result::unwrap)),
            }
        }
        let (status, experiment, benchmarks, stages) = head.expect("a head");
        let plan = Plan::restore(*experiment, benchmarks, order, &stages).expect("a plan");
        Self { status: *status, plan, attempts }
    }

    /// What was reported of each run that an attempt settled, and by whom.
    fn reported(&self) -> BTreeMap<RunIndex, (&EndedAttempt, &Record)> {
        let reported = self.attempts.iter().filter_map(|ended| match &ended.end {
            AttemptEnd::Reported(record) => Some((ended.lease.run, (ended, record.as_ref()))),
            AttemptEnd::Lost { .. } => None,
        });
        reported.collect()
    }

    /// The words of what was lost.
    fn losses(&self) -> Vec<String> {
        let losses = self.attempts.iter().filter_map(|ended| match &ended.end {
            AttemptEnd::Lost { reason, .. } => Some(reason.words()),
            AttemptEnd::Reported(_) => None,
        });
        losses.collect()
    }
}

/// Waits for what is asked; its connections are gone then.
fn await_it<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(work)
}

/// Asserts that every run was measured with what the plan's build for it made: the program has printed itself.
fn used_what_was_built(pool: &Pool, told: &Told) {
    let reported = told.reported();
    let builds = told.plan.builds();
    let mut contents = BTreeSet::new();
    for run in (0..told.plan.runs()).map(RunIndex) {
        let (ended, record) = reported[&run];
        assert_eq!(record.outcome, Outcome::Measured, "{ended:?}");
        let Some(by) = told.plan.build_of(run) else {
            assert!(run.0 < builds && ended.lease.evidence.build.is_none());
            let [product] = &record.products[..] else { panic!("one product: {ended:?}") };
            assert!(product.name == "prog" && product.content.executable, "{product:?}");
            let kept =
                fs::read(pool.blob(&product.content.blake3.to_string())).expect("the coordinator has it");
            assert_eq!(blake3_hex(&kept), product.content.blake3.to_string());
            assert_eq!(kept.len() as u64, product.content.bytes);
            assert!(contents.insert(product.content), "each build makes another");
            continue;
        };
        let used = ended.lease.evidence.build.as_ref().expect("the build is told with the run");
        assert_eq!((used.run, &used.products), (by, &reported[&by].1.products));
        assert_eq!(told.plan.task(by).version(), told.plan.task(run).version());
        assert_eq!(record.stdout.blake3, used.products[0].content.blake3.0, "that very product was executed");
        assert!(record.products.is_empty());
    }
    assert_eq!(contents.len(), builds as usize);
}

#[test]
fn every_run_uses_the_build_that_the_plan_says() {
    let pool = Pool::start(SPEEDUP, 3);
    let experiment = pool.finish(&plan(SCRIPT, 3, 6, "any"));
    let told = Told::of(&pool, &experiment);
    assert_eq!((told.plan.builds(), told.plan.runs()), (6, 18));
    used_what_was_built(&pool, &told);
    let mut uses: BTreeMap<RunIndex, u32> = BTreeMap::new();
    (6..18)
        .filter_map(|run| told.plan.build_of(RunIndex(run)))
        .for_each(|by| *uses.entry(by).or_default() += 1);
    assert_eq!(uses.into_values().collect::<Vec<_>>(), [2; 6], "evenly");
    let measured = pool.ledger(&experiment).rows;
    for row in measured.iter().filter(|row| row["counts"] == "true") {
        let run = RunIndex(row["run"].parse().expect("a number"));
        assert_eq!(row["build"], told.plan.build_of(run).expect("a build").to_string(), "{row:?}");
    }
    assert_eq!(measured.iter().filter(|row| row["counts"] == "true").count(), 12, "{measured:?}");
}

#[test]
fn what_one_host_built_runs_on_others() {
    let pool = Pool::start(SPEEDUP, 4);
    // Each of the four runs is on a host of its own, so of the two runs of a version one is not where it was built.
    let experiment = pool.finish(&plan(SCRIPT, 1, 2, "distinct"));
    let told = Told::of(&pool, &experiment);
    used_what_was_built(&pool, &told);
    let reported = told.reported();
    for build in (0..2).map(RunIndex) {
        let builder = &reported[&build].0.lease.host;
        let users = (2..6).map(RunIndex).filter(|run| told.plan.build_of(*run) == Some(build));
        let hosts: Vec<_> = users.map(|run| &reported[&run].0.lease.host).collect();
        assert!(hosts.len() == 2 && hosts.iter().any(|host| *host != builder), "{builder}: {hosts:?}");
    }
}

#[test]
fn products_are_kept_as_long_as_their_experiment() {
    let mut pool = Pool::start(SPEEDUP, 1);
    let experiment = pool.finish(&plan(SCRIPT, 2, 2, "any"));
    let stray = pool.data().join("blobs/ab").join("cd".repeat(31));
    fs::create_dir_all(stray.parent().expect("a folder")).expect("a folder");
    for store_is_lost in [false, true] {
        fs::write(&stray, b"stray").expect("a file");
        pool.kill_coordinator();
        if store_is_lost {
            fs::remove_dir_all(pool.data().join("store")).expect("removed");
        }
        pool.start_coordinator();
        assert!(!stray.exists(), "what nobody names goes");
        used_what_was_built(&pool, &Told::of(&pool, &experiment));
    }
}

#[test]
fn a_product_that_is_no_program_is_a_file_of_the_run() {
    let pool = Pool::start(SPEEDUP, 1);
    let plan = plan("mkdir out; echo words > out/prog", 1, 1, "any")
        .replace("[\"{build.prog}\"]", "[\"cat\", \"{build.prog}\"]");
    let told = Told::of(&pool, &pool.finish(&plan));
    for (ended, record) in told.reported().values() {
        assert_eq!(record.outcome, Outcome::Measured, "{ended:?}");
        let mut contents = record.products.iter().map(|product| product.content);
        assert!(contents.all(|content| !content.executable && content.bytes == 6), "{ended:?}");
        if ended.lease.evidence.build.is_some() {
            assert_eq!(record.stdout.blake3, *blake3::hash(b"words\n").as_bytes());
        }
    }
    let [old, new] = [0, 1].map(|run| told.reported()[&RunIndex(run)].1.products[0].content);
    assert_eq!(old, new, "one content, kept once");
}

#[test]
fn a_compiled_program_is_the_one_that_is_executed() {
    if !std::process::Command::new("cc").arg("--version").output().is_ok_and(|cc| cc.status.success()) {
        return speedup_tests::skip("there is no C compiler");
    }
    let pool = Pool::start(SPEEDUP, 2);
    pool.write("main.c", "#include <stdio.h>\nint main(void) { puts(WORD); return 0; }\n");
    let build = "mkdir out; ln -s {file.source} main.c; \
        cc -frandom-seed=$(od -An -N8 -tx8 /dev/urandom | tr -d \" \") -DWORD=\"\\\"{version}\\\"\" -o out/prog main.c";
    let plan = plan(build, 2, 2, "any") + "[files.source]\npath = \"main.c\"\n";
    let told = Told::of(&pool, &pool.finish(&plan));
    assert_eq!(told.plan.runs(), 8);
    for (run, (ended, record)) in told.reported() {
        assert_eq!(record.outcome, Outcome::Measured, "{ended:?}");
        if run.0 >= told.plan.builds() {
            let version = told.plan.task(run).version();
            let printed = format!("{}\n", told.plan.experiment.version(version).expect("a version").name);
            assert_eq!(record.stdout.blake3, *blake3::hash(printed.as_bytes()).as_bytes());
        }
    }
}
