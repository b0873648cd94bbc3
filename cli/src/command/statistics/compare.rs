//! `speedup compare`: any of the methods on sample files, whatever tool wrote them.
//!
//! In reading order: [`Arguments`]; `method` (the choice of the method and the options that belong to it).

mod method;

use std::path::PathBuf;

use crate::arguments::{SummaryForm, SummaryFormArgument, fraction};
use crate::command::{json, print};
use crate::console::Console;
use crate::console::render::table::of_sheet;
use crate::exit::Exit;
use crate::exit::failure::Failure;
use crate::gate::{Gate, GateArguments, conclusions, no_gate};
use crate::plan::source::drawn_seed;
use crate::samples::compare::source::{ReadingArguments, Source};
use crate::samples::compare::versions::{Versions, VersionsError};
use crate::samples::named::{NamedSamples, NamedSeries, RemarkLine, Samples, SetName, remarks};
use anyhow::anyhow;
use clap::{Args, Parser};
use serde::Serialize;
use speedup_analysis::conclusion::{ReportWord as _, Warning, WarningCode};
use speedup_analysis::count::counted;
use speedup_analysis::inquiry::{Answer, Inquiry, InquiryError, Method, Preference};
use speedup_core::{value::causes::with_causes, value::hint::Hinted, value::seed::Seed};
use speedup_formats::{BetterWhen, Name, Runs, Series, SeriesName, SeriesUnit, ValueOf};
use speedup_report::{answer, answer::Subject, html, junit, junit::JunitSubject, latex};
use speedup_statistics::inference::{ConfidenceLevel, Threshold};
use speedup_statistics::mixture::goodness_of_fit::MOST_TESTED;
use speedup_statistics::ratio::BenchmarkWeights;
use speedup_statistics::test::Selection;

/// Compares samples in files by any method
///
/// Files have one number per line, are tables, or come from other benchmark tools.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n\
    \x20 speedup compare before.txt after.txt\n\
    \x20 speedup compare new.json --baseline main --fail-on-regression\n\
    \x20 speedup compare hyperfine.json --baseline 'sort words' --method mixture\n\
    \x20 speedup compare runs.csv --quantile 0.9 --quantile 0.99 --control before-again\n\
    \x20 speedup compare old.json new.json --method effect --threshold 1%\n\
    \x20 speedup compare table.csv --column seconds --version-column build\n\n\
    Each file is a version; the first is the baseline. In a single file, the versions inside are compared: \
    hyperfine's commands, ReBench's executors, criterion's baselines, or the values of a version column. Benchmarks \
    are matched by name. docs/compare.md describes the methods and their JSON.")]
pub(crate) struct Arguments {
    /// The files, the baseline first; - is standard input, saved:NAME are saved samples
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    method: method::Choice,
    /// The confidence level of tests and intervals, such as 0.95 [default: 0.95; the published mode searches for the
    /// best]
    #[arg(long, value_name = "LEVEL", allow_hyphen_values = true, value_parser = fraction::confidence_level)]
    confidence: Option<ConfidenceLevel>,
    /// All randomness comes from here; drawn, and printed, when absent
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Larger values are better, where neither the files nor the unit tells, as for scores
    #[arg(long)]
    higher_is_better: bool,
    /// Also say on how many benchmarks a candidate is faster by at least this, such as 0, 0.5 or 50%; repeatable
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, value_parser = fraction::amount)]
    faster_by: Vec<f64>,
    /// The weight of each benchmark in overall numbers: equal, fraction (its share of the baseline's time), or one weight
    /// per benchmark of the baseline, such as 2,1,0.5
    #[arg(long, value_name = "WEIGHTS", allow_hyphen_values = true, default_value = "equal", value_parser = weights, help_heading = "Suite")]
    weights: BenchmarkWeights,
    /// The benchmarks were drawn at random, so that a proportion of them applies to other programs too
    #[arg(long, help_heading = "Suite")]
    drawn: bool,
    /// The number of benchmarks from which they were drawn, without replacement
    #[arg(long, value_name = "N", requires = "drawn", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Suite")]
    population: Option<u64>,
    /// The metric, if the files have several [default: wall]
    #[arg(long, value_name = "NAME", help_heading = "Versions")]
    metric: Option<String>,
    /// The baseline: a version in the files, or else samples saved under this name [default: the first version]
    #[arg(long, value_name = "NAME", help_heading = "Versions")]
    baseline: Option<String>,
    /// Save the candidate's samples under a name, for --baseline in later comparisons
    #[arg(long, value_name = "NAME", help_heading = "Versions")]
    save_baseline: Option<SetName>,
    #[command(flatten)]
    reading: ReadingArguments,
    #[command(flatten)]
    gate: GateArguments,
    #[command(flatten)]
    output: SummaryFormArgument,
}

