//! A program executes as its preparation says, seen by the program itself.

use std::{os::unix::fs::PermissionsExt, sync::atomic::AtomicBool};

use speedup_agent::launch::{
    CpuMask, End, Execution, FailedStep, LaunchCommand, LaunchError, LaunchStep, Launcher, NoHugePages,
    Preparation, User, UserError, allowed,
};
use speedup_core::experiment::environment::{ResourceLimits, Scheduler};
use speedup_core::value::cpu_set::CpuSet;
use speedup_core::value::hint::Hinted;

use super::{command, end::WRITTEN, fail, run, shell, skip, text};

fn prepared(argv: &[&str], preparation: Preparation) -> LaunchCommand {
    LaunchCommand { preparation, ..command(argv) }
}

/// A field of `/proc/self/status`, as the program reads it.
fn status(preparation: Preparation, field: &str) -> String {
    let execution = run(&prepared(&["cat", "/proc/self/status"], preparation));
    assert_eq!((execution.end, execution.failed_steps.as_slice()), (End::Exited(0), &[][..]));
    let text = text(&execution);
    let value = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    value.unwrap_or_else(|| panic!("no {field} in {text}")).trim().to_owned()
}

/// A field of `/proc/self/stat`, from 1; the program's name has no space.
fn stat(preparation: Preparation, field: usize) -> String {
    let execution = run(&prepared(&["cat", "/proc/self/stat"], preparation));
    assert_eq!(execution.failed_steps, []);
    text(&execution).split(' ').nth(field - 1).unwrap().to_owned()
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn it_is_confined_to_its_cpus_and_the_agent_is_not() {
    let before = allowed().unwrap();
    let last = before.iter().next_back().unwrap();
    let only: CpuSet = [last].into_iter().collect();
    let preparation = Preparation { cpus: Some(CpuMask::from(&only)), ..Preparation::default() };
    assert_eq!(status(preparation, "Cpus_allowed_list"), last.to_string());
    assert_eq!(allowed().unwrap(), before);
}

#[test]
fn cpus_that_are_not_there_are_told_or_refused() {
    let none: CpuSet = [8_191].into_iter().collect();
    let preparation = Preparation { cpus: Some(CpuMask::from(&none)), ..Preparation::default() };
    let execution = run(&prepared(&["true"], preparation.clone()));
    assert_eq!(execution.end, End::Exited(0));
    assert_eq!(execution.failed_steps, [FailedStep { step: LaunchStep::Affinity, errno: libc::EINVAL }]);
    let error = fail(&prepared(&["true"], Preparation { strict: true, ..preparation }));
    assert!(matches!(error, LaunchError::Step { step: LaunchStep::Affinity, .. }), "{error}");
}

#[test]
fn its_nice_value_and_scheduling_class_are_set() {
    // Nicer than the agent is allowed to everybody.
    let own: i8 = stat(Preparation::default(), 19).parse().unwrap();
    let nice = (own + 5).min(19);
    assert_eq!(stat(Preparation { nice: Some(nice), ..Preparation::default() }, 19), nice.to_string());
    let of = |scheduler| stat(Preparation { scheduler: Some(scheduler), ..Preparation::default() }, 41);
    assert_eq!(of(Scheduler::Batch), libc::SCHED_BATCH.to_string());
    assert_eq!(of(Scheduler::Other), libc::SCHED_OTHER.to_string());
}

#[test]
fn real_time_is_had_or_told() {
    let preparation = Preparation { scheduler: Some(Scheduler::RoundRobin(7)), ..Preparation::default() };
    let execution = run(&prepared(&["cat", "/proc/self/stat"], preparation));
    let read = text(&execution);
    let fields: Vec<&str> = read.split(' ').collect();
    match execution.failed_steps.as_slice() {
        [] => assert_eq!((fields[40], fields[39]), ("2", "7")),
        told => {
            assert_eq!(told, [FailedStep { step: LaunchStep::Scheduler, errno: libc::EPERM }]);
            assert_eq!(fields[40], "0");
        }
    }
}

#[test]
fn its_address_space_is_randomised_or_not() {
    let flags = |aslr| {
        text(&run(&prepared(
            &["cat", "/proc/self/personality"],
            Preparation { aslr, ..Preparation::default() },
        )))
    };
    let no_randomize = |text: &str| u32::from_str_radix(text.trim(), 16).unwrap() & 0x0004_0000 != 0;
    assert!(no_randomize(&flags(Some(false))));
    assert!(!no_randomize(&flags(Some(true))));
    let own = std::fs::read_to_string("/proc/self/personality").unwrap();
    assert!(!no_randomize(&own), "the agent keeps its own");
    let stack = || {
        let preparation = Preparation { aslr: Some(false), ..Preparation::default() };
        let maps = text(&run(&prepared(&["cat", "/proc/self/maps"], preparation)));
        maps.lines().find(|line| line.ends_with("[stack]")).unwrap().to_owned()
    };
    assert_eq!(stack(), stack(), "without it the stack is always in the same place");
}

#[test]
fn its_limits_are_set_soft_and_hard() {
    let limits = ResourceLimits {
        open_files: Some(33),
        memory: Some(1 << 40),
        stack: Some(2 << 20),
        core: Some(0),
        processes: Some(4_321),
    };
    let read = text(&run(&prepared(
        &["cat", "/proc/self/limits"],
        Preparation { limits, ..Preparation::default() },
    )));
    let limit = |name: &str| {
        let line = read.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{read}"));
        line.split_ascii_whitespace().take(2).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(limit("Max open files"), ["33", "33"]);
    assert_eq!(limit("Max address space"), ["1099511627776", "1099511627776"]);
    assert_eq!(limit("Max stack size"), ["2097152", "2097152"]);
    assert_eq!(limit("Max core file size"), ["0", "0"]);
    assert_eq!(limit("Max processes"), ["4321", "4321"]);
}

#[test]
fn a_program_without_memory_fails_and_the_agent_does_not() {
    let limits = ResourceLimits { memory: Some(1 << 20), ..ResourceLimits::default() };
    let command = prepared(&["true"], Preparation { limits, ..Preparation::default() });
    // It may not even be loaded: then the kernel ends it, or its loader gives up.
    let ended = Launcher::new().unwrap().execute(&command, &AtomicBool::new(false));
    let is_failure = |execution: &Execution| execution.end != End::Exited(0);
    assert!(ended.as_ref().map_or(true, is_failure), "{ended:?}");
    assert_eq!(run(&super::command(&["true"])).end, End::Exited(0));
}

#[test]
fn it_has_no_huge_pages_while_they_are_refused() {
    // Since Linux 6.x the status says whether they are possible.
    let enabled = || {
        let text = text(&run(&command(&["cat", "/proc/self/status"])));
        text.lines().find_map(|line| line.strip_prefix("THP_enabled:")).map(|value| value.trim().to_owned())
    };
    let Some(before) = enabled() else { return };
    let refused = NoHugePages::for_children().unwrap();
    assert_eq!(enabled().as_deref(), Some("0"));
    drop(refused);
    assert_eq!(enabled(), Some(before));
}

#[test]
fn it_gets_no_new_privileges() {
    assert_eq!(status(Preparation::default(), "NoNewPrivs"), "1");
}

#[test]
fn it_executes_as_the_user_with_its_groups_and_no_others() {
    let user = User::named("nobody");
    if !is_root() {
        assert!(matches!(user, Err(UserError::NotPermitted(_))), "{user:?}");
        return;
    }
    let preparation = Preparation { user: Some(user.unwrap()), ..Preparation::default() };
    let ids = |field| status(preparation.clone(), field);
    assert!(ids("Uid").split_ascii_whitespace().all(|id| id == "65534"), "{}", ids("Uid"));
    assert!(ids("Gid").split_ascii_whitespace().all(|id| id == "65534"));
    assert!(ids("Groups").split_ascii_whitespace().all(|id| id == "65534"));
    assert!(ids("CapEff").trim_start_matches('0').is_empty(), "no capability is left");
    assert!(rustix::process::geteuid().is_root(), "the agent is who it was");
    // What it started under its user is ended as well.
    let script = format!("setsid sh -c 'echo $$; exec sleep 1000' & {WRITTEN}; exit 3");
    let left = LaunchCommand { preparation: preparation.clone(), ..shell(&script) };
    let execution = run(&left);
    assert_eq!((execution.end, execution.survivors_left), (End::Exited(3), 0));
    assert!(execution.survivors_killed >= 1);
    // And it ends with its time, which the agent still rules.
    let long = LaunchCommand {
        timeout: std::time::Duration::from_millis(50),
        preparation,
        ..command(&["sleep", "1000"])
    };
    assert!(matches!(run(&long).end, End::TimedOut { .. }));
}

#[test]
fn a_directory_that_the_user_may_not_enter_is_named() {
    if !is_root() {
        return skip("only root executes programs as another user");
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o700)).unwrap();
    let user = User::named("65534").unwrap();
    let preparation = Preparation { user: Some(user.clone()), ..Preparation::default() };
    let closed = LaunchCommand { directory: folder.path().to_owned(), ..prepared(&["pwd"], preparation) };
    assert!(
        matches!(fail(&closed), LaunchError::Directory { .. }),
        "a temporary directory is its owner's alone"
    );
    user.own(folder.path()).unwrap();
    assert_eq!(run(&closed).end, End::Exited(0));
}

#[test]
fn an_unknown_user_is_refused_with_a_hint() {
    for name in ["speedup-no-such-user", "", "4294967290", "a\0b"] {
        let error = User::named(name).unwrap_err();
        assert!(matches!(error, UserError::Unknown(_)), "{name:?}: {error}");
        assert!(error.hint().is_some_and(|hint| hint.contains("--user")));
    }
}
