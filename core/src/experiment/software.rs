//! The software of a run: the environment variables that a prologue, environment modules and Spack make in a shell, and the
//! container in which the program is executed. All of it is prepared before the clock starts; what came of it is recorded with
//! the run ([`crate::run::software`]).
//!
//! It is part of [`super::environment::Environment`], and a version may have its own.

mod check;

use serde::{Deserialize, Serialize};

use crate::experiment::files::{self, ContentHash};
use crate::experiment::template::placeholders;
use crate::value::time::Span;

/// Most modules, and most specs of Spack, of one environment: each is a command of the shell.
pub const MAX_NAMES: usize = 64;
/// Longest name of a module, spec of Spack, or image: a path at most, as Linux has them.
pub const MAX_NAME_BYTES: usize = 4_096;
/// Longest prologue: it is an argument of the shell, and Linux takes none of 128 KiB.
pub(crate) const MAX_PROLOGUE_BYTES: usize = 64 << 10;
/// Most words of a container's commands: launchers have some dozens of options.
pub const MAX_WORDS: usize = 256;
/// What the software may take to be prepared, where the plan does not say: a module tree on a busy file server needs seconds.
pub const USUAL_TIMEOUT: Span = Span::from_secs(120);
/// The program that is tried in a container before the first run, where the plan names none.
pub(crate) const USUAL_PROBE: &str = "true";
/// The placeholder for the image in the command of a container.
pub const IMAGE: &str = "image";
/// The placeholder for the directory in which the program stands, in the command of a container.
pub const WORK: &str = "work";
/// The placeholder for the directory that contains all of the host's that a run may use: its input, files and working
/// directory; in the command of a container.
pub const SCRATCH: &str = "scratch";

/// What of the software is prepared, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Software {
    /// A script that the shell executes first; placeholders are still in place.
    pub prologue: Option<String>,
    /// Environment modules, loaded in this order.
    pub modules: Vec<String>,
    /// An environment of Spack, activated after them.
    pub spack_environment: Option<String>,
    /// Specs of Spack, loaded last, in this order.
    pub spack: Vec<String>,
    /// In what the program is executed.
    pub container: Option<Container>,
    /// If the preparation lasts longer it has failed.
    pub timeout: Span,
    /// The hash that the prepared variables have to have, where the plan says one.
    pub blake3: Option<ContentHash>,
}

/// A container in which the program is executed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Container {
    /// The image: a file, or whatever the launcher knows it as. Placeholders are still in place.
    pub image: String,
    pub launcher: ContainerLauncher,
    /// A command whose first line of output identifies the image, where that is not a file.
    pub digest: Vec<String>,
    /// A program in the image that does nothing: it is tried before the first run. None is when empty.
    pub probe: Vec<String>,
}

/// What starts a program in a container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ContainerLauncher {
    /// `apptainer exec`.
    Apptainer,
    /// These words, before those of the program; placeholders are still in place.
    Words(Vec<String>),
}

crate::words! {
    /// A part of the software, as owners' limits and refusals name it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum SoftwarePart {
        Prologue = "prologue",
        Modules = "modules",
        Spack = "spack",
        Container = "container",
    }
    /// Its name, which is its key in `[environment]`.
    fn name;
    const ALL;
}

impl Default for Software {
    fn default() -> Self {
        Self {
            prologue: None,
            modules: Vec::new(),
            spack_environment: None,
            spack: Vec::new(),
            container: None,
            timeout: USUAL_TIMEOUT,
            blake3: None,
        }
    }
}

impl Software {
    /// The parts that there are, in their order.
    pub fn parts(&self) -> impl Iterator<Item = SoftwarePart> {
        SoftwarePart::ALL.into_iter().filter(|part| match part {
            SoftwarePart::Prologue => self.prologue.is_some(),
            SoftwarePart::Modules => !self.modules.is_empty(),
            SoftwarePart::Spack => !self.spack.is_empty() || self.spack_environment.is_some(),
            SoftwarePart::Container => self.container.is_some(),
        })
    }

    /// Whether a shell has to make variables.
    pub fn has_variables(&self) -> bool {
        self.parts().any(|part| part != SoftwarePart::Container)
    }

    /// Whether nothing is to be prepared.
    pub fn is_empty(&self) -> bool {
        self.parts().next().is_none()
    }

    /// The longest that its preparation may take on a host: of the shell, of the digest of an image, and of the probe.
    pub fn longest(&self) -> Span {
        let of_container = self.container.as_ref().map_or(0, |_| 2);
        self.timeout.times(u64::from(self.has_variables()) + of_container)
    }

    /// What of it can be made ready for commands that are the same for all versions: the variables, if nothing in them differs between
    /// versions or is made by the setup. Then they name no placeholders but those of staged files.
    pub fn common(&self) -> Option<Self> {
        if self.is_common() { Some(Self { container: None, ..self.clone() }) } else { None }
    }

    /// Whether there is such a part.
    pub(crate) fn is_common(&self) -> bool {
        let mut named = self.shell().flat_map(|text| placeholders(text));
        self.has_variables() && named.all(|name| name.starts_with(files::PREFIX))
    }

    /// The texts that the shell is given.
    fn shell(&self) -> impl Iterator<Item = &String> {
        self.prologue.iter().chain(&self.modules).chain(&self.spack_environment).chain(&self.spack)
    }

    /// The texts in which placeholders may stand.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let of_container = self.container.iter().flat_map(|container| {
            let launcher = match &container.launcher {
                ContainerLauncher::Apptainer => &[][..],
                ContainerLauncher::Words(words) => words,
            };
            let words = launcher.iter().chain(&container.digest).chain(&container.probe);
            [&container.image].into_iter().chain(words)
        });
        self.shell().chain(of_container).map(String::as_str)
    }
}

impl Container {
    /// The words that start a program in it, before the program's own; placeholders are still in place.
    pub fn words(&self) -> Vec<String> {
        /// Everything of the host that a run may use is at the same path inside, and the program stands where it would outside.
        const APPTAINER: [&str; 7] =
            ["apptainer", "exec", "--bind", "{scratch}", "--pwd", "{work}", "{image}"];
        match &self.launcher {
            ContainerLauncher::Apptainer => APPTAINER.map(str::to_owned).into(),
            ContainerLauncher::Words(words) => words.clone(),
        }
    }
}