/// The answer with what only the files tell.
#[derive(Serialize)]
struct PrintedAnswer<'a> {
    #[serde(flatten)]
    answer: &'a Answer,
    metric: &'a str,
    /// Empty for numbers alone.
    unit: String,
    /// What one value stands for; absent where nothing tells, or where versions differ in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    value_of: Option<ValueOf>,
    files: Vec<&'a str>,
}

/// `equal`, `fraction`, or numbers.
fn weights(text: &str) -> Result<BenchmarkWeights, String> {
    match text {
        "equal" => Ok(BenchmarkWeights::Equal),
        "fraction" => Ok(BenchmarkWeights::Fraction),
        list => {
            let weights: Result<Vec<f64>, _> = list.split(',').map(|weight| weight.trim().parse()).collect();
            weights
                .map(BenchmarkWeights::Custom)
                .map_err(|_| "weights are equal, fraction, or numbers separated by commas".to_owned())
        }
    }
}

/// A form of the answer: those of this verb, and those that a report has beside them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AnswerForm {
    Usual(SummaryForm),
    Html,
    Latex,
}

pub(crate) fn execute(arguments: &Arguments, console: &Console) -> Result<Exit, Failure> {
    write(arguments, AnswerForm::Usual(arguments.output.output), console)
}

fn write(arguments: &Arguments, form: AnswerForm, console: &Console) -> Result<Exit, Failure> {
    let method = arguments.method.method(arguments.gate.noise_threshold)?;
    let gate = match form {
        // Tests have a threshold of noise without a gate.
        AnswerForm::Usual(SummaryForm::Junit) if !arguments.gate.is_used() => None,
        AnswerForm::Usual(_) | AnswerForm::Html | AnswerForm::Latex => arguments.gate(&method)?,
    };
    if gate.is_some() {
        method.check_gate().map_err(no_gate)?;
    }
    let noise_threshold = noise_of(&arguments.gate, gate, &method)?;
    let mut sources = arguments.reading.sources(&arguments.files, console)?;
    sources.iter().for_each(|source| source.tell_grouping(console));
    let mut versions = arguments.versions(&mut sources, console)?;
    let inquiry = Inquiry {
        suites: std::mem::take(&mut versions.suites),
        method,
        confidence: arguments.confidence.map(ConfidenceLevel::get),
        noise_threshold,
        faster_by: arguments.faster_by.clone(),
        better: arguments.preference(&versions)?,
        weights: arguments.weights.clone(),
        selection: arguments.selection(),
        seed: arguments.seed.map_or_else(drawn_seed, Seed),
    };
    tell_of_long_fits(&inquiry, console);
    let mut answer = match inquiry.answer() {
        Ok(answer) => answer,
        Err(error) => return arguments.without_answer(&error, &inquiry, gate, (form, &versions), console),
    };
    answer.caveats.extend(caveats_of_files(&sources, &versions));
    if let Some(name) = &arguments.save_baseline {
        keep(name, (&inquiry, &versions), arguments.method.control(), &sources)?;
    }
    let unit = versions.unit.to_string();
    let per = versions.value_of().map_or("", per);
    let is_direction_assumed = versions.better.is_none() && !arguments.higher_is_better;
    let subject = Subject { metric: &versions.metric, unit: &unit, per, is_direction_assumed };
    let text = match form {
        AnswerForm::Usual(SummaryForm::Table) => {
            answer::text(&answer, subject, |sheet| of_sheet(sheet, console.out))
        }
        AnswerForm::Usual(SummaryForm::Json) => json(&arguments.printed(&answer, &versions, &sources))?,
        AnswerForm::Usual(SummaryForm::Md) => answer::markdown(&answer, subject),
        AnswerForm::Usual(SummaryForm::Csv) => {
            // Rows have no place for it, and without it nobody makes them again.
            if let Some(seed) = answer.seed {
                console.talk(format_args!("seed {seed}"));
            }
            for missing in answer::missing(&answer) {
                console.warn(missing);
            }
            answer::sheet(&answer).csv()
        }
        AnswerForm::Usual(SummaryForm::Junit) => {
            let (rules, name) = (arguments.gate.junit_rules(), versions.metric.as_str());
            junit::document(&JunitSubject::for_samples(name), &conclusions(&answer)?, rules)
        }
        AnswerForm::Html => html::page(&answer::document(&answer, subject)),
        AnswerForm::Latex => latex::document(&answer::document(&answer, subject)),
    };
    print(console, &text)?;
    gate.map_or(Ok(Exit::Done), |gate| {
        gate.judge_answer(&answer, || answer::markdown(&answer, subject), console)
    })
}

