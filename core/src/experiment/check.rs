//! The door every experiment passes, from a plan file or over the wire: names, bounds, and that every placeholder has a
//! value. It finds all problems in one pass, because a plan is mended by a person who wants to see them together.

mod builds;
mod files;
mod gang;
mod sampling;
mod software;

use std::{borrow::Cow, collections::BTreeMap, collections::BTreeSet};

use super::problem::{ExperimentError, Fault, KeyPath, Problems};
use super::{
    ASSUMED_INPUT_BYTES, AnalysisChoice, Benchmark, Center, CommandLine, Experiment, MAX_ARGV_BYTES,
    MAX_BENCHMARKS, MAX_DESCRIPTION_BYTES, MAX_DIRECTORY_BYTES, MAX_ENV_BYTES, MAX_NAME_BYTES,
    MAX_OUTPUT_KEPT, MAX_OUTPUT_LIMIT, MAX_TAG_BYTES, MAX_TAGS, MAX_TIMEOUT, MAX_TRIM, MAX_VAR_BYTES,
    MAX_WARMUP, MIN_TIMEOUT, Rule, Setup, Version, Weights,
};
use crate::experiment::build::{PREFIX, placeholder};
use crate::experiment::environment::SizeChoice;
use crate::experiment::files::{ASSUMED_FILE_PATH_BYTES, StagedFile};
use crate::experiment::gang::{HOSTFILE, MAX_DIGITS, PLACEHOLDERS};
use crate::experiment::metric::{MAX_OWN_METRICS, MAX_OWN_UNIT_BYTES, MAX_READ_BYTES, Metric, OwnMetric};
use crate::experiment::template::{BENCHMARK, INPUT, VERSION, is_identifier, placeholders};
use crate::value::time::Span;

/// Whether a text is a tag: a word, or a key and a value.
fn is_tag(text: &str) -> bool {
    let (key, value) = text.split_once('=').unwrap_or((text, ""));
    let mut characters = key.chars().chain(value.chars());
    let are_allowed = characters.all(|c| c.is_ascii_alphanumeric() || "._+-/:@#".contains(c));
    text.len() <= MAX_TAG_BYTES && !key.is_empty() && are_allowed
}

impl Experiment {
    /// Whether this experiment can be planned and executed, or all that stands against it. A version alone can be measured.
    pub fn check(&self) -> Result<(), ExperimentError> {
        self.check_of_versions(1)
    }

    /// The same of an experiment that has to have so many versions: two, where a plan file is to compare them.
    pub(crate) fn check_of_versions(&self, fewest: usize) -> Result<(), ExperimentError> {
        let mut problems = Problems::default();
        self.check_head(&mut problems);
        self.check_size(fewest, &mut problems);
        self.check_repetitions(&mut problems);
        self.check_independence(&mut problems);
        self.check_analysis(&mut problems);
        self.check_own_metrics(&mut problems);
        self.check_bounds(&mut problems);
        for version in self.versions.iter().take(self.most_versions()) {
            check_version(version, &self.files, self.has_gangs(), &mut problems);
        }
        self.check_files(&mut problems);
        self.check_builds(&mut problems);
        let of_host = Names::for_host(&self.files);
        self.check_gangs(&mut problems);
        let names = Names::for_versions(&self.versions, &self.files);
        let of_command = self.names_of_commands();
        // Commands of runs on several hosts know more placeholders.
        let of_gangs = [of_command.clone().for_gang(), names.clone().for_gang()];
        for benchmark in self.benchmarks.iter().take(MAX_BENCHMARKS) {
            let [of_command, names] = match benchmark.gang {
                Some(_) => of_gangs.each_ref(),
                None => [&of_command, &names],
            };
            check_benchmark(benchmark, [of_command, names], self.analysis.weights, &mut problems);
        }
        check_outside(self.setup.as_ref(), "setup", &of_host, &mut problems);
        check_outside(self.prepare.as_ref(), "prepare", &names, &mut problems);
        check_outside(self.cleanup.as_ref(), "cleanup", &names, &mut problems);
        check_outside(self.canary.as_ref(), "canary", &of_host, &mut problems);
        self.check_environment(&mut problems);
        problems.into_result()
    }

