//! Times one rank of a program on several hosts. The launcher starts this program under another name in place of the rank's, with
//! that as its words; it starts the rank, waits for it, leaves its time in a file, and ends as it has ended.
#![expect(
    unsafe_code,
    reason = "signals are passed on to the rank by a handler, and the end by a signal is the same one"
)]

use std::{
    ffi::OsString, io, io::Write as _, mem, mem::MaybeUninit, os::unix::process::CommandExt as _, path::Path,
    path::PathBuf, process::Child, process::Command, process::ExitCode, ptr, sync::atomic::AtomicI32,
    sync::atomic::AtomicU32, sync::atomic::Ordering,
};

use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Pid, WaitId, WaitIdOptions, set_dumpable_behavior, waitid};
use speedup_core::experiment::gang::{RANK, RANKS_VARIABLE};
use speedup_core::run::record::{MAX_RANKS, RankEnd, RankTime};
use speedup_core::value::time::Span;

use super::{clock::now_ns, execution::End, signals, usage};
use crate::wall_clock::unix_ns;

/// The name under which this program times a rank.
pub(crate) const NAME: &str = "speedup-rank";
/// Where launchers say the rank: Open MPI, MPICH and others with PMI, with PMIx, Slurm.
const VARIABLES: [&str; 4] = ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"];
/// What may be asked of the rank through its launcher.
const PASSED_ON: [libc::c_int; 6] =
    [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2];
/// What shells end with where a command cannot be executed.
const NOT_EXECUTED: u8 = 126;
/// Most bytes of a file with a time.
const MAX_FILE_BYTES: u64 = 4_096;

/// The rank that signals are passed on to.
static TIMED: AtomicI32 = AtomicI32::new(0);
/// The signals that came before there was a rank, one bit each.
static EARLY: AtomicU32 = AtomicU32::new(0);
/// Signals whose action this process needs, or its runtime changes: a rank gets back that they were ignored.
const GIVEN_BACK: [libc::c_int; 2] = [libc::SIGPIPE, libc::SIGCHLD];
/// Those of them that were ignored when this process was started, one bit each.
static IGNORED: AtomicU32 = AtomicU32::new(0);

/// Called by the loader before Rust's runtime, which ignores SIGPIPE in every program.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = note_ignored;

extern "C" fn note_ignored() {
    for signal in GIVEN_BACK {
        if is_ignored(signal) {
            IGNORED.fetch_or(bit(signal), Ordering::Relaxed);
        }
    }
}

/// Times a rank, if this process was started under the name for that; the end of the process.
pub fn timed() -> Option<ExitCode> {
    let mut words = std::env::args_os();
    let name = PathBuf::from(words.next()?);
    (name.file_name()? == NAME).then(|| time(words))
}

fn time(words: impl Iterator<Item = OsString>) -> ExitCode {
    let rank = VARIABLES.iter().find_map(|name| std::env::var(name).ok()?.parse::<u32>().ok());
    let words: Vec<OsString> = words.map(|word| filled(word, rank)).collect();
    let Some((program, arguments)) = words.split_first() else {
        complain("there is no command whose time could be taken");
        return ExitCode::from(NOT_EXECUTED);
    };
    // A signal that is ignored here is ignored by the rank as well.
    for signal in PASSED_ON {
        if !is_ignored(signal) {
            handle(signal);
        }
    }
    signals::keep_ended_children();
    let started_unix_ns = unix_ns();
    let started = now_ns();
    let child = match start(program, arguments) {
        Ok(child) => child,
        Err(error) => {
            complain(&format!("cannot execute {}: {error}", program.display()));
            return ExitCode::from(NOT_EXECUTED);
        }
    };
    let pid = Pid::from_child(&child);
    TIMED.store(pid.as_raw_nonzero().get(), Ordering::Relaxed);
    // Not before: the rank inherits the mask that this process was started with.
    let_in(&PASSED_ON);
    let early = EARLY.swap(0, Ordering::Relaxed);
    for signal in PASSED_ON {
        if early & bit(signal) != 0 {
            pass_on(signal);
        }
    }
    wait_unreaped(pid);
    let wall = now_ns().saturating_sub(started);
    // Its number may be another's as soon as it is reaped.
    TIMED.store(0, Ordering::Relaxed);
    let gone = match usage::wait4(pid) {
        Ok(gone) => gone,
        Err(error) => {
            complain(&format!("cannot wait for {}: {error}", program.display()));
            return ExitCode::from(NOT_EXECUTED);
        }
    };
    let end = match gone.end {
        End::Signaled { signal, .. } => RankEnd::Signalled(u8::try_from(signal).unwrap_or(0)),
        End::Exited(code) => RankEnd::Exited(u8::try_from(code).unwrap_or(u8::MAX)),
        End::TimedOut { .. } | End::Interrupted { .. } => RankEnd::Exited(NOT_EXECUTED),
    };
    if let Some(rank) = rank {
        let time = RankTime {
            rank,
            started_unix_ns,
            wall: Span(wall),
            user: Span(gone.usage.user_ns),
            system: Span(gone.usage.system_ns),
            max_rss_bytes: gone.usage.max_rss_bytes,
            end,
        };
        leave(&time);
    }
    match end {
        RankEnd::Exited(code) => ExitCode::from(code),
        RankEnd::Signalled(signal) => end_by(signal),
    }
}

/// Starts the rank with the mask and the ignored signals that this process was started with.
fn start(program: &OsString, arguments: &[OsString]) -> io::Result<Child> {
    let mut command = Command::new(program);
    command.args(arguments).arg0(program);
    if IGNORED.load(Ordering::Relaxed) != 0 {
        // SAFETY: the function does nothing but calls that may be made between fork and execve.
        unsafe { command.pre_exec(ignore_again) };
    }
    command.spawn()
}