/// What the gate ignores, and tests and `gates` of the JSON without a gate.
fn noise_of(arguments: &GateArguments, gate: Option<Gate>, method: &Method) -> Result<Threshold, Failure> {
    let of_method = if let Method::Effect(options) = method { Some(options.threshold) } else { None };
    let asked = gate.and_then(Gate::noise_threshold).or(arguments.noise_threshold).or(of_method);
    Threshold::new(asked.unwrap_or(0.0)).map_err(Failure::refused)
}

/// What stands for a report where there are samples and nothing else: their comparison by the usual method.
pub(crate) fn report_saved(
    name: &SetName,
    confidence: Option<ConfidenceLevel>,
    gate: GateArguments,
    form: AnswerForm,
    console: &Console,
) -> Result<Exit, Failure> {
    #[derive(Debug, Parser)]
    struct Usual {
        #[command(flatten)]
        arguments: Arguments,
    }
    let Usual { arguments } = Usual::try_parse_from(["compare", &name.as_file()]).map_err(Failure::usage)?;
    write(&Arguments { confidence, gate, ..arguments }, form, console)
}

/// Values that are fitted, those of resamples counted each time, from which on a mixture takes longer than people wait
/// without a word: some ten seconds.
const LONG_FIT: usize = 5_000_000;
/// What the fit of a sample costs, in fits of a resample, which give models up: 3 to 9.
const FITS_OF_A_SAMPLE: usize = 5;

/// Says before a long silence what it is for, and how to do without.
fn tell_of_long_fits(inquiry: &Inquiry, console: &Console) {
    let Method::Mixture(options) = &inquiry.method else { return };
    let benchmarks = inquiry.suites.iter().flat_map(|suite| &suite.benchmarks);
    // What is fitted are the values of runs with one each or of the only run, else the means of the runs.
    let sizes: Vec<usize> = benchmarks
        .map(|one| if let [only] = one.runs.as_slice() { only.len() } else { one.runs.len() })
        .collect();
    if let Some(text) = text_of_long_fits(&sizes, options.resamples as usize) {
        console.talk(text);
    }
}

/// What is said of fits of samples of `sizes`, and of so many resamples of each, at most [`MOST_TESTED`] values of a sample.
fn text_of_long_fits(sizes: &[usize], resamples: usize) -> Option<String> {
    let values: usize = sizes.iter().sum();
    let tested: usize = sizes.iter().map(|size| size.min(&MOST_TESTED)).sum();
    let fitted = values.saturating_mul(FITS_OF_A_SAMPLE).saturating_add(tested.saturating_mul(resamples));
    if fitted < LONG_FIT {
        return None;
    }
    if resamples == 0 {
        return Some(format!("fitting {values} values may take minutes; fewer values will do"));
    }
    let of = if tested < values { format!("{tested} of them") } else { "them".to_owned() };
    Some(format!(
        "fitting {values} values and {resamples} resamples of {of} may take minutes; --resamples 0 leaves the test of fit out"
    ))
}

/// Several values, in a sentence.
const fn plural(value_of: ValueOf) -> &'static str {
    match value_of {
        ValueOf::Run => "runs",
        ValueOf::Iteration => "iterations inside processes",
        ValueOf::Summary => "batches of iterations",
    }
}

