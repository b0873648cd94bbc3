//! Exit codes: what scripts may rely on.

pub(crate) mod failure;
pub(crate) mod standing;

speedup_core::words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Exit {
        /// All that was asked for was done.
        Done = "done",
        /// A run failed, an experiment was cancelled, hosts that were compared differ, or a regression was shown where that was
        /// asked for.
        Failed = "failed runs, a cancelled experiment, a difference, or a shown regression",
        /// Usage, an invalid plan, or something the coordinator refused.
        Usage = "invalid usage or plan, a refused request, or an agent without access",
        /// Undecided, where it was to be decided.
        Inconclusive = "undecided whether there is a regression (--require-conclusive)",
        Infrastructure = "coordinator or hosts lost, or runs that could not be executed",
        Interrupted = "interrupted by Ctrl-C",
        Terminated = "ended by SIGTERM",
    }
    fn meaning;
    const ALL;
}

impl Exit {
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Inconclusive => 3,
            Self::Infrastructure => 4,
            // 128 and the number of the signal, as shells say it: SIGINT and SIGTERM.
            Self::Interrupted => 130,
            Self::Terminated => 143,
        }
    }

    /// Whether a signal ended the command before its work was done.
    pub(crate) const fn is_by_signal(self) -> bool {
        matches!(self, Self::Interrupted | Self::Terminated)
    }
}

pub(crate) fn help() -> String {
    let codes = Exit::ALL.map(|exit| format!("\n  {:<4} {}", exit.code(), exit.meaning()));
    format!("Exit codes:{}", codes.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_that_scripts_know() {
        assert_eq!(Exit::ALL.map(Exit::code), [0, 1, 2, 3, 4, 130, 143]);
        assert!(help().ends_with("\n  143  ended by SIGTERM"), "{}", help());
    }
}
