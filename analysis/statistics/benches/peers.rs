//! The methods beside R (mclust), scipy and numpy: the same samples, in turn, on the machine where this runs; milliseconds of
//! processor time on one thread, medians over the rounds, and how many times faster ours are. What draws resamples has a second
//! row: the time that a user waits, ours on all threads; the peers have one.
//!
//! `cargo bench -p speedup-statistics --bench peers -- [fit] [ksfit] [bootstrap] [levels] [tests]`, all without a word.
//! `Rscript` with mclust and a Python with scipy must be there: `SPEEDUP_PEER_RSCRIPT` and `SPEEDUP_PEER_PYTHON` say where,
//! `SPEEDUP_PEER_ROUNDS` how often each is timed (5).
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program that prints figures of other programs"
)]

use rayon::{ThreadPool, ThreadPoolBuilder};
use rustix::time::{ClockId, clock_gettime};
use speedup_core::value::seed::Seed;
use speedup_statistics::{
    inference::Alternative, inference::ConfidenceLevel, inference::Critical, levels::EffectSize,
    levels::HierarchicalBootstrap, levels::LevelTree, levels::RandomEffects, levels::Resampling,
    levels::Statistic, mixture::Component, mixture::FitMethod, mixture::Mixture, mixture::MixtureFit,
    mixture::goodness_of_fit::GoodnessOfFit, mixture::goodness_of_fit::GoodnessOfFitOptions, sample::Sample,
    test::ExactRule, test::KolmogorovSmirnovStatistic, test::RankSum, test::ShapiroWilk,
};
use std::{error::Error, hint::black_box, io::Write as _, process::Command, process::Stdio};

type Done = Result<(), Box<dyn Error>>;

/// Times what a word asks for, and prints it.
type Rows = fn() -> Done;

/// What a peer prints of a sample.
#[derive(Clone, Copy)]
struct Line {
    /// Milliseconds of the processor and of the wall.
    times: Times,
    /// The number that it found.
    value: f64,
}

#[derive(Clone, Copy)]
struct Times {
    processor: f64,
    wall: f64,
}

fn main() -> Done {
    let asked: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let rows: [(&str, Rows); 5] = [
        ("fit", fits),
        ("ksfit", tests_of_fit),
        ("bootstrap", bootstrap),
        ("levels", levels),
        ("tests", tests),
    ];
    // One thread, as the peers have.
    let pool = ThreadPoolBuilder::new().num_threads(1).build()?;
    for (name, row) in rows {
        if asked.is_empty() || asked.iter().any(|word| word == name) {
            pool.install(|| row().map_err(|error| error.to_string()))?;
        }
    }
    Ok(())
}

/// Mixtures with the criterion of both.
fn fits() -> Done {
    for (n, repeats) in [(30, 20), (100, 10), (1000, 3)] {
        let samples = mixed(n);
        let mut row = Row::new(format!("mixture fit, n = {n}"), "mclust");
        let (mut greater, mut smaller, mut least) = (0, 0, f64::INFINITY);
        for _ in 0..rounds() {
            let peers = r("fit", repeats, &samples)?;
            for (sample, peer) in samples.iter().zip(peers) {
                let fit = || MixtureFit::with_method(sample, FitMethod::Drafted);
                row.add(time(200, || drop(black_box(fit()))), peer.times);
                let difference = fit()?.bic - peer.value;
                least = least.min(difference);
                greater += u32::from(difference > 1e-6);
                smaller += u32::from(difference < -1e-6);
            }
        }
        row.print();
        println!(
            "    criterion greater than mclust's {greater} times, smaller {smaller} times, difference at least {least:.2e}"
        );
    }
    Ok(())
}

