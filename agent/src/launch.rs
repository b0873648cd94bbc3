//! The instrument: executes one command and times it, from just before `execve` until the process is gone.
//!
//! It runs one command at a time and blocks the agent's only thread, so that nothing of the agent wakes up
//! while a command is timed: the thread sleeps in a single `ppoll` on the process's pidfd, and output goes to
//! memory files that nobody reads meanwhile.
//!
//! In reading order: `command`, `execution`, `child` (from clone to `execve`), `watch` (the wait), `output`,
//! `survivors`, and `meters`. `rank` is a process of its own that times one rank of a program on several hosts.
//! The clock is `CLOCK_MONOTONIC_RAW`: while NTP slews the plain monotonic clock (chrony by up to 8 %), a
//! program would look slower. The raw clock's constant error is the same for both versions on a host.

mod child;
mod clock;
mod command;
mod errno;
mod execution;
mod failure;
mod meters;
mod output;
mod preparation;
pub(crate) mod rank;
mod report;
mod signals;
mod stack;
mod survivors;
mod usage;
mod watch;

pub(crate) use child::{executable_in_memory, program_of};
pub(crate) use clock::{nanoseconds, now_ns};
pub use command::{LaunchCommand, Sink};
pub use execution::{CapturedOutput, End, Execution, MetricReadings, Standstill, Switches, Unseen, Usage};
pub use failure::{LaunchError, LaunchStep};
pub use meters::cgroup::control_groups;
pub use preparation::{
    CpuMask, FailedStep, NoHugePages, Preparation, User, UserError, allowed, settle_name_service,
};
pub use rank::timed as timed_rank;
pub use survivors::become_subreaper;
pub use usage::forget_peak;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use child::{Image, Orders, ReleaseSocket, ReportPage, Trampoline, TrampolineStart};
use meters::{Meters, Running};
use output::OutputBuffers;
use rustix::fs::{Mode, OFlags};
use signals::Blocked;
use stack::Stack;
use survivors::Mark;
use watch::{Watch, Witnesses};

/// Two commands timed at once on one host would disturb each other, and each would take the other's processes
/// for its own survivors.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Executes commands one after another, and keeps between them what need not be made anew.
///
/// The program dies with the thread that launched it (`PR_SET_PDEATHSIG`), so launch from the agent's only
/// thread.
#[derive(Debug)]
pub struct Launcher {
    stack: Stack,
    null: OwnedFd,
    buffers: OutputBuffers,
    mark: Mark,
    meters: Meters,
    witnesses: Witnesses,
    page: ReportPage,
    /// None where this host has none.
    trampoline: Option<Trampoline>,
}

impl Launcher {
    /// Makes this process fit to launch: see [`become_subreaper`].
    pub fn new() -> Result<Self, LaunchError> {
        Self::rooted(Path::new("/"))
    }

    /// The same, with the files that tell of the host's energy under `root`.
    pub fn rooted(root: &Path) -> Result<Self, LaunchError> {
        let tried = |tried| move |source| LaunchError::Host { tried, source };
        become_subreaper().map_err(tried("adopt orphans"))?;
        signals::count_continuations().map_err(tried("hear of its continuations"))?;
        let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
            .map_err(|errno| tried("open /dev/null")(errno.into()))?;
        Ok(Self {
            stack: Stack::new().map_err(tried("map a stack"))?,
            null,
            buffers: OutputBuffers::default(),
            mark: Mark::of_this_process(),
            meters: Meters::of(root),
            witnesses: Witnesses::of_this_process(),
            page: ReportPage::new().map_err(tried("make room for a report"))?,
            trampoline: Trampoline::new(),
        })
    }

    /// Executes the command and returns when neither it nor anything it started is left.
    ///
    /// When `stop` becomes true and a signal interrupts the wait, everything is killed and the end is
    /// [`End::Interrupted`]. Signals reach the process only while it waits here, so none is lost in between.
    pub fn execute(&mut self, command: &LaunchCommand, stop: &AtomicBool) -> Result<Execution, LaunchError> {
        let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        match self.launch(command, stop) {
            Err(LaunchError::Step { step: LaunchStep::Trampoline, source, .. }) => {
                let refused = self.trampoline.take();
                let launched = self.launch(command, stop);
                // This command may have been too large for it; the next one need not be.
                if !child::is_refused_by_host(&source) {
                    self.trampoline = refused;
                }
                launched
            }
            launched => launched,
        }
    }

