//! What is said first of two samples, by each centre: beside the trimmed mean of log times the median and the mean, which may be
//! declared, and Welch's t of log times.

use speedup_statistics::inference::{Alternative, ConfidenceLevel, RatioInterval, Risk};
use speedup_statistics::ratio::{MeanRatio, QuantileRatio, TrimShare, TrimmedRatio};
use speedup_statistics::{sample::Sample, test::WelchTTest};

/// The methods' names in the rows.
pub(crate) const HEADLINES: [&str; 4] =
    ["trimmed_ratio", "median_ratio", "mean_ratio", "welch_on_logarithms"];

/// An answer of each method, where it has one.
pub(crate) type Answers<T> = [Option<T>; HEADLINES.len()];

/// The logarithms of the ends of the two-sided interval of the ratio.
pub(crate) fn log_intervals(x: &Sample, y: &Sample, level: ConfidenceLevel) -> Answers<[f64; 2]> {
    let [_, median, mean, welch] = log_intervals_of_others(x, y, level);
    let trimmed = TrimmedRatio::new(x, y, TrimShare::USUAL).ok();
    [trimmed.and_then(|ratio| log_ends(&ratio.interval(level))), median, mean, welch]
}

/// Whether the two-sided test at each of the `risks` rejects that the logarithm of the ratio is its `truth`, for each method its own.
/// The trimmed mean's is by its p-value, which agrees with the interval and takes no search.
pub(crate) fn rejections<const N: usize>(
    x: &Sample,
    y: &Sample,
    truth: [f64; HEADLINES.len()],
    risks: [Risk; N],
) -> [Answers<bool>; N] {
    let least = risks.iter().copied().fold(risks[0], |least, risk| if risk < least { risk } else { least });
    let trimmed = TrimmedRatio::new(x, y, TrimShare::USUAL).ok();
    let p_value =
        trimmed.map(|ratio| ratio.compared_at(least).p_value(truth[0].exp(), Alternative::TwoSided));
    risks.map(|risk| {
        let mut answers = [None; HEADLINES.len()];
        if let Ok(level) = ConfidenceLevel::new(1.0 - risk.get()) {
            for (place, interval) in log_intervals_of_others(x, y, level).into_iter().enumerate() {
                answers[place] = interval.map(|[lower, upper]| lower > truth[place] || upper < truth[place]);
            }
        }
        answers[0] = p_value.map(|p_value| p_value.rejects_at(risk));
        answers
    })
}

fn log_intervals_of_others(x: &Sample, y: &Sample, level: ConfidenceLevel) -> Answers<[f64; 2]> {
    let median = QuantileRatio::median(x, y).ok();
    let mean = MeanRatio::new(x, y).ok();
    let welch = logarithms(x).zip(logarithms(y)).and_then(|(x, y)| WelchTTest::new(&x, &y).ok());
    [
        None,
        median.and_then(|ratio| log_ends(&ratio.interval(level))),
        mean.and_then(|ratio| log_ends(&ratio.interval(level))),
        welch.map(|test| {
            let interval = test.interval(Alternative::TwoSided, level);
            [interval.lower, interval.upper]
        }),
    ]
}

fn log_ends(interval: &RatioInterval) -> Option<[f64; 2]> {
    interval.bounded().map(|interval| [interval.lower.ln(), interval.upper.ln()])
}

/// None where a time is not positive.
pub(crate) fn logarithms(times: &Sample) -> Option<Sample> {
    Sample::new(times.in_run_order().iter().map(|time| time.ln()).collect()).ok()
}
