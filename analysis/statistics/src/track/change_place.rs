//! At which point a change began, and how large it is: the posterior probabilities after an alarm.

use super::stretch::{SpreadPoint, Stretch, StretchLevel};
use crate::sample::median_of_sorted;

/// The scale of Student's law with 3 degrees of freedom that fits normal noise with a standard deviation of 1 (the likeliest is 0.74).
const STUDENT_SCALE: f64 = 0.75;
const FREEDOM: f64 = 3.0;
/// Ratios farther from the median than so many standard deviations are moved there, where the first guess is made.
const CLIPPED: f64 = 3.0;
/// Levels on the grids before and after.
const LEVELS: usize = 49;
/// The outer levels of a grid, in standard errors.
const OUTER: f64 = 8.0;
/// The median of normal values varies so many times as much as their mean.
const MEDIAN_ERROR: f64 = 1.26;
/// Places and pairs of levels less likely than this add nothing to the interval of the size.
const NEGLIGIBLE: f64 = 1e-6;
/// Without a spread, values differ by this share of the change.
const LEAST_SCALE: f64 = 1e-6;

/// Where the change of a stretch began, by Bayes' rule: ratios have Student's noise, the level before it is as the stretch knows it, the one
/// after it may be any, and each point is as likely to be the first one beforehand.
#[derive(Clone, Debug)]
pub(super) struct ChangePlace {
    /// For each point of the stretch, the probability that it is the first one changed.
    pub(super) probabilities: Vec<f64>,
    /// Differences of the levels with their probabilities, in ascending order.
    pub(super) sizes: Vec<(f64, f64)>,
    /// The logarithm of the greatest likelihood.
    pub(super) greatest: f64,
    /// The scale of the noise.
    pub(super) scale: f64,
}

/// A first guess.
#[derive(Clone, Copy, Debug)]
struct Guess {
    first: usize,
    before: f64,
    after: f64,
}

impl ChangePlace {
    pub(super) fn new(stretch: &Stretch, margin: f64) -> Self {
        let spread = stretch.points.last().map_or(0.0, |point| point.spread);
        let guess = Guess::new(stretch, spread);
        let scale = (STUDENT_SCALE * spread)
            .max(LEAST_SCALE * (guess.after - guess.before).abs())
            .max(f64::MIN_POSITIVE.sqrt());
        let (left, right) = stretch.points.split_at(guess.first);
        let before = match stretch.level {
            StretchLevel::Unknown => grid(guess.before, OUTER * error(left, scale)),
            StretchLevel::Reference if margin > 0.0 => grid(0.0, margin),
            StretchLevel::Reference => vec![0.0],
        };
        let after = grid(guess.after, OUTER * error(right, scale));
        let sums = [&before, &after].map(|levels| prefix_sums(&stretch.points, levels, scale));
        Self::by_sums(stretch, [&before, &after], &sums, scale)
    }

    fn by_sums(stretch: &Stretch, levels: [&[f64]; 2], sums: &[Vec<Vec<f64>>; 2], scale: f64) -> Self {
        let points = stretch.points.len();
        let [before, after] = sums;
        let first = first_possible(stretch);
        let mut logs = vec![f64::NEG_INFINITY; points];
        for (at, log) in logs.iter_mut().enumerate().skip(first) {
            *log = log_mean(&before[at]) + log_mean(&logs_from(at, after));
        }
        let greatest = largest(&logs);
        let mut probabilities: Vec<f64> = logs.iter().map(|log| libm::exp(log - greatest)).collect();
        let sum: f64 = probabilities.iter().sum();
        probabilities.iter_mut().for_each(|probability| *probability /= sum);
        // Pairs of levels that hold next to no probability are left out: a long stretch would have thousands for each point.
        let mut sizes = Vec::new();
        for (at, probability) in probabilities.iter().enumerate().filter(|(_, p)| **p > NEGLIGIBLE) {
            let old = shares(&before[at]);
            let new = shares(&logs_from(at, after));
            for (level, share) in levels[0].iter().zip(&old).filter(|(_, share)| **share > NEGLIGIBLE) {
                let new = levels[1].iter().zip(&new).filter(|(_, share)| **share > NEGLIGIBLE);
                sizes.extend(new.map(|(other, of_other)| (other - level, probability * share * of_other)));
            }
        }
        sizes.sort_unstable_by(|one, other| f64::total_cmp(&one.0, &other.0));
        let greatest = (first..points)
            .map(|at| largest(&before[at]) + largest(&logs_from(at, after)))
            .fold(f64::NEG_INFINITY, f64::max);
        Self { probabilities, sizes, greatest, scale }
    }

    /// The `part` quantile of the posterior size. Half of a node's mass counts as below it, with linear interpolation between
    /// nodes.
    pub(super) fn size(&self, part: f64) -> f64 {
        let all: f64 = self.sizes.iter().map(|(_, probability)| probability).sum();
        let mut below = 0.0;
        let mut previous = None;
        for nodes in self.sizes.chunk_by(|one, other| one.0 == other.0) {
            let own: f64 = nodes.iter().map(|(_, probability)| probability).sum();
            let size = nodes[0].0;
            let middle = (below + own / 2.0) / all;
            if middle >= part {
                let (from, before) = previous.unwrap_or((size, 0.0));
                return from + (size - from) * (part - before) / (middle - before);
            }
            (below, previous) = (below + own, Some((size, middle)));
        }
        previous.map_or(f64::NAN, |(size, _)| size)
    }
}