    fn launch(&mut self, command: &LaunchCommand, stop: &AtomicBool) -> Result<Execution, LaunchError> {
        let image = Image::prepare(command)?;
        let host = |tried| move |source| LaunchError::Host { tried, source };
        let stdout =
            self.buffers.stdout(command.stdout, &mut self.stack).map_err(host("make room for stdout"))?;
        let stderr =
            self.buffers.stderr(command.stderr, &mut self.stack).map_err(host("make room for stderr"))?;
        self.page.clear();
        let report = self.page.report();
        let null = self.null.as_fd();
        let mut meters = self.meters.begin(&command.metrics);
        let blocked = Blocked::all();
        let start = self
            .trampoline_start(command, &meters)
            .transpose()
            .map_err(host("open a socket to the trampoline"))?;
        let agent = rustix::process::getpid();
        report.agent.store(agent.as_raw_nonzero().get(), Ordering::Release);
        let orders = Orders {
            image: &image,
            preparation: &command.preparation,
            stdin: null,
            stdout: stdout.as_ref().map_or(null, output::OutputBuffer::as_fd),
            stderr: stderr.as_ref().map_or(null, output::OutputBuffer::as_fd),
            mark: self.mark,
            groups: meters.groups(),
            agent,
            report,
            descriptors: start.as_ref().map(|start| start.descriptors),
        };
        let witnessed = self.witnesses.before();
        let program = |door: &ReleaseSocket| door.program(&blocked, stop, command.timeout);
        let ran = child::run(&mut self.stack, &orders, start, program, |child| {
            let before = usage::own();
            child.let_go();
            let seen = Watch {
                child,
                timeout: command.timeout,
                kill_grace: command.kill_grace,
                stop,
                blocked: &blocked,
                buffers: [stdout.as_ref(), stderr.as_ref()],
            }
            .until_gone(report)?;
            Ok((before, seen))
        });
        drop(blocked);
        let wall_ns =
            ran.as_ref().map_or(0, |((_, seen), _)| seen.stopped_ns.saturating_sub(seen.started_ns));
        meters.stop(wall_ns);

        let survivors = survivors::end(self.mark).map_err(host("end what the program left behind"))?;
        let ((before, seen), gone) = ran.map_err(host("start or await the program"))?;
        let standstill = self.witnesses.since(&witnessed, &seen, command.timeout);
        if let Some((step, errno)) = report.failure() {
            return Err(child::classify(step, errno, command, &image));
        }
        if report.started_ns().is_none() && seen.cut.is_none() {
            let killed = io::Error::other("something ended its process before it began");
            return Err(host("start the program")(killed));
        }
        Ok(Execution {
            wall_ns,
            usage: Usage {
                max_rss_floor_bytes: gone
                    .floor_bytes
                    .unwrap_or(before.max_rss_bytes.max(seen.agent.max_rss_bytes)),
                ..gone.usage
            },
            end: seen.cut.unwrap_or(gone.end),
            stdout: stdout
                .map(output::OutputBuffer::collect)
                .transpose()
                .map_err(host("read back stdout"))?,
            stderr: stderr
                .map(output::OutputBuffer::collect)
                .transpose()
                .map_err(host("read back stderr"))?,
            survivors_killed: survivors.killed,
            survivors_left: survivors.left,
            failed_steps: report.trials.failed(),
            agent_switches: seen.agent.switches.since(before.switches),
            standstill,
            readings: meters.finish(report),
        })
    }

    /// Prepares the trampoline for this run, if the run may start from it.
    fn trampoline_start(
        &self,
        command: &LaunchCommand,
        meters: &Running,
    ) -> Option<io::Result<TrampolineStart>> {
        let trampoline = self.trampoline.as_ref()?;
        if !child::is_for(&command.preparation) || meters.count_processes() {
            return None;
        }
        Some(trampoline.start(&self.page))
    }
}