/// KSfit of 500 resamples.
fn tests_of_fit() -> Done {
    const RESAMPLES: u32 = 500;
    // As few in R as take it seconds: its time is that of the resamples.
    for (n, of_r) in [(30, 250), (100, 100), (1000, 25)] {
        let samples = &mixed(n)[..3];
        let mut rows = OnThreads::new(&format!("KSfit, n = {n}"), &format!("R, of {of_r} resamples"))?;
        for _ in 0..rounds() {
            let peers = r("ksfit", of_r, samples)?;
            for (sample, peer) in samples.iter().zip(peers) {
                let options = GoodnessOfFitOptions::usual(Seed(1));
                let p_value = || GoodnessOfFit::new(sample, options).map(|test| test.p_value().get());
                let all = f64::from(RESAMPLES) / f64::from(of_r);
                let Times { processor, wall } = peer.times;
                rows.add(2, p_value, Times { processor: processor * all, wall: wall * all })?;
            }
        }
        rows.print();
    }
    Ok(())
}

/// The interval of the mean of 30 binaries, 20 executions, 20 runs.
fn bootstrap() -> Done {
    const DRAWS: u32 = 10_000;
    let values = drawn(20 * 20 * 30, 1)?;
    let levels = LevelTree::balanced(values.in_run_order().to_vec(), &[20, 20, 30])?;
    let mut rows = OnThreads::new(&format!("hierarchical bootstrap, {DRAWS} draws"), "numpy")?;
    for _ in 0..rounds() {
        let peer = python("bootstrap", DRAWS, std::slice::from_ref(&values))?;
        let (resampling, statistic) = (Resampling::EveryLevel, Statistic::Mean);
        let bootstrap = HierarchicalBootstrap { resampling, statistic, draws: DRAWS, seed: Seed(1) };
        let upper_end =
            || bootstrap.of(&levels).map(|replicates| replicates.interval(ConfidenceLevel::USUAL).upper);
        rows.add(3, upper_end, peer.times)?;
    }
    rows.print();
    Ok(())
}

/// S² and T² of two experiments of 30 binaries, 20 executions, 20 runs, and Fieller's interval of the ratio of their means.
fn levels() -> Done {
    let values = [drawn(20 * 20 * 30, 1)?, drawn(20 * 20 * 30, 2)?];
    let levels = |sample: &Sample| LevelTree::balanced(sample.in_run_order().to_vec(), &[20, 20, 30]);
    let experiments = [levels(&values[0])?, levels(&values[1])?];
    let interval = || {
        let [baseline, candidate] = experiments.each_ref().map(RandomEffects::new);
        EffectSize::new(baseline, candidate)
            .map(|effect| effect.interval(ConfidenceLevel::USUAL, Critical::Student))
    };
    let mut row = Row::new("S², T², Fieller of two 20 × 20 × 30".to_owned(), "R");
    for _ in 0..rounds() {
        let peer = *lines(&rscript(), "levels.R", "effect", 20, &values)?
            .first()
            .ok_or("levels.R printed nothing")?;
        row.add(time(200, || drop(black_box(interval()))), peer.times);
        let upper = interval()?.bounded().ok_or("the ratio has no interval")?.upper;
        let difference = (upper / peer.value - 1.0).abs();
        if difference > 1e-12 {
            return Err(format!("the upper end is {upper}, and R's differs by {difference:e} of it").into());
        }
    }
    row.print();
    Ok(())
}

