//! Events of software: plans that have it prepared, and what it came to on a host, with the file system that the run stood on.

use std::sync::Arc;

use speedup_core::{
    experiment::environment::Environment, experiment::environment::Setting, experiment::files::ContentHash,
    experiment::software::Container, experiment::software::ContainerLauncher, experiment::software::Software,
    machine::event::Change, machine::event::Event, plan::Plan, run::conditions::Conditions,
    run::conditions::FileSystem, run::conditions::Location, run::record::Outcome, run::record::Record,
    run::software::*, value::id::LeaseEpoch, value::time::Span, value::time::Timestamp,
};

use super::{EXPERIMENT, plan, record};

pub(super) fn events() -> Vec<Event> {
    let submitted = Change::Submitted {
        experiment: EXPERIMENT,
        plan: Arc::new(with_software()),
        by: "ada@laptop".to_owned(),
        request: None,
    };
    let reported = used().into_iter().map(|conditions| Change::RunReported {
        host: "machine-1".parse().unwrap(),
        lease: LeaseEpoch(7),
        record: Arc::new(Record { conditions: Some(Box::new(conditions)), ..record(Outcome::Measured) }),
    });
    let changes = [submitted].into_iter().chain(reported);
    (1_000..).zip(changes).map(|(at, change)| Event { at: Timestamp(at), change }).collect()
}

fn with_software() -> Plan {
    let Plan { mut experiment, .. } = plan();
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let software = Software {
        prologue: Some("module use /opt/modules".to_owned()),
        modules: words(&["gcc/12", "openmpi"]),
        spack_environment: Some("bench".to_owned()),
        spack: words(&["fftw@3.3"]),
        container: Some(Container {
            image: "/images/a.sif".to_owned(),
            launcher: ContainerLauncher::Apptainer,
            digest: Vec::new(),
            probe: words(&["true"]),
        }),
        timeout: Span(9_000_000_000),
        blake3: Some(ContentHash([0xB2; 32])),
    };
    let container = Container {
        image: "bench:1".to_owned(),
        launcher: ContainerLauncher::Words(words(&["podman", "run", "{image}"])),
        digest: words(&["podman", "inspect", "{image}"]),
        probe: Vec::new(),
    };
    experiment.versions[1].software = Some(Software { container: Some(container), ..Software::default() });
    experiment.environment = Environment { software, ..Environment::default() };
    Plan::draw(experiment)
}

fn used() -> [Conditions; 3] {
    let with = |kind: &str, location, software| Conditions {
        file_system: Some(FileSystem { kind: kind.to_owned(), location }),
        software: Some(software),
        applied: vec![Setting::Software],
        ..Conditions::default()
    };
    let variables =
        [("PATH", "{work}/bin"), ("TOOL", "1")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    let variables = UsedVariables {
        blake3: ContentHash([0xB3; 32]),
        made: Some(MadeVariables { variables: variables.into(), ended_unix_ns: 77, took: Span(9) }),
    };
    let container = |identity, start| {
        let image = "/images/a.sif".to_owned();
        Some(UsedContainer { image, identity, start })
    };
    let hashed = container(ImageIdentity::Blake3(ContentHash([0xB4; 32])), Some(Span(5)));
    let again = UsedVariables { made: None, ..variables.clone() };
    let told = container(ImageIdentity::Told("sha256:01".to_owned()), None);
    let unknown = container(ImageIdentity::Unknown { reason: "no file".to_owned() }, None);
    [
        with("ext4", Location::Local, UsedSoftware { variables: Some(variables), container: hashed }),
        with("nfs4", Location::Network, UsedSoftware { variables: Some(again), container: told }),
        with("fuse.sshfs", Location::Program, UsedSoftware { variables: None, container: unknown }),
    ]
}
