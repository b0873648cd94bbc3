//! How likely the runs of one block are, for each place that a step can have among their commits.
//!
//! The runs of a block share a level h, that of their host. The logarithm of a run's value is h, plus the step's size if its commit
//! has the step, plus noise by Student's law with [`FREEDOM`] degrees of freedom. Nothing is known of h beforehand, so it is
//! integrated out by a flat law, for each block by itself: that is how a slow host costs one degree of freedom and no more.

use std::cmp::Ordering;

/// The degrees of freedom of the noise. With 3, a run that stalls weighs little, and normal noise costs few runs more than its own
/// law would; the density is the square of 1/(1 + u²/3), with no power to compute.
const FREEDOM: f64 = 3.0;
/// The logarithm of 2/(π√3), the density at its centre.
const LOG_CENTRE: f64 = -1.000_888_849_623_509_5;
/// Observations further from the centre than this many scales are as unlikely as one at it, so that products stay numbers.
const FARTHEST: f64 = 1e9;
/// How far nodes reach from the observations, in scales.
const REACH: f64 = 4.0;
/// Nodes lie 2/√r scales apart: the trapezoid rule then errs by less than 0.2 %, since the integrand has no pole nearer than √3 scales to the
/// real line and its width is about 1.2/√r scales.
const SPACING: f64 = 2.0;

/// What is known of a run's commit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Place {
    Good,
    Bad,
    Between(usize),
}

/// The logarithms of the values of a block.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct BlockRuns {
    good: Vec<f64>,
    bad: Vec<f64>,
    /// In the order of commits, then of values: the order of arrival changes nothing.
    between: Vec<(usize, f64)>,
}

/// What runs of one block are taken to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct StepLaw {
    /// The logarithm of the ratio of the new time to the old one.
    pub(super) size: f64,
    /// The scale of the noise.
    pub(super) scale: f64,
}

impl BlockRuns {
    pub(super) fn insert(&mut self, place: Place, logarithm: f64) {
        let sorted_into = |values: &mut Vec<f64>| {
            let position = values.partition_point(|value| *value < logarithm);
            values.insert(position, logarithm);
        };
        match place {
            Place::Good => sorted_into(&mut self.good),
            Place::Bad => sorted_into(&mut self.bad),
            Place::Between(commit) => {
                let is_before = |&(c, value): &(usize, f64)| (c, value) < (commit, logarithm);
                let position = self.between.partition_point(is_before);
                self.between.insert(position, (commit, logarithm));
            }
        }
    }

    pub(super) fn good(&self) -> &[f64] {
        &self.good
    }

    pub(super) fn bad(&self) -> &[f64] {
        &self.bad
    }

    /// The runs of commits between the ends, by commit.
    pub(super) fn between(&self) -> &[(usize, f64)] {
        &self.between
    }

    pub(super) fn runs(&self) -> usize {
        self.good.len() + self.bad.len() + self.between.len()
    }

    pub(super) fn ends(&self) -> Self {
        Self { good: self.good.clone(), bad: self.bad.clone(), between: Vec::new() }
    }

    /// What the ends of the block, taken by themselves, say of its level: levels, and how likely each is.
    pub(super) fn levels(&self, law: StepLaw) -> Vec<(f64, f64)> {
        let ends = self.ends();
        let nodes = ends.nodes(law, SPACING * law.scale / (ends.runs() as f64).sqrt());
        let of_node = |node: f64| {
            let good = ends.good.iter().map(|value| (value - node) / law.scale);
            let bad = ends.bad.iter().map(|value| (value - node - law.size) / law.scale);
            good.chain(bad).map(noise_density).product::<f64>()
        };
        let densities: Vec<f64> = nodes.iter().map(|node| of_node(*node)).collect();
        let sum: f64 = densities.iter().sum();
        nodes.into_iter().zip(densities).map(|(node, density)| (node, density / sum)).collect()
    }