/// The first point that may be changed: against an unknown level, one is needed before it.
fn first_possible(stretch: &Stretch) -> usize {
    usize::from(stretch.level == StretchLevel::Unknown && stretch.points.len() > 1)
}

impl Guess {
    /// The split whose sides differ most, by the means of ratios that are not far out.
    fn new(stretch: &Stretch, spread: f64) -> Self {
        let median = median_of_sorted(&stretch.sorted_ratios());
        // Far out is what is far from the point's own median: a step is not.
        let clipped = |point: &SpreadPoint| -> f64 {
            let centre = middle_near(&point.ratios, median);
            let far = CLIPPED * spread;
            point.ratios.iter().map(|ratio| ratio.clamp(centre - far, centre + far) - median).sum()
        };
        // Before each point, the sum of the clipped ratios and their number.
        let mut sums = Vec::with_capacity(stretch.points.len());
        let mut all = 0.0;
        let mut count = 0.0;
        for point in &stretch.points {
            sums.push((all, count));
            all += clipped(point);
            count += point.ratios.len() as f64;
        }
        let contrast = |at: usize| {
            let (sum, ratios) = sums[at];
            let after = (all - sum) / (count - ratios);
            match stretch.level {
                StretchLevel::Reference => (after + median).powi(2) * (count - ratios),
                StretchLevel::Unknown if ratios == 0.0 => 0.0,
                StretchLevel::Unknown => (after - sum / ratios).powi(2) * (count - ratios) * ratios / count,
            }
        };
        let places = first_possible(stretch)..stretch.points.len();
        let first =
            places.max_by(|one, other| f64::total_cmp(&contrast(*one), &contrast(*other))).unwrap_or(0);
        let (left, right) = stretch.points.split_at(first);
        Self {
            first,
            before: median_of_points(left).unwrap_or(0.0),
            after: median_of_points(right).unwrap_or(0.0),
        }
    }
}

/// The median of all ratios of points.
pub(super) fn median_of_points(points: &[SpreadPoint]) -> Option<f64> {
    let ratios: Vec<f64> = points.iter().flat_map(|point| point.ratios.iter().copied()).collect();
    if ratios.is_empty() { None } else { Some(median_of(&ratios)) }
}

fn median_of(ratios: &[f64]) -> f64 {
    let mut sorted = ratios.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    median_of_sorted(&sorted)
}

/// The middle ratio, of two the one nearer to a level: the other may be of a run that stalled.
fn middle_near(ratios: &[f64], level: f64) -> f64 {
    let mut sorted = ratios.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let [lower, upper] = [sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]];
    if (lower - level).abs() < (upper - level).abs() { lower } else { upper }
}

/// The error of a level that these points tell.
fn error(points: &[SpreadPoint], scale: f64) -> f64 {
    let ratios: usize = points.iter().map(|point| point.ratios.len()).sum();
    MEDIAN_ERROR * scale / STUDENT_SCALE / (ratios.max(1) as f64).sqrt()
}

fn grid(centre: f64, outer: f64) -> Vec<f64> {
    (0..LEVELS).map(|at| centre + outer * (2.0 * at as f64 / (LEVELS - 1) as f64 - 1.0)).collect()
}

/// For each number of points from the first one on, for each level, the logarithm of their likelihood.
fn prefix_sums(points: &[SpreadPoint], levels: &[f64], scale: f64) -> Vec<Vec<f64>> {
    let mut sums = vec![vec![0.0; levels.len()]];
    for point in points {
        let before = &sums[sums.len() - 1];
        let with = |(level, sum): (&f64, &f64)| sum + log_likelihood(&point.ratios, *level, scale);
        sums.push(levels.iter().zip(before).map(with).collect());
    }
    sums
}

/// For each level, the logarithm of the likelihood of the points from `at` on, by their [`prefix_sums`]. Made where it is asked
/// for: kept for every point of a long track, it would take as much memory as the sums.
fn logs_from(at: usize, sums: &[Vec<f64>]) -> Vec<f64> {
    let all = &sums[sums.len() - 1];
    all.iter().zip(&sums[at]).map(|(all, earlier)| all - earlier).collect()
}

/// Of Student's law, without its constant.
pub(super) fn log_likelihood(ratios: &[f64], level: f64, scale: f64) -> f64 {
    let sum: f64 = ratios.iter().map(|ratio| libm::log1p(((ratio - level) / scale).powi(2) / FREEDOM)).sum();
    -(FREEDOM + 1.0) / 2.0 * sum
}

fn largest(logs: &[f64]) -> f64 {
    logs.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// The logarithm of the mean of what `logs` are the logarithms of.
fn log_mean(logs: &[f64]) -> f64 {
    let greatest = largest(logs);
    greatest + libm::log(logs.iter().map(|log| libm::exp(log - greatest)).sum::<f64>() / logs.len() as f64)
}

/// What `logs` are the logarithms of, with the sum 1.
fn shares(logs: &[f64]) -> Vec<f64> {
    let greatest = largest(logs);
    let parts: Vec<f64> = logs.iter().map(|log| libm::exp(log - greatest)).collect();
    let sum: f64 = parts.iter().sum();
    parts.into_iter().map(|part| part / sum).collect()
}
