//! Tracks that are kept by name, each in a directory of the user's state: what was declared, a line for each experiment that ended, a line for each
//! step that was acknowledged, and what was measured on this machine.
//!
//! An experiment is submitted under an id that follows from track, commit and try. So whoever goes on after a kill finds what was submitted, and no
//! point is measured twice.

use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context as _, Error, anyhow};
use clap::ValueEnum;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::json;
use speedup_analysis::track::{
    TrackAcknowledgement, TrackEntry, TrackEntryState, TrackHistory, TrackReport, TrackTerms,
};
use speedup_core::{
    experiment::Center, experiment::Experiment, experiment::Metric, experiment::commit::Commit,
    experiment::metric::Unit, value::bounded::read_at_most, value::id::ExperimentId, value::seed::Seed,
};
use uuid::{Builder, Uuid};

use crate::{
    connection::by, connection::directories, connection::started::KeptAt, exit::failure::Failure,
    plan::files::LocalFiles, plan::point::Point, plan::repository::Repository, plan::selection, plan::source,
    results::draft,
};

/// Characters of a name: with what stands before it, it is a tag of each experiment.
const MOST_NAME_CHARS: usize = 48;
/// What the content of a submission depends on besides.
const RELEASE: &str = env!("CARGO_PKG_VERSION");
const VERSION: u32 = 1;
/// Most bytes of a file of a track: twenty years of points with a hundred values each.
const MAX_TRACK_BYTES: u64 = 1 << 30;
const DEFINITION: &str = "track.json";
/// The experiments that ended, one a line.
const ENTRIES: &str = "points.jsonl";
/// The steps that were acknowledged, one a line.
const ACKNOWLEDGED: &str = "acknowledged.jsonl";

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub(crate) struct TrackName(String);

impl FromStr for TrackName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if directories::is_file_name(text, MOST_NAME_CHARS) {
            return Ok(Self(text.to_owned()));
        }
        Err(format!(
            "the name of a track has 1 to {MOST_NAME_CHARS} letters, digits, dots, hyphens and underscores, and begins with \
             a letter or digit"
        ))
    }
}

impl fmt::Display for TrackName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// What a track is called where a file or a share could be meant.
const PREFIX: &str = "track:";

/// The track that a word of a command line means, if it means one: `track:NAME`.
pub(crate) fn name_in(word: &str) -> Option<Result<TrackName, String>> {
    word.strip_prefix(PREFIX).map(str::parse)
}

/// Within which share the reference of a track is of itself at the confidence level, on the noisiest of its benchmarks.
pub(crate) fn noise_floor(name: &TrackName) -> Result<f64, Failure> {
    let report = Tracks::open()?.require(name)?.report()?;
    let floors = report.benchmarks.iter().filter_map(|benchmark| benchmark.noise_floor.as_ref());
    let largest = floors.map(|floor| floor.usual.ratio - 1.0).max_by(f64::total_cmp);
    largest
        .ok_or_else(|| Failure::usage(anyhow!("the track {name} has no points yet, and so no noise floor")))
}

/// Which commits become points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Cadence {
    /// Every commit of the branch
    Commit,
    /// The latest commit, once a day (UTC)
    Night,
}

/// What was declared of a track, and how its points are measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Definition {
    pub(crate) version: u32,
    /// By which its experiments are known.
    pub(crate) id: Uuid,
    pub(crate) terms: TrackTerms,
    pub(crate) every: Cadence,
    /// Blocks of each benchmark at a point.
    pub(crate) blocks: u32,
    pub(crate) seed: Seed,
    /// The text of the plan, and the directory to which its files and its repository are relative.
    pub(crate) plan: String,
    pub(crate) directory: PathBuf,
    /// The centre of the points' reports where the plan declares none; tracks from before trimmed means were the default have none, and their points
    /// the rule of then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) center: Option<Center>,
    /// Where points are measured: by a coordinator, or on this machine.
    pub(crate) place: KeptAt,
}

impl Definition {
    pub(crate) fn repository(&self) -> Result<Repository, Failure> {
        let (experiment, look) = source::kept_template(&self.plan, &self.directory)?;
        Ok(look.template(&experiment)?.1)
    }

