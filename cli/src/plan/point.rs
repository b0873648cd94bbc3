//! A plan whose version stands for every commit of a branch, as the experiment of one of them beside references.

use speedup_core::experiment::commit::Commit;
use speedup_core::experiment::files::{FileSource, StagedFile};
use speedup_core::experiment::{Experiment, Levels, Metric, Order, Rule};
use speedup_core::value::seed::{Seed, below};

use super::line::{TemplateLook, any, version_at_commit};
use crate::{exit::failure::Failure, plan::files::LocalFiles};

/// Seeds that every reader of JSON keeps.
const SEEDS: u64 = 1 << 53;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Point<'a> {
    /// The commits beside which it is measured; the first is the baseline.
    pub(crate) references: &'a [Commit],
    pub(crate) commit: &'a Commit,
    /// The seed of all points; each has a child of its own.
    pub(crate) seed: Seed,
    pub(crate) metric: &'a str,
    /// Blocks of each benchmark, each on one host.
    pub(crate) blocks: u32,
}

impl TemplateLook {
    /// The experiment that measures a commit beside references and a control, in blocks, and its files.
    pub(crate) fn point(
        self,
        mut experiment: Experiment,
        at: &Point<'_>,
    ) -> Result<(Experiment, LocalFiles), Failure> {
        let (template, repository) = self.template(&experiment)?;
        let mut files = self.files;
        experiment.files.retain(|file| file.name != any().source());
        let commits = at.references.iter().chain([at.commit]);
        for commit in commits.clone() {
            let name = commit.source();
            if experiment.files.iter().all(|file| file.name != name) {
                let source = FileSource::Content(files.keep_source(&repository, commit)?);
                experiment.files.push(StagedFile { name, source });
            }
        }
        let builds = template.build.as_ref().map_or(1, |build| build.builds);
        experiment.versions =
            commits.map(|commit| version_at_commit(&template, commit.clone(), builds)).collect();
        if at.references.iter().any(|reference| reference.id == at.commit.id) {
            // Measured as what it is now as well.
            experiment.versions.last_mut().into_iter().for_each(|version| version.name += "-now");
        }
        experiment.seed = Seed(below(SEEDS, &mut at.seed.child(&format!("point {}", at.commit.id))));
        experiment.rule = Rule::Fixed;
        (experiment.order, experiment.levels, experiment.runs) =
            (Order::Blocked, Levels::default(), at.blocks);
        (experiment.drawn, experiment.baseline_again) = (None, false);
        experiment.add_control();
        experiment.analysis.quantiles.clear();
        experiment.analysis.verdicts.clear();
        experiment.metrics.extend(Metric::ALL.iter().find(|known| known.name() == at.metric));
        experiment.metrics.sort_unstable();
        experiment.metrics.dedup();
        experiment
            .check()
            .map_err(|error| Failure::usage(error).context("the plan cannot be used for a track"))?;
        Ok((experiment, files))
    }
}
