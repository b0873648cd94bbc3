//! A program gets what its command says, or a reason why not; its end and its time are reported.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use speedup_agent::launch::{End, LaunchCommand, LaunchError, Launcher};
use speedup_core::value::hint::Hinted;

use super::{command, fail, run, sh, stdout, text};

#[test]
fn the_exit_code_is_reported() {
    assert_eq!(sh("exit 7").end, End::Exited(7));
    assert_eq!(sh("exit 0").end, End::Exited(0));
}

#[test]
fn death_by_signal_is_told_from_an_exit_code() {
    assert!(matches!(sh("kill -USR1 $$").end, End::Signaled { signal: 10, core_dumped: false }));
    assert_eq!(sh("exit 138").end, End::Exited(138));
}

#[test]
fn the_program_has_default_signals() {
    // Rust ignores SIGPIPE, and the launcher blocks everything: neither may reach the program.
    let status = text(&run(&command(&["cat", "/proc/self/status"])));
    for set in ["SigPnd", "ShdPnd", "SigBlk", "SigIgn", "SigCgt"] {
        assert!(status.contains(&format!("{set}:\t0000000000000000\n")), "{status}");
    }
}

#[test]
fn the_time_is_never_shorter_than_the_truth() {
    for _ in 0..5 {
        let execution = run(&command(&["sleep", "0.01"]));
        assert_eq!(execution.end, End::Exited(0));
        assert!(execution.wall_ns >= 10_000_000, "{} ns", execution.wall_ns);
    }
}

#[test]
fn the_usage_is_that_of_the_program() {
    let usage = sh("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done").usage;
    assert!(usage.user_ns + usage.system_ns > 1_000_000, "{usage:?}");
    assert!(usage.minor_faults > 0 && usage.max_rss_bytes > 0, "{usage:?}");
}

#[test]
fn a_missing_program_is_not_found() {
    let error = fail(&command(&["speedup-no-such-program"]));
    assert!(
        matches!(&error, LaunchError::NotFound { program } if program == Path::new("speedup-no-such-program"))
    );
    assert!(error.hint().is_some_and(|hint| hint.contains("PATH")));
    assert!(matches!(fail(&command(&["/no/such/program"])), LaunchError::NotFound { .. }));
    assert!(matches!(fail(&command(&["./program"])), LaunchError::NotFound { .. }));
}

#[test]
fn a_file_without_permission_is_not_executable() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("program");
    std::fs::write(&file, "#!/bin/sh\n").unwrap();
    let by_path = LaunchCommand { argv: vec![file.into()], ..command(&[]) };
    assert!(matches!(fail(&by_path), LaunchError::NotExecutable { .. }));
    let by_name = LaunchCommand { env: vec![("PATH".into(), folder.path().into())], ..command(&["program"]) };
    assert!(matches!(fail(&by_name), LaunchError::NotExecutable { .. }));
}

#[test]
fn a_missing_interpreter_and_a_foreign_format_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let script = |text: &str| {
        let file = folder.path().join("program");
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
        fail(&LaunchCommand { argv: vec![file.into()], ..command(&[]) })
    };
    assert!(matches!(script("#!/no/such/interpreter\n"), LaunchError::Interpreter { .. }));
    assert!(matches!(script("echo no first line\n"), LaunchError::Format { .. }));
}

#[test]
fn a_missing_directory_is_named() {
    let error = fail(&LaunchCommand { directory: "/no/such/directory".into(), ..command(&["true"]) });
    assert!(
        matches!(error, LaunchError::Directory { directory, .. } if directory == Path::new("/no/such/directory"))
    );
}

#[test]
fn what_the_kernel_cannot_take_is_refused() {
    assert!(matches!(fail(&command(&[])), LaunchError::Empty));
    assert!(matches!(fail(&command(&["true", "a\0b"])), LaunchError::Unpassable { .. }));
    let env = vec![("A=B".into(), "C".into())];
    assert!(matches!(fail(&LaunchCommand { env, ..command(&["true"]) }), LaunchError::Unpassable { .. }));
    let long = "x".repeat(200_000);
    assert!(matches!(fail(&command(&["true", &long])), LaunchError::Step { .. }));
}

