//! What the reader must know beside the verdicts: each code once, with the benchmarks it concerns.

use serde::{Deserialize, Serialize};
use speedup_statistics::inference::Caveat;

/// A caveat of the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// A short name that stays the same between releases.
    pub code: String,
    /// A sentence for a person, with a next step.
    pub sentence: String,
    /// The benchmarks it concerns, in plan order; empty when it is about the report as a whole.
    pub concerns: Vec<String>,
}

/// The caveats of a report, in the order in which they were first raised.
#[derive(Debug, Default)]
pub(crate) struct Warnings(Vec<Warning>);

impl Warnings {
    /// Raises a caveat about the report as a whole.
    pub(crate) fn raise(&mut self, code: &str, sentence: String) {
        self.entry(code, || sentence);
    }

    /// Raises a caveat about a benchmark, or adds the benchmark to it.
    pub(crate) fn concern(&mut self, code: &str, about: &str, sentence: impl FnOnce() -> String) {
        let concerns = &mut self.entry(code, sentence).concerns;
        if concerns.last().is_none_or(|last| last != about) {
            concerns.push(about.to_owned());
        }
    }

    /// The same for a caveat of a method.
    pub(crate) fn caveat(&mut self, caveat: &Caveat, about: &str) {
        self.concern(caveat.code(), about, || general_sentence(caveat));
    }

    /// Raises the caveats of another list, in its order.
    pub(crate) fn append(&mut self, other: Self) {
        for Warning { code, sentence, concerns } in other.0 {
            let here = &mut self.entry(&code, || sentence).concerns;
            for about in concerns {
                if here.last() != Some(&about) {
                    here.push(about);
                }
            }
        }
    }

    pub(crate) fn into_list(self) -> Vec<Warning> {
        self.0
    }

    fn entry(&mut self, code: &str, sentence: impl FnOnce() -> String) -> &mut Warning {
        let at = self.0.iter().position(|warning| warning.code == code).unwrap_or_else(|| {
            self.0.push(Warning { code: code.to_owned(), sentence: sentence(), concerns: Vec::new() });
            self.0.len() - 1
        });
        &mut self.0[at]
    }
}

/// The sentence of a caveat that several benchmarks may share, so without their numbers.
fn general_sentence(caveat: &Caveat) -> String {
    match caveat {
        Caveat::NotNormalLarge { .. } => {
            "A sample is not normally distributed; with more than 30 runs the t \
            test is usual but its confidence level is approximate: prefer the verdict on the median."
                .to_owned()
        }
        Caveat::NormalityUntested { .. } => {
            "Normality was not tested, since the test ends at 5000 runs: look \
            at the distribution before trusting the verdict on the mean."
                .to_owned()
        }
        caveat => caveat.sentence(),
    }
}
