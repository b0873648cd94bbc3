//! Searches of simulated histories, and what they answer.

use super::{BisectionSection, BisectionStudy, midpoints::midpoint};
use crate::{LawShape, law::draws::Draws, replication::Tally, row::Cell, row::StudyRow, row::Unanswered};
use speedup_statistics::bisection::{CommitLine, StepAnswer, StepBisection, StepRule, StepVerdict};
use speedup_statistics::inference::Threshold;

/// One commit of so many does not build, where some do not.
const UNBUILDABLE_ONE_OF: usize = 5;
/// One commit of so many is held to be likelier, where there is a prior.
const LIKELY_ONE_OF: usize = 8;

/// The commits of a history.
pub(super) struct History {
    pub(super) shape: LawShape,
    pub(super) commits: usize,
    runs: u64,
    /// The commits that have a step, in their order, with the level from there on.
    steps: Vec<(usize, f64)>,
    unbuildable: Vec<usize>,
    /// What each commit after the good end weighs beforehand.
    weights: Vec<f64>,
}

/// What a replicate finds.
struct Found {
    steps: Vec<usize>,
    answer: Option<StepAnswer>,
    midpoint: usize,
}

impl History {
    /// The logarithm of what a run of `commit` takes.
    pub(super) fn level(&self, commit: usize) -> f64 {
        let before = self.steps.iter().rev().find(|(step, _)| *step <= commit);
        before.map_or(0.0, |(_, level)| *level)
    }

    pub(super) fn blocks(&self, of: u64) -> u64 {
        self.runs / of
    }
}

impl Found {
    fn has_right(&self, commit: usize) -> bool {
        self.steps.contains(&commit)
    }

    fn covers(&self) -> Option<bool> {
        let set = &self.answer.as_ref()?.commits.commits;
        Some(self.steps.iter().any(|step| set.contains(step)))
    }

    fn likeliest_is_right(&self) -> Option<bool> {
        Some(self.has_right(self.answer.as_ref()?.commits.likeliest))
    }

    fn is_verdict(&self, verdict: StepVerdict) -> Option<bool> {
        Some(self.answer.as_ref()?.verdict == verdict)
    }

    fn names_one(&self) -> Option<bool> {
        Some(self.is_verdict(StepVerdict::Step)? && self.answer.as_ref()?.commits.commits.len() == 1)
    }

    fn named_is_right(&self) -> Option<bool> {
        if self.names_one()? { self.likeliest_is_right() } else { None }
    }

    fn size_covers(&self, ratio: f64) -> Option<bool> {
        let size = self.answer.as_ref()?.size?;
        Some(size.lower <= ratio && ratio <= size.upper)
    }
}

impl BisectionStudy {
    pub(super) fn search_rows(
        &self,
        section: BisectionSection,
        shape: LawShape,
        commits: u64,
        runs: u64,
    ) -> Vec<StudyRow> {
        let cell = Cell { section: section.code(), distribution: Some(shape), size: runs };
        let stream = format!("{} {commits}", cell.stream());
        let found = self.replication.each(&stream, |draws| {
            let history = self.history_of(section, shape, [commits, runs], draws);
            let answer = self.answer(&history, draws);
            let midpoint = midpoint(self, &history, draws);
            Found { steps: history.steps.iter().map(|(step, _)| *step).collect(), answer, midpoint }
        });
        let parameter = commits as f64;
        let share = |method, answer: &dyn Fn(&Found) -> Option<bool>, expected| {
            let tally = Tally::new(found.iter().map(answer));
            cell.row(method, tally, Unanswered::LeftOut, [Some(parameter), expected])
        };
        let of_size = |found: &Found| Some(found.answer.as_ref()?.commits.commits.len() as f64);
        let sizes: Vec<f64> = found.iter().filter_map(of_size).collect();
        // Nothing is promised of histories that the search holds to be rare.
        let promised =
            if section == BisectionSection::WrongPrior { None } else { self.replication.promised_coverage() };
        let total = self.history.total(section);
        let claims = |verdict: StepVerdict| move |found: &Found| found.is_verdict(verdict);
        let mut rows = vec![
            share("step_claimed", &claims(StepVerdict::Step), None),
            share("no_step_claimed", &claims(StepVerdict::NoStep), None),
            share("several_claimed", &claims(StepVerdict::Several), None),
            share("size_covers", &|found| found.size_covers(total), promised),
        ];
        if section != BisectionSection::NoStep {
            rows.extend([
                share("set_covers", &Found::covers, promised),
                cell.average("set_size", &sizes, Some(parameter)),
                share("likeliest_is_right", &Found::likeliest_is_right, None),
                share("one_named", &Found::names_one, None),
                share("named_is_right", &Found::named_is_right, promised),
                share("midpoint_is_right", &|found| Some(found.has_right(found.midpoint)), None),
            ]);
        }
        rows
    }

