//! One mutant against the tests.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

use anyhow::Context as _;

use crate::Numbered;
use crate::tally::Tally;

/// How many times as long as undisturbed tests a mutant's may take, and how long at least: a loop without an end has not
/// ended then, whatever else the machine does.
const PATIENCE: u32 = 10;
const LEAST_PATIENCE: Duration = Duration::from_secs(20);
/// How much memory the tests of a mutant may ask for, in KiB: some mutants collect without an end.
const MEMORY_KIB: u64 = 4 << 20;

/// What came of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fate {
    /// A test failed.
    Caught,
    /// The tests did not end.
    Timeout,
    /// All tests passed.
    Missed,
    /// It does not compile.
    Unviable,
}

impl Fate {
    /// Its word in the file of fates.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Caught => "caught",
            Self::Timeout => "timeout",
            Self::Missed => "missed",
            Self::Unviable => "unviable",
        }
    }
}

/// Test programs, and how long they may take.
pub(crate) struct Trials {
    programs: Vec<PathBuf>,
    undisturbed: Duration,
}

impl Trials {
    /// Runs the tests without a mutant.
    pub(crate) fn measure(programs: Vec<PathBuf>) -> anyhow::Result<Self> {
        let mut trials = Self { programs, undisturbed: Duration::from_secs(3600) };
        let begin = Instant::now();
        let fate = trials.fate(None)?;
        anyhow::ensure!(fate == Fate::Missed, "without a mutant the tests are {}", fate.word());
        trials.undisturbed = begin.elapsed();
        Ok(trials)
    }

    /// How long the tests take without a mutant.
    pub(crate) fn undisturbed(&self) -> Duration {
        self.undisturbed
    }

    /// The same tests in other programs.
    pub(crate) fn with(&self, programs: Vec<PathBuf>) -> Self {
        Self { programs, undisturbed: self.undisturbed }
    }

    /// Tries mutants, several at once.
    pub(crate) fn try_all(&self, mutants: &[Numbered<'_>], jobs: usize, tally: &Tally) -> anyhow::Result<()> {
        let next = AtomicUsize::new(0);
        let failure = Mutex::new(None);
        std::thread::scope(|scope| {
            let work = || {
                while let Some((number, mutant)) = mutants.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let done = self.fate(Some(*number)).and_then(|fate| tally.add(mutant, fate));
                    if let Err(error) = done {
                        next.store(mutants.len(), Ordering::Relaxed);
                        *failure.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(error);
                    }
                }
            };
            (0..jobs.max(1)).for_each(|_| drop(scope.spawn(work)));
        });
        let failure = failure.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        failure.map_or(Ok(()), Err)
    }

    /// What comes of a mutant; of none, whether the tests pass.
    pub(crate) fn fate(&self, mutant: Option<u32>) -> anyhow::Result<Fate> {
        let deadline = Instant::now() + (self.undisturbed * PATIENCE).max(LEAST_PATIENCE);
        for program in &self.programs {
            match ended(program, mutant.unwrap_or(0), deadline)? {
                Fate::Missed => {}
                fate @ (Fate::Caught | Fate::Timeout | Fate::Unviable) => return Ok(fate),
            }
        }
        Ok(Fate::Missed)
    }
}

/// What the tests of a program make of a mutant. The first of them that fails is enough.
fn ended(program: &Path, mutant: u32, deadline: Instant) -> anyhow::Result<Fate> {
    // The shell bounds the memory, and is the program from then on.
    let mut tests = Command::new("sh")
        .args(["-c", &format!("ulimit -v {MEMORY_KIB} && exec \"$0\"")])
        .arg(program)
        // What tests write stays beside them, and of what failed with a mutant nothing is noted down.
        .current_dir(program.parent().context("a test program lies in a folder")?)
        .env("SPEEDUP_MUTANT", mutant.to_string())
        .env("RUST_BACKTRACE", "0")
        .env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "true")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let (said, hears) = mpsc::channel();
    let output = tests.stdout.take().context("the tests have no output")?;
    std::thread::spawn(move || {
        for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
            if line.starts_with(b"test ") && line.ends_with(b"FAILED") && said.send(()).is_err() {
                return;
            }
        }
    });
    let fate = match hears.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        Ok(()) => Fate::Caught,
        Err(mpsc::RecvTimeoutError::Timeout) => Fate::Timeout,
        // Its output is closed, so that it has ended or is about to.
        Err(mpsc::RecvTimeoutError::Disconnected) if tests.wait()?.success() => Fate::Missed,
        Err(mpsc::RecvTimeoutError::Disconnected) => Fate::Caught,
    };
    tests.kill()?;
    tests.wait()?;
    Ok(fate)
}
