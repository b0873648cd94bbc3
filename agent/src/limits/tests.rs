//! Limits of files on a disk, and what is judged by them.

use speedup_core::experiment::files::{ContentHash, StagedFile};
use std::{collections::BTreeMap, ffi::OsString, fs, fs::Permissions, os::unix::fs::symlink, time::Duration};

use speedup_core::experiment::environment::{Environment, ResourceLimits};
use tempfile::TempDir;

use super::*;
use crate::launch::{Preparation, Sink};

/// A host with a file of limits, `bench/tool`, `other/tool`, and a link `bench/out` to the latter.
struct Host(TempDir);

impl Host {
    fn new() -> Self {
        let host = Self(tempfile::tempdir().unwrap());
        for directory in ["bench", "other", "state/work"] {
            fs::create_dir_all(host.path(directory)).unwrap();
        }
        for tool in ["bench/tool", "other/tool"] {
            fs::write(host.path(tool), "#!/bin/sh\n").unwrap();
            fs::set_permissions(host.path(tool), Permissions::from_mode(0o755)).unwrap();
        }
        symlink(host.path("other/tool"), host.path("bench/out")).unwrap();
        symlink(host.path("other"), host.path("bench/away")).unwrap();
        host
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    /// The limits of a text in which `~` is the host's directory.
    fn limits(&self, text: &str) -> Result<Limits, LimitsError> {
        let file = self.path("limits.toml");
        fs::write(&file, text.replace('~', &self.path("").display().to_string())).unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        Limits::read(&file)
    }

    fn command(&self, program: &str, directory: &str, env: &[(&str, &str)]) -> LaunchCommand {
        let program = program.replace('~', &self.path("").display().to_string());
        let of = |text: &&str| OsString::from(text.replace('~', &self.path("").display().to_string()));
        LaunchCommand {
            argv: vec![program.into()],
            env: env.iter().map(|(name, value)| (of(name), of(value))).collect(),
            directory: self.path(directory),
            timeout: Duration::ZERO,
            kill_grace: Duration::ZERO,
            stdout: Sink::Null,
            stderr: Sink::Null,
            preparation: Preparation::default(),
            metrics: Vec::new(),
        }
    }

    fn check(&self, limits: &Limits, command: &LaunchCommand) -> Result<(), NotAllowed> {
        limits.check("the run", command, None, &self.path("state"))
    }
}

/// What was refused is said to be the owner's will, and so does not speak against the host.
fn refused(result: Result<(), NotAllowed>) -> String {
    match result {
        Err(NotAllowed::Refused(reason)) => reason,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn without_limits_everything_is_allowed() {
    let host = Host::new();
    for limits in [Limits::default(), host.limits("").unwrap()] {
        let command = host.command("no-such", "other", &[("LD_PRELOAD", "~x.so")]);
        assert_eq!(host.check(&limits, &command), Ok(()));
    }
}

#[test]
fn a_program_is_what_its_path_leads_to() {
    let host = Host::new();
    let limits = host.limits("commands = [\"~bench\"]\n").unwrap();
    for (program, path) in [("~bench/tool", ""), ("~other/../bench/tool", ""), ("tool", "~bench")] {
        let command = host.command(program, "state/work", &[("PATH", path)]);
        assert_eq!(host.check(&limits, &command), Ok(()), "{program}");
    }
    for (program, path) in [
        ("~other/tool", ""),
        ("~bench/out", ""),
        ("~bench/away/tool", ""),
        ("~bench/../other/tool", ""),
        ("../../other/tool", ""),
        ("tool", "~other:~bench"),
        ("tool", "../../bench/away"),
        ("/bin/sh", ""),
    ] {
        let command = host.command(program, "state/work", &[("PATH", path)]);
        let reason = refused(host.check(&limits, &command));
        assert!(reason.contains("`commands`") && reason.contains("limits.toml"), "{reason}");
        assert!(reason.contains("of the run"), "{reason}");
    }
    let none = host.limits("commands = []\n").unwrap();
    refused(host.check(&none, &host.command("~bench/tool", "state/work", &[])));
    let gone = host.check(&limits, &host.command("~bench/gone", "state/work", &[]));
    assert!(matches!(&gone, Err(NotAllowed::NotThere(words)) if words.contains("bench/gone")), "{gone:?}");
}

#[test]
fn a_listed_program_is_called_by_its_name() {
    let host = Host::new();
    // As busybox is: every name is a link to one program.
    symlink("tool", host.path("bench/true")).unwrap();
    symlink("tool", host.path("bench/sh")).unwrap();
    let limits = host.limits("commands = [\"~bench/true\"]\n").unwrap();
    assert_eq!(host.check(&limits, &host.command("~bench/true", "state/work", &[])), Ok(()));
    for program in ["~bench/sh", "~bench/tool"] {
        refused(host.check(&limits, &host.command(program, "state/work", &[])));
    }
}

#[test]
fn no_variable_brings_other_code_into_a_listed_program() {
    let host = Host::new();
    let limits = host.limits("commands = [\"~bench\"]\n").unwrap();
    for name in ["LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "GCONV_PATH", "GLIBC_TUNABLES"] {
        let reason = refused(host.check(&limits, &host.command("~bench/tool", "bench", &[(name, "")])));
        assert!(reason.contains(name), "{reason}");
    }
    let harmless = host.command("~bench/tool", "bench", &[("LDFLAGS", ""), ("TMPDIR", "~other")]);
    assert_eq!(host.check(&limits, &harmless), Ok(()));
}

#[test]
fn a_run_stands_and_reads_below_listed_directories_alone() {
    let host = Host::new();
    let limits = host.limits("directories = [\"~bench\"]\n").unwrap();
    for directory in ["bench", "state/work"] {
        assert_eq!(host.check(&limits, &host.command("/bin/sh", directory, &[])), Ok(()), "{directory}");
    }
    for directory in ["other", "bench/away", "bench/.."] {
        let reason = refused(host.check(&limits, &host.command("/bin/sh", directory, &[])));
        assert!(reason.contains("`directories`") && reason.contains(directory), "{reason}");
    }
}

#[test]
fn forbidden_settings_are_refused_and_others_are_not() {
    let host = Host::new();
    let asks = |environment| WorkOrder { environment, ..order() };
    let governor = Environment { governor: Some("performance".to_owned()), ..Environment::default() };
    let nice = Environment { nice: Some(5), ..Environment::default() };
    let limited = Environment {
        limits: ResourceLimits { open_files: Some(9), ..Default::default() },
        ..Environment::default()
    };
    let all = host.limits("forbid = [\"host_settings\"]\n").unwrap();
    for (environment, name) in [(&governor, "governor"), (&nice, "nice")] {
        let reason = refused(all.check_order(&asks(environment.clone())));
        assert!(reason.contains("`forbid`") && reason.contains(name), "{reason}");
    }
    assert_eq!(all.check_order(&asks(limited.clone())), Ok(()));
    let one = host.limits("forbid = [\"limits\"]\n").unwrap();
    assert_eq!(one.check_order(&asks(governor)), Ok(()));
    refused(one.check_order(&asks(limited)));
}

#[test]
fn shared_files_lie_below_listed_directories() {
    let host = Host::new();
    let limits = host.limits("directories = [\"~bench\"]\n").unwrap();
    let reads = |name: &str| {
        let path = host.path(name).display().to_string();
        let blake3 = ContentHash([0; 32]);
        let source = FileSource::Shared { path, blake3, bytes: None };
        let files = vec![StagedFile { name: "one".to_owned(), source }];
        limits.check_order(&WorkOrder { files, ..order() })
    };
    assert_eq!(reads("bench/tool"), Ok(()));
    for outside in ["other/tool", "bench/out", "bench/away/tool"] {
        let reason = refused(reads(outside));
        assert!(reason.contains("shared file") && reason.contains(outside), "{reason}");
    }
}

#[test]
fn what_is_no_limit_is_refused_with_its_line() {
    let host = Host::new();
    for (text, line, said) in [
        ("commands = []\ncomands = []\n", "line 2", "comands"),
        ("\ncommands = [\"bench\"]\n", "line 2", "not an absolute path"),
        ("commands = [\"~gone\"]\n", "line 1", "cannot find"),
        ("directories = [\"~bench/tool\"]\n", "line 1", "no directory"),
        ("directories = \"~bench\"\n", "line 1", "sequence"),
        ("\nforbid = [\"governer\"]\n", "line 2", "transparent_huge_pages"),
    ] {
        let error = host.limits(text).unwrap_err();
        let words = speedup_core::value::causes::with_causes(&error);
        assert!(words.contains(line) && words.contains(said), "{text:?}: {words}");
        assert!(words.contains("limits.toml"), "{words}");
    }
    host.limits("").unwrap();
    fs::set_permissions(host.path("limits.toml"), Permissions::from_mode(0o664)).unwrap();
    let open = Limits::read(&host.path("limits.toml")).unwrap_err();
    assert!(matches!(open, LimitsError::Open { mode: 0o664, .. }), "{open:?}");
    let long = host.limits(&"#".repeat(MAX_FILE_BYTES as usize + 1)).unwrap_err();
    assert!(matches!(long, LimitsError::TooLarge { .. }), "{long:?}");
    assert!(matches!(Limits::read(&host.path("none")), Err(LimitsError::Read { .. })));
}

fn order() -> WorkOrder {
    use speedup_core::experiment::{AcceptedExits, CommandLine, Expectation, KeepOutput, OutputChoice};
    use speedup_core::value::time::Span;
    WorkOrder {
        command: CommandLine::Exact(vec!["true".to_owned()]),
        env: BTreeMap::new(),
        vars: BTreeMap::new(),
        expect: Expectation { exit: 0, accept: AcceptedExits::None, stdout_blake3: None },
        timeout: Span::from_secs(1),
        warmup: 0,
        directory: None,
        setup: None,
        prepare: None,
        cleanup: None,
        canary: None,
        environment: Environment::default(),
        common_software: None,
        env_padding: None,
        directory_padding: None,
        metrics: Vec::new(),
        own_metrics: Vec::new(),
        output: OutputChoice { limit: 1, keep: 1, keep_of: KeepOutput::Failed },
        rest: None,
        files: Vec::new(),
        built: Vec::new(),
        collect: BTreeMap::new(),
        seat: None,
    }
}

/// What executes whatever a plan says needs a word of its own beside a list of commands.
#[test]
fn software_is_refused_where_commands_are_limited() {
    let host = Host::new();
    let order = |software: Software| {
        let environment = Environment { software, ..Environment::default() };
        WorkOrder { environment, ..order() }
    };
    let modules = |name: &str| order(Software { modules: vec![name.to_owned()], ..Software::default() });
    let prologue = order(Software { prologue: Some("id".to_owned()), ..Software::default() });
    for text in ["", "directories = [\"~bench\"]\n"] {
        assert_eq!(host.limits(text).unwrap().check_order(&prologue), Ok(()));
    }
    let forbidden = host.limits("forbid = [\"software\"]\n").unwrap();
    assert!(refused(forbidden.check_order(&modules("gcc"))).contains("takes the setting software"));
    let limited = host.limits("commands = [\"~bench\"]\n").unwrap();
    let of_setup = WorkOrder {
        common_software: Some(prologue.environment.software.clone()),
        ..order(Software::default())
    };
    for wanted in [&prologue, &modules("gcc"), &of_setup] {
        assert!(refused(limited.check_order(wanted)).contains("`software` does not list"));
    }
    let allowed = host.limits("commands = [\"~bench\"]\nsoftware = [\"modules\"]\n").unwrap();
    assert_eq!(allowed.check_order(&modules("gcc/12")), Ok(()));
    assert!(refused(allowed.check_order(&prologue)).contains("prologue"));
    for path in ["/tmp/evil", "./evil", "gcc/../../evil", "~/evil", "{evil}", "gcc/{evil}"] {
        assert!(refused(allowed.check_order(&modules(path))).contains("by their names"), "{path}");
    }
    // What a module sets may bring in other code, and what the plan sets may not.
    let made = BTreeMap::from([("LD_LIBRARY_PATH".to_owned(), "/opt/gcc/lib".to_owned())]);
    let command = |value| host.command("~bench/tool", "state/work", &[("LD_LIBRARY_PATH", value)]);
    let check = |value| allowed.check("the run", &command(value), Some(&made), &host.path("state"));
    assert_eq!(check("/opt/gcc/lib"), Ok(()));
    assert!(refused(check("/tmp/evil")).contains("LD_LIBRARY_PATH"));
    assert!(host.limits("software = [\"anything\"]\n").is_err());
}