    /// For each q the logarithm of the likelihood if the first q of [`BlockRuns::between`] are old and the others new.
    pub(super) fn log_likelihoods(&self, law: StepLaw) -> Vec<f64> {
        let runs = self.runs();
        let spacing = SPACING * law.scale / (runs as f64).sqrt();
        let mut sums = vec![Sum::default(); self.between.len() + 1];
        let mut old = Vec::with_capacity(sums.len());
        for node in self.nodes(law, spacing) {
            let density = |value: f64, level: f64| Inverse::new((value - level) / law.scale);
            let new_level = node + law.size;
            let good = self.good.iter().map(|value| density(*value, node));
            let bad = self.bad.iter().map(|value| density(*value, new_level));
            let ends = good.chain(bad).fold(Inverse::ONE, Inverse::times);
            old.clear();
            old.push(ends);
            for (_, value) in &self.between {
                old.push(old[old.len() - 1].times(density(*value, node)));
            }
            let mut new = Inverse::ONE;
            for q in (0..sums.len()).rev() {
                sums[q].add(old[q].times(new));
                if q > 0 {
                    new = new.times(density(self.between[q - 1].1, new_level));
                }
            }
        }
        let constant = runs as f64 * (LOG_CENTRE - libm::log(law.scale)) + libm::log(spacing);
        sums.iter().map(|sum| sum.logarithm() + constant).collect()
    }

    /// A lattice, where the block's level may be: near what some run says that it is.
    fn nodes(&self, law: StepLaw, spacing: f64) -> Vec<f64> {
        let between = self.between.iter().map(|(_, value)| *value);
        let new = self.bad.iter().copied().chain(between.clone()).map(|value| value - law.size);
        let mut levels: Vec<f64> = self.good.iter().copied().chain(between).chain(new).collect();
        levels.sort_unstable_by(f64::total_cmp);
        // Steps from the least level, so that a shift of all runs shifts the nodes.
        let Some(&least) = levels.first() else { return Vec::new() };
        let reach = REACH * law.scale;
        let mut nodes = Vec::new();
        let mut next = f64::NEG_INFINITY;
        for level in levels {
            let mut step = ((level - least - reach) / spacing).ceil().max(next);
            while step * spacing <= level - least + reach {
                nodes.push(least + step * spacing);
                step += 1.0;
            }
            next = next.max(step);
        }
        nodes
    }
}

/// The density of the noise at `deviation` scales from its centre, but for a constant factor.
pub(super) fn noise_density(deviation: f64) -> f64 {
    let bounded = deviation.abs().min(FARTHEST);
    (1.0 + bounded * bounded / FREEDOM).powi(-2)
}

/// A product of factors 1 + u²/3, whose inverse square is a product of densities, as `value`·[`LARGE`] to the power `shifts`.
#[derive(Clone, Copy, Debug)]
struct Inverse {
    /// At least 1 and below [`LARGE`].
    value: f64,
    shifts: u32,
}

const LARGE: f64 = 1e40;
const INVERSE_SQUARE_OF_LARGE: f64 = 1e-80;

impl Inverse {
    const ONE: Self = Self { value: 1.0, shifts: 0 };

    fn new(deviation: f64) -> Self {
        let bounded = deviation.abs().min(FARTHEST);
        Self { value: 1.0 + bounded * bounded / FREEDOM, shifts: 0 }
    }

    fn times(self, other: Self) -> Self {
        let value = self.value * other.value;
        let shifts = self.shifts + other.shifts;
        if value < LARGE { Self { value, shifts } } else { Self { value: value / LARGE, shifts: shifts + 1 } }
    }
}

/// A sum of inverse squares: `total`·LARGE⁻² to the power `shifts`.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    total: f64,
    shifts: u32,
}

impl Sum {
    fn add(&mut self, product: Inverse) {
        let term = 1.0 / (product.value * product.value);
        if self.total == 0.0 {
            *self = Self { total: term, shifts: product.shifts };
            return;
        }
        match product.shifts.cmp(&self.shifts) {
            Ordering::Equal => self.total += term,
            Ordering::Less => {
                let carried = if self.shifts - product.shifts == 1 {
                    self.total * INVERSE_SQUARE_OF_LARGE
                } else {
                    0.0
                };
                *self = Self { total: carried + term, shifts: product.shifts };
            }
            Ordering::Greater if product.shifts - self.shifts == 1 => {
                self.total += term * INVERSE_SQUARE_OF_LARGE;
            }
            Ordering::Greater => {}
        }
    }

    fn logarithm(self) -> f64 {
        libm::log(self.total) - 2.0 * f64::from(self.shifts) * libm::log(LARGE)
    }
}
