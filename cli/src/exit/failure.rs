//! A command that failed: what was tried, why it failed, what can be done, and the exit code.

use std::{fmt::Write as _, io};

use anyhow::Error;
use speedup_core::value::hint::{Hinted, split_hint};
use tonic::{Code, Status};

use crate::{console::Console, exit::Exit};

pub(crate) const MORE_THREADS: &str = "raise the limit on processes (`ulimit -u`, TasksMax=) or on address space (`ulimit -v`), or end other processes";
pub(crate) const MORE_MEMORY: &str =
    "raise the limit on address space (`ulimit -v`) or of the control group, or end other processes";
pub(crate) const MORE_SPACE: &str = "make room on that disk, or choose a directory on another one";
/// What helps against the errors of the system that name a limit.
const REMEDIES: [(i32, &str); 5] = [
    (libc::ENOMEM, MORE_MEMORY),
    (libc::EMFILE, "raise the limit on open files (`ulimit -n`)"),
    (libc::EFBIG, "raise the limit on the size of files (`ulimit -f`)"),
    (libc::ENOSPC, MORE_SPACE),
    (libc::EDQUOT, MORE_SPACE),
];

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    /// What was tried; its sources are the causes.
    pub(crate) error: Error,
    /// What the user can do.
    pub(crate) hint: Option<String>,
}

impl Failure {
    /// The user can mend it: arguments, plan, or a request that was refused.
    pub(crate) fn usage(error: impl Into<Error>) -> Self {
        Self { exit: Exit::Usage, error: error.into(), hint: None }
    }

    /// Coordinator, hosts, network or disk failed.
    pub(crate) fn infrastructure(error: impl Into<Error>) -> Self {
        Self { exit: Exit::Infrastructure, error: error.into(), hint: None }
    }

    /// A refusal that the user can mend and knows how.
    pub(crate) fn refused(error: impl Hinted + Send + Sync + 'static) -> Self {
        let hint = error.hint();
        Self::usage(error).hint_if(hint)
    }

    /// What can be done about it, unless that is said already.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint.get_or_insert_with(|| hint.into());
        self
    }

    /// What can be done about it, where that is known.
    pub(crate) fn hint_if(self, hint: Option<impl Into<String>>) -> Self {
        match hint {
            Some(hint) => self.hint(hint),
            None => self,
        }
    }

    pub(crate) fn context(self, tried: impl Into<String>) -> Self {
        Self { error: self.error.context(tried.into()), ..self }
    }

    /// An answer that was no answer. `tried` says what was asked, as in "cannot submit the plan".
    pub(crate) fn status(tried: &str, status: &Status) -> Self {
        let (message, hint) = split_hint(status.message());
        let message = if message.is_empty() { status.code().description() } else { message };
        let failure = Self {
            exit: exit_of(status.code()),
            error: Error::msg(message.to_owned()).context(tried.to_owned()),
            hint: hint.map(str::to_owned),
        };
        match status.code() {
            Code::Unimplemented => failure
                .hint("the coordinator is of another release; use the same release of speedup everywhere"),
            Code::Unavailable => failure.hint("check whether the coordinator is running, and read its log"),
            _ => failure,
        }
    }

    /// Standard output could not be written.
    pub(crate) fn printing(error: io::Error) -> Self {
        Self::infrastructure(Error::new(error).context("cannot write to standard output"))
    }

    /// An answer that this release does not understand.
    pub(crate) fn malformed(tried: &str, error: speedup_proto::convert::Malformed) -> Self {
        Self::infrastructure(Error::new(error).context(tried.to_owned()))
            .hint("the coordinator is of another release; use the same release of speedup everywhere")
    }

    /// Prints it. Where a limit of the system was met, the hint and the exit code are those for that limit.
    pub(crate) fn tell(mut self, console: &Console) -> Exit {
        if let Some(remedy) = self.error.chain().find_map(|cause| remedy(&cause.to_string())) {
            (self.exit, self.hint) = (Exit::Infrastructure, Some(remedy.to_owned()));
        }
        console.talk(self.text(console));
        self.exit
    }

    fn text(&self, console: &Console) -> String {
        let mut text = format!("{} {}", console.err.alarm("error:"), self.error);
        for cause in self.error.chain().skip(1) {
            let _ = write!(text, "\n{} {cause}", console.err.strong("caused by:"));
        }
        if let Some(hint) = &self.hint {
            let _ = write!(text, "\n{} {hint}", console.err.strong("hint:"));
        }
        text
    }
}

/// What helps against an error that names a limit of the system, as errors of I/O and those of the store do.
fn remedy(error: &str) -> Option<&'static str> {
    let remedy = REMEDIES.iter().find(|(number, _)| {
        error.contains(&format!("(os error {number})")) || error.contains(&format!("Os {{ code: {number},"))
    });
    remedy.map(|(_, remedy)| *remedy)
}

/// A refusal is the user's to mend; everything else is the infrastructure's.
fn exit_of(code: Code) -> Exit {
    match code {
        Code::Ok => Exit::Done,
        Code::InvalidArgument
        | Code::FailedPrecondition
        | Code::NotFound
        | Code::AlreadyExists
        | Code::PermissionDenied
        | Code::Unauthenticated
        | Code::OutOfRange => Exit::Usage,
        Code::Cancelled
        | Code::Unknown
        | Code::DeadlineExceeded
        | Code::ResourceExhausted
        | Code::Aborted
        | Code::Unimplemented
        | Code::Internal
        | Code::Unavailable
        | Code::DataLoss => Exit::Infrastructure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(failure: &Failure) -> String {
        failure.text(&Console::plain())
    }

    #[test]
    fn a_refusal_is_told_with_its_hint_and_is_wrong_usage() {
        let status = Status::failed_precondition("too few hosts\nhint: start more");
        let failure = Failure::status("no submission", &status);
        assert_eq!(failure.exit, Exit::Usage);
        assert_eq!(told(&failure), "error: no submission\ncaused by: too few hosts\nhint: start more");
    }

    #[test]
    fn a_coordinator_that_is_gone_is_infrastructure_and_has_a_hint() {
        let failure = Failure::status("cannot list experiments", &Status::unavailable(""));
        assert_eq!(failure.exit, Exit::Infrastructure);
        assert!(told(&failure).contains("\nhint: "), "{}", told(&failure));
    }

    #[test]
    fn the_first_hint_stays() {
        let failure = Failure::usage(Error::msg("no")).hint("first").hint("second");
        assert_eq!(failure.hint.as_deref(), Some("first"));
    }
}