/// What a value is of, behind a metric and its unit.
const fn per(value_of: ValueOf) -> &'static str {
    match value_of {
        ValueOf::Run => "per run",
        ValueOf::Iteration => "per iteration",
        ValueOf::Summary => "per iteration, in batches",
    }
}

fn refused(error: &InquiryError, inquiry: &Inquiry) -> Failure {
    Failure::usage(anyhow!(with_causes(error)).context(format!("cannot answer by {}", inquiry.method.name())))
        .hint_if(error.hint())
}

/// What the files are warned of, and values that stand for unlike things.
fn caveats_of_files(sources: &[Source], versions: &Versions) -> Vec<Warning> {
    let mut caveats = Vec::new();
    for source in sources {
        for warning in &source.imported.warnings {
            let code = WarningCode::ALL.into_iter().find(|code| code.name() == warning.code.as_str());
            if let Some(code) = code {
                caveats.push(Warning::new(code, format!("{}: {warning}.", source.name)));
            }
        }
    }
    let known = versions.values_of.iter().filter_map(|(version, value_of)| Some((version, (*value_of)?)));
    let known: Vec<(&String, ValueOf)> = known.collect();
    if known.windows(2).any(|pair| pair[0].1 != pair[1].1) {
        let told = known.iter().map(|(version, value_of)| format!("{version} has {}", plural(*value_of)));
        let sentence = format!(
            "The versions have values of unlike kinds, which differ in spread and may differ in what they measure: {}.",
            told.collect::<Vec<_>>().join(", ")
        );
        caveats.push(Warning::new(WarningCode::UnlikeValues, sentence));
    }
    caveats
}

impl Arguments {
    /// The versions. The files go before what is kept: to keep samples changes no comparison that was possible before.
    fn versions(&self, sources: &mut Vec<Source>, console: &Console) -> Result<Versions, Failure> {
        let metric = self.metric.as_deref();
        let refused = |error: VersionsError| Failure::refused(error).context("cannot compare the files");
        let (asked, versions) = match Versions::new(sources, metric, self.baseline.as_deref()) {
            Err(VersionsError::NoBaseline { asked, versions }) => (asked, versions),
            other => return other.map_err(refused),
        };
        let kept = NamedSamples::open()?;
        match asked.parse::<SetName>() {
            Ok(name) if kept.has(&name) => {
                let baseline = Source::saved(&name, self.reading.unit())?;
                baseline.tell_grouping(console);
                sources.insert(0, baseline);
                Versions::new(sources, metric, None).map_err(refused)
            }
            Ok(_) | Err(_) => Err(refused(VersionsError::NoBaseline { asked, versions })),
        }
    }

    /// What is done where there is no answer: a gate and its tests count what is missing all the same.
    fn without_answer(
        &self,
        error: &InquiryError,
        inquiry: &Inquiry,
        gate: Option<Gate>,
        (form, versions): (AnswerForm, &Versions),
        console: &Console,
    ) -> Result<Exit, Failure> {
        let mut failure = refused(error, inquiry);
        if let InquiryError::NoResults { gates, .. } = error {
            if let AnswerForm::Usual(SummaryForm::Junit) = form {
                let subject = JunitSubject::for_samples(&versions.metric);
                print(console, &junit::document(&subject, gates, self.gate.junit_rules()))?;
            }
            let exit = gate.map_or(Exit::Done, |gate| gate.judge_conclusions(gates.clone(), console));
            if exit != Exit::Done {
                failure.exit = exit;
            }
        }
        Err(failure)
    }

    /// Which values are the better ones: as the files tell, or else the flag.
    fn preference(&self, versions: &Versions) -> Result<Preference, Failure> {
        match (versions.better, self.higher_is_better) {
            (Some(BetterWhen::Higher), false) if versions.undirected.is_some() => {
                let benchmark = versions.undirected.as_deref().unwrap_or_default();
                Err(Failure::usage(anyhow!(
                    "nothing tells whether more is better of {benchmark}, as of others"
                ))
                .hint("--higher-is-better says that it is"))
            }
            (Some(BetterWhen::Higher), _) | (None, true) => Ok(Preference::Higher),
            (Some(BetterWhen::Lower) | None, false) => Ok(Preference::Lower),
            (Some(BetterWhen::Lower), true) => {
                let unit = if versions.unit == SeriesUnit::Bare {
                    versions.metric.clone()
                } else {
                    format!("{} in {}", versions.metric, versions.unit)
                };
                Err(Failure::usage(anyhow!("of {unit} less is better, as the files say"))
                    .hint("leave out --higher-is-better, or choose another metric with --metric"))
            }
        }
    }

