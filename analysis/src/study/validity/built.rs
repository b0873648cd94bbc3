//! What verdicts say of builds: a version that was built once is that build.

use super::warning::Warnings;
use crate::study::Study;
use crate::study::design::{Design, has_builds};
use speedup_core::value::id::VersionIndex;

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
            "one_build",
            format!(
                "What is found of {} holds for the one build that was measured: another compilation may lay it out otherwise, and \
                 be as much faster or slower by that alone; take `builds` = 5 or more to speak of the source.",
                one.join(", ")
            ),
        );
    }
    if has_builds && Design::of(plan) == Design::Classes && study.evidence.classes() > 1 {
        warnings.raise(
            "classes_across_builds",
            "Hosts of several classes took part, and versions that are built several times are compared by their builds, across the \
             classes: what classes differ by is chance of the builds; let hosts be identical."
                .to_owned(),
        );
    }
}
