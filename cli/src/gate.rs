//! Gates of a script: an exit code that says whether a regression was shown, and whether everything was decided.

mod github;

use anyhow::{Error, anyhow};
use clap::{Args, ValueEnum};
use speedup_analysis::count;
use speedup_analysis::gate::{Conclusion, GateError, GateRulings};
use speedup_analysis::inquiry::Answer;
use speedup_analysis::study::{BisectionVerdict, SCHEMA_VERSION};
use speedup_analysis::track::TrackReport;
use speedup_report::{Document, github::AnnotationLevel, junit::JunitRules, markdown};
use speedup_statistics::inference::Threshold;

use crate::{
    arguments::fraction, console::Console, exit::Exit, exit::failure::Failure,
    results::report::AnsweredReport, results::report::ParsedReport, tracks,
};

/// Conclusions that are named of each kind; the report has them all.
const MOST_NAMED: usize = 20;

/// What is to fail.
#[derive(Clone, Copy, Debug, Default, Args)]
#[group(skip)]
pub(crate) struct GateArguments {
    /// Exit with 1 if a candidate is shown to be slower, on any benchmark or overall
    #[arg(long, help_heading = "Gates")]
    fail_on_regression: bool,
    /// Exit with 3 if any benchmark is undecided: it is not known whether a candidate is slower
    #[arg(long, help_heading = "Gates")]
    require_conclusive: bool,
    /// Gates ignore differences in time up to this share, such as 0.01 or 1%, or up to the noise floor of a track, track:NAME
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, value_parser = noise, help_heading = "Gates")]
    pub(crate) noise_threshold: Option<f64>,
    /// Also tell a service, github, of the gates
    ///
    /// It gets annotations of what the gates found, and the report in the job's summary.
    #[arg(long, value_enum, value_name = "SERVICE", hide_possible_values = true)]
    annotate: Option<AnnotationService>,
}

/// A share, or the largest noise floor of a track's benchmarks.
fn noise(text: &str) -> Result<f64, String> {
    match tracks::name_in(text) {
        Some(name) => tracks::noise_floor(&name?).map_err(|failure| format!("{:#}", failure.error)),
        None => fraction::share(text),
    }
}

/// Who is told what gates say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum AnnotationService {
    /// GitHub Actions
    Github,
}

/// What is to fail, checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gate {
    fails_on_regression: bool,
    requires_conclusive: bool,
    noise: Threshold,
    annotated: Option<AnnotationService>,
}

impl GateArguments {
    pub(crate) fn is_asked(self) -> bool {
        self.fail_on_regression || self.require_conclusive
    }

    /// Whether anybody is told what gates say.
    pub(crate) fn is_used(self) -> bool {
        self.is_asked() || self.annotate.is_some()
    }

    pub(crate) fn gate(self) -> Result<Option<Gate>, Failure> {
        let Self { fail_on_regression, require_conclusive, noise_threshold, annotate } = self;
        if !self.is_used() {
            return match noise_threshold {
                None => Ok(None),
                Some(_) => {
                    Err(Failure::usage(anyhow!("--noise-threshold belongs to a gate, but there is none"))
                        .hint("add --fail-on-regression, or --require-conclusive"))
                }
            };
        }
        let noise = self.noise()?;
        let (fails_on_regression, requires_conclusive) = (fail_on_regression, require_conclusive);
        Ok(Some(Gate { fails_on_regression, requires_conclusive, noise, annotated: annotate }))
    }

    fn noise(self) -> Result<Threshold, Failure> {
        Threshold::new(self.noise_threshold.unwrap_or(0.0)).map_err(Failure::refused)
    }

    /// By what tests fail that are made of conclusions.
    pub(crate) fn junit_rules(self) -> JunitRules {
        JunitRules { requires_conclusive: self.require_conclusive }
    }
}

impl Gate {
    /// Another threshold where none was given.
    pub(crate) fn or_noise(self, threshold: f64) -> Self {
        match Threshold::new(threshold) {
            Ok(threshold) if self.noise == Threshold::NONE => Self { noise: threshold, ..self },
            Ok(_) | Err(_) => self,
        }
    }

    /// What a report has to be asked for.
    pub(crate) fn noise_threshold(self) -> Option<f64> {
        if self.noise.is_none() { None } else { Some(self.noise.get()) }
    }

    /// The exit code by a report; what fails is told.
    pub(crate) fn judge_report(self, report: &AnsweredReport, console: &Console) -> Result<Exit, Failure> {
        let unreadable = |error: Error| {
            Failure::infrastructure(error.context("the gates cannot read the report"))
                .hint("the analysis is of another release; use the same release of speedup everywhere")
        };
        match report.parsed().map_err(unreadable)? {
            ParsedReport::Known(report) if report.head.noise_threshold != self.noise => {
                Err(unreadable(anyhow!("it is not tested against the noise threshold")))
            }
            ParsedReport::Known(report) => {
                let exit = self.judge(Conclusion::of_report(report), console);
                self.summarize(|| markdown::text(&Document::brief(report)), console);
                Ok(exit)
            }
            ParsedReport::Newer => Err(unreadable(anyhow!("it is not of version {SCHEMA_VERSION}"))),
        }
    }

    /// The exit code by an answer, which is told in `markdown`; what fails is told.
    pub(crate) fn judge_answer(
        self,
        answer: &Answer,
        markdown: impl FnOnce() -> String,
        console: &Console,
    ) -> Result<Exit, Failure> {
        let conclusions = conclusions(answer)?;
        let exit = self.judge(conclusions, console);
        self.summarize(markdown, console);
        Ok(exit)
    }

