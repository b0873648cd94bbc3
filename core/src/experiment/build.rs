//! Builds: compilations of a version that the plan repeats, because what a compiler makes need not be the same twice
//! (Kalibera and Jones 2012, §3). A build runs on a host like a run; what it makes travels by content from then on, and
//! which build a run used is part of the run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::experiment::CommandLine;
use crate::experiment::commit::Commit;
use crate::experiment::files::Content;
use crate::value::id::RunIndex;
use crate::value::time::Span;

/// Most builds of one version: published experiments have had a few dozen.
pub(crate) const MAX_BUILDS: u32 = 1_000;
/// Most builds of one experiment: all that they made is named in every checkpoint.
pub(crate) const MAX_ALL_BUILDS: u32 = 4_000;
/// Most products of one build: each is named with every run that uses the build.
pub const MAX_PRODUCTS: usize = 16;
/// Longest path of a product, relative to the working directory of its build.
pub const MAX_PRODUCT_PATH_BYTES: usize = 1_024;
/// What the placeholder of a product begins with: `{build.NAME}`.
pub const PREFIX: &str = "build.";
/// How long a build may last where the plan does not say.
pub const USUAL_TIMEOUT: Span = Span::from_secs(600);

/// How a version is built.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// What is executed; placeholders are still in place.
    pub command: CommandLine,
    /// How often, each time anew.
    pub builds: u32,
    /// What it makes: by the name between the braces of `{build.NAME}`, the path relative to its working directory.
    pub products: BTreeMap<String, String>,
    /// If it lasts longer it has failed.
    pub timeout: Span,
}

/// What a build made: a file that travels by content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Product {
    /// What commands call it: `{build.NAME}`.
    pub name: String,
    pub content: Content,
}

impl Build {
    /// The same, in the source of a commit.
    pub(crate) fn with_source_of(self, commit: &Commit) -> Self {
        Self { command: commit.unpacked_before(self.command), ..self }
    }
}

impl Product {
    /// The name between the braces of its placeholder.
    pub fn placeholder(&self) -> String {
        placeholder(&self.name)
    }
}

/// The build that a run uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsedBuild {
    /// The run of the plan that built it.
    pub run: RunIndex,
    /// What it made, ascending by name.
    pub products: Vec<Product>,
}

/// The name between the braces of a product's placeholder.
pub fn placeholder(name: &str) -> String {
    format!("{PREFIX}{name}")
}

/// Whether a path names something within the working directory of a build and nothing else: relative, and each of its
/// parts a name.
pub fn is_inside(path: &str) -> bool {
    path.len() <= MAX_PRODUCT_PATH_BYTES
        && path.split('/').all(|part| !["", ".", ".."].contains(&part))
        && !path.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn a_path_stays_in_the_working_directory() {
        for good in ["prog", "out/prog", "a/b/c.so", ".hidden", "a b", "..a"] {
            assert!(is_inside(good), "{good}");
        }
        let long = "x".repeat(MAX_PRODUCT_PATH_BYTES + 1);
        for bad in
            ["", "/prog", "../prog", "out/../prog", "out//prog", "out/", "./prog", "a\0", "a\nb", &long]
        {
            assert!(!is_inside(bad), "{bad:?}");
        }
    }
}