    /// The experiment that measures a commit, and its files.
    pub(crate) fn point(&self, commit: &Commit) -> Result<(Experiment, LocalFiles), Failure> {
        let (mut experiment, look) = source::kept_template(&self.plan, &self.directory)?;
        let Self { terms, seed, blocks, center, .. } = self;
        experiment.analysis.center = experiment.analysis.center.or(*center);
        if experiment.benchmarks.len() != terms.benchmarks.len() {
            let words = format!("benchmarks of the track {}", terms.name);
            selection::select(&mut experiment, words, |name| terms.benchmarks.iter().any(|of| of == name))?;
        }
        let track = format!("track={}", terms.name);
        experiment.tags.push(track);
        experiment.tags.sort_unstable();
        experiment.tags.dedup();
        let (references, metric) = (terms.references.as_slice(), terms.metric.as_str());
        look.point(experiment, &Point { references, commit, seed: *seed, metric, blocks: *blocks })
    }

    /// By what the submission of a point is known, at this try of its commit. Of another user, machine or release it would not be the same submission.
    pub(crate) fn request(&self, commit: &Commit, entries: &[TrackEntry]) -> Uuid {
        let tries = entries.iter().filter(|entry| entry.commit.id == commit.id).count();
        let what = format!("{} {} {tries} {} {RELEASE}", self.id, commit.id, by());
        let hash = blake3::derive_key("speedup 2026 point of a track", what.as_bytes());
        Builder::from_random_bytes(std::array::from_fn(|at| hash[at])).into_uuid()
    }
}

#[derive(Debug)]
pub(crate) struct Tracks(PathBuf);

#[derive(Debug)]
pub(crate) struct KeptTrack {
    directory: PathBuf,
    pub(crate) definition: Definition,
}

impl Tracks {
    /// That of this user.
    pub(crate) fn open() -> Result<Self, Failure> {
        directories::or_state(None, "tracks").map(Self)
    }

    /// Where what a track measures on this machine is kept.
    pub(crate) fn data(&self, name: &TrackName) -> PathBuf {
        self.path(name).join("data")
    }

    fn path(&self, name: &TrackName) -> PathBuf {
        self.0.join(&name.0)
    }

    pub(crate) fn create(&self, name: &TrackName, definition: &Definition) -> Result<(), Failure> {
        self.require_free(name)?;
        let directory = self.path(name);
        let tried = || format!("cannot keep the track {name}");
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&directory);
        made.with_context(tried).map_err(Failure::infrastructure)?;
        let text = serde_json::to_string_pretty(definition);
        draft::replace(
            &directory.join(DEFINITION),
            &text.with_context(tried).map_err(Failure::infrastructure)?,
        )
    }

    /// Refuses the name of a track that is there.
    pub(crate) fn require_free(&self, name: &TrackName) -> Result<(), Failure> {
        if self.path(name).join(DEFINITION).exists() {
            return Err(Failure::usage(anyhow!("there is a track {name} already"))
                .hint("choose another name with --name, or remove it: `speedup track remove`"));
        }
        Ok(())
    }

    pub(crate) fn require(&self, name: &TrackName) -> Result<KeptTrack, Failure> {
        let directory = self.path(name);
        let path = directory.join(DEFINITION);
        if !path.is_file() {
            let known: Vec<String> = self.list()?.iter().map(ToString::to_string).collect();
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            let hint = match known.as_slice() {
                [] => "`speedup track add PLAN --branch BRANCH --reference COMMIT` adds one".to_owned(),
                known => selection::suggestion(&name.to_string(), known, "tracks"),
            };
            return Err(Failure::usage(anyhow!("there is no track {name}")).hint(hint));
        }
        let text = read(&path)?;
        let of_version: Versioned = parsed(&text, &path)?;
        if of_version.version != VERSION {
            let text = format!(
                "the track {name} is of version {}, and this release knows {VERSION}",
                of_version.version
            );
            return Err(Failure::usage(anyhow!(text)).hint("use the release of speedup that added it"));
        }
        Ok(KeptTrack { directory, definition: parsed(&text, &path)? })
    }

    /// The names, sorted.
    pub(crate) fn list(&self) -> Result<Vec<TrackName>, Failure> {
        let tried = || format!("cannot list {}", self.0.display());
        let read = || -> io::Result<Vec<TrackName>> {
            let entries = match fs::read_dir(&self.0) {
                Ok(entries) => entries,
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
                Err(error) => return Err(error),
            };
            let mut names = Vec::new();
            for entry in entries {
                let entry = entry?;
                // Other files may lie there; a track is a directory with a definition.
                if let Some(Ok(name)) = entry.file_name().to_str().map(str::parse)
                    && entry.path().join(DEFINITION).is_file()
                {
                    names.push(name);
                }
            }
            names.sort();
            Ok(names)
        };
        read().with_context(tried).map_err(Failure::infrastructure)
    }

    /// Removes a track, with what it measured on this machine.
    pub(crate) fn remove(&self, name: &TrackName) -> Result<(), Failure> {
        let kept = self.require(name)?;
        let _lock = kept.lock()?;
        let removed = fs::remove_dir_all(&kept.directory);
        removed
            .with_context(|| format!("cannot remove {}", kept.directory.display()))
            .map_err(Failure::infrastructure)
    }
}

