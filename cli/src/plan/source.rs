//! The plan as the user gives it: a file or standard input, and the flags that change it.

use std::{collections::BTreeSet, fs::File, io, io::Read, path::Path};

use anyhow::{Error, anyhow};
use clap::Args;
use speedup_core::{
    experiment::Experiment, machine::event::AttemptEnd, plan::file, plan::file::MAX_PLAN_BYTES,
    plan::file::PlanFileError, plan::file::PlanLook, run::AfterLoss, run::record::Outcome,
    value::bounded::read_at_most, value::id::BenchmarkIndex, value::id::ExperimentId, value::seed::Seed,
};
use uuid::Uuid;

use crate::{
    arguments::heading, connection::Connection, connection::SourceArguments, connection::selector::Selector,
    exit::failure::Failure, plan::files::LocalFiles, plan::line::TemplateLook,
    plan::selection::OnlyArguments, plan::selection::select, results::attempts::Attempts,
};

/// The plan on standard input.
pub(crate) const STDIN: &str = "-";

/// Which plan, and what is changed of it.
#[derive(Clone, Debug, Args)]
pub(crate) struct PlanArguments {
    /// The plan file; - reads standard input
    #[arg(value_name = "PLAN", required_unless_present = "failed_of")]
    plan: Option<String>,
    /// Instead of a plan file: that of this experiment, with the benchmarks alone of which a run failed or was abandoned
    #[arg(long, value_name = "ID", conflicts_with = "plan", help_heading = heading::CHANGES)]
    failed_of: Option<Selector>,
    /// Runs of each benchmark in each version, instead of the plan's
    #[arg(short, long, value_name = "N", help_heading = heading::CHANGES)]
    runs: Option<u32>,
    /// The random seed, instead of the plan's [default: drawn at random]
    #[arg(long, value_name = "N", help_heading = heading::CHANGES)]
    seed: Option<u64>,
    /// The name of the experiment, instead of the plan's
    #[arg(long, value_name = "NAME", help_heading = heading::CHANGES)]
    name: Option<String>,
    #[command(flatten)]
    only: OnlyArguments,
    #[command(flatten)]
    tags: TagArguments,
}

/// Tags to find an experiment by, as they are given beside its plan.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct TagArguments {
    /// A word to find the experiment by, beside those of the plan; repeatable
    #[arg(long = "tag", value_name = "WORD|KEY=VALUE")]
    tags: Vec<String>,
}

impl TagArguments {
    /// These and those of the plan, ascending and each once. Whether they are tags is the plan's to check.
    pub(crate) fn added_to(&self, mut tags: Vec<String>) -> Vec<String> {
        tags.extend(self.tags.iter().cloned());
        tags.sort_unstable();
        tags.dedup();
        tags
    }
}

impl PlanArguments {
    /// The experiment that the plan describes, a file or one that `source` has, with what the flags change; and where the
    /// files lie whose content is to travel.
    pub(crate) async fn read_with_files(
        &self,
        source: &SourceArguments,
    ) -> Result<(Experiment, LocalFiles), Failure> {
        let (mut experiment, files) = match &self.failed_of {
            Some(which) => (failed_of(which, source).await?, LocalFiles::default()),
            None => parsed(self.plan.as_deref().unwrap_or(STDIN))?,
        };
        if let Some(runs) = self.runs {
            experiment.runs = runs;
        }
        if let Some(seed) = self.seed {
            experiment.seed = Seed(seed);
        }
        if let Some(name) = &self.name {
            experiment.name.clone_from(name);
        }
        self.only.apply(&mut experiment)?;
        experiment.tags = self.tags.added_to(experiment.tags);
        experiment.check().map_err(|error| Failure::usage(error).context("the flags do not fit the plan"))?;
        Ok((experiment, files))
    }
}

/// The experiment of a plan file, and the files that it names.
fn parsed(plan: &str) -> Result<(Experiment, LocalFiles), Failure> {
    parsed_with(plan, |files| files, file::parse_with)
}

/// The experiment of a plan file of which one version stands for every commit of a line.
pub(crate) fn template(plan: &str) -> Result<(Experiment, TemplateLook), Failure> {
    let (mut experiment, look) = parsed_with(plan, TemplateLook::new, file::parse_template)?;
    experiment.analysis.center.get_or_insert_default();
    Ok((experiment, look))
}

/// The same of a plan whose text is kept, without a centre where the text declares none; what it names is relative to `directory`.
pub(crate) fn kept_template(text: &str, directory: &Path) -> Result<(Experiment, TemplateLook), Failure> {
    let look = TemplateLook::new(LocalFiles::beside(&directory.join("plan")));
    parsed_text(text, "that is kept", look, file::parse_template)
}

/// The experiment of a plan file, by what looks at what it names.
fn parsed_with<L: PlanLook>(
    plan: &str,
    look: impl FnOnce(LocalFiles) -> L,
    parse: impl FnOnce(&str, Seed, &mut dyn PlanLook) -> Result<Experiment, PlanFileError>,
) -> Result<(Experiment, L), Failure> {
    let beside = if plan == STDIN { Path::new("") } else { Path::new(plan) };
    parsed_text(&text(plan)?, shown(plan), look(LocalFiles::beside(beside)), parse)
}