    fn check_head(&self, problems: &mut Problems) {
        check_name(&self.name, ["experiment", "name"], problems);
        for (key, what, text) in [
            ("description", "the description", &self.description),
            ("selection", "the selection of benchmarks", &self.selection),
        ] {
            let place = ["experiment", key];
            let bytes = text.len();
            if bytes > MAX_DESCRIPTION_BYTES {
                problems.refuse(place, Fault::TooLong { what, bytes, most: MAX_DESCRIPTION_BYTES });
            }
            // These texts are shown by themselves, where lines and tabs do no harm.
            if let Some(control) = text.chars().find(|c| c.is_control() && !"\n\t".contains(*c)) {
                problems.refuse(place, Fault::ControlCharacter(control));
            }
        }
        let count = self.tags.len();
        if count > MAX_TAGS {
            problems.refuse(["experiment", "tags"], Fault::TooMany { what: "tags", count, most: MAX_TAGS });
        }
        for tag in self.tags.iter().filter(|tag| !is_tag(tag)) {
            problems.refuse(["experiment", "tags"], Fault::Tag(tag.clone()));
        }
        check_unique(self.versions.iter().map(|version| version.name.as_str()), "versions", problems);
        check_unique(self.benchmarks.iter().map(|benchmark| benchmark.name.as_str()), "benchmarks", problems);
    }

    fn check_size(&self, fewest: usize, problems: &mut Problems) {
        let versions = self.versions.len();
        let benchmarks = self.benchmarks.len();
        let compared = self.compared().len();
        // A control and a rule that decides compare.
        let fewest = if self.baseline_again || self.rule != Rule::Fixed { 2 } else { fewest };
        if compared < fewest {
            problems.refuse(["versions"], Fault::TooFewVersions(compared));
        }
        if let (Some((_, control)), Some(baseline)) = (self.control(), self.versions.first())
            && (Version { name: baseline.name.clone(), ..control.clone() } != *baseline)
        {
            problems.refuse(["controls", "baseline_again"], Fault::ControlDiffers(control.name.clone()));
        }
        if benchmarks == 0 {
            problems.refuse(["benchmarks"], Fault::NoBenchmark);
        }
        for (what, count, most) in
            [("versions", versions, self.most_versions()), ("benchmarks", benchmarks, MAX_BENCHMARKS)]
        {
            if count > most {
                problems.refuse([what], Fault::TooMany { what, count, most });
            }
        }
        if let Some(drawn) = self.drawn {
            let place = ["population", "sample"];
            check_range(u64::from(drawn), 1, u64::from(u32::MAX), place, problems);
            if drawn as usize > benchmarks {
                problems.refuse(place, Fault::DrawnTooMany { drawn, benchmarks });
            }
        }
    }

    fn check_analysis(&self, problems: &mut Problems) {
        let &AnalysisChoice { confidence, precision, margin, center, trim, .. } = &self.analysis;
        for (key, value) in
            [("confidence", Some(confidence)), ("precision", Some(precision)), ("margin", margin)]
        {
            if let Some(value) = value
                // Also refuses what is no number.
                && !(value > 0.0 && value < 1.0)
            {
                problems.refuse(["analysis", key], Fault::outside_unit(value));
            }
        }
        if let Some(trim) = trim {
            let place = ["analysis", "trim"];
            if !(0.0..=MAX_TRIM).contains(&trim) {
                let allowed = format!("0 to {MAX_TRIM}");
                problems.refuse(place, Fault::OutOfRange { value: trim.to_string(), allowed });
            }
            if center != Some(Center::Trimmed) {
                problems.refuse(place, Fault::TrimOfOtherCenter);
            }
        }
        self.check_endpoints(problems);
        self.check_prior(problems);
        let place = ["metrics", "collect"];
        if !self.metrics.contains(&Metric::Wall) {
            problems.refuse(place, Fault::WallMissing);
        }
        let mut seen = BTreeSet::new();
        if let Some(twice) = self.metrics.iter().find(|metric| !seen.insert(**metric)) {
            problems.refuse(place, Fault::SameMetric(twice.name()));
        }
    }

    fn check_environment(&self, problems: &mut Problems) {
        self.check_software(problems);
        self.environment.check_bounds(problems);
        if self.environment.directory_length == SizeChoice::AsIs {
            return;
        }
        let own = self.benchmarks.iter().take(MAX_BENCHMARKS);
        for benchmark in own.filter(|benchmark| benchmark.directory.is_some()) {
            problems.refuse(["benchmarks", &benchmark.name, "directory"], Fault::LengthOfOwnDirectory);
        }
    }