#[test]
fn a_failed_launch_leaves_no_zombie() {
    let mut launcher = Launcher::new().unwrap();
    for _ in 0..3 {
        let error = launcher.execute(&command(&["/no/such/program"]), &AtomicBool::new(false)).unwrap_err();
        assert!(matches!(error, LaunchError::NotFound { .. }));
    }
    assert_eq!(launcher.execute(&command(&["true"]), &AtomicBool::new(false)).unwrap().end, End::Exited(0));
    assert_eq!(std::fs::read_to_string("/proc/thread-self/children").unwrap(), "");
}

#[test]
fn arguments_arrive_byte_by_byte() {
    let odd = OsString::from_vec(vec![0xff, b' ', b'"', b'\n', 0x80]);
    let argv = vec!["printf".into(), "[%s]".into(), "two words".into(), "".into(), "$HOME *".into(), odd];
    let execution = run(&LaunchCommand { argv, ..command(&[]) });
    assert_eq!(stdout(&execution), b"[two words][][$HOME *][\xff \"\n\x80]");
}

#[test]
fn the_environment_is_exactly_as_given() {
    let odd = OsString::from_vec(vec![b'x', 0xfe]);
    let env = vec![
        ("PATH".into(), "/usr/bin:/bin".into()),
        ("B".into(), "with = and space".into()),
        ("A".into(), odd),
        ("EMPTY".into(), "".into()),
    ];
    let execution = run(&LaunchCommand { env, ..command(&["env", "-0"]) });
    assert_eq!(stdout(&execution), b"PATH=/usr/bin:/bin\0B=with = and space\0A=x\xfe\0EMPTY=\0");
}

#[test]
fn the_path_is_that_of_the_command() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("bin")).unwrap();
    std::os::unix::fs::symlink("/bin/echo", folder.path().join("bin/speedup-echo")).unwrap();
    let env = vec![("PATH".into(), "/no/such:bin".into())];
    let directory = folder.path().to_owned();
    let execution =
        run(&LaunchCommand { env, directory: directory.clone(), ..command(&["speedup-echo", "hi"]) });
    assert_eq!(stdout(&execution), b"hi\n");
    let execution = run(&LaunchCommand { env: vec![], directory, ..command(&["bin/speedup-echo", "hi"]) });
    assert_eq!(stdout(&execution), b"hi\n");
    assert_eq!(run(&LaunchCommand { env: vec![], ..command(&["true"]) }).end, End::Exited(0));
}

#[test]
fn it_runs_in_its_directory() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().canonicalize().unwrap();
    let execution = run(&LaunchCommand { directory: place.clone(), ..command(&["/bin/pwd", "-P"]) });
    assert_eq!(text(&execution).trim_end(), place.to_str().unwrap());
}

#[test]
fn it_inherits_nothing_else() {
    let _held = std::fs::File::open("/dev/zero").unwrap();
    // Standard streams, and the folder that ls itself reads.
    assert_eq!(text(&run(&command(&["ls", "/proc/self/fd"]))), "0\n1\n2\n3\n");
    let status = text(&run(&command(&["cat", "/proc/self/status", "/proc/self/stat"])));
    assert!(status.contains("NoNewPrivs:\t1"), "{status}");
    assert_eq!(text(&run(&command(&["readlink", "/proc/self/fd/0"]))), "/dev/null\n");
    // Its own process group.
    assert_eq!(sh("set -- $(cat /proc/$$/stat); [ $1 = $5 ]").end, End::Exited(0));
}

#[test]
fn a_program_may_execute_another() {
    let execution = sh("exec sh -c 'exec sh -c \"sleep 0.01; exit 4\"'");
    assert_eq!(execution.end, End::Exited(4));
    assert!(execution.wall_ns >= 10_000_000);
}
