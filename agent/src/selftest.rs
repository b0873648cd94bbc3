//! The selftest: what this host's timer is worth, against the floor that this host itself sets.
//!
//! Each program is executed at the floor and by the launcher, in turn and in random order within each round, so
//! that whatever else the host does meets both. The bias is the difference of the medians; the spread is the
//! interquartile range of the launcher's times. A busy program that reads the clock itself shows that no time is
//! reported shorter than the truth, alone and beside busy neighbours.
//!
//! In reading order: [`Selftest`] (what was found) and [`Depth`] (how much is tested), [`TimerVerdict`] (what it
//! means), `program` (what is executed, and its neighbours), `floor`.

mod floor;
mod program;
mod verdict;

pub use floor::Floor;
pub use program::MemoryProgram;
pub use verdict::{Quality, TimerVerdict};

use std::{io, path::Path, sync::atomic::AtomicBool, time::Duration};

use rustix::time::{ClockId, clock_getres};
use serde::{Deserialize, Serialize};
use speedup_core::value::id::BootId;
use speedup_core::{run::timer::TimerError, run::timer::TimerTest, value::seed::Seed};
use thiserror::Error;

use crate::launch::{
    End, Execution, LaunchCommand, LaunchError, Launcher, Preparation, Sink, Switches, nanoseconds, now_ns,
};
use crate::wall_clock::unix_ns;
use program::Neighbours;

/// How long the busy program is busy.
pub const BUSY: Duration = Duration::from_millis(10);
/// How long the sleeping program sleeps, while the agent must be silent.
const SLEEP: &str = "1";
/// Nothing that is tested here takes as long; a host that hangs is told apart from one that is slow.
const PATIENCE: Duration = Duration::from_secs(60);
/// Readings of the clock from which its step is taken.
const READINGS: usize = 1_000;
/// The usual program that does nothing, where there is one.
const TRUE: &str = "/bin/true";
/// Where the last result is, in the agent's state directory.
const FILE: &str = "selftest.json";
const RELEASE: &str = env!("CARGO_PKG_VERSION");

/// How much is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// The bias alone, within a few tens of milliseconds: what an agent does when it starts.
    Glance { rounds: u32 },
    Full {
        /// Rounds of the programs that do nothing.
        rounds: u32,
        /// Runs of the busy program, alone and again beside neighbours.
        busy: u32,
    },
}

impl Depth {
    /// What an agent does when it starts.
    pub const GLANCE: Self = Self::Glance { rounds: 60 };
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Selftest {
    /// When, nanoseconds since the Unix epoch.
    pub tested_unix_ns: u64,
    /// The order within the rounds comes from here.
    pub seed: u64,
    pub rounds: u32,
    pub clock: ClockSteps,
    /// A program that only exits; none where this architecture has none.
    pub no_op: Option<AgainstFloor>,
    /// `/bin/true`; none where the host has none.
    pub bin_true: Option<AgainstFloor>,
    /// The program that only exits, beside a busy neighbour on each CPU.
    pub no_op_beside: Option<AgainstFloor>,
    pub busy: Option<BusyRuns>,
    /// The busy program, beside a busy neighbour on each CPU.
    pub busy_beside: Option<BusyRuns>,
    /// The agent's context switches while a program slept.
    pub asleep: Option<AsleepRun>,
}

/// The steps of the clock, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockSteps {
    pub resolution_ns: u64,
    /// The smallest that was seen.
    pub step_ns: u64,
}

/// A program at the floor and by the launcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgainstFloor {
    pub floor: Spread,
    pub timer: Spread,
    /// Median of the launcher less median of the floor, nanoseconds.
    pub bias_ns: i64,
    /// Context switches of the agent, of all runs together.
    pub agent_switches: u64,
}

/// A program that is busy for a known time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BusyRuns {
    /// How long, nanoseconds, by the clock of the launcher.
    pub wanted_ns: u64,
    pub runs: u32,
    /// How often it was reported shorter.
    pub short: u32,
    pub timer: Spread,
}

/// A program that slept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AsleepRun {
    /// How long, nanoseconds, as reported.
    pub wall_ns: u64,
    /// Times that the agent gave up the CPU: once, into the wait, if it is silent.
    pub voluntary: u64,
    /// Times that it was taken from the agent, by somebody else.
    pub involuntary: u64,
}

