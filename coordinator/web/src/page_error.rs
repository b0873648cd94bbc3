//! Why a page cannot be shown to a visitor, in the words of who refused.

use axum::http::StatusCode;
use speedup_core::value::hint::split_hint;
use tonic::{Code, Status};

#[derive(Debug)]
pub(crate) enum PageError {
    SignedOut,
    Failed {
        code: StatusCode,
        words: String,
        /// What the person can do.
        hint: Option<String>,
    },
}

impl PageError {
    /// Words of our own.
    pub(crate) fn plain(code: StatusCode, words: &str) -> Self {
        Self::Failed { code, words: words.to_owned(), hint: None }
    }

    /// There is no such page.
    pub(crate) fn unknown() -> Self {
        Self::plain(StatusCode::NOT_FOUND, "There is no such page.")
    }

    pub(crate) fn code(&self) -> StatusCode {
        match self {
            Self::SignedOut => StatusCode::UNAUTHORIZED,
            Self::Failed { code, .. } => *code,
        }
    }
}

impl From<Status> for PageError {
    fn from(status: Status) -> Self {
        let code = match status.code() {
            Code::Unauthenticated => return Self::SignedOut,
            Code::PermissionDenied => StatusCode::FORBIDDEN,
            Code::NotFound => StatusCode::NOT_FOUND,
            Code::InvalidArgument | Code::OutOfRange => StatusCode::BAD_REQUEST,
            Code::FailedPrecondition | Code::AlreadyExists | Code::Aborted => StatusCode::CONFLICT,
            Code::ResourceExhausted => StatusCode::TOO_MANY_REQUESTS,
            Code::Unavailable | Code::Cancelled | Code::DeadlineExceeded => StatusCode::SERVICE_UNAVAILABLE,
            Code::Ok | Code::Unknown | Code::Unimplemented | Code::Internal | Code::DataLoss => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
        };
        let (words, hint) = split_hint(status.message());
        Self::Failed { code, words: words.to_owned(), hint: hint.map(str::to_owned) }
    }
}
