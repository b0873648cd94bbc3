//! A plan whose version stands for every commit of a line: what `speedup bisect` submits.

use std::collections::BTreeMap;

use anyhow::anyhow;
use speedup_core::experiment::build::Build;
use speedup_core::experiment::commit::Commit;
use speedup_core::experiment::files::{Content, ContentHash, FileSource, StagedFile};
use speedup_core::experiment::prior::PathWeight;
use speedup_core::experiment::{
    Bisection, CommandLine, Experiment, Family, Levels, Metric, MetricVerdict, Order, Rule, Version,
};
use speedup_core::plan::file::{FoundCommit, PlanLook, Unusable, WantedCommit, WantedFile};

use crate::console::Console;
use crate::exit::failure::Failure;
use crate::plan::files::LocalFiles;
use crate::plan::prior;
use crate::plan::repository::{LineOptions, Range, Repository};
use crate::plan::selection::listed;

/// Most bytes of the sources of all commits together: they are kept on this machine, and at the coordinator.
const MAX_SOURCES_BYTES: u64 = 16 << 30;
/// Stands for the commit of a version until the commits of the line are known; no commit has this id.
const ANY: &str = "0000000000000000000000000000000000000000";

/// What is to be found.
#[derive(Clone, Debug)]
pub(crate) struct CommitSearch {
    pub(crate) range: Range,
    pub(crate) options: LineOptions,
    pub(crate) bisection: Bisection,
    /// What files weigh that commits change, where some are likelier to have the step.
    pub(crate) prior: Vec<PathWeight>,
    pub(crate) metric: Option<String>,
    pub(crate) margin: Option<f64>,
    pub(crate) confidence: Option<f64>,
}

/// Looks at the files of a plan, and leaves its commits open.
#[derive(Debug)]
pub(crate) struct TemplateLook {
    pub(super) files: LocalFiles,
    repositories: BTreeMap<String, Option<String>>,
}

impl TemplateLook {
    pub(crate) fn new(files: LocalFiles) -> Self {
        Self { files, repositories: BTreeMap::new() }
    }

    /// The version that stands for all commits, and the repository that it names.
    pub(crate) fn template(&self, experiment: &Experiment) -> Result<(Version, Repository), Failure> {
        let (version, repository) = template(experiment, &self.repositories)?;
        Ok((version, Repository::at(&self.files.relative(repository))?))
    }

    /// The experiment that searches the line, and its files.
    pub(crate) fn expand(
        self,
        mut experiment: Experiment,
        sought: &CommitSearch,
        console: &Console,
    ) -> Result<(Experiment, LocalFiles), Failure> {
        require_one_benchmark(&experiment)?;
        let (template, repository) = self.template(&experiment)?;
        let mut files = self.files;
        let line = repository.line(&sought.range, &sought.options)?;
        console.talk(format_args!(
            "{} commits: {}; {}",
            line.len(),
            line.first().map(Commit::in_words).unwrap_or_default(),
            line.last().map(Commit::in_words).unwrap_or_default()
        ));
        // The template's placeholder for a source gives way to the source of each commit.
        experiment.files.retain(|file| file.name != any().source());
        let mut bytes = 0_u64;
        for commit in &line {
            let source = files.keep_source(&repository, commit)?;
            bytes = bytes.saturating_add(source.bytes);
            if bytes > MAX_SOURCES_BYTES {
                let what = "the sources of the commits have more than 16 GiB together";
                return Err(Failure::usage(anyhow!(what)).hint("bisect a shorter range"));
            }
            let file = StagedFile { name: commit.source(), source: FileSource::Content(source) };
            experiment.files.push(file);
        }
        experiment.analysis.prior = prior::weigh_line(&sought.prior, &repository, &line)?;
        experiment.versions =
            line.into_iter().map(|commit| version_at_commit(&template, commit, 1)).collect();
        search(&mut experiment, sought);
        experiment
            .check()
            .map_err(|error| Failure::usage(error).context("the plan cannot be used for a bisection"))?;
        Ok((experiment, files))
    }
}