/// Undoes what the library does before: a child has the default action of SIGPIPE.
fn ignore_again() -> io::Result<()> {
    for signal in GIVEN_BACK {
        if IGNORED.load(Ordering::Relaxed) & bit(signal) != 0 {
            // SAFETY: it is a signal that may be ignored.
            unsafe { libc::signal(signal, libc::SIG_IGN) };
        }
    }
    Ok(())
}

/// Waits for the end of a child without reaping it. What fails here fails at the reaping, which says it.
fn wait_unreaped(pid: Pid) {
    loop {
        let ended = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        if !matches!(ended, Err(Errno::INTR)) {
            return;
        }
    }
}

/// Ends this process by the signal that has ended the rank, without a dump in place of the rank's.
fn end_by(signal: u8) -> ExitCode {
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let number = libc::c_int::from(signal);
    // SAFETY: the default action of a signal that has ended the rank ends this process as well.
    unsafe { libc::signal(number, libc::SIG_DFL) };
    let_in(&[number]);
    // SAFETY: as above.
    unsafe { libc::raise(number) };
    ExitCode::from(128_u8.saturating_add(signal))
}

/// Where the rank's own complaints go.
fn complain(words: &str) {
    let _ = writeln!(std::io::stderr(), "{NAME}: {words}");
}

/// Whether a signal is ignored. It is asked without a change, as a signal may come at any time.
fn is_ignored(signal: libc::c_int) -> bool {
    // SAFETY: zeroes are a valid sigaction, into which the action is read.
    unsafe {
        let mut action = mem::zeroed::<libc::sigaction>();
        libc::sigaction(signal, ptr::null(), &raw mut action) == 0 && action.sa_sigaction == libc::SIG_IGN
    }
}

/// Passes a signal on from now on.
fn handle(signal: libc::c_int) {
    // SAFETY: the handler does nothing but atomic operations and kill, which may be done there.
    unsafe { libc::signal(signal, pass_on as *const () as libc::sighandler_t) };
}

/// Lets signals in that were blocked: they have a handler, or are to end this process.
fn let_in(signals: &[libc::c_int]) {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigemptyset fills the set, which the other calls change and read.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in signals {
            libc::sigaddset(set.as_mut_ptr(), *signal);
        }
        libc::pthread_sigmask(libc::SIG_UNBLOCK, set.as_ptr(), ptr::null_mut());
    }
}

extern "C" fn pass_on(signal: libc::c_int) {
    let pid = TIMED.load(Ordering::Relaxed);
    if pid > 0 {
        // SAFETY: it is a child that was not waited for yet.
        unsafe { libc::kill(pid, signal) };
    } else {
        EARLY.fetch_or(bit(signal), Ordering::Relaxed);
    }
}

/// The bit of a signal among those that came early.
const fn bit(signal: libc::c_int) -> u32 {
    1 << signal
}

/// A word with the rank in it; as it is where that is not known.
fn filled(word: OsString, rank: Option<u32>) -> OsString {
    match (word.to_str(), rank) {
        (Some(text), Some(rank)) => text.replace(&format!("{{{RANK}}}"), &rank.to_string()).into(),
        (Some(_), None) | (None, _) => word,
    }
}

/// Leaves a time where the agent of this host looks for it; one that cannot be left is missing there.
fn leave(time: &RankTime) {
    let Some(directory) = std::env::var_os(RANKS_VARIABLE).filter(|directory| !directory.is_empty()) else {
        return;
    };
    let directory = PathBuf::from(directory);
    let (part, whole) =
        (directory.join(format!("{}.part", time.rank)), directory.join(time.rank.to_string()));
    let Ok(text) = serde_json::to_vec(time) else { return };
    let _ = std::fs::write(&part, text).and_then(|()| std::fs::rename(&part, &whole));
}

/// The times that the ranks of this host have left in a directory, ascending by their numbers.
pub(crate) fn left(directory: &Path) -> Vec<RankTime> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let is_small = |path: &PathBuf| {
        path.extension().is_none()
            && std::fs::symlink_metadata(path)
                .is_ok_and(|there| there.is_file() && there.len() <= MAX_FILE_BYTES)
    };
    let paths = entries.map(|entry| entry.path()).filter(is_small).take(MAX_RANKS);
    let times = paths.filter_map(|path| serde_json::from_slice::<RankTime>(&std::fs::read(path).ok()?).ok());
    let mut times: Vec<RankTime> = times.collect();
    times.sort_by_key(|time| time.rank);
    times.dedup_by_key(|time| time.rank);
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rank_stands_in_the_words() {
        let filled = |word: &str, rank| filled(word.into(), rank).into_string().unwrap();
        assert_eq!(filled("out.{rank}/{rank}", Some(3)), "out.3/3");
        assert_eq!(filled("out.{rank}", None), "out.{rank}");
    }

    #[test]
    fn what_ranks_have_left_is_read_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let time = |rank| RankTime {
            rank,
            started_unix_ns: 1,
            wall: Span(2),
            user: Span(3),
            system: Span(4),
            max_rss_bytes: 5,
            end: RankEnd::Exited(0),
        };
        for rank in [10, 2] {
            let text = serde_json::to_vec(&time(rank)).unwrap();
            std::fs::write(directory.path().join(rank.to_string()), text).unwrap();
        }
        std::fs::write(directory.path().join("3"), "no time").unwrap();
        std::fs::write(directory.path().join("4"), vec![b' '; 5_000]).unwrap();
        std::fs::write(directory.path().join("5.part"), serde_json::to_vec(&time(5)).unwrap()).unwrap();
        assert_eq!(left(directory.path()), [time(2), time(10)]);
        assert_eq!(left(Path::new("/nowhere")), []);
    }
}
