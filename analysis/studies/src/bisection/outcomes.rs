//! Searches whose runs pass or fail.

use super::{BisectionSection, BisectionStudy};
use crate::{law::draws::Draws, replication::Tally, row::Cell, row::StudyRow, row::Unanswered};
use speedup_statistics::bisection::{CommitLine, CommitSet, FailureRate, OutcomeBisection, RunOutcome};

impl BisectionStudy {
    pub(super) fn outcome_rows(&self, commits: u64, runs: u64) -> Vec<StudyRow> {
        let cell = Cell { section: BisectionSection::Outcomes.code(), distribution: None, size: runs };
        let stream = format!("{} {commits}", cell.stream());
        let found = self.replication.each(&stream, |draws| self.outcomes(commits, runs, draws));
        let parameter = Some(commits as f64);
        let share = |method, is_so: &dyn Fn(usize, &CommitSet) -> bool, expected| {
            let answers = found.iter().map(|found| found.as_ref().map(|(step, set)| is_so(*step, set)));
            cell.row(method, Tally::new(answers), Unanswered::LeftOut, [parameter, expected])
        };
        let named = |set: &CommitSet| set.commits.len() == 1;
        let sizes: Vec<f64> = found.iter().flatten().map(|(_, set)| set.commits.len() as f64).collect();
        vec![
            share(
                "set_covers",
                &|step, set| set.commits.contains(&step),
                self.replication.promised_coverage(),
            ),
            cell.average("set_size", &sizes, parameter),
            share("likeliest_is_right", &|step, set| set.likeliest == step, None),
            share("one_named", &|_, set| named(set), None),
            share("wrong_one_named", &|step, set| named(set) && set.likeliest != step, None),
        ]
    }

    /// The commit of the step, and the set that was found; none where the library refuses what was drawn.
    fn outcomes(&self, commits: u64, runs: u64, draws: &mut Draws) -> Option<(usize, CommitSet)> {
        let step = 1 + draws.position(commits as usize);
        let rates = [FailureRate::USUAL_OLD, FailureRate::USUAL_NEW];
        let mut bisection = OutcomeBisection::new(CommitLine::new(commits as usize + 1).ok()?, rates);
        for _ in 0..runs {
            let commit = bisection.next_commit();
            let rate = self.failures[usize::from(commit >= step)];
            let outcome = if draws.uniform() <= rate { RunOutcome::Failed } else { RunOutcome::Passed };
            bisection.observe(commit, outcome).ok()?;
        }
        Some((step, bisection.commits(self.replication.confidence)))
    }
}
