//! Events of builds: a plan that begins with them, what they made or did not make, and a run that uses one.

use std::sync::Arc;

use speedup_core::{
    experiment::CommandLine, experiment::build::Build, experiment::build::Product,
    experiment::build::UsedBuild, experiment::files::Content, experiment::files::ContentHash,
    machine::event::Change, machine::event::Event, plan::Plan, run::lease::Evidence, run::lease::Lease,
    run::record::Failure, run::record::Outcome, run::record::Record, value::id::LeaseEpoch,
    value::id::RunIndex, value::time::Span, value::time::Timestamp,
};

use super::{EXPERIMENT, leased, plan, record};

pub(super) fn events() -> Vec<Event> {
    let plan = with_builds();
    let appended = plan.draw_runs();
    let from = plan.runs();
    let no_product = Failure::NoProduct { name: "lib".to_owned(), reason: "it was not reported".to_owned() };
    let products = vec![product("lib", false), product("prog", true)];
    let made = Record { products: products.clone(), ..record(Outcome::Measured) };
    let reported = |lease, record| {
        let (host, record) = ("machine-1".parse().unwrap(), Arc::new(record));
        Change::RunReported { host, lease, record }
    };
    let build = Some(Box::new(UsedBuild { run: RunIndex(1), products }));
    let used = Lease { run: RunIndex(from), evidence: Evidence { build, ..leased().evidence }, ..leased() };
    let changes = [
        Change::Submitted {
            experiment: EXPERIMENT,
            plan: Arc::new(plan),
            by: "ada@laptop".to_owned(),
            request: None,
        },
        reported(LeaseEpoch(7), made),
        reported(LeaseEpoch(8), record(Outcome::Failed(no_product))),
        Change::Extended { experiment: EXPERIMENT, from, appended, by: "coordinator".to_owned() },
        Change::LeaseGranted(Box::new(used)),
    ];
    (1_000..).zip(changes).map(|(at, change)| Event { at: Timestamp(at), change }).collect()
}

fn with_builds() -> Plan {
    let Plan { mut experiment, .. } = plan();
    experiment.versions[0].build = Some(Build {
        command: CommandLine::Exact(vec!["make".to_owned(), "-s".to_owned()]),
        builds: 2,
        products: ["lib", "prog"].map(|name| (name.to_owned(), format!("out/{name}"))).into(),
        timeout: Span(9_000_000_000),
    });
    Plan::draw(experiment)
}

fn product(name: &str, executable: bool) -> Product {
    let content = Content { blake3: ContentHash([0xB1; 32]), bytes: 77, executable };
    Product { name: name.to_owned(), content }
}
