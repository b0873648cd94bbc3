//! The examples of Touati 2010.

use super::{Finding, Recomputed};
use speedup_statistics::inference::{Alternative, ConfidenceLevel, Continuity, Interval};
use speedup_statistics::protocol::speedup_test::ProtocolVerdict;
use speedup_statistics::protocol::speedup_test::{Question, Rules, SpeedupTest, published};
use speedup_statistics::ratio::{BenchmarkWeights, Overall, SpeedupMeans, SuiteMember, Summary};
use speedup_statistics::{
    distribution::kolmogorov, sample::Sample, test::FTest, test::NormalRankSum, test::Proportion,
    test::ProportionMethod, test::Selection, test::ShapiroWilk, test::StudentTTest, test::benchmarks_by_wald,
};

const UNKNOWN: &str = "this program does not know the number";

pub(super) fn recompute(section: &str, quantity: &str) -> Recomputed {
    match section {
        "6.3.2" => match quantity.strip_prefix("bench ") {
            Some(rest) => one_benchmark(rest),
            None => whole_report(quantity),
        },
        "4.1" => example_1(quantity),
        "4.2" => example_2(quantity),
        "5 ex.3" | "5 ex.4" => proportion_of_17_in_30(quantity),
        "3.2 ex.3.1" => two_programs(quantity),
        _ => Err(UNKNOWN),
    }
}

/// The times of benchmark 1 to 4 of §6.3.1: baseline, candidate.
pub(super) fn benchmark(number: usize) -> (Sample, Sample) {
    let (baseline, candidate): (&[f64], &[f64]) = match number {
        1 => (&[2.02, 2.25, 2.3, 2.251, 2.01], &[1.02, 2.05, 2.3, 2.071, 1.05]),
        2 => (&[2.799, 2.046, 1.259, 1.877, 2.244], &[1.046, 0.259, 0.877, 1.244, 1.799]),
        3 => (
            &[
                6.512692, 5.547728, 4.171278, 5.748114, 6.188147, 4.860546, 6.393239, 5.862367, 5.724749,
                7.769651, 6.455157, 6.975127, 5.331494, 6.779595, 4.839683,
            ],
            &[
                4.556838, 5.491279, 5.708276, 5.204911, 4.454981, 5.05976, 5.440053, 4.780246, 4.363734,
                5.782297, 5.195786, 5.627607, 6.114562, 6.552509, 3.055505, 4.037513, 5.445448, 3.665237,
                6.965091, 4.396594,
            ],
        ),
        _ => (
            &[7.308153, 6.89117, 6.102855, 6.472642],
            &[6.57175, 5.514734, 5.705132, 7.051386, 8.007863, 4.187613, 6.124584, 4.995708],
        ),
    };
    let sample = |values: &[f64]| Sample::new(values.to_vec()).expect("times");
    (sample(baseline), sample(candidate))
}

fn verdicts(test: &SpeedupTest) -> [ProtocolVerdict; 2] {
    [
        published::search(|risk| test.mean.at_risk(Question::CandidateFaster, risk)),
        published::search(|risk| test.median.at_risk(Question::CandidateFaster, risk)),
    ]
}

/// "<number> <column>" of the table that the original program writes.
fn one_benchmark(rest: &str) -> Recomputed {
    let (number, column) = rest.split_once(' ').ok_or(UNKNOWN)?;
    let (baseline, candidate) = benchmark(number.parse().map_err(|_| UNKNOWN)?);
    let test = SpeedupTest::with_rules(&baseline, &candidate, Rules::PUBLISHED).expect("a test");
    let [mean, median] = verdicts(&test);
    let level = |verdict: &ProtocolVerdict| verdict.confidence.map_or(Finding::Absent, Finding::Number);
    let answer = |verdict: &ProtocolVerdict| Finding::Answer(verdict.significant == Some(true));
    match column {
        "SpeedupMin" => Ok(Finding::Number(test.speedups.min)),
        "SpeedupMean" => Ok(Finding::Number(test.speedups.mean)),
        "SpeedupMedian" => Ok(Finding::Number(test.speedups.median)),
        "MeanConfLevel" => Ok(level(&mean)),
        "MedianConfLevel" => Ok(level(&median)),
        "IsMeanSignificant" => Ok(answer(&mean)),
        "IsMedianSignificant" => Ok(answer(&median)),
        _ => Err(UNKNOWN),
    }
}

