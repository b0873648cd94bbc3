//! Software in plans: common to all versions, a version's own, and what is refused.

use super::*;
use crate::experiment::files::ContentHash;
use crate::experiment::software::{ContainerLauncher, MAX_NAMES, SoftwarePart, USUAL_TIMEOUT};

const PLAN: &str = r#"
[experiment]
name = "software"
[environment]
prologue = "module use {input}/modules"
modules = ["mpi", "gcc/{gcc}"]
spack = ["fftw@3.3"]
software_timeout = "5m"
[versions.old]
baseline = true
vars = { gcc = "12" }
[versions.new]
vars = { gcc = "13" }
environment.modules = ["gcc/{gcc}"]
environment.prologue = ""
environment.container = { image = "/images/{version}.sif", launcher = "apptainer" }
[benchmarks.x]
command = ["x"]
"#;

fn software(experiment: &Experiment, version: u32) -> Software {
    let cell = Cell { benchmark: BenchmarkIndex(0), version: VersionIndex(version) };
    WorkOrder::new(experiment, cell, RunIndex(0)).environment.software
}

#[test]
fn a_version_has_what_it_says_and_the_rest_of_what_is_common() {
    let experiment = read(PLAN);
    let old = software(&experiment, 0);
    assert_eq!(old.prologue.as_deref(), Some("module use {input}/modules"));
    assert_eq!(
        (old.modules.as_slice(), old.timeout),
        (&["mpi".into(), "gcc/{gcc}".into()][..], Span::from_secs(300))
    );
    assert_eq!(old.parts().collect::<Vec<_>>(), SoftwarePart::ALL[..3]);
    let new = software(&experiment, 1);
    assert_eq!((new.prologue, new.modules.as_slice()), (None, &["gcc/{gcc}".to_owned()][..]));
    assert_eq!((new.spack, new.timeout), (old.spack, old.timeout));
    let container = new.container.expect("a container");
    assert_eq!(
        (container.launcher, container.probe),
        (ContainerLauncher::Apptainer, vec!["true".to_owned()])
    );
    assert!(read(SHORTEST).environment.software.is_empty());
    assert_eq!(read(SHORTEST).environment.software.timeout, USUAL_TIMEOUT);
}

#[test]
fn a_hash_is_of_what_makes_the_variables() {
    let hash = "ab".repeat(32);
    let text = PLAN.replace("software_timeout", &format!("blake3 = \"{hash}\"\nsoftware_timeout"));
    let experiment = read(&text);
    assert_eq!(software(&experiment, 0).blake3, ContentHash::from_hex(&hash));
    assert_eq!(software(&experiment, 1).blake3, None, "it loads other modules");
}

/// The same command with other modules is another program: no control.
#[test]
fn versions_with_other_software_are_not_alike() {
    let order = |text: &str, version| {
        let cell = Cell { benchmark: BenchmarkIndex(0), version: VersionIndex(version) };
        WorkOrder::new(&read(text), cell, RunIndex(0))
    };
    assert!(order(SHORTEST, 0).is_alike(&order(SHORTEST, 1)));
    let other = SHORTEST.replace("[versions.after]\n", "[versions.after]\nenvironment.modules = [\"gcc\"]\n");
    assert!(!order(&other, 0).is_alike(&order(&other, 1)));
}

#[test]
fn what_no_host_can_prepare_is_refused_with_its_place() {
    let message = |from: &str, to: &str| {
        assert!(PLAN.contains(from), "{from}");
        parse(&PLAN.replace(from, to), Seed(1)).expect_err("refused").to_string()
    };
    let many = format!("spack = [{}]", "\"a\", ".repeat(MAX_NAMES + 1));
    for (from, to, part) in [
        ("\"mpi\"", "\"--force\"", "out of range"),
        ("\"mpi\"", "\"\"", "out of range"),
        ("\"mpi\"", "\"{mpi}\"", "unknown placeholder"),
        ("\"mpi\"", "\"{benchmark}\"", "unknown placeholder"),
        ("\"5m\"", "\"9h\"", "out of range"),
        ("\"5m\"", "\"soon\"", "soon"),
        ("spack = [\"fftw@3.3\"]", &many, "65 names"),
        ("launcher = \"apptainer\"", "launcher = \"docker\"", "apptainer"),
        (", launcher = \"apptainer\"", "", "neither of `launcher`"),
        ("launcher = \"apptainer\"", "launcher = \"apptainer\", command = [\"a\"]", "both of `launcher`"),
        ("launcher = \"apptainer\"", "command = [\"podman\", \"run\"]", "{image}"),
        ("launcher = \"apptainer\"", "command = [\"run\", \"{image}\", \"{home}\"]", "unknown placeholder"),
        ("environment.prologue = \"\"", "environment.blake3 = \"ab\"", "not a BLAKE3 hash"),
        ("environment.prologue = \"\"", "environment.nice = 3", "unknown key"),
    ] {
        let told = message(from, to);
        assert!(told.contains(part) && told.contains("hint: "), "{part}:\n{told}");
    }
    read(
        &PLAN.replace(
            "launcher = \"apptainer\"",
            "command = [\"run\", \"{scratch}\", \"{work}\", \"{image}\"]",
        ),
    );
}

/// What is the same for all versions has the software of `[environment]`, but not where that differs between versions or needs the setup.
#[test]
fn setup_and_canary_have_what_is_common() {
    let common = |prologue: &str, around: &str| {
        let text = PLAN
            .replace("module use {input}/modules", prologue)
            .replace("\"gcc/{gcc}\"]\nspack", "\"gcc/9\"]\nspack");
        let experiment = read(&format!("{text}{around}"));
        let cell = |version| Cell { benchmark: BenchmarkIndex(0), version: VersionIndex(version) };
        let [one, two] =
            [0, 1].map(|version| WorkOrder::new(&experiment, cell(version), RunIndex(0)).common_software);
        assert_eq!(one, two, "whichever version comes first");
        one
    };
    let setup = "[setup]\nshell = \"make\"\n";
    let canary = "[canary]\ncommand = [\"true\"]\n";
    for around in [setup, canary] {
        let software = common("module use /site", around).expect("that of [environment]");
        assert_eq!(software.modules, ["mpi", "gcc/9"]);
        assert_eq!(software.prologue.as_deref(), Some("module use /site"));
        assert_eq!(common("module use {input}/modules", around), None, "the setup makes it");
        assert_eq!(common("module use /site/{version}", around), None);
        assert_eq!(common("module use /site/{gcc}", around), None);
    }
    assert_eq!(common("module use /site", ""), None, "nobody wants it");
}
