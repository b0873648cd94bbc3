//! Means and squares of the members of each unit of a level: the step that every method by levels repeats.

use crate::levels::LevelTree;

/// Members of one level, each as a double and what rounding took from it.
///
/// Means of units differ in their last digits only when the level above hardly varies; their residues keep
/// what the variance of the means is made of.
#[derive(Clone, Debug)]
pub(crate) struct Members {
    pub(crate) value: Vec<f64>,
    pub(crate) residue: Vec<f64>,
}

/// What one unit's members say.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moments {
    mean: f64,
    residue: f64,
    /// Σ(x − x̄)².
    squares: f64,
}

/// The units above a level: their means, and Σ(x − x̄)² of each one's members.
#[derive(Clone, Debug)]
pub(crate) struct Units {
    pub(crate) means: Members,
    pub(crate) squares: Vec<f64>,
}

impl Units {
    /// The units above level 1.
    pub(crate) fn from_observations(levels: &LevelTree) -> Self {
        let values = levels.values();
        Self::new(levels, 1, |members| {
            let first = values[members.start];
            Moments::about(first, values[members].iter().map(|x| x - first))
        })
    }

    /// The units above `level`, whose members are the units of `below`.
    pub(crate) fn from_means(levels: &LevelTree, level: usize, below: &Members) -> Self {
        Self::new(levels, level, |members| {
            let first = below.value[members.start];
            let rest = below.residue[members.start];
            let value = &below.value[members.clone()];
            let residue = &below.residue[members];
            let deviations = value.iter().zip(residue).map(|(x, r)| (x - first) + (r - rest));
            Moments::about(first, deviations).plus(rest)
        })
    }

    fn new(levels: &LevelTree, level: usize, moments: impl Fn(std::ops::Range<usize>) -> Moments) -> Self {
        let units = levels.units(level);
        let mut value = Vec::with_capacity(units);
        let mut residue = Vec::with_capacity(units);
        let mut squares = Vec::with_capacity(units);
        for bounds in levels.boundaries(level).windows(2) {
            let unit = moments(bounds[0]..bounds[1]);
            value.push(unit.mean);
            residue.push(unit.residue);
            squares.push(unit.squares);
        }
        Self { means: Members { value, residue }, squares }
    }
}

impl Moments {
    /// The moments of members that lie `deviations` away from `first`, their first: subtracting it loses
    /// nothing of what they differ by. Two passes, as in [`crate::sample::Sample::variance`].
    fn about(first: f64, deviations: impl Iterator<Item = f64> + Clone) -> Self {
        let (count, sum) = deviations.clone().fold((0.0, 0.0), |(n, sum), d| (n + 1.0, sum + d));
        let mean = sum / count;
        let (left, squares) = deviations.fold((0.0, 0.0), |(left, squares), d| {
            let e = d - mean;
            (left + e, squares + e * e)
        });
        let squares = (squares - left * left / count).max(0.0);
        Self { mean: first, residue: 0.0, squares }.plus(mean + left / count)
    }

    /// The same with the mean moved by `by`.
    fn plus(self, by: f64) -> Self {
        let by = by + self.residue;
        let mean = self.mean + by;
        // What the addition rounded away, exactly (Knuth, The Art of Computer Programming 2, §4.2.2, theorem
        // B).
        let rounded = mean - self.mean;
        let residue = (self.mean - (mean - rounded)) + (by - rounded);
        Self { mean, residue, squares: self.squares }
    }
}