/// Tests from unsorted values, as scipy's are.
fn tests() -> Done {
    type Test = fn(&[Sample]) -> f64;
    let rank_sum: Test = |both| RankSum::choose(&both[0], &both[1]).p_value(Alternative::Greater).get();
    let smirnov: Test = |both| {
        KolmogorovSmirnovStatistic::new(&both[0], &both[1]).test(ExactRule::SmallProduct).p_value().get()
    };
    let shapiro: Test = |one| ShapiroWilk::new(&one[0]).map_or(f64::NAN, |test| test.p_value().get());
    let rows = [
        ("rank_sum", rank_sum, 2, [30, 10_000, 100_000]),
        ("kolmogorov_smirnov", smirnov, 2, [30, 10_000, 100_000]),
        ("shapiro_wilk", shapiro, 1, [30, 1_000, 5_000]),
    ];
    for (name, test, count, sizes) in rows {
        for n in sizes {
            let samples = (0..count).map(|number| drawn(n, number)).collect::<Result<Vec<_>, _>>()?;
            let values: Vec<Vec<f64>> = samples.iter().map(|one| one.in_run_order().to_vec()).collect();
            let anew =
                || values.iter().map(|values| Sample::new(values.clone())).collect::<Result<Vec<_>, _>>();
            let mut row = Row::new(format!("{name}, n = {n}"), "scipy");
            for _ in 0..rounds() {
                let peer = python(name, 20, &samples)?;
                row.add(
                    time(20, || {
                        let _ = black_box(anew().map(|samples| test(&samples)));
                    }),
                    peer.times,
                );
            }
            row.print();
        }
    }
    Ok(())
}

/// A line of the table: both times of each sample in each round, on one clock.
struct Row {
    what: String,
    peer: String,
    clock: fn(Times) -> f64,
    ours: Vec<f64>,
    theirs: Vec<f64>,
}

impl Row {
    /// By the processor's clock.
    fn new(what: String, peer: &str) -> Self {
        let clock = |times: Times| times.processor;
        Self { what, peer: peer.to_owned(), clock, ours: Vec::new(), theirs: Vec::new() }
    }

    fn add(&mut self, ours: Times, theirs: Times) {
        self.ours.push((self.clock)(ours));
        self.theirs.push((self.clock)(theirs));
    }

    fn print(&self) {
        let median = |times: &[f64]| {
            let mut times = times.to_vec();
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        };
        let (ours, theirs) = (median(&self.ours), median(&self.theirs));
        let ratios: Vec<f64> =
            self.ours.iter().zip(&self.theirs).map(|(ours, theirs)| theirs / ours).collect();
        let (ratio, what, peer) = (median(&ratios), &self.what, &self.peer);
        println!("{what:<46} {ours:>10.4} ms   {peer} {theirs:>10.3} ms   median of the ratios {ratio:.1}×");
    }
}

/// The row of one thread by the processor's clock, and that of all threads by the wall's.
struct OnThreads {
    pool: ThreadPool,
    one: Row,
    all: Row,
}

impl OnThreads {
    fn new(what: &str, peer: &str) -> Result<Self, Box<dyn Error>> {
        let pool = ThreadPoolBuilder::new().build()?;
        let on_all = format!("{what}, {} threads, wall", pool.current_num_threads());
        let all = Row { clock: |times| times.wall, ..Row::new(on_all, peer) };
        Ok(Self { pool, one: Row::new(what.to_owned(), peer), all })
    }

    /// Times `work`, whose number is that of one thread on all of them.
    fn add<E: Error + Send + 'static>(
        &mut self,
        repeats: u32,
        work: impl Fn() -> Result<f64, E> + Sync,
        theirs: Times,
    ) -> Done {
        let again = || drop(black_box(work()));
        self.one.add(time(repeats, again), theirs);
        self.all.add(time(repeats, || self.pool.install(again)), theirs);
        let (of_one, of_all) = (work()?, self.pool.install(&work)?);
        if of_one.to_bits() != of_all.to_bits() {
            return Err(format!("{}: one thread found {of_one}, all of them {of_all}", self.one.what).into());
        }
        Ok(())
    }

    fn print(&self) {
        self.one.print();
        self.all.print();
    }
}

/// The least times of `repeats` goes, in milliseconds: the rest is the machine's other work.
fn time(repeats: u32, work: impl Fn()) -> Times {
    let now = |clock: ClockId| {
        let now = clock_gettime(clock);
        1e3 * now.tv_sec as f64 + 1e-6 * now.tv_nsec as f64
    };
    let mut least = Times { processor: f64::INFINITY, wall: f64::INFINITY };
    for _ in 0..repeats {
        let (processor, wall) = (now(ClockId::ProcessCPUTime), now(ClockId::Monotonic));
        work();
        least.wall = least.wall.min(now(ClockId::Monotonic) - wall);
        least.processor = least.processor.min(now(ClockId::ProcessCPUTime) - processor);
    }
    least
}

