//! Why a command could not be started.

use std::{io, path::PathBuf};

/// The command did not start. Nothing of it is left.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    #[error("cannot run an empty command")]
    Empty,
    /// The kernel takes strings that end at their first NUL byte, and variables named without `=`.
    #[error("cannot pass {what} to the program: {reason}")]
    Unpassable {
        /// The argument or variable, as far as it can be shown.
        what: String,
        reason: &'static str,
    },
    #[error("cannot run {}: there is no such program", .program.display())]
    NotFound {
        /// The program as named in the command.
        program: PathBuf,
    },
    #[error("cannot run {}: not executable", .program.display())]
    NotExecutable { program: PathBuf, source: io::Error },
    /// The file is there; the interpreter or loader that it names is not.
    #[error("cannot run {}: the interpreter it names is missing", .program.display())]
    Interpreter { program: PathBuf, source: io::Error },
    #[error("cannot run {}: neither a program for this machine nor a script with a #! line", .program.display())]
    Format { program: PathBuf, source: io::Error },
    #[error("cannot run in the directory {}", .directory.display())]
    Directory { directory: PathBuf, source: io::Error },
    #[error("cannot run {}: the step {step:?} failed", .program.display())]
    Step { program: PathBuf, step: LaunchStep, source: io::Error },
    /// The agent lacks something on this host that has nothing to do with the command.
    #[error("the launcher could not {tried}")]
    Host { tried: &'static str, source: io::Error },
}

impl LaunchError {
    /// Whether it lies in the command: in what it names and in what the plan wants of the process that becomes it, not in what
    /// the launcher needs for any command.
    #[must_use]
    pub fn is_the_commands(&self) -> bool {
        match self {
            Self::Empty
            | Self::Unpassable { .. }
            | Self::NotFound { .. }
            | Self::NotExecutable { .. }
            | Self::Interpreter { .. }
            | Self::Format { .. }
            | Self::Directory { .. } => true,
            Self::Step { step, .. } => step.is_the_plans(),
            Self::Host { .. } => false,
        }
    }
}

speedup_core::hints! { LaunchError:
    Self::Empty => "name a program as the first word of the command",
    Self::NotFound { .. } =>
        "check the spelling; a name without a slash is looked up in the PATH of the command's environment",
    Self::NotExecutable { .. } => "chmod +x the file; check that its file system is not mounted noexec",
    Self::Interpreter { .. } =>
        "install what its #! line names, or the loader it was linked for (see `file`)",
    Self::Format { .. } => "build it for this machine, or begin the script with #!",
    Self::Directory { .. } =>
        "the directory must exist on every host and be open to the user of the programs",
    Self::Host { .. } => "the launcher needs Linux 5.4 or newer, a mounted /proc and free descriptors",
}

/// The steps of the child before it becomes the program, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum LaunchStep {
    /// The CPUs that it may use.
    Affinity = 1,
    Scheduler,
    Priority,
    /// Randomisation of its address space.
    AddressSpace,
    ResourceLimits,
    User,
    /// Asking to die with the agent; fails if the agent is already gone.
    Leash,
    /// A process group of its own.
    Group,
    /// The limit that marks it and its descendants.
    Mark,
    Privileges,
    Directory,
    Streams,
    /// `execve`.
    Exec,
    /// Becoming the trampoline; the launcher then does without.
    Trampoline,
}

impl LaunchStep {
    /// Whether the plan's environment asks for it; the others are taken for every command.
    const fn is_the_plans(self) -> bool {
        match self {
            Self::Affinity
            | Self::Scheduler
            | Self::Priority
            | Self::AddressSpace
            | Self::ResourceLimits
            | Self::Directory
            | Self::Exec => true,
            Self::User
            | Self::Leash
            | Self::Group
            | Self::Mark
            | Self::Privileges
            | Self::Streams
            | Self::Trampoline => false,
        }
    }

    pub(super) fn from_code(code: u8) -> Option<Self> {
        [
            Self::Affinity,
            Self::Scheduler,
            Self::Priority,
            Self::AddressSpace,
            Self::ResourceLimits,
            Self::User,
            Self::Leash,
            Self::Group,
            Self::Mark,
            Self::Privileges,
            Self::Directory,
            Self::Streams,
            Self::Exec,
            Self::Trampoline,
        ]
        .into_iter()
        .find(|&step| step as u8 == code)
    }
}