    fn check_own_metrics(&self, problems: &mut Problems) {
        let count = self.own_metrics.len();
        let most = MAX_OWN_METRICS;
        if count > most {
            problems.refuse(["metrics", "output"], Fault::TooMany { what: "own metrics", count, most });
        }
        let mut seen = BTreeSet::new();
        for metric in self.own_metrics.iter().take(most) {
            check_own_metric(metric, problems);
            if !seen.insert(metric.name.as_str()) {
                problems.refuse(["metrics", "output", &metric.name], Fault::SameName(metric.name.clone()));
            }
        }
        let limit = self.output.limit;
        if count > 0 && limit > MAX_READ_BYTES && limit <= MAX_OUTPUT_LIMIT {
            let allowed = format!("at most {MAX_READ_BYTES} where metrics are read from the output");
            let fault = Fault::OutOfRange { value: limit.to_string(), allowed };
            problems.refuse(["output", "limit"], fault);
        }
    }

    fn check_bounds(&self, problems: &mut Problems) {
        self.check_limits(problems);
        check_range(self.output.limit, 1, MAX_OUTPUT_LIMIT, ["output", "limit"], problems);
        check_range(self.output.keep, 0, MAX_OUTPUT_KEPT, ["output", "keep"], problems);
    }
}

fn check_outside(setup: Option<&Setup>, key: &str, names: &Names<'_>, problems: &mut Problems) {
    let Some(Setup { command, timeout }) = setup else { return };
    let place = KeyPath::from([key]);
    check_command(command, names, &place, problems);
    check_timeout(*timeout, &place, problems);
}

fn check_version(version: &Version, files: &[StagedFile], has_gangs: bool, problems: &mut Problems) {
    let own_place = KeyPath::from(["versions", &version.name]);
    check_name(&version.name, own_place.clone(), problems);
    for (name, value) in &version.vars {
        let place = ["versions", &version.name, "vars", name];
        if !is_identifier(name) {
            problems.refuse(place, Fault::VarName(name.clone()));
        } else if [INPUT, VERSION, BENCHMARK].contains(&name.as_str())
            || has_gangs && PLACEHOLDERS.contains(&name.as_str())
        {
            problems.refuse(place, Fault::VarTaken(name.clone()));
        }
        if value.contains('\0') {
            problems.refuse(place, Fault::ControlCharacter('\0'));
        }
        let bytes = value.len();
        if bytes > MAX_VAR_BYTES {
            problems.refuse(place, Fault::TooLong { what: "the value", bytes, most: MAX_VAR_BYTES });
        }
    }
    if let Some(commit) = version.commit.as_ref().filter(|commit| !commit.is_sound()) {
        problems.refuse(own_place.at("git"), Fault::Commit(commit.id.clone()));
    }
    let names = Names::for_versions([version], files);
    check_env(&version.env, &names, &own_place, problems);
    if let Some(command) = &version.command {
        check_command(command, &names, &own_place, problems);
    }
}

