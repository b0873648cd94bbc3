//! Options whose values are words, each of which stands for a value of another crate.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Command, Error};
use speedup_core::experiment::Center;
use speedup_statistics::test::ProportionMethod;

/// The words of an option with what they stand for.
#[derive(Clone)]
pub(crate) struct Words<T>(Vec<(PossibleValue, T)>);

/// Each word, followed by its aliases after a bar; what it stands for; and what the help says of it, unless the word says it all.
pub(crate) fn words<T>(all: impl IntoIterator<Item = (&'static str, T, &'static str)>) -> Words<T> {
    let word = |(names, value, help): (&'static str, T, &'static str)| {
        let mut names = names.split('|');
        let word = PossibleValue::new(names.next().unwrap_or_default()).aliases(names);
        (if help.is_empty() { word } else { word.help(help) }, value)
    };
    Words(all.into_iter().map(word).collect())
}

/// Whose ratio verdicts are on.
pub(crate) fn centers() -> Words<Center> {
    words([
        ("trimmed", Center::Trimmed, "What the runs take together without the tenth at either end"),
        ("median", Center::Median, "Half of the runs take less: the time of a usual run"),
        ("mean", Center::Mean, "What all runs take together"),
    ])
}

pub(crate) fn proportion_intervals() -> Words<ProportionMethod> {
    words([
        (
            "wilson-corrected",
            ProportionMethod::WilsonCorrected,
            "Wilson's score interval with continuity correction: the published one",
        ),
        ("wilson", ProportionMethod::Wilson, "Wilson's score interval"),
        (
            "clopper-pearson",
            ProportionMethod::ClopperPearson,
            "Clopper and Pearson's exact interval, never below its level",
        ),
        ("agresti-coull", ProportionMethod::AgrestiCoull, "Agresti and Coull's"),
        ("jeffreys", ProportionMethod::Jeffreys, "By the posterior of Jeffreys' prior"),
        ("wald", ProportionMethod::Wald, "The textbook's C ± z√(C(1−C)/b)"),
    ])
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for Words<T> {
    type Value = T;

    fn parse_ref(&self, command: &Command, option: Option<&Arg>, given: &OsStr) -> Result<T, Error> {
        // What is no text is none of them either.
        let given = given.to_string_lossy();
        let parser = PossibleValuesParser::new(self.0.iter().map(|(word, _)| word.clone()));
        let given = parser.parse_ref(command, option, OsStr::new(given.as_ref()))?;
        let stands_for = self.0.iter().find(|(word, _)| word.matches(&given, false));
        stands_for.map(|(_, value)| value.clone()).ok_or_else(|| Error::new(ErrorKind::InvalidValue))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().map(|(word, _)| word.clone())))
    }
}