/// Run times in one to three clusters.
fn mixed(n: usize) -> Vec<Sample> {
    let laws: [&[(f64, f64, f64)]; 3] = [
        &[(1.0, 50.0, 2.0)],
        &[(0.6, 40.0, 2.0), (0.4, 52.0, 3.0)],
        &[(0.3, 30.0, 1.5), (0.5, 42.0, 2.0), (0.2, 55.0, 1.0)],
    ];
    let sample = |number: u64| {
        let component = |&(weight, mean, sd): &(f64, f64, f64)| Component { weight, mean, sd };
        let law = Mixture::new(laws[number as usize % 3].iter().map(component).collect()).expect("a mixture");
        let mut values = Vec::new();
        law.draw(n, &mut Seed(number).child("bench"), &mut values);
        Sample::new(values).expect("a sample")
    };
    (0..12).map(sample).collect()
}

/// Normal run times, no two equal.
fn drawn(n: usize, number: u64) -> Result<Sample, Box<dyn Error>> {
    let law = Mixture::new(vec![Component { weight: 1.0, mean: 10.0, sd: 0.5 }])?;
    let mut values = Vec::new();
    law.draw(n, &mut Seed(number).child("peers"), &mut values);
    Ok(Sample::new(values)?)
}

fn r(what: &str, count: u32, samples: &[Sample]) -> Result<Vec<Line>, Box<dyn Error>> {
    lines(&rscript(), "mixtures.R", what, count, samples)
}

fn rscript() -> String {
    variable("SPEEDUP_PEER_RSCRIPT", "Rscript")
}

fn python(what: &str, count: u32, samples: &[Sample]) -> Result<Line, Box<dyn Error>> {
    let lines = lines(&variable("SPEEDUP_PEER_PYTHON", "python3"), "tests.py", what, count, samples)?;
    Ok(*lines.first().ok_or("tests.py printed nothing")?)
}

/// What a script prints of samples.
fn lines(
    program: &str,
    script: &str,
    what: &str,
    count: u32,
    samples: &[Sample],
) -> Result<Vec<Line>, Box<dyn Error>> {
    let path = format!("{}/benches/peers/{script}", env!("CARGO_MANIFEST_DIR"));
    let mut peer = Command::new(program)
        .args([&path, what, &count.to_string()])
        .env("OPENBLAS_NUM_THREADS", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{program} is to be timed and could not be started: {error}"))?;
    let line = |sample: &Sample| {
        let values: Vec<String> = sample.in_run_order().iter().map(ToString::to_string).collect();
        values.join(" ") + "\n"
    };
    let mut input = peer.stdin.take().ok_or("the peer has no input")?;
    input.write_all(samples.iter().map(line).collect::<String>().as_bytes())?;
    drop(input);
    let printed = peer.wait_with_output()?;
    if !printed.status.success() {
        return Err(format!("{program} {script} {what} failed: {}", printed.status).into());
    }
    let mut read = Vec::new();
    for line in String::from_utf8(printed.stdout)?.lines() {
        let numbers = line.split(' ').map(str::parse).collect::<Result<Vec<f64>, _>>()?;
        let [processor, wall, value] = numbers[..] else {
            return Err(format!("{script} printed {line:?}").into());
        };
        read.push(Line { times: Times { processor, wall }, value });
    }
    if read.is_empty() { Err(format!("{script} {what} printed nothing").into()) } else { Ok(read) }
}

fn variable(name: &str, usual: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| usual.to_owned())
}

fn rounds() -> u32 {
    variable("SPEEDUP_PEER_ROUNDS", "5").parse().unwrap_or(5)
}