/// A benchmark: its command is executed in versions without one of their own, all else in every version.
fn check_benchmark(
    benchmark: &Benchmark,
    [of_command, names]: [&Names<'_>; 2],
    weights: Weights,
    problems: &mut Problems,
) {
    let place = KeyPath::from(["benchmarks", &benchmark.name]);
    check_name(&benchmark.name, place.clone(), problems);
    check_command(&benchmark.command, of_command, &place, problems);
    check_env(&benchmark.env, names, &place, problems);
    check_timeout(benchmark.timeout, &place, problems);
    if let Some(directory) = &benchmark.directory {
        let place = place.at("directory");
        let bytes = check_text(directory, names, || place.clone(), problems);
        if bytes > MAX_DIRECTORY_BYTES {
            let fault = Fault::TooLong { what: "the directory", bytes, most: MAX_DIRECTORY_BYTES };
            problems.refuse(place.clone(), fault);
        }
        // A placeholder may stand for an absolute path; the agent sees whether it does.
        if !directory.starts_with(['/', '{']) {
            problems.refuse(place, Fault::RelativeDirectory(directory.clone()));
        }
    }
    let warmup = u64::from(benchmark.warmup);
    check_range(warmup, 0, u64::from(MAX_WARMUP), ["benchmarks", &benchmark.name, "warmup"], problems);
    match benchmark.weight {
        Some(weight) if !(weight.is_finite() && weight > 0.0) => {
            let allowed = "a finite number greater than 0".to_owned();
            problems.refuse(place.at("weight"), Fault::OutOfRange { value: weight.to_string(), allowed });
        }
        None if weights == Weights::Custom => problems.refuse(place, Fault::WeightMissing),
        Some(_) | None => {}
    }
}

fn check_own_metric(metric: &OwnMetric, problems: &mut Problems) {
    let place = ["metrics", "output", &metric.name];
    check_name(&metric.name, place, problems);
    if Metric::ALL.iter().any(|known| known.name() == metric.name) {
        problems.refuse(place, Fault::MetricTaken(metric.name.clone()));
    }
    let pattern = ["metrics", "output", &metric.name, metric.pattern.key()];
    if let Err(error) = metric.pattern.check(&metric.unit) {
        problems.refuse(pattern, Fault::Pattern(error));
    }
    check_no_control(metric.pattern.text(), pattern, problems);
    let unit = ["metrics", "output", &metric.name, "unit"];
    check_no_control(&metric.unit, unit, problems);
    let bytes = metric.unit.len();
    if bytes > MAX_OWN_UNIT_BYTES {
        let allowed = format!("a unit of at most {MAX_OWN_UNIT_BYTES}");
        problems.refuse(unit, Fault::OutOfRange { value: format!("{bytes} bytes"), allowed });
    }
}

fn check_no_control(text: &str, place: impl Into<KeyPath>, problems: &mut Problems) {
    if let Some(control) = text.chars().find(|c| c.is_control()) {
        problems.refuse(place, Fault::ControlCharacter(control));
    }
}

fn check_command(command: &CommandLine, names: &Names<'_>, place: &KeyPath, problems: &mut Problems) {
    check_line(command, names, [place.at("command"), place.at("shell")], problems);
}

/// A command, which stands in one of two places: as an argument vector, or as a line for a shell.
fn check_line(command: &CommandLine, names: &Names<'_>, places: [KeyPath; 2], problems: &mut Problems) {
    let [exact, shell] = places;
    let mut bytes = 0_usize;
    let place = match command {
        CommandLine::Exact(argv) => {
            if argv.first().is_none_or(String::is_empty) {
                problems.refuse(exact.clone(), Fault::EmptyCommand);
            }
            for (number, word) in argv.iter().enumerate() {
                bytes = bytes.saturating_add(check_text(word, names, || exact.at(&number), problems));
            }
            exact
        }
        CommandLine::Shell(line) => {
            if line.trim().is_empty() {
                problems.refuse(shell.clone(), Fault::EmptyCommand);
            }
            bytes = check_text(line, names, || shell.clone(), problems);
            shell
        }
    };
    if bytes > MAX_ARGV_BYTES {
        problems.refuse(place, Fault::TooLong { what: "the command", bytes, most: MAX_ARGV_BYTES });
    }
}

/// The environment that a version or a benchmark adds, where `owner` is the place of that.
fn check_env(env: &BTreeMap<String, String>, names: &Names<'_>, owner: &KeyPath, problems: &mut Problems) {
    let mut bytes = 0_usize;
    for (name, value) in env {
        if name.is_empty() || name.contains(|c: char| c == '=' || c.is_control()) {
            problems.refuse(owner.at("env").at(name), Fault::EnvName(name.clone()));
        }
        let value_bytes = check_text(value, names, || owner.at("env").at(name), problems);
        bytes = bytes.saturating_add(name.len() + 1).saturating_add(value_bytes);
    }
    if bytes > MAX_ENV_BYTES {
        let fault = Fault::TooLong { what: "the environment", bytes, most: MAX_ENV_BYTES };
        problems.refuse(owner.at("env"), fault);
    }
}

/// Checks one argument or value, and says how many bytes it may have, with its end, when its placeholders are filled in.
fn check_text(text: &str, names: &Names<'_>, place: impl Fn() -> KeyPath, problems: &mut Problems) -> usize {
    if text.contains('\0') {
        problems.refuse(place(), Fault::ControlCharacter('\0'));
    }
    let mut bytes = text.len() + 1;
    let mut refused = BTreeSet::new();
    for name in placeholders(text) {
        match names.longest(name) {
            Ok(longest) => bytes = bytes.saturating_add(longest),
            Err(fault) if refused.insert(name) => problems.refuse(place(), fault),
            Err(_) => {}
        }
    }
    bytes
}

fn check_timeout(timeout: Span, place: &KeyPath, problems: &mut Problems) {
    check_length(timeout, place.at("timeout"), problems);
}

fn check_length(timeout: Span, place: KeyPath, problems: &mut Problems) {
    if timeout < MIN_TIMEOUT || timeout > MAX_TIMEOUT {
        let days = MAX_TIMEOUT.0 / Span::from_secs(24 * 3600).0;
        let allowed = format!("{MIN_TIMEOUT} to {days} days");
        problems.refuse(place, Fault::OutOfRange { value: timeout.to_string(), allowed });
    }
}

fn check_range(value: u64, least: u64, most: u64, place: impl Into<KeyPath>, problems: &mut Problems) {
    if value < least || value > most {
        let fault = Fault::OutOfRange { value: value.to_string(), allowed: format!("{least} to {most}") };
        problems.refuse(place, fault);
    }
}

/// A name ends up in file names, commands, tables and logs, so it has no separators, no spaces, no control characters,
/// and cannot be taken for an option or a hidden file. Letters are those of any script.
fn check_name(name: &str, place: impl Into<KeyPath>, problems: &mut Problems) {
    let well_formed =
        name.starts_with(is_first_of_name) && name.chars().all(|c| is_first_of_name(c) || "._+-".contains(c));
    if !well_formed || name.len() > MAX_NAME_BYTES {
        problems.refuse(place, Fault::Name(name.to_owned()));
    }
}

fn is_first_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn check_unique<'e>(names: impl Iterator<Item = &'e str>, section: &str, problems: &mut Problems) {
    let mut seen = BTreeSet::new();
    for name in names {
        if !seen.insert(name) {
            problems.refuse([section, name], Fault::SameName(name.to_owned()));
        }
    }
}