impl KeptTrack {
    pub(crate) fn history(&self) -> Result<TrackHistory, Failure> {
        let terms = self.definition.terms.clone();
        Ok(TrackHistory { terms, entries: self.lines(ENTRIES)?, acknowledged: self.lines(ACKNOWLEDGED)? })
    }

    pub(crate) fn report(&self) -> Result<TrackReport, Failure> {
        self.history()?.report().map_err(Failure::infrastructure)
    }

    /// The runs of its first reference as JSON lines, as `compare` reads them from files.
    pub(crate) fn reference_runs(&self) -> Result<String, Failure> {
        let terms = &self.definition.terms;
        let unit =
            Metric::ALL.iter().find(|metric| metric.name() == terms.metric).map(|metric| metric.unit());
        let unit = unit.filter(|unit| matches!(unit, Unit::Nanoseconds | Unit::Bytes)).map(Unit::name);
        let values = self.values()?.into_iter().enumerate();
        let of_reference =
            values.filter(|(_, one)| one.role == Role::Reference && one.version == terms.references[0].id);
        let line = |(run, one): (usize, TrackValue)| {
            let mut line =
                json!({ "benchmark": one.benchmark, "run": run, "metric": one.metric, "value": one.value });
            if let Some(unit) = unit {
                line["unit"] = unit.into();
            }
            format!("{line}\n")
        };
        Ok(of_reference.map(line).collect())
    }

    /// Records an experiment that ended.
    pub(crate) fn record(&self, entry: &TrackEntry) -> Result<(), Failure> {
        self.append(ENTRIES, entry)
    }

    /// Records that a step was acknowledged.
    pub(crate) fn acknowledge(&self, acknowledgement: &TrackAcknowledgement) -> Result<(), Failure> {
        self.append(ACKNOWLEDGED, acknowledgement)
    }

    /// Every value, in the order of the points.
    pub(crate) fn values(&self) -> Result<Vec<TrackValue>, Failure> {
        let TrackHistory { terms, entries, .. } = self.history()?;
        Ok(entries.iter().flat_map(|entry| TrackValue::from_entry(&terms, entry)).collect())
    }

    /// The commits that are due now, each with those before it that are passed.
    pub(crate) fn due(
        &self,
        entries: &[TrackEntry],
        today: &str,
    ) -> Result<Vec<(Commit, Vec<Commit>)>, Failure> {
        let Definition { terms, every, .. } = &self.definition;
        let known = entries.iter().rev().find(|entry| entry.state != TrackEntryState::Unfinished);
        let latest = known.map_or(&terms.start, |entry| &entry.commit);
        let mut commits = self.definition.repository()?.since(latest, &terms.branch)?;
        match every {
            Cadence::Commit => Ok(commits.into_iter().map(|commit| (commit, Vec::new())).collect()),
            Cadence::Night
                if known.is_some_and(|entry| crate::console::moment::day(entry.ended) == today) =>
            {
                Ok(Vec::new())
            }
            Cadence::Night => Ok(commits.pop().map(|last| (last, commits)).into_iter().collect()),
        }
    }

