//! What verdicts say of builds: a version that was built once is that build.

use crate::conclusion::{WarningCode, Warnings};
use crate::study::{Study, design::Design, design::has_builds};
use speedup_core::experiment::build::{Product, UsedBuild};
use speedup_core::value::id::{RunIndex, VersionIndex};
use std::collections::BTreeMap;

/// What the builds of each version made, by the run that built it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Builds(BTreeMap<VersionIndex, BTreeMap<RunIndex, Vec<Product>>>);

impl Builds {
    /// Keeps what a run used.
    pub(crate) fn keep(&mut self, version: VersionIndex, build: &UsedBuild) {
        let of_version = self.0.entry(version).or_default();
        of_version.entry(build.run).or_insert_with(|| build.products.clone());
    }

    /// Whether several builds of a version made the same files, bit for bit.
    fn are_equal(&self, version: VersionIndex) -> bool {
        let mut builds = self.0.get(&version).into_iter().flat_map(BTreeMap::values);
        let first = builds.next().filter(|products| !products.is_empty());
        let mut others = builds.peekable();
        others.peek().is_some() && others.all(|products| Some(products) == first)
    }
}

/// Raises what a reader must know of the builds.
pub(crate) fn warn(study: &Study, warnings: &mut Warnings) {
    let (plan, has_builds) = (&study.plan, has_builds(&study.plan));
    let versions = (0..).map(VersionIndex).zip(plan.experiment.compared());
    // Of a version that came as it is nothing is known of builds, which matters beside one of which it is.
    let one = versions.filter(|(index, version)| match plan.builds_of(*index).len() {
        0 => has_builds || version.build.is_some(),
        1 => true,
        _ => false,
    });
    let one: Vec<&str> = one.map(|(_, version)| version.name.as_str()).collect();
    if !one.is_empty() {
        warnings.raise(
            WarningCode::OneBuild,
            format!(
                "The results of {} hold for the one build that was measured: another compilation may lay it out \
                    differently, and be as much faster or slower by that alone; use `builds` = 5 or more for \
                    claims about the source.",
                one.join(", ")
            ),
        );
    }
    let versions = (0..).map(VersionIndex).zip(plan.experiment.compared());
    let equal = versions.filter(|(index, _)| study.builds.are_equal(*index));
    let equal: Vec<&str> = equal.map(|(_, version)| version.name.as_str()).collect();
    if !equal.is_empty() {
        warnings.raise(
            WarningCode::EqualBuilds,
            format!(
                "The builds of {} are the same files, bit for bit: the compilation does not vary, so several \
                    builds are one, and nothing here says what another layout of the program would do. Use \
                    `builds` = 1, or let each build differ in what must not matter (link order, padding).",
                equal.join(", ")
            ),
        );
    }
    if has_builds && Design::of(plan) == Design::Classes && study.evidence.classes() > 1 {
        warnings.raise(
            WarningCode::ClassesAcrossBuilds,
            "Hosts of several classes took part, and versions that are built several times are compared by their builds, across the \
             classes: what classes differ by is chance of the builds; let hosts be identical."
                .to_owned(),
        );
    }
}