/// Whether a version gives a placeholder a value, by itself or by its build.
fn gives(version: &Version, name: &str) -> bool {
    let is_made = match (&version.build, name.strip_prefix(PREFIX)) {
        (Some(build), Some(product)) => build.products.contains_key(product),
        (None, _) | (_, None) => false,
    };
    is_made || version.vars.contains_key(name)
}

/// The placeholders that are known in a place.
#[derive(Clone)]
struct Names<'e> {
    known: BTreeMap<Cow<'e, str>, KnownPlaceholder<'e>>,
}

#[derive(Clone, Copy)]
struct KnownPlaceholder<'e> {
    /// Most bytes that its value may have.
    longest: usize,
    /// How many versions give it a value; 0 where the host or the run does.
    versions: usize,
    /// A version that gives it no value.
    lacking: Option<&'e str>,
}

impl KnownPlaceholder<'_> {
    /// A placeholder whose value is no version's.
    fn given(longest: usize) -> Self {
        Self { longest, versions: 0, lacking: None }
    }
}

impl<'e> Names<'e> {
    /// What is known in a setup: it happens once on a host, for all versions and benchmarks.
    fn for_host(files: &'e [StagedFile]) -> Self {
        let mut known = BTreeMap::from([(INPUT.into(), KnownPlaceholder::given(ASSUMED_INPUT_BYTES))]);
        for file in files {
            known.insert(file.placeholder().into(), KnownPlaceholder::given(file.longest_path()));
        }
        Self { known }
    }

    /// What is known in the runs of these versions.
    fn for_versions(versions: impl IntoIterator<Item = &'e Version>, files: &'e [StagedFile]) -> Self {
        let mut names = Self::for_host(files);
        let versions: Vec<&Version> = versions.into_iter().collect();
        for version in &versions {
            for (name, value) in &version.vars {
                names.add_of_version(name.into(), value.len());
            }
            for product in version.build.iter().flat_map(|build| build.products.keys()) {
                names.add_of_version(placeholder(product).into(), ASSUMED_FILE_PATH_BYTES);
            }
        }
        for (name, known) in names.known.iter_mut().filter(|(_, known)| known.versions > 0) {
            let lacking = versions.iter().find(|version| !gives(version, name));
            known.lacking = lacking.map(|version| version.name.as_str());
        }
        for name in [VERSION, BENCHMARK] {
            names.known.insert(name.into(), KnownPlaceholder::given(MAX_NAME_BYTES));
        }
        names
    }

    fn add_of_version(&mut self, name: Cow<'e, str>, longest: usize) {
        let known = self.known.entry(name).or_insert(KnownPlaceholder::given(0));
        known.longest = known.longest.max(longest);
        known.versions += 1;
    }

    /// The same in runs that are spread over hosts.
    fn for_gang(mut self) -> Self {
        for name in PLACEHOLDERS {
            let longest = if name == HOSTFILE { ASSUMED_INPUT_BYTES } else { MAX_DIGITS };
            self.known.insert(name.into(), KnownPlaceholder::given(longest));
        }
        self
    }

    fn longest(&self, name: &str) -> Result<usize, Fault> {
        match self.known.get(name) {
            Some(KnownPlaceholder { lacking: Some(version), .. }) => {
                Err(Fault::PlaceholderLacks { name: name.to_owned(), version: (*version).to_owned() })
            }
            Some(known) => Ok(known.longest),
            None => {
                let known = self.known.keys().map(|name| name.clone().into_owned()).collect();
                Err(Fault::UnknownPlaceholder { name: name.to_owned(), known })
            }
        }
    }
}