    /// Keeps others from measuring or removing it meanwhile.
    pub(crate) fn lock(&self) -> Result<File, Failure> {
        let path = self.directory.join(DEFINITION);
        let tried = || format!("cannot lock {}", path.display());
        let file = File::open(&path).with_context(tried).map_err(Failure::infrastructure)?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => {
                let what = format!("another command is measuring the track {}", self.definition.terms.name);
                Err(Failure::infrastructure(anyhow!(what)).hint("wait until it has ended"))
            }
            Err(TryLockError::Error(error)) => {
                Err(Failure::infrastructure(Error::new(error).context(tried())))
            }
        }
    }

    /// A record a line. What a power cut left of the last one is none.
    fn lines<T: DeserializeOwned>(&self, name: &str) -> Result<Vec<T>, Failure> {
        let path = self.directory.join(name);
        if !path.exists() {
            return Ok(Vec::new());
        }
        let text = read(&path)?;
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        whole.lines().map(|line| parsed(line, &path)).collect()
    }

    /// Adds a line, in place of what a power cut left of one, and has it on the disk before it returns.
    fn append(&self, name: &str, record: &impl Serialize) -> Result<(), Failure> {
        let path = self.directory.join(name);
        let write = || -> Result<(), Error> {
            let whole = match fs::read(&path) {
                Ok(bytes) => bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1),
                Err(error) if error.kind() == ErrorKind::NotFound => 0,
                Err(error) => return Err(error.into()),
            };
            let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(&path)?;
            file.set_len(whole as u64)?;
            file.write_all((serde_json::to_string(record)? + "\n").as_bytes())?;
            Ok(file.sync_all()?)
        };
        write().with_context(|| format!("cannot write {}", path.display())).map_err(Failure::infrastructure)
    }
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct TrackValue {
    pub(crate) benchmark: String,
    pub(crate) commit: String,
    subject: String,
    experiment: ExperimentId,
    /// The block within the benchmark and the point, from 0.
    pub(crate) block: usize,
    pub(crate) role: Role,
    /// The commit that was executed.
    version: String,
    pub(crate) metric: String,
    pub(crate) value: f64,
}

/// What a version is at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    Reference,
    Commit,
    Control,
}

impl TrackValue {
    fn from_entry(terms: &TrackTerms, entry: &TrackEntry) -> Vec<Self> {
        let references = terms.references.len();
        let version = |at: usize| match at {
            at if at < references => (Role::Reference, &terms.references[at].id),
            at if at == references => (Role::Commit, &entry.commit.id),
            _ => (Role::Control, &terms.references[0].id),
        };
        let mut values = Vec::new();
        for of in &entry.benchmarks {
            for (block, of_block) in of.blocks.iter().enumerate() {
                for (at, value) in of_block.iter().enumerate().filter_map(|(at, value)| Some((at, (*value)?)))
                {
                    let (role, version) = version(at);
                    values.push(Self {
                        benchmark: of.benchmark.clone(),
                        commit: entry.commit.id.clone(),
                        subject: entry.commit.subject.clone(),
                        experiment: entry.experiment,
                        block,
                        role,
                        version: version.clone(),
                        metric: terms.metric.clone(),
                        value,
                    });
                }
            }
        }
        values
    }
}

/// What all versions have.
#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

fn read(path: &Path) -> Result<String, Failure> {
    let read = || -> Result<String, Error> {
        Ok(String::from_utf8(read_at_most(File::open(path)?, MAX_TRACK_BYTES)?)?)
    };
    read().with_context(|| format!("cannot read {}", path.display())).map_err(Failure::infrastructure)
}

fn parsed<T: DeserializeOwned>(text: &str, path: &Path) -> Result<T, Failure> {
    let parsed = serde_json::from_str(text);
    parsed.map_err(|error| {
        let error = Error::new(error).context(format!("cannot read {}", path.display()));
        Failure::infrastructure(error).hint("the file is damaged, or of another release")
    })
}
