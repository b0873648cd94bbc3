//! From the form to the experiment: the author's order, lengths of time, sizes and hashes in our types. What cannot be
//! read is noted and replaced by its default, so that the rest can still be checked in the same pass.

mod builds;
mod environment;
mod files;
mod gang;
mod sampling;

use std::collections::BTreeMap;

use toml::de::DeTable;

use self::builds::Source;
use super::{
    document::names_in_order, document::span_of, finding::Flaws, form::AnalysisForm, form::BenchmarkForm,
    form::ExpectForm, form::Form, form::MetricVerdictForm, form::OutputForm, form::OwnMetricForm,
    form::VersionForm, form::ten_minutes, look::PlanLook, quantity::SIZE_HINT, quantity::size,
    quantity::span,
};
use crate::experiment::{
    AcceptedExits, AnalysisChoice, Benchmark, Center, CommandLine, Expectation, Experiment, KeyPath, Levels,
    MetricVerdict, OutputChoice, Setup, Version, files::StagedFile, metric::Metric, metric::OwnMetric,
    metric::Pattern, software::Software,
};
use crate::value::{excerpt::quoted, seed::Seed, time::Span};

/// The experiment of a form of so many versions at least; its flaws are noted.
pub(super) fn lower(
    fewest: usize,
    form: Form,
    document: &DeTable<'_>,
    fallback: Seed,
    look: &mut dyn PlanLook,
    flaws: &mut Flaws,
) -> Experiment {
    let mut lowering = Lowering { fewest, document, flaws };
    let mut metrics = form.metrics.collect;
    // Wall time is measured whether the plan names it or not.
    metrics.push(Metric::Wall);
    metrics.sort_unstable();
    metrics.dedup();
    let mut tags = form.experiment.tags;
    tags.sort_unstable();
    tags.dedup();
    let setup = form.setup.map(|form| lowering.setup("setup", form.command, form.shell, &form.timeout));
    let (runs, rule) = lowering.repetitions(&form.repetitions);
    let seed = form.experiment.seed.map_or(fallback, Seed);
    let environment = lowering.environment(form.environment);
    let (versions, sources) = lowering.versions(form.versions, &environment.software, look);
    let mut files = lowering.files(form.files, look);
    builds::stage(sources, &mut files);
    let has_control = form.controls.baseline_again && !versions.is_empty();
    let mut experiment = Experiment {
        name: form.experiment.name,
        description: form.experiment.description,
        selection: String::new(),
        tags,
        seed,
        priority: form.experiment.priority,
        versions,
        baseline_again: false,
        benchmarks: lowering.benchmarks(form.benchmarks),
        files,
        drawn: form.population.sample,
        runs,
        levels: Levels { hosts: form.repetitions.hosts, boots: form.repetitions.boots },
        order: form.design.order,
        rule,
        metrics,
        own_metrics: lowering.own_metrics(form.metrics.output),
        independence: lowering.independence(&form.independence),
        analysis: lowering.analysis(form.analysis),
        setup,
        prepare: form.prepare.map(|form| lowering.setup("prepare", form.command, form.shell, &form.timeout)),
        cleanup: form.cleanup.map(|form| lowering.setup("cleanup", form.command, form.shell, &form.timeout)),
        canary: form.canary.map(|form| lowering.setup("canary", form.command, form.shell, &form.timeout)),
        environment,
        limits: lowering.limits(&form.limits),
        output: lowering.output(&form.output),
    };
    if has_control {
        experiment.add_control();
    }
    experiment
}

struct Lowering<'d> {
    fewest: usize,
    document: &'d DeTable<'d>,
    flaws: &'d mut Flaws,
}