    fn history_of(
        &self,
        section: BisectionSection,
        shape: LawShape,
        [commits, runs]: [u64; 2],
        draws: &mut Draws,
    ) -> History {
        let commits = commits as usize;
        let size = self.history.step;
        let weights = self.weights(section, commits, draws);
        let half = commits / 2;
        let mut halves = || (1 + draws.position(half), 1 + half + draws.position(commits - half));
        let steps = match section {
            BisectionSection::NoStep | BisectionSection::Outcomes => Vec::new(),
            BisectionSection::OneStep | BisectionSection::Unbuildable => {
                vec![(1 + draws.position(commits), size)]
            }
            BisectionSection::Prior => vec![(1 + drawn_by(&weights, draws), size)],
            BisectionSection::WrongPrior => {
                let unlikely: Vec<f64> = weights.iter().map(|weight| f64::from(*weight == 1.0)).collect();
                vec![(1 + drawn_by(&unlikely, draws), size)]
            }
            BisectionSection::TwoSteps => {
                let (first, second) = halves();
                vec![(first, size), (second, 2.0 * size)]
            }
            BisectionSection::Reverted => {
                let (first, second) = halves();
                vec![(first, size), (second, 0.0)]
            }
        };
        let some = section == BisectionSection::Unbuildable;
        let unbuildable = (1..commits).filter(|_| some && draws.position(UNBUILDABLE_ONE_OF) == 0).collect();
        History { shape, commits, runs, steps, unbuildable, weights }
    }

    /// The first commit is never likely, so that some are not.
    fn weights(&self, section: BisectionSection, commits: usize, draws: &mut Draws) -> Vec<f64> {
        let has_prior = matches!(section, BisectionSection::Prior | BisectionSection::WrongPrior);
        let weight = |at: usize| {
            let is_likely = has_prior && at > 0 && draws.position(LIKELY_ONE_OF) == 0;
            if is_likely { self.prior_weight } else { 1.0 }
        };
        (0..commits).map(weight).collect()
    }

    /// None where the library refuses what was drawn.
    fn answer(&self, history: &History, draws: &mut Draws) -> Option<StepAnswer> {
        let line = CommitLine::new(history.commits + 1).ok()?.with_prior(&history.weights).ok()?;
        let rule = StepRule { confidence: self.replication.confidence, margin: Threshold::NONE };
        let mut bisection = StepBisection::new(line, rule);
        for commit in &history.unbuildable {
            bisection.cannot_build(*commit).ok()?;
        }
        for block in 0..history.blocks(self.block_runs) {
            let host = self.history.host(draws);
            for commit in bisection.next_block(self.block_runs as usize) {
                let value = self.history.value(history.shape, host, history.level(commit), draws);
                bisection.observe(block, commit, value).ok()?;
            }
        }
        Some(bisection.answer())
    }
}

/// A position, each as likely as its weight says.
fn drawn_by(weights: &[f64], draws: &mut Draws) -> usize {
    let mut left = draws.uniform() * weights.iter().sum::<f64>();
    for (at, weight) in weights.iter().enumerate() {
        left -= weight;
        if left <= 0.0 {
            return at;
        }
    }
    weights.len() - 1
}
