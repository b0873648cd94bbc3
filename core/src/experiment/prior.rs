//! What is held of the versions of a line before the first run: which of them are likelier to have the step, by the files that their commits change.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Experiment, Rule, problem::Fault, problem::Problems};

/// Most paths of a prior: more is a list that nobody reads.
pub const MAX_PRIOR_PATHS: usize = 64;
/// Largest weight: whoever is surer leaves the other commits out of the range.
pub const MAX_PRIOR_WEIGHT: f64 = 1_000.0;
/// Longest path: that of the systems on which programs run.
pub(crate) const MAX_PRIOR_PATH_BYTES: usize = 4_096;

/// How likely each version of a line is to have the step, compared with the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinePrior {
    pub paths: Vec<PathWeight>,
    /// Of each version after the first, which is the good end.
    pub weights: Vec<f64>,
}

/// What a file under a path weighs; others weigh 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathWeight {
    /// From the top of the repository, without a slash at its end.
    pub path: String,
    /// More than 0, at most [`MAX_PRIOR_WEIGHT`].
    pub weight: f64,
}

/// A path under which nothing is changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("no commit of the range changes a file under {0:?}")]
pub struct UnchangedPath(pub String);

impl PathWeight {
    /// Whether it can be a part of a prior.
    pub fn is_sound(&self) -> bool {
        let is_path = !self.path.is_empty()
            && self.path.len() <= MAX_PRIOR_PATH_BYTES
            && !self.path.chars().any(char::is_control);
        is_path && is_weight(self.weight)
    }

    fn covers(&self, file: &str) -> bool {
        file.strip_prefix(&self.path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl LinePrior {
    /// The prior of versions that change these files, each compared with the one before: a file has the largest weight of the paths above it, and a version that of
    /// its files. So a commit is held to be unlikely only if all that it changes is.
    ///
    /// # Errors
    /// [`UnchangedPath`] for a path under which no version changes a file.
    pub fn by_changes(paths: Vec<PathWeight>, changed: &[Vec<String>]) -> Result<Self, UnchangedPath> {
        let is_changed = |path: &&PathWeight| changed.iter().flatten().any(|file| path.covers(file));
        if let Some(unchanged) = paths.iter().find(|path| !is_changed(path)) {
            return Err(UnchangedPath(unchanged.path.clone()));
        }
        let weights = changed.iter().map(|files| {
            let of_files = files.iter().map(|file| file_weight(&paths, file));
            of_files.reduce(f64::max).unwrap_or(1.0)
        });
        Ok(Self { weights: weights.collect(), paths })
    }
}

impl Experiment {
    pub(super) fn check_prior(&self, problems: &mut Problems) {
        let Some(LinePrior { paths, weights }) = &self.analysis.prior else { return };
        let place = ["analysis", "prior"];
        if !matches!(self.rule, Rule::Bisection(_)) {
            problems.refuse(place, Fault::Prior("only a bisection has one"));
        }
        if paths.is_empty() || paths.len() > MAX_PRIOR_PATHS {
            problems.refuse(place, Fault::Prior("it has no path, or more than 64"));
        }
        if !paths.iter().take(MAX_PRIOR_PATHS).all(PathWeight::is_sound) {
            let why = "a path is empty, longer than 4096 bytes, or has a control character, or its weight is out of range";
            problems.refuse(place, Fault::Prior(why));
        }
        if weights.len() + 1 != self.versions.len() {
            problems.refuse(place, Fault::Prior("it has not one weight for each version after the first"));
        }
        if !weights.iter().copied().all(is_weight) {
            problems.refuse(place, Fault::Prior("the weight of a version is out of range"));
        }
    }
}

/// Largest weight of the paths that cover a file; 1 without any.
fn file_weight(paths: &[PathWeight], file: &str) -> f64 {
    let covering = paths.iter().filter(|path| path.covers(file)).map(|path| path.weight);
    covering.reduce(f64::max).unwrap_or(1.0)
}

/// Also false for what is no number.
fn is_weight(weight: f64) -> bool {
    weight > 0.0 && weight <= MAX_PRIOR_WEIGHT
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weighed(paths: &[(&str, f64)], changed: &[&[&str]]) -> Result<Vec<f64>, UnchangedPath> {
        let path = |(path, weight): &(&str, f64)| PathWeight { path: (*path).to_owned(), weight: *weight };
        let files = |files: &&[&str]| files.iter().map(|file| (*file).to_owned()).collect();
        let changed: Vec<Vec<String>> = changed.iter().map(files).collect();
        LinePrior::by_changes(paths.iter().map(path).collect(), &changed).map(|prior| prior.weights)
    }

    #[test]
    fn a_version_weighs_what_its_heaviest_file_does() {
        let changed: [&[&str]; 6] = [
            &["src/codec/a.c", "README"],
            &["src/codecs.c"],
            &["docs/a.md"],
            &["docs/a.md", "Makefile"],
            &[],
            &["src/codec", "src/io.c"],
        ];
        let paths = [("src", 2.0), ("src/codec", 5.0), ("docs", 0.1)];
        assert_eq!(weighed(&paths, &changed), Ok(vec![5.0, 2.0, 0.1, 1.0, 1.0, 5.0]));
        assert_eq!(weighed(&[("docs", 0.1), ("Makefile", 0.5)], &changed[2..4]), Ok(vec![0.1, 0.5]));
    }

    #[test]
    fn a_path_that_nobody_changes_is_refused() {
        let refused = weighed(&[("src", 2.0), ("doc", 3.0)], &[&["src/a", "docs/b"]]);
        assert_eq!(refused, Err(UnchangedPath("doc".to_owned())));
    }

    #[test]
    fn weights_are_positive_and_bounded() {
        for weight in [1e-9, 1.0, MAX_PRIOR_WEIGHT] {
            assert!(is_weight(weight));
        }
        for weight in [0.0, -1.0, 1000.1, f64::NAN, f64::INFINITY] {
            assert!(!is_weight(weight), "{weight}");
        }
        for path in ["", "a\nb", &"x".repeat(4097)] {
            assert!(!PathWeight { path: path.to_owned(), weight: 2.0 }.is_sound());
        }
    }
}
