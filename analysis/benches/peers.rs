//! The methods beside R (mclust), scipy and numpy: the same samples, in turn, on the machine where this runs; milliseconds of
//! processor time, medians over the rounds, and how many times faster ours are.
//!
//! `cargo bench -p speedup-analysis --bench peers -- [fit] [ksfit] [bootstrap] [tests]`, all without a word.
//! `Rscript` with mclust and a Python with scipy must be there: `SPEEDUP_PEER_RSCRIPT` and `SPEEDUP_PEER_PYTHON` say where,
//! `SPEEDUP_PEER_ROUNDS` how often each is timed (5).
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program that prints figures of other programs"
)]

use rustix::time::{ClockId, clock_gettime};
use speedup_analysis::goodness_of_fit::GoodnessOfFitOptions;
use speedup_analysis::mixture::{Component, Method};
use speedup_analysis::{
    Alternative, ConfidenceLevel, ExactRule, GoodnessOfFit, HierarchicalBootstrap,
    KolmogorovSmirnovStatistic, Levels, Mixture, MixtureFit, RankSum, Resampling, Sample, ShapiroWilk,
    Statistic,
};
use speedup_core::seed::Seed;
use std::error::Error;
use std::hint::black_box;
use std::io::Write as _;
use std::process::{Command, Stdio};

type Done = Result<(), Box<dyn Error>>;

/// Times what a word asks for, and prints it.
type Rows = fn() -> Done;

/// What a peer prints of a sample: milliseconds, and the number that it found.
type Line = [f64; 2];

fn main() -> Done {
    let asked: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let rows: [(&str, Rows); 4] =
        [("fit", fits), ("ksfit", tests_of_fit), ("bootstrap", bootstrap), ("tests", tests)];
    // One thread, as the peers have.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
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
                let fit = || MixtureFit::with_method(sample, Method::Drafted);
                row.add(time(200, || drop(black_box(fit()))), peer);
                let difference = fit()?.bic - peer[1];
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
        let mut row = Row::new(format!("KSfit, n = {n}"), &format!("R, of {of_r} resamples"));
        for _ in 0..rounds() {
            let peers = r("ksfit", of_r, samples)?;
            for (sample, peer) in samples.iter().zip(peers) {
                let options = GoodnessOfFitOptions::usual(Seed(1));
                let ours = time(2, || drop(black_box(GoodnessOfFit::new(sample, options))));
                row.add(ours, [peer[0] * f64::from(RESAMPLES) / f64::from(of_r), peer[1]]);
            }
        }
        row.print();
    }
    Ok(())
}

/// The interval of the mean of 30 binaries, 20 executions, 20 runs.
fn bootstrap() -> Done {
    const DRAWS: u32 = 10_000;
    let values = drawn(20 * 20 * 30, 1)?;
    let levels = Levels::balanced(values.in_run_order().to_vec(), &[20, 20, 30])?;
    let mut row = Row::new(format!("hierarchical bootstrap, {DRAWS} draws"), "numpy");
    for _ in 0..rounds() {
        let peer = python("bootstrap", DRAWS, std::slice::from_ref(&values))?;
        let (resampling, statistic) = (Resampling::EveryLevel, Statistic::Mean);
        let bootstrap = HierarchicalBootstrap { resampling, statistic, draws: DRAWS, seed: Seed(1) };
        let interval = || bootstrap.of(&levels).map(|replicates| replicates.interval(ConfidenceLevel::USUAL));
        row.add(time(3, || drop(black_box(interval()))), peer);
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
                    peer,
                );
            }
            row.print();
        }
    }
    Ok(())
}

/// A line of the table: both times of each sample in each round.
struct Row {
    what: String,
    peer: String,
    ours: Vec<f64>,
    theirs: Vec<f64>,
}

impl Row {
    fn new(what: String, peer: &str) -> Self {
        Self { what, peer: peer.to_owned(), ours: Vec::new(), theirs: Vec::new() }
    }

    fn add(&mut self, ours: f64, peer: Line) {
        self.ours.push(ours);
        self.theirs.push(peer[0]);
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
        println!("{what:<38} {ours:>10.4} ms   {peer} {theirs:>10.3} ms   median of the ratios {ratio:.1}×");
    }
}

/// The least processor time of `repeats` goes, in milliseconds: the rest is the machine's other work.
fn time(repeats: u32, work: impl Fn()) -> f64 {
    let now = || {
        let now = clock_gettime(ClockId::ProcessCPUTime);
        1e3 * now.tv_sec as f64 + 1e-6 * now.tv_nsec as f64
    };
    let once = |_| {
        let before = now();
        work();
        now() - before
    };
    (0..repeats).map(once).fold(f64::INFINITY, f64::min)
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
    lines(&variable("SPEEDUP_PEER_RSCRIPT", "Rscript"), "mixtures.R", what, count, samples)
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
        let (ms, value) = line.split_once(' ').ok_or_else(|| format!("{script} printed {line:?}"))?;
        read.push([ms.parse()?, value.parse()?]);
    }
    if read.is_empty() { Err(format!("{script} {what} printed nothing").into()) } else { Ok(read) }
}

fn variable(name: &str, usual: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| usual.to_owned())
}

fn rounds() -> u32 {
    variable("SPEEDUP_PEER_ROUNDS", "5").parse().unwrap_or(5)
}