fn whole_report(quantity: &str) -> Recomputed {
    let benchmarks: Vec<(Sample, Sample)> = (1..=4).map(benchmark).collect();
    let overall = |summary| {
        let members: Vec<SuiteMember<'_>> =
            benchmarks.iter().map(|(baseline, candidate)| SuiteMember { baseline, candidate }).collect();
        Overall::new(&members, summary, &BenchmarkWeights::Equal).expect("a suite")
    };
    // Three of the four are faster on the mean, all on the median, as `one_benchmark` finds.
    let count = |which: usize| {
        let faster = |(baseline, candidate): &&(Sample, Sample)| {
            let test = SpeedupTest::with_rules(baseline, candidate, Rules::PUBLISHED).expect("a test");
            verdicts(&test)[which].significant == Some(true)
        };
        benchmarks.iter().filter(faster).count() as u64
    };
    let proportion = |which| Proportion::new(count(which), 4, Selection::Chosen).expect("a proportion");
    let interval = |which| -> Interval {
        proportion(which).interval(ProportionMethod::WilsonCorrected, ConfidenceLevel::USUAL)
    };
    Ok(Finding::Number(match quantity {
        "overall gain min" => overall(Summary::Min).gain,
        "overall speedup min" => overall(Summary::Min).speedup,
        "overall gain mean" => overall(Summary::Mean).gain,
        "overall speedup mean" => overall(Summary::Mean).speedup,
        "overall gain median" => overall(Summary::Median).gain,
        "overall speedup median" => overall(Summary::Median).speedup,
        "proportion CI mean low" => interval(0).lower,
        "proportion CI mean high" => interval(0).upper,
        "proportion CI median low" => interval(1).lower,
        "proportion CI median high" => interval(1).upper,
        "minimal b (mean)" => {
            let share = proportion(0).estimate();
            let needed = benchmarks_by_wald(share, 0.05, ConfidenceLevel::USUAL, Selection::Drawn);
            needed.expect("a precision") as f64
        }
        _ => return Err(UNKNOWN),
    }))
}

/// Example 1, on the second benchmark.
fn example_1(quantity: &str) -> Recomputed {
    let (x, y) = benchmark(2);
    let normality = ShapiroWilk::new(&x).expect("a test");
    let equality = FTest::new(&x, &y).expect("a test");
    let equality = equality.interval(Alternative::TwoSided, ConfidenceLevel::USUAL);
    let student = StudentTTest::new(&x, &y).expect("a test");
    Ok(Finding::Number(match quantity {
        "Shapiro W" => normality.statistic(),
        "Shapiro p" => normality.p_value().get(),
        "F CI low" => equality.lower,
        "F CI high" => equality.upper,
        "t" => student.statistic().t(),
        "t p" => student.p_value(Alternative::Greater).get(),
        _ => return Err(UNKNOWN),
    }))
}

/// Example 2, whose 32 + 32 times are not printed: only what the tests make of them.
fn example_2(quantity: &str) -> Recomputed {
    const RUNS: f64 = 32.0;
    match quantity {
        "KS p, D=9/32, n=m=32 (bzip2)" => {
            let scaled = (RUNS * RUNS / (RUNS + RUNS)).sqrt() * 9.0 / RUNS;
            Ok(Finding::Number(kolmogorov::upper_tail(scaled)))
        }
        "Wilcoxon p, W=1024, n=m=32" => {
            // W = 1024 says that every x is above every y; the p-value needs six pairs of equal times.
            let times = |from: f64| {
                let time = |run: u32| from + f64::from(if run % 10 == 1 { run - 1 } else { run });
                Sample::new((2..34).map(time).collect()).expect("times")
            };
            let test = NormalRankSum::new(&times(100.0), &times(0.0), Continuity::Corrected);
            assert_eq!(test.statistic().w(), RUNS * RUNS);
            Ok(Finding::Number(test.p_value(Alternative::Greater).get()))
        }
        _ => Err(UNKNOWN),
    }
}

fn proportion_of_17_in_30(quantity: &str) -> Recomputed {
    let proportion = Proportion::new(17, 30, Selection::Drawn).expect("a proportion");
    let interval = |level: f64| {
        let level = ConfidenceLevel::new(level).expect("a level");
        proportion.interval(ProportionMethod::WilsonCorrected, level)
    };
    match quantity {
        "90% CI low" => Ok(Finding::Number(interval(0.9).lower)),
        "90% CI high" => Ok(Finding::Number(interval(0.9).upper)),
        "50% CI low" => Ok(Finding::Number(interval(0.5).lower)),
        "50% CI high" => Ok(Finding::Number(interval(0.5).upper)),
        "minimal b before ceil" => {
            let share = proportion.estimate();
            let needed = benchmarks_by_wald(share, 0.05, ConfidenceLevel::USUAL, Selection::Drawn);
            Ok(Finding::RoundedUp(needed.expect("a precision") as f64))
        }
        _ => Err(UNKNOWN),
    }
}

/// Example 3.1: 3 s become 1 s, 3600 s become 3428 s.
fn two_programs(quantity: &str) -> Recomputed {
    let [a, b, c, d] = [3.0, 1.0, 3600.0, 3428.0].map(|time| Sample::new(vec![time]).expect("a time"));
    let members = [SuiteMember { baseline: &a, candidate: &b }, SuiteMember { baseline: &c, candidate: &d }];
    let overall = |weights| Overall::new(&members, Summary::Median, &weights).expect("a suite");
    // The paper's means are of the factors as it states them, 300 % and 105 %; 3600/3428 is 105.018 %.
    let means = || SpeedupMeans::from_speedups(&[3.0, 1.05]).expect("means");
    match quantity {
        "G weighted %" => Ok(Finding::Number(100.0 * overall(BenchmarkWeights::Fraction).gain)),
        "G equal %" => Ok(Finding::Number(100.0 * overall(BenchmarkWeights::Equal).gain)),
        "S equal" => Ok(Finding::Number(overall(BenchmarkWeights::Equal).speedup)),
        "geometric mean %" => Ok(Finding::Number(100.0 * means().geometric)),
        "harmonic mean %" => Ok(Finding::Number(100.0 * means().harmonic)),
        _ => Err(UNKNOWN),
    }
}