/// Why this host's timer could not be tested.
#[derive(Debug, Error)]
pub enum SelftestError {
    #[error("cannot launch a program of the selftest")]
    Launch(#[from] LaunchError),
    #[error("cannot {tried}")]
    Host { tried: &'static str, source: io::Error },
    #[error("{program} did not exit with code 0: {end}")]
    End { program: String, end: String },
    #[error("this host has no /bin/true, and there is no program of our own for its architecture")]
    NoProgram,
}

impl Selftest {
    /// Tests the timer of this host. The order within each round comes from `seed`.
    ///
    /// # Errors
    /// [`SelftestError`] when this host cannot execute the programs.
    pub fn measure(depth: Depth, seed: Seed) -> Result<Self, SelftestError> {
        let mut bench = Bench { launcher: Launcher::new()?, seed, block: 0 };
        let rounds = match depth {
            Depth::Glance { rounds } | Depth::Full { rounds, .. } => rounds,
        };
        let make = |tried| move |source| SelftestError::Host { tried, source };
        let no_op = MemoryProgram::no_op().map_err(make("make a program in memory"))?;
        let of_no_op =
            no_op.as_ref().map(|program| bench.against_floor(program.path(), rounds)).transpose()?;
        let path = Path::new(TRUE);
        let bin_true = if path.exists() { Some(bench.against_floor(path, rounds)?) } else { None };
        if of_no_op.is_none() && bin_true.is_none() {
            return Err(SelftestError::NoProgram);
        }
        let mut found = Self {
            tested_unix_ns: unix_ns(),
            seed: seed.0,
            rounds,
            clock: ClockSteps::seen(),
            no_op: of_no_op,
            bin_true,
            no_op_beside: None,
            busy: None,
            busy_beside: None,
            asleep: None,
        };
        if let Depth::Full { rounds, busy: runs } = depth {
            let busy = MemoryProgram::busy(BUSY).map_err(make("make a program in memory"))?;
            if let Some(program) = &busy {
                found.busy = Some(bench.busy(program, runs)?);
            }
            found.asleep = bench.asleep()?;
            let _neighbours = Neighbours::start().map_err(make("start busy neighbours"))?;
            if let Some(program) = &busy {
                found.busy_beside = Some(bench.busy(program, runs)?);
            }
            if let Some(program) = &no_op {
                found.no_op_beside = Some(bench.against_floor(program.path(), rounds)?);
            }
        }
        Ok(found)
    }

    /// The program that the timer's error is taken from: the shortest that there is.
    fn shortest(&self) -> Option<&AgainstFloor> {
        self.no_op.as_ref().or(self.bin_true.as_ref())
    }

    /// The few numbers that are kept with the host's facts.
    pub fn test(&self) -> Option<TimerTest> {
        let shortest = self.shortest()?;
        Some(TimerTest {
            tested_unix_ns: self.tested_unix_ns,
            error: TimerError {
                bias_ns: shortest.bias_ns,
                spread_ns: shortest.timer.interquartile_range_ns(),
            },
            floor_ns: shortest.floor.median_ns,
            step_ns: self.clock.step_ns,
        })
    }
}

impl ClockSteps {
    fn seen() -> Self {
        let readings: Vec<u64> = (0..READINGS).map(|_| now_ns()).collect();
        let steps = readings.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).filter(|step| *step > 0);
        let resolution_ns = nanoseconds(clock_getres(ClockId::MonotonicRaw));
        Self { resolution_ns, step_ns: steps.min().unwrap_or(resolution_ns) }
    }
}

/// What executes the programs of the test.
struct Bench {
    launcher: Launcher,
    seed: Seed,
    /// How many blocks of rounds there were: each has its own order.
    block: u32,
}

impl Bench {
    fn against_floor(&mut self, program: &Path, rounds: u32) -> Result<AgainstFloor, SelftestError> {
        let host = |source| SelftestError::Host { tried: "execute a program at the floor", source };
        let floor = Floor::new(program).map_err(host)?;
        let order = self.order(rounds);
        // The first executions find nothing in the caches; they are forgotten.
        floor.execute().map_err(host)?;
        self.launch(program)?;
        let (mut at_floor, mut timed, mut agent_switches) = (Vec::new(), Vec::new(), 0);
        for floor_first in order {
            if floor_first {
                at_floor.push(floor.execute().map_err(host)?);
            }
            let execution = self.launch(program)?;
            timed.push(execution.wall_ns);
            let Switches { voluntary, involuntary } = execution.agent_switches;
            agent_switches += voluntary + involuntary;
            if !floor_first {
                at_floor.push(floor.execute().map_err(host)?);
            }
        }
        let (floor, timer) = (Spread::of(at_floor), Spread::of(timed));
        let bias_ns = timer.median_ns.cast_signed() - floor.median_ns.cast_signed();
        Ok(AgainstFloor { floor, timer, bias_ns, agent_switches })
    }

    fn busy(&mut self, program: &MemoryProgram, runs: u32) -> Result<BusyRuns, SelftestError> {
        let wanted_ns = u64::try_from(BUSY.as_nanos()).unwrap_or(u64::MAX);
        let mut timed = Vec::new();
        for _ in 0..runs {
            timed.push(self.launch(program.path())?.wall_ns);
        }
        let short = timed.iter().filter(|wall_ns| **wall_ns < wanted_ns).count() as u32;
        Ok(BusyRuns { wanted_ns, runs, short, timer: Spread::of(timed) })
    }

