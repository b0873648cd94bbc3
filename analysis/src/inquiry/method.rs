//! What a method is to an inquiry: a row of the list in [`super`], and one type with its options that answers these questions.

use super::{Findings, Inquiry, InquiryError, Method, pairing::Pairing};
use crate::{conclusion::Reason, conclusion::Warning, gate::Conclusion, gate::GateError};
use speedup_statistics::inference::{ConfidenceLevel, Threshold};

/// What a method finds, or why it finds nothing.
pub(super) type FindResult = Result<Findings, InquiryError>;

/// A method with its options.
pub(super) trait MethodSpec {
    fn name(&self) -> &'static str;

    /// Where it is from.
    fn sources(&self) -> &'static [&'static str];

    fn find(&self, inquiry: &Inquiry, pairing: &Pairing<'_>, level: ConfidenceLevel) -> FindResult;

    /// Refuses options out of range.
    fn check(&self) -> Result<(), InquiryError> {
        Ok(())
    }

    /// Refuses to be what a gate goes by: it has no verdict, or knows no slowdown.
    fn check_gate(&self) -> Result<(), GateError> {
        if self.compares() { Ok(()) } else { Err(GateError::NoVerdict(self.name())) }
    }

    /// The version that is no candidate, but the baseline's program again.
    fn control(&self) -> Option<&str> {
        None
    }

    /// Whether it needs two versions.
    fn compares(&self) -> bool {
        true
    }

    /// Whether it sets benchmarks of one name beside each other.
    fn pairs(&self) -> bool {
        self.compares()
    }

    /// Whether it compares the runs of two versions in one block as a pair.
    fn takes_pairs(&self) -> bool {
        false
    }

    /// Whether it keeps runs apart from the values in them.
    fn knows_levels(&self) -> bool {
        false
    }

    /// What it draws at random.
    fn effort(&self) -> MethodEffort {
        MethodEffort::Computed
    }
}

/// What a method found, beside its numbers.
pub(super) trait MethodFindings {
    /// Why there is not enough data, and why intervals are missing, where there is not and they are.
    fn reasons(&self) -> Vec<Reason>;

    /// What must be known of its parts.
    fn caveats(&self) -> Vec<Warning>;

    /// What a gate goes by, candidate by candidate.
    fn conclusions(&self, _level: ConfidenceLevel, _noise: Threshold) -> Vec<Conclusion> {
        Vec::new()
    }
}

/// What a method draws at random, each time as many values as it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MethodEffort {
    Computed,
    /// Replicates of which a statistic is computed.
    Drawn(u32),
    /// Resamples to each of which a mixture is fitted.
    Fitted(u32),
}

/// What stands beside a method in the list, for whoever offers a choice.
#[derive(Debug)]
pub struct Offer {
    /// What the method is called where it is chosen.
    pub word: &'static str,
    /// What it does, in a line.
    pub help: &'static str,
    /// The method with its usual options.
    pub usual: fn() -> Method,
}

/// The list of methods: what each is called, its file with its options if it has any, what it finds, and what it does. What it makes
/// of the list are the types [`Method`] and [`Findings`], the [`METHODS`](super::METHODS) to choose from, and `with_findings!`.
macro_rules! methods {
    (@spec $module:ident) => { &$module::Options };
    (@spec $module:ident $options:ident) => { $options };
    ($d:tt $($name:ident $(($options:ident: $type:ty))? of $module:ident finds $findings:ty, $word:literal: $help:literal;)*) => {
        /// A method with its options.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind", rename_all = "snake_case")]
        pub enum Method {
            $(#[doc = $help] $name $(($type))?,)*
        }

        /// What a method found.
        #[derive(Clone, Debug, PartialEq, Serialize)]
        #[serde(tag = "kind", content = "of", rename_all = "snake_case")]
        pub enum Findings {
            $(#[doc = $help] $name($findings),)*
        }

        /// All methods.
        pub const METHODS: &[Offer] = &[
            $(Offer { word: $word, help: $help, usual: || Method::$name $((<$type>::default()))? },)*
        ];

        impl Method {
            fn spec(&self) -> &dyn MethodSpec {
                match self {
                    $(Self::$name $(($options))? => methods!(@spec $module $($options)?),)*
                }
            }

            /// What it is called where it is chosen.
            pub fn word(&self) -> &'static str {
                match self {
                    $(Self::$name { .. } => $word,)*
                }
            }
        }

        /// The same of the findings of any method.
        #[macro_export]
        macro_rules! with_findings {
            ($d findings:expr, $d of:ident => $d said:expr) => {
                match $d findings {
                    $($d crate::inquiry::Findings::$name($d of) => $d said,)*
                }
            };
        }

        impl Findings {
            fn found(&self) -> &dyn MethodFindings {
                with_findings!(self, of => of)
            }
        }
    };
}
pub(super) use methods;

impl Method {
    /// The ratio of the centres with the usual options.
    pub fn ratio() -> Self {
        Self::Ratio(Default::default())
    }

    /// The Speedup-Test with the usual options.
    pub fn speedup_test() -> Self {
        Self::SpeedupTest(Default::default())
    }

    /// The full name.
    pub fn name(&self) -> &'static str {
        self.spec().name()
    }

    /// Whether it needs two versions.
    pub fn compares(&self) -> bool {
        self.spec().compares()
    }

    /// What it draws at random.
    pub fn effort(&self) -> MethodEffort {
        self.spec().effort()
    }

    /// Whether gates can go by it.
    ///
    /// # Errors
    /// [`GateError`] for a method that has no verdict or knows no slowdown.
    pub fn check_gate(&self) -> Result<(), GateError> {
        self.spec().check_gate()
    }
}