impl PlanLook for TemplateLook {
    fn file(&mut self, wanted: &WantedFile) -> Result<FileSource, Unusable> {
        self.files.file(wanted)
    }

    fn commit(&mut self, wanted: &WantedCommit) -> Result<FoundCommit, Unusable> {
        self.repositories.insert(wanted.version.clone(), wanted.repository.clone());
        let source = Content { blake3: ContentHash([0; 32]), bytes: 0, executable: false };
        Ok(FoundCommit { commit: any(), source })
    }
}

pub(super) fn any() -> Commit {
    Commit { id: ANY.to_owned(), revision: "any".to_owned(), subject: String::new() }
}

fn require_one_benchmark(experiment: &Experiment) -> Result<(), Failure> {
    let names: Vec<&str> = experiment.benchmarks.iter().map(|one| one.name.as_str()).collect();
    if names.len() == 1 {
        return Ok(());
    }
    let count = names.len();
    let names = listed(&names);
    let text = format!("a bisection is of one benchmark, and the plan has {count}: {names}");
    Err(Failure::usage(anyhow!(text)).hint("choose one of them: --only NAME"))
}

/// The version that stands for all commits, and the repository that it names: the baseline, or the first that has a commit.
fn template(
    experiment: &Experiment,
    repositories: &BTreeMap<String, Option<String>>,
) -> Result<(Version, Option<String>), Failure> {
    let Some(version) = experiment.versions.iter().find(|version| version.commit.is_some()) else {
        return Err(Failure::usage(anyhow!("no version of the plan comes from Git")).hint(
            "write git = \"HEAD\", a build and its products in the version that stands for every commit",
        ));
    };
    let repository = repositories.get(&version.name).cloned().flatten();
    Ok((version.clone(), repository))
}

/// The template as the version of one commit, built so often.
pub(super) fn version_at_commit(template: &Version, commit: Commit, builds: u32) -> Version {
    let build = template.build.as_ref().map(|build| {
        let named = |text: &String| text.replace(&any().source(), &commit.source());
        let command = match &build.command {
            CommandLine::Exact(argv) => CommandLine::Exact(argv.iter().map(named).collect()),
            CommandLine::Shell(line) => CommandLine::Shell(named(line)),
        };
        Build { command, builds, ..build.clone() }
    });
    Version { name: commit.short().to_owned(), build, commit: Some(commit), ..template.clone() }
}

/// Has the experiment search its versions.
fn search(experiment: &mut Experiment, sought: &CommitSearch) {
    let options = &sought.options;
    let first_parent = if options.first_parent { ", first parents only" } else { "" };
    let paths = match options.paths.as_slice() {
        [] => String::new(),
        paths => format!(", commits that change {}", paths.join(", ")),
    };
    let what = format!("Bisection of {}{first_parent}{paths}", sought.range.text());
    experiment.description = match experiment.description.as_str() {
        "" => what,
        description => format!("{description}\n{what}"),
    };
    experiment.rule = Rule::Bisection(sought.bisection);
    // A bisection chooses its runs itself: what the plan says of their order and number does not apply.
    (experiment.order, experiment.levels, experiment.runs) = (Order::Blocked, Levels::default(), 1);
    (experiment.drawn, experiment.baseline_again) = (None, false);
    let analysis = &mut experiment.analysis;
    analysis.quantiles.clear();
    analysis.verdicts.clear();
    analysis.confidence = sought.confidence.unwrap_or(analysis.confidence);
    match sought.metric.as_deref().filter(|metric| *metric != Metric::Wall.name()) {
        None => analysis.margin = sought.margin.or(analysis.margin),
        Some(metric) => {
            let (metric, margin) = (metric.to_owned(), sought.margin);
            let known = Metric::ALL.iter().find(|known| known.name() == metric);
            experiment.metrics.extend(known);
            experiment.metrics.sort_unstable();
            experiment.metrics.dedup();
            analysis.verdicts.push(MetricVerdict { metric, margin, family: Family::Common });
        }
    }
}