    fn asleep(&mut self) -> Result<Option<AsleepRun>, SelftestError> {
        let command = command(vec!["sleep".into(), SLEEP.into()]);
        match self.execute(&command) {
            Ok(Execution { wall_ns, agent_switches: Switches { voluntary, involuntary }, .. }) => {
                Ok(Some(AsleepRun { wall_ns, voluntary, involuntary }))
            }
            Err(SelftestError::Launch(LaunchError::NotFound { .. })) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn launch(&mut self, program: &Path) -> Result<Execution, SelftestError> {
        self.execute(&command(vec![program.into()]))
    }

    fn execute(&mut self, command: &LaunchCommand) -> Result<Execution, SelftestError> {
        let execution = self.launcher.execute(command, &AtomicBool::new(false))?;
        match execution.end {
            End::Exited(0) => Ok(execution),
            End::Exited(_) | End::Signaled { .. } | End::TimedOut { .. } | End::Interrupted { .. } => {
                let program = command.argv[0].to_string_lossy().into_owned();
                Err(SelftestError::End { program, end: format!("{:?}", execution.end) })
            }
        }
    }

    /// Whether the floor is first, for each round.
    fn order(&mut self, rounds: u32) -> Vec<bool> {
        self.block += 1;
        let mut first: Vec<bool> = (0..rounds).map(|round| round % 2 == 0).collect();
        speedup_core::value::seed::shuffle(
            &mut first,
            &mut self.seed.child(&format!("selftest {}", self.block)),
        );
        first
    }
}

fn command(argv: Vec<std::ffi::OsString>) -> LaunchCommand {
    LaunchCommand {
        argv,
        env: Vec::new(),
        directory: "/".into(),
        timeout: PATIENCE,
        kill_grace: PATIENCE,
        stdout: Sink::Null,
        stderr: Sink::Null,
        metrics: Vec::new(),
        preparation: Preparation::default(),
    }
}

/// The five numbers of a set of times, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread {
    pub min_ns: u64,
    /// A quarter is not above it.
    pub lower_quartile_ns: u64,
    /// The median; of an even number the lower of the two in the middle.
    pub median_ns: u64,
    /// A quarter is not below it.
    pub upper_quartile_ns: u64,
    pub max_ns: u64,
}

impl Spread {
    /// Computes the spread of these times; all zeroes for an empty list.
    pub fn of(mut times_ns: Vec<u64>) -> Self {
        times_ns.sort_unstable();
        let last = times_ns.len().saturating_sub(1);
        let at = |quarter: usize| times_ns.get(last * quarter / 4).copied().unwrap_or(0);
        Self {
            min_ns: at(0),
            lower_quartile_ns: at(1),
            median_ns: at(2),
            upper_quartile_ns: at(3),
            max_ns: at(4),
        }
    }

    /// Upper less lower quartile, nanoseconds.
    pub fn interquartile_range_ns(&self) -> u64 {
        self.upper_quartile_ns - self.lower_quartile_ns
    }
}

/// The result of the last selftest holds for one boot and one release: another kernel or another timer is another instrument.
#[derive(Debug, Serialize, Deserialize)]
struct StoredSelftest {
    release: String,
    boot: BootId,
    selftest: Selftest,
}

/// The last selftest, if it was of this boot and this release. A file that cannot be read is none.
pub fn read(state: &Path, boot: &BootId) -> Option<Selftest> {
    let text = std::fs::read(state.join(FILE)).ok()?;
    let kept: StoredSelftest = serde_json::from_slice(&text).ok()?;
    (kept.release == RELEASE && kept.boot == *boot).then_some(kept.selftest)
}

/// Keeps a selftest; whole or not at all.
///
/// # Errors
/// When the state directory cannot be written to.
pub fn write(state: &Path, boot: &BootId, selftest: &Selftest) -> io::Result<()> {
    let kept = StoredSelftest { release: RELEASE.to_owned(), boot: boot.clone(), selftest: selftest.clone() };
    speedup_journal::private::create_directories(state)?;
    let aside = state.join(format!("{FILE}.new"));
    std::fs::write(&aside, serde_json::to_vec_pretty(&kept)?)?;
    std::fs::rename(aside, state.join(FILE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_are_of_the_sorted_times() {
        let spread = Spread::of(vec![50, 10, 40, 20, 30]);
        assert_eq!([spread.min_ns, spread.lower_quartile_ns, spread.median_ns], [10, 20, 30]);
        assert_eq!([spread.upper_quartile_ns, spread.max_ns, spread.interquartile_range_ns()], [40, 50, 20]);
        assert_eq!(Spread::of(vec![]).max_ns, 0);
    }
}