    /// The exit code where there is no answer; what fails is told.
    pub(crate) fn judge_conclusions(self, conclusions: Vec<Conclusion>, console: &Console) -> Exit {
        self.judge(conclusions, console)
    }

    /// The exit code by a track; what fails is told.
    pub(crate) fn judge_track(self, report: &TrackReport, console: &Console) -> Exit {
        let exit = self.judge(Conclusion::of_track(report, self.noise), console);
        self.summarize(|| markdown::text(&Document::brief_track(report)), console);
        exit
    }

    fn summarize(self, markdown: impl FnOnce() -> String, console: &Console) {
        if self.annotated == Some(AnnotationService::Github) {
            github::summarize(&markdown(), console);
        }
    }

    fn judge(self, conclusions: Vec<Conclusion>, console: &Console) -> Exit {
        let GateRulings { regressions, undecided } = GateRulings::new(conclusions);
        let has_failed = regressions.iter().any(|one| one.failure.is_some());
        let mut exit = Exit::Done;
        if self.requires_conclusive && !undecided.is_empty() {
            exit = Exit::Inconclusive;
            tell(&format!("--require-conclusive: undecided{}", self.beyond()), &undecided, console);
        }
        if self.fails_on_regression && !regressions.is_empty() {
            exit = Exit::Failed;
            let what = if has_failed { "failed or slower" } else { "slower" };
            tell(&format!("--fail-on-regression: {what}{}", self.beyond()), &regressions, console);
        }
        self.annotate(&regressions, &undecided, console);
        exit
    }

    /// What fails is an error, a regression that fails nothing a warning; what is undecided and fails nothing is the usual case.
    fn annotate(self, regressions: &[Conclusion], undecided: &[Conclusion], console: &Console) {
        if self.annotated != Some(AnnotationService::Github) {
            return;
        }
        let level = if self.fails_on_regression { AnnotationLevel::Error } else { AnnotationLevel::Warning };
        let has_failed = regressions.iter().any(|one| one.failure.is_some());
        let what = if has_failed { "Failed or slower" } else { "Slower" };
        github::annotate(level, &format!("{what}{}", self.beyond()), regressions, console);
        if self.requires_conclusive {
            let title = format!("Undecided{}", self.beyond());
            github::annotate(AnnotationLevel::Error, &title, undecided, console);
        }
    }

    fn beyond(self) -> String {
        if self.noise == Threshold::NONE {
            return String::new();
        }
        format!(" by more than {}", count::percent(self.noise.get()))
    }
}

/// What gates go by of an answer.
pub(crate) fn conclusions(answer: &Answer) -> Result<Vec<Conclusion>, Failure> {
    Conclusion::from_answer(answer).map_err(no_gate)
}

/// The refusal of a method that gives no gate a verdict.
pub(crate) fn no_gate(error: GateError) -> Failure {
    Failure::usage(Error::new(error).context("no gate can use this method")).hint(error.hint())
}

/// The exit code by a report of a bisection of which an end could not be run; what else a report says is no failure.
pub(crate) fn judge_ends(report: &AnsweredReport) -> Exit {
    let Ok(ParsedReport::Known(report)) = report.parsed() else { return Exit::Done };
    let bisection = report.rule.as_ref().and_then(|rule| rule.bisection.as_ref());
    match bisection.is_some_and(|bisection| bisection.verdict == BisectionVerdict::NoEnd) {
        true => Exit::Failed,
        false => Exit::Done,
    }
}

fn tell(what: &str, conclusions: &[Conclusion], console: &Console) {
    console.talk(format_args!("{} {what}:", console.err.alarm("gate failed:")));
    for one in conclusions.iter().take(MOST_NAMED) {
        console.talk(format_args!("  {}", shown(one)));
    }
    if let Some(more) = conclusions.len().checked_sub(MOST_NAMED).filter(|more| *more > 0) {
        console.talk(format_args!("  and {more} more"));
    }
}

/// Names are those of files and plans: they must not move the cursor.
fn shown(conclusion: &Conclusion) -> String {
    let text = conclusion.to_string();
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(fail_on_regression: bool, noise_threshold: Option<f64>) -> GateArguments {
        GateArguments { fail_on_regression, require_conclusive: false, noise_threshold, annotate: None }
    }

    #[test]
    fn a_threshold_without_a_gate_is_refused() {
        assert!(arguments(false, None).gate().is_ok_and(|gate| gate.is_none()));
        assert!(arguments(true, Some(0.01)).gate().is_ok_and(|gate| gate.is_some()));
        assert_eq!(arguments(false, Some(0.01)).gate().unwrap_err().exit, Exit::Usage);
    }

    #[test]
    fn a_report_of_another_version_is_refused() {
        let json = include_str!("../../analysis/tests/golden/report_v1_finished.json");
        let gate = arguments(true, None).gate().unwrap().unwrap();
        assert_eq!(
            gate.judge_report(&AnsweredReport::parse(json.to_owned()), &Console::plain()).unwrap(),
            Exit::Failed
        );
        let later = json.replacen("\"schema_version\": 1", "\"schema_version\": 2", 1);
        assert_ne!(later, json);
        let failure = gate.judge_report(&AnsweredReport::parse(later), &Console::plain()).unwrap_err();
        assert_eq!(failure.error.root_cause().to_string(), "it is not of version 1");
    }
}
