//! Versions that are built, once or several times.

use super::{Synthetic, record};
use speedup_core::machine::event::{AttemptEnd, EndedAttempt};
use speedup_core::run::{lease::Evidence, lease::Lease, record::Outcome};
use speedup_core::value::{id::RunIndex, seed::Seed, seed::below, time::Span};
use speedup_core::{experiment::CommandLine, experiment::build::Build, plan::Plan};

/// By how much builds of a version differ, alike for all benchmarks.
#[derive(Clone, Copy)]
pub(super) struct BuildSpread {
    spread: f64,
    seed: u32,
    /// Of baseline and candidate.
    builds: [u32; 2],
}

impl BuildSpread {
    /// By how much the `repetition`-th run of its cell takes longer, where each visit has one run.
    pub(super) fn factor(self, plan: &Plan, run: u32, repetition: u32) -> f64 {
        let version = plan.task(RunIndex(run)).version().0;
        let build = repetition % self.builds[version as usize];
        let mut random = Seed(11).child(&format!("{} {version} {build}", self.seed));
        1.0 + self.spread * (below(2_000_001, &mut random) as f64 / 1e6 - 1.0)
    }
}

impl Synthetic {
    /// Has the candidate built so often.
    pub(in crate::study::tests) fn built(self, builds: u32) -> Self {
        self.with_builds(&[None, Some(builds)])
    }

    /// Has both versions built so often.
    pub(in crate::study::tests) fn all_built(self, builds: u32) -> Self {
        self.built_each([builds; 2])
    }

    /// Has the two versions built so often.
    pub(in crate::study::tests) fn built_each(self, builds: [u32; 2]) -> Self {
        self.with_builds(&builds.map(Some))
    }

    fn with_builds(mut self, builds: &[Option<u32>]) -> Self {
        let mut experiment = self.plan.experiment.clone();
        for (version, builds) in experiment.versions.iter_mut().zip(builds) {
            version.build = builds.map(|builds| Build {
                command: CommandLine::Shell("make".to_owned()),
                builds,
                products: [("prog".to_owned(), "prog".to_owned())].into(),
                timeout: Span::from_secs(60),
            });
        }
        self.plan = Plan::draw(experiment).with_first_runs().into_owned();
        self
    }

    /// Lets builds differ by factors with this spread.
    pub(in crate::study::tests) fn build_spread(self, spread: f64, seed: u32) -> Self {
        let of = |version: usize| self.plan.experiment.versions[version].build.as_ref();
        let builds = [0, 1].map(|version| of(version).or(of(1)).map_or(1, |build| build.builds));
        Self { build_spread: Some(BuildSpread { spread, seed, builds }), ..self }
    }

    /// The same times in a plan that does not tell builds apart.
    pub(in crate::study::tests) fn told_of_one_build(self) -> Self {
        self.all_built(1)
    }

    /// An attempt at a build, on a host of its own.
    pub(in crate::study::tests) fn build(&self, run: u32, wall_ns: f64) -> EndedAttempt {
        let other = self.attempts().swap_remove(0);
        let evidence = Evidence { build: None, ..other.lease.evidence };
        let host = format!("builder-{run}").parse().unwrap();
        let lease = Lease { run: RunIndex(run), host, evidence, ..other.lease };
        let end = AttemptEnd::reported(record(Outcome::Measured, wall_ns, ""));
        EndedAttempt { lease, cell: self.plan.cell_number(RunIndex(run)), end, ..other }
    }
}