impl Lowering<'_> {
    /// The versions, the baseline first, the others as the author ordered them; and the sources of their commits.
    fn versions(
        &mut self,
        forms: BTreeMap<String, VersionForm>,
        common: &Software,
        look: &mut dyn PlanLook,
    ) -> (Vec<Version>, Vec<StagedFile>) {
        let mut versions = Vec::new();
        let mut baselines = Vec::new();
        let mut sources = Vec::new();
        for (name, form) in self.in_order(&["versions"], forms) {
            if form.baseline {
                baselines.push(versions.len());
            }
            let place = KeyPath::from(["versions", &name]);
            let mut build = self.build(&place, &form);
            let source = self.source(&name, &form, build.as_ref(), look);
            let commit = source.map(|Source { commit, file }| {
                build = build.take().map(|build| build.with_source_of(&commit));
                sources.push(file);
                commit
            });
            let software = form.environment.map(|form| self.software(&place.at("environment"), form, common));
            let command = match (form.command, form.shell) {
                (None, None) => None,
                (command, shell) => Some(self.command(&place, command, shell)),
            };
            versions.push(Version { name, env: form.env, vars: form.vars, command, build, software, commit });
        }
        match baselines.as_slice() {
            // A version that is measured alone needs no mark.
            [] if versions.is_empty() || versions.len() == self.fewest && self.fewest == 1 => {}
            [] => self.note(&["versions"].into(), || {
                let hint = format!("set baseline = true in one of {}", sections_of(versions.iter()));
                ("no version is the baseline".to_owned(), hint)
            }),
            [only] => versions[..=*only].rotate_right(1),
            [.., last] => self.note(&["versions", &versions[*last].name, "baseline"].into(), || {
                let marked = sections_of(baselines.iter().map(|at| &versions[*at]));
                let cause = format!("{} versions are the baseline", baselines.len());
                (cause, format!("keep baseline = true in one of {marked}"))
            }),
        }
        (versions, sources)
    }

    fn benchmarks(&mut self, forms: BTreeMap<String, BenchmarkForm>) -> Vec<Benchmark> {
        let in_order = self.in_order(&["benchmarks"], forms).into_iter();
        in_order.flat_map(|(name, form)| self.benchmark(name, form)).collect()
    }

    /// The forms of a section with their names, in the author's order.
    fn in_order<F>(&self, section: &[&str], mut forms: BTreeMap<String, F>) -> Vec<(String, F)> {
        let names = names_in_order(self.document, section);
        names.into_iter().filter_map(|name| forms.remove_entry(&name)).collect()
    }

    /// A benchmark, or one for each number of hosts that the plan gives.
    fn benchmark(&mut self, name: String, mut form: BenchmarkForm) -> Vec<Benchmark> {
        let place = KeyPath::from(["benchmarks", &name]);
        let gangs = self.gangs(&place, &name, &mut form);
        let benchmark = Benchmark {
            command: self.command(&place, form.command, form.shell),
            env: form.env,
            expect: self.expectation(&place, &form.expect),
            timeout: self.timeout(&place, &form.timeout),
            warmup: form.warmup,
            directory: form.directory,
            weight: form.weight,
            gang: None,
            name,
        };
        if gangs.is_empty() {
            return vec![benchmark];
        }
        let mut points = Vec::with_capacity(gangs.len());
        for gang in gangs {
            let name = gang.name_of(&benchmark.name);
            points.push(Benchmark { name, gang: Some(gang), ..benchmark.clone() });
        }
        points
    }

    fn command(
        &mut self,
        place: &KeyPath,
        command: Option<Vec<String>>,
        shell: Option<String>,
    ) -> CommandLine {
        match (command, shell) {
            (Some(argv), None) => CommandLine::Exact(argv),
            (None, Some(line)) => CommandLine::Shell(line),
            (Some(argv), Some(_)) => {
                self.note_both(place, "command", "shell");
                CommandLine::Exact(argv)
            }
            (None, None) => {
                self.note(place, || {
                    let hint =
                        "write command = [\"program\", \"argument\"], or shell = \"a line for /bin/sh\"";
                    (format!("[{place}] has neither `command` nor `shell`"), hint.to_owned())
                });
                CommandLine::Exact(vec!["true".to_owned()])
            }
        }
    }

    fn own_metrics(&mut self, forms: BTreeMap<String, OwnMetricForm>) -> Vec<OwnMetric> {
        let in_order = self.in_order(&["metrics", "output"], forms).into_iter();
        in_order.filter_map(|(name, form)| self.own_metric(name, form)).collect()
    }

    fn analysis(&mut self, form: AnalysisForm) -> AnalysisChoice {
        let margin = form.margin.and_then(|text| self.percentage(&["analysis", "margin"].into(), &text));
        AnalysisChoice {
            confidence: form.confidence,
            // A share is one of a trimmed mean.
            center: form.center.or(form.trim.and(Some(Center::Trimmed))),
            trim: form.trim,
            margin,
            quantiles: form.quantiles,
            verdicts: self.metric_verdicts(form.verdicts),
            weights: form.weights,
            precision: form.precision,
            prior: None,
        }
    }

    fn metric_verdicts(&mut self, forms: BTreeMap<String, MetricVerdictForm>) -> Vec<MetricVerdict> {
        let mut verdicts = Vec::new();
        for (metric, MetricVerdictForm { margin, family }) in self.in_order(&["analysis", "verdicts"], forms)
        {
            let place = KeyPath::from(["analysis", "verdicts", &metric, "margin"]);
            let margin = margin.and_then(|text| self.percentage(&place, &text));
            verdicts.push(MetricVerdict { metric, margin, family });
        }
        verdicts
    }

    fn own_metric(&mut self, name: String, form: OwnMetricForm) -> Option<OwnMetric> {
        let OwnMetricForm { regex, pointer, google_benchmark, go, from, unit, better } = form;
        let given = [
            regex.map(Pattern::Regex),
            pointer.map(Pattern::Pointer),
            google_benchmark.map(Pattern::GoogleBenchmark),
            go.map(Pattern::Go),
        ];
        let mut given = given.into_iter().flatten();
        let place = KeyPath::from(["metrics", "output", &name]);
        match (given.next(), given.next()) {
            (Some(pattern), None) => Some(OwnMetric { name, pattern, from, unit, better }),
            (Some(first), Some(second)) => {
                self.note_both(&place, first.key(), second.key());
                None
            }
            (None, _) => {
                self.note(&place, || {
                    let cause = format!("[{place}] does not say how its values are found");
                    let hint = "write regex = 'time: ([0-9.]+)', or one of pointer, google_benchmark and go";
                    (cause, hint.to_owned())
                });
                None
            }
        }
    }

    fn expectation(&mut self, place: &KeyPath, form: &ExpectForm) -> Expectation {
        let stdout_blake3 = form.stdout_blake3.as_ref().and_then(|text| {
            let hint = "write the 64 hexadecimal digits that b3sum prints for the right output";
            let place = place.at("expect").at("stdout_blake3");
            let hash = blake3::Hash::from_hex(text).ok();
            self.readable(hash, text, &place, "is not a BLAKE3 hash", hint).map(Into::into)
        });
        let accept = match (form.accept_all, form.accept.as_slice()) {
            (true, _) => AcceptedExits::All,
            (false, []) => AcceptedExits::None,
            (false, codes) => AcceptedExits::These(codes.iter().copied().collect()),
        };
        Expectation { exit: form.exit, accept, stdout_blake3 }
    }

    fn setup(
        &mut self,
        key: &str,
        command: Option<Vec<String>>,
        shell: Option<String>,
        timeout: &str,
    ) -> Setup {
        let place = KeyPath::from([key]);
        let command = self.command(&place, command, shell);
        Setup { command, timeout: self.timeout(&place, timeout) }
    }

    fn timeout(&mut self, place: &KeyPath, text: &str) -> Span {
        let read = self.length(&place.at("timeout"), text);
        read.or_else(|| span(&ten_minutes())).unwrap_or(Span::from_secs(600))
    }

    fn output(&mut self, form: &OutputForm) -> OutputChoice {
        let limit = self.size(&["output", "limit"].into(), &form.limit).unwrap_or(1);
        let keep = self.size(&["output", "keep"].into(), &form.keep).unwrap_or(0);
        OutputChoice { limit, keep, keep_of: form.keep_of }
    }

    fn size(&mut self, place: &KeyPath, text: &str) -> Option<u64> {
        self.readable(size(text), text, place, "is no size", SIZE_HINT)
    }

    /// Passes on what was read of a text; notes the fault where it could not be read.
    fn readable<T>(
        &mut self,
        value: Option<T>,
        text: &str,
        place: &KeyPath,
        fault: &str,
        hint: &str,
    ) -> Option<T> {
        if value.is_none() {
            self.note(place, || (format!("{} {fault}", quoted(text)), hint.to_owned()));
        }
        value
    }

    /// Notes two keys of a section of which only one may be given.
    fn note_both(&mut self, place: &KeyPath, first: &str, second: &str) {
        self.note(&place.at(second), || {
            (format!("[{place}] has both `{first}` and `{second}`"), "keep one of them".to_owned())
        });
    }

    fn note(&mut self, place: &KeyPath, cause: impl FnOnce() -> (String, String)) {
        self.flaws.note(span_of(self.document, place), cause);
    }
}

/// The sections of the first few of some versions, as a hint names them.
fn sections_of<'v>(versions: impl Iterator<Item = &'v Version>) -> String {
    let sections: Vec<String> =
        versions.take(8).map(|version| format!("[versions.{}]", version.name)).collect();
    sections.join(", ")
}
