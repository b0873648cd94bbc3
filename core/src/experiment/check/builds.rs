//! Builds of versions: their commands, how many there are, and what they make.

use super::super::problem::{Fault, KeyPath, Problems};
use super::super::{Experiment, MAX_NAME_BYTES, Rule, Version};
use super::{Names, check_length, check_line, check_range};
use crate::experiment::build::{Build, MAX_ALL_BUILDS, MAX_BUILDS, MAX_PRODUCTS, is_inside};
use crate::experiment::files::StagedFile;
use crate::experiment::template::{BENCHMARK, is_identifier};

impl Experiment {
    pub(super) fn check_builds(&self, problems: &mut Problems) {
        for version in self.versions.iter().take(self.most_versions()) {
            if let Some(build) = &version.build {
                check_build(version, build, &self.files, problems);
            }
        }
        self.check_rule_of_builds(problems);
        let most = MAX_ALL_BUILDS as usize;
        let count = usize::try_from(self.builds()).unwrap_or(usize::MAX);
        let mut builds = self.versions.iter().flat_map(|version| &version.build);
        // A version with too many builds by itself has been refused.
        if count > most && builds.all(|build| build.builds <= MAX_BUILDS) {
            problems.refuse(["versions"], Fault::TooMany { what: "builds", count, most });
        }
    }

    /// A rule that decides by visits takes them for independent. They are where each has a build of its own, so that the visit
    /// is the build; builds cannot be added later.
    fn check_rule_of_builds(&self, problems: &mut Problems) {
        let (key, maximum) = match self.rule {
            Rule::Pilot { maximum, .. } => ("pilot", maximum),
            Rule::Sequential { maximum, .. } => ("looks", maximum),
            Rule::Fixed | Rule::Budget { .. } | Rule::Bisection(_) => return,
        };
        let visits = maximum / self.repetition().runs_of_a_visit().max(1);
        let builds = self.versions.iter().flat_map(|version| &version.build).map(|build| build.builds);
        if let Some(builds) = builds.filter(|builds| (2..visits).contains(builds)).min() {
            problems.refuse(["repetitions", key], Fault::RuleOfBuilds { builds, visits });
        }
    }

    /// What is known in commands of benchmarks: they are executed in the versions without a command of their own.
    pub(super) fn names_of_commands(&self) -> Names<'_> {
        let executing: Vec<&Version> =
            self.versions.iter().filter(|version| version.command.is_none()).collect();
        if executing.is_empty() {
            Names::for_versions(&self.versions, &self.files)
        } else {
            Names::for_versions(executing, &self.files)
        }
    }
}

fn check_build(version: &Version, build: &Build, files: &[StagedFile], problems: &mut Problems) {
    let place = KeyPath::from(["versions", &version.name]);
    let Build { command, builds, products, timeout } = build;
    let names = Names::for_build(version, files);
    check_line(command, &names, [place.at("build"), place.at("build_shell")], problems);
    check_range(u64::from(*builds), 1, u64::from(MAX_BUILDS), place.at("builds"), problems);
    check_length(*timeout, place.at("build_timeout"), problems);
    let count = products.len();
    if count == 0 {
        problems.refuse(place.at("products"), Fault::NoProducts);
    }
    if count > MAX_PRODUCTS {
        problems.refuse(place.at("products"), Fault::TooMany { what: "products", count, most: MAX_PRODUCTS });
    }
    for (name, path) in products.iter().take(MAX_PRODUCTS) {
        let place = ["versions", &version.name, "products", name];
        if !is_identifier(name) || name.len() > MAX_NAME_BYTES {
            problems.refuse(place, Fault::ProductName(name.clone()));
        }
        if !is_inside(path) {
            problems.refuse(place, Fault::ProductPath(path.clone()));
        }
    }
}

impl<'e> Names<'e> {
    /// What is known in the builds of a version: no benchmark, and nothing that a build makes.
    fn for_build(version: &'e Version, files: &'e [StagedFile]) -> Self {
        Self::for_versions([version], files).without_runs()
    }

    /// Without what is known of runs alone.
    pub(super) fn without_runs(mut self) -> Self {
        self.known.retain(|name, _| name != BENCHMARK && !name.starts_with(crate::experiment::build::PREFIX));
        self
    }
}