fn parsed_text<L: PlanLook>(
    text: &str,
    shown: &str,
    mut files: L,
    parse: impl FnOnce(&str, Seed, &mut dyn PlanLook) -> Result<Experiment, PlanFileError>,
) -> Result<(Experiment, L), Failure> {
    let parsed = parse(text, drawn_seed(), &mut files);
    let experiment = parsed.map_err(|error| {
        let many = error.findings().len() + error.untold() > 1;
        let what = if many { "errors in the plan" } else { "error in the plan" };
        Failure::usage(anyhow!("{what} {shown}\n\n{error}"))
    })?;
    Ok((experiment, files))
}

pub(crate) fn text(plan: &str) -> Result<String, Failure> {
    let text = match plan {
        STDIN => read(io::stdin().lock()),
        plan => File::open(plan).map_err(Error::new).and_then(read),
    };
    text.map_err(|error| Failure::usage(error.context(format!("cannot read the plan {}", shown(plan)))))
}

fn shown(plan: &str) -> &str {
    if plan == STDIN { "on standard input" } else { plan }
}

fn read(from: impl Read) -> Result<String, Error> {
    let bytes = read_at_most(from, MAX_PLAN_BYTES as u64)?;
    Ok(String::from_utf8(bytes).map_err(|error| error.utf8_error())?)
}

/// A seed that nobody chose, from the system's source of randomness by way of a random id.
pub(crate) fn drawn_seed() -> Seed {
    let (_, random) = Uuid::new_v4().as_u64_pair();
    Seed::drawn(random)
}

/// The experiment again, with the benchmarks alone of which runs failed or were abandoned, in all versions. Its seed is a new one.
async fn failed_of(which: &Selector, source: &SourceArguments) -> Result<Experiment, Failure> {
    let (connection, experiment) = source.find(which).await?;
    let read = read_failed(&connection, experiment).await;
    connection.close().await;
    let (mut recorded, failed) = read?;
    if failed.is_empty() {
        return Err(Failure::usage(anyhow!(
            "no run of {} ({experiment}) failed or was abandoned",
            recorded.name
        ))
        .hint("`speedup report` shows what it measured; its plan is measured again by `speedup run PLAN`"));
    }
    let names: BTreeSet<String> =
        failed.iter().filter_map(|at| Some(recorded.benchmark(*at)?.name.clone())).collect();
    select(&mut recorded, format!("--failed-of {experiment}"), |name| names.contains(name))?;
    recorded.seed = drawn_seed();
    Ok(recorded)
}

async fn read_failed(
    connection: &Connection,
    experiment: ExperimentId,
) -> Result<(Experiment, BTreeSet<BenchmarkIndex>), Failure> {
    let mut attempts = Attempts::open(connection, experiment).await?;
    let mut failed = BTreeSet::new();
    while let Some(page) = attempts.page().await? {
        for ended in page {
            let is_failed = match &ended.end {
                AttemptEnd::Reported(record) => matches!(record.outcome, Outcome::Failed(_)),
                AttemptEnd::Lost { after, .. } => *after == AfterLoss::Abandoned,
            };
            if is_failed && let Some(cell) = attempts.plan.cell(ended.lease.run) {
                failed.insert(cell.benchmark);
            }
        }
    }
    Ok((attempts.plan.experiment, failed))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::command::block_on;

    /// A plan as short as can be.
    pub(crate) const PLAN: &str = "[experiment]\nname = \"locale\"\n[versions.utf8]\nbaseline = true\n[versions.c]\n\
        env = { LC_ALL = \"C\" }\n[benchmarks.sort]\ncommand = [\"sort\", \"/etc/services\"]\n[repetitions]\nruns = 3\n";

    fn arguments(plan: &Path) -> PlanArguments {
        let tags = TagArguments::default();
        let only = OnlyArguments::default();
        let plan = Some(plan.display().to_string());
        PlanArguments { plan, failed_of: None, runs: None, seed: None, name: None, only, tags }
    }

    /// What is read where no experiment is asked for.
    fn read_alone(plan: &PlanArguments) -> Result<Experiment, Failure> {
        block_on(plan.read_with_files(&SourceArguments::default())).map(|(experiment, _)| experiment)
    }

    fn written(text: &str) -> (tempfile::TempDir, PlanArguments) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("plan.toml");
        std::fs::write(&path, text).unwrap();
        let arguments = arguments(&path);
        (directory, arguments)
    }

    #[test]
    fn flags_change_the_plan() {
        let (_directory, plan) = written(PLAN);
        let changed = PlanArguments { runs: Some(7), seed: Some(42), name: Some("other".to_owned()), ..plan };
        let experiment = read_alone(&changed).unwrap();
        assert_eq!((experiment.runs, experiment.seed, experiment.name.as_str()), (7, Seed(42), "other"));
    }

    #[test]
    fn a_seed_that_nobody_names_is_drawn() {
        let (_directory, plan) = written(PLAN);
        let (one, other) = (read_alone(&plan).unwrap().seed, read_alone(&plan).unwrap().seed);
        assert_ne!(one, other);
        assert!(one.0 < 1 << 53);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let (_directory, plan) = written("[experiment]\nname = 7\n");
        let failure = read_alone(&plan).unwrap_err();
        assert!(failure.error.to_string().contains("line 2, column 8"), "{}", failure.error);
        let (_directory, plan) = written(PLAN);
        let failure = read_alone(&PlanArguments { runs: Some(0), ..plan }).unwrap_err();
        assert_eq!(failure.exit, crate::exit::Exit::Usage);
    }

    #[test]
    fn a_plan_that_is_not_there_is_wrong_usage() {
        let failure = read_alone(&arguments(Path::new("/nowhere/plan.toml"))).unwrap_err();
        assert!(failure.error.to_string().contains("/nowhere/plan.toml"));
    }
}