    /// The gate; the threshold of a method that has one is the gate's as well.
    fn gate(&self, method: &Method) -> Result<Option<Gate>, Failure> {
        let Method::Effect(options) = method else { return self.gate.gate() };
        if !self.gate.is_used() {
            return Ok(None);
        }
        Ok(self.gate.gate()?.map(|gate| gate.or_noise(options.threshold)))
    }

    fn selection(&self) -> Selection {
        match (self.drawn, self.population) {
            (true, Some(size)) => Selection::DrawnFromFinite { size },
            (true, None) => Selection::Drawn,
            (false, _) => Selection::Chosen,
        }
    }

    fn printed<'a>(
        &self,
        answer: &'a Answer,
        versions: &'a Versions,
        sources: &'a [Source],
    ) -> PrintedAnswer<'a> {
        PrintedAnswer {
            answer,
            metric: &versions.metric,
            unit: versions.unit.to_string(),
            value_of: versions.value_of(),
            files: sources.iter().map(|source| source.name.as_str()).collect(),
        }
    }
}

/// Keeps what was measured now, with what is known of it.
fn keep(
    name: &SetName,
    (inquiry, versions): (&Inquiry, &Versions),
    control: Option<&str>,
    sources: &[Source],
) -> Result<(), Failure> {
    let compared = inquiry.suites.iter().zip(&versions.origins);
    let compared: Vec<_> = compared.filter(|(suite, _)| control != Some(suite.version.as_str())).collect();
    // Several candidates under one name could not be told apart later.
    let [_, (candidate, origin)] = compared[..] else {
        let count = compared.len();
        return Err(Failure::usage(anyhow!(
            "--save-baseline keeps one candidate, and got {}",
            counted(count as u64, "version")
        ))
        .hint("`speedup import FILE --as NAME` keeps the samples of any file"));
    };
    if candidate.benchmarks.is_empty() {
        return Err(Failure::usage(anyhow!(
            "--save-baseline keeps samples, and {} has none",
            candidate.version
        ))
        .hint("measure it again"));
    }
    let named = |text: &str| Name::new(text).map_err(Failure::usage);
    let better = match inquiry.better {
        Preference::Lower => versions.better,
        Preference::Higher => Some(BetterWhen::Higher),
    };
    let value_of = versions.values_of.get(&candidate.version).copied().flatten();
    let mut series = Vec::new();
    for sample in &candidate.benchmarks {
        let name = SeriesName::wall(named(&sample.benchmark)?).with_metric(named(&versions.metric)?);
        let runs = Runs::new(&sample.runs).map_err(Failure::usage)?;
        series.push(Series { better, value_of, ..Series::new(name, versions.unit.clone(), runs) });
    }
    let series = series.iter().map(|series| NamedSeries::new(None, series)).collect();
    let are_commands = sources.iter().all(|source| source.imported.are_commands);
    let mut remarks = remarks(&[], &sources[*origin].imported.warnings);
    for missing in &candidate.missing {
        remarks.extend(RemarkLine::from_missing(missing));
    }
    NamedSamples::open()?.save(name, &Samples { series, are_commands, remarks })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_fit_counts_what_is_tested_of_each_sample() {
        assert_eq!(text_of_long_fits(&[1000, 1000], 500), None);
        let text = |sizes: &[usize], resamples| text_of_long_fits(sizes, resamples).expect("a long fit");
        let both = text(&[MOST_TESTED, MOST_TESTED], 500);
        assert!(both.contains(" 40000 ") && both.contains(" 500 resamples"), "{both}");
        let large = text(&[1_900_000, 1000], 500);
        assert!(large.contains(" 1901000 ") && large.contains(" 500 resamples of 21000 "), "{large}");
        let untested = text(&[1_900_000, 1000], 0);
        assert!(untested.contains(" 1901000 ") && !untested.contains("resample"), "{untested}");
    }
}
