//! The error of conversions: which field of a received message is wrong, and why.

use prost::DecodeError;
use speedup_core::{fingerprint::HashIdError, plan::PlanError, value::id::IdError};
use thiserror::Error;
use tonic::Code;
use tonic_types::{ErrorDetails, StatusExt as _};

/// A message with a field that does not have the required shape.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{field}: {why}")]
pub struct Malformed {
    /// The path of the field, such as `experiment.benchmarks[3].expect.exit`.
    pub field: String,
    pub why: Why,
}

/// What is wrong with a field.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Why {
    #[error("missing")]
    Missing,
    /// A oneof without an alternative, or with one that a newer release added.
    #[error("missing, or of a kind that only a newer release knows")]
    Unset,
    #[error("nothing chosen")]
    Unspecified,
    #[error("{0} is a value that only a newer release knows")]
    Unknown(i32),
    #[error("{number} is more than the {most} possible")]
    TooLarge { number: u64, most: u64 },
    #[error("{number} is not within {} and {}", bounds.0, bounds.1)]
    Outside {
        number: i32,
        /// The smallest and the largest possible number.
        bounds: (i8, i8),
    },
    #[error("not a CPU list in the kernel's format")]
    Cpus,
    #[error("{bytes} bytes instead of {expected}")]
    Length { bytes: usize, expected: usize },
    #[error("{bytes} bytes, more than the {most} allowed")]
    TooLong { bytes: usize, most: usize },
    #[error("{items} entries, more than the {most} allowed")]
    TooMany { items: usize, most: usize },
    #[error("not a finite number")]
    NotFinite,
    #[error("given twice")]
    Twice,
    #[error("not in ascending order")]
    Unordered,
    #[error(transparent)]
    Id(#[from] IdError),
    /// A text that is not a hash in hexadecimal digits.
    #[error(transparent)]
    Hash(#[from] HashIdError),
    /// Bytes that cannot be decoded as a message.
    #[error(transparent)]
    Wire(#[from] DecodeError),
    #[error("{given}, but a UUID is expected, such as 01a2116e-db56-766b-9d82-ca90072c04f0")]
    Uuid {
        /// The beginning of what was given, in printable characters.
        given: String,
    },
    #[error(
        "out of range: seconds and nanoseconds that are not negative are expected, the latter below a second, and no moment \
         before 1970 or after 2554"
    )]
    Moment,
    #[error("whole seconds that are not negative are expected")]
    WholeSeconds,
    #[error("hexadecimal digits, an even number of them, are expected")]
    Hex,
    /// Runs that do not fit their experiment.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

impl Why {
    pub(crate) fn no_uuid(text: &str) -> Self {
        const MOST: usize = 60;
        if text.is_empty() {
            return Self::Uuid { given: "empty".to_owned() };
        }
        let rest = if text.chars().nth(MOST).is_some() { "…" } else { "" };
        // A control character could move the terminal's cursor.
        let shown: String =
            text.chars().take(MOST).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
        Self::Uuid { given: format!("\"{shown}{rest}\" is not a UUID") }
    }
}

impl Malformed {
    pub(crate) fn new(field: &str, why: impl Into<Why>) -> Self {
        Self { field: field.to_owned(), why: why.into() }
    }

    fn within(self, outer: &str) -> Self {
        Self { field: format!("{outer}.{}", self.field), why: self.why }
    }
}

/// With the field in a `google.rpc.BadRequest`, for programs.
impl From<Malformed> for tonic::Status {
    fn from(malformed: Malformed) -> Self {
        let Malformed { field, why } = &malformed;
        let details = ErrorDetails::with_bad_request_violation(field.clone(), why.to_string());
        Self::with_error_details(Code::InvalidArgument, malformed.to_string(), details)
    }
}

/// Prefixes the field of an error with where its message is.
pub(crate) trait Within: Sized {
    /// The message is in the field `outer`.
    fn within(self, outer: &str) -> Self;
    /// The message is an entry of the list `outer`, counted from 0.
    fn within_nth(self, outer: &str, index: usize) -> Self;
}

impl<T> Within for Result<T, Malformed> {
    #[inline]
    fn within(self, outer: &str) -> Self {
        self.map_err(|malformed| malformed.within(outer))
    }

    #[inline]
    fn within_nth(self, outer: &str, index: usize) -> Self {
        self.map_err(|malformed| malformed.within(&format!("{outer}[{index}]")))
    }
}
