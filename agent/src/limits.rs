//! The owner's limits: what plans may do on this host, whatever they say. A run that they forbid a part of is not executed,
//! and the reason names the limit.
//!
//! They bound what the agent starts, where, and with which settings; not what a program does once it runs.

use std::{
    collections::BTreeMap, ffi::OsStr, ffi::OsString, fs::File, io, io::Read as _,
    os::unix::fs::PermissionsExt as _, path::Path, path::PathBuf,
};

use serde::Deserialize;
use speedup_core::experiment::environment::Setting;
use speedup_core::experiment::files::FileSource;
use speedup_core::experiment::software::{Software, SoftwarePart};
use speedup_core::run::work::WorkOrder;
use thiserror::Error;

use crate::launch::{LaunchCommand, program_of};

/// Most bytes of the file: more than a thousand paths.
const MAX_FILE_BYTES: u64 = 64 << 10;
/// What a refusal begins with. Coordinators that know of owners' limits, and of no field for them, tell them by it.
const WORDS: &str = "the owner of this host does not allow it: ";
/// What stands for all settings that reach beyond the program's own process image.
const HOST_SETTINGS: &str = "host_settings";
/// Variables by which others' code comes into any program: those that the C library ignores in programs with the rights of
/// another user (ld.so(8), secure-execution mode), and all others of the dynamic linker.
const LINKER: &[u8] = b"LD_";
/// See [`LINKER`]. `TMPDIR` is the agent's own.
const UNSAFE_VARIABLES: [&str; 12] = [
    "GCONV_PATH",
    "GETCONF_DIR",
    "GLIBC_TUNABLES",
    "HOSTALIASES",
    "LOCALDOMAIN",
    "LOCPATH",
    "MALLOC_TRACE",
    "NIS_PATH",
    "NLSPATH",
    "RESOLV_HOST_CONF",
    "RES_OPTIONS",
    "TZDIR",
];

/// What the owner of this host lets plans do. By default everything.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    file: PathBuf,
    commands: Option<Vec<Allowed>>,
    directories: Option<Vec<PathBuf>>,
    forbidden: Vec<Setting>,
    /// Of the software, where commands are limited.
    software: Vec<SoftwarePart>,
}

/// Why a file of limits cannot be used.
#[derive(Debug, Error)]
pub enum LimitsError {
    #[error("cannot read the limits in {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} is larger than {MAX_FILE_BYTES} bytes", path.display())]
    TooLarge { path: PathBuf },
    /// Whoever can write to it sets the limits.
    #[error("{} may be changed by others: its mode is {mode:03o}", path.display())]
    Open { path: PathBuf, mode: u32 },
    #[error("{} has no valid limits", path.display())]
    Content { path: PathBuf, source: Box<toml::de::Error> },
}

speedup_core::hints! { LimitsError:
    Self::Read { .. } => "look at name, owner and permissions of the file given by --limits",
    Self::TooLarge { .. } => "list directories instead of the files in them",
    Self::Open { .. } => "`chmod go-w` the file, and see that it says what you want",
    Self::Content { .. } => "the keys are commands, directories, forbid and software: see docs/agent.md",
}

/// Why something of a run may not be done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotAllowed {
    /// By the owner's will, in words.
    Refused(String),
    /// What is to be judged is not there; in words.
    NotThere(String),
}

impl Limits {
    /// Those in a file. What it names has to be there: a limit that is misspelt is none.
    pub(crate) fn read(path: &Path) -> Result<Self, LimitsError> {
        let failed = |source| LimitsError::Read { path: path.to_owned(), source };
        let file = File::open(path).map_err(failed)?;
        let mode = file.metadata().map_err(failed)?.permissions().mode() & 0o777;
        if mode & 0o022 != 0 {
            return Err(LimitsError::Open { path: path.to_owned(), mode });
        }
        let mut text = String::new();
        file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text).map_err(failed)?;
        if text.len() as u64 > MAX_FILE_BYTES {
            return Err(LimitsError::TooLarge { path: path.to_owned() });
        }
        let content = |source| LimitsError::Content { path: path.to_owned(), source: Box::new(source) };
        let Written { commands, directories, forbid, software } = toml::from_str(&text).map_err(content)?;
        Ok(Self {
            file: path.to_owned(),
            commands,
            directories: directories.map(|all| all.into_iter().map(|Directory(real)| real).collect()),
            forbidden: forbid.into_iter().flat_map(|Forbidden(settings)| settings).collect(),
            software: software.into_iter().map(|Part(part)| part).collect(),
        })
    }

    /// What can be judged before the files of a run are made ready: its settings, and the shared files that it has read.
    pub(crate) fn check_order(&self, order: &WorkOrder) -> Result<(), NotAllowed> {
        let asked = order.environment.asked();
        if let Some(setting) = asked.iter().find(|setting| self.forbidden.contains(setting)) {
            return Err(self.refused("forbid", &format!("takes the setting {} from plans", setting.name())));
        }
        for software in
            [Some(&order.environment.software), order.common_software.as_ref()].into_iter().flatten()
        {
            self.check_software(software)?;
        }
        for file in &order.files {
            match &file.source {
                FileSource::Shared { path, .. } => {
                    self.check_below(Path::new(path), &format!("the shared file {path}"), None)?;
                }
                FileSource::Content(_) => {}
            }
        }
        Ok(())
    }

    /// Modules, Spack, a prologue and a container execute what no list of commands names, so where there is such a list they
    /// need a word of their own. A module by its path would be whatever lies there.
    fn check_software(&self, software: &Software) -> Result<(), NotAllowed> {
        if self.commands.is_none() {
            return Ok(());
        }
        if let Some(part) = software.parts().find(|part| !self.software.contains(part)) {
            let words =
                format!("is of no use with the {} of the plan, which `software` does not list", part.name());
            return Err(self.refused("commands", &words));
        }
        let is_path = |name: &&String| {
            name.starts_with(['/', '.', '~'])
                || name.contains('{')
                || name.split('/').any(|part| part == "..")
        };
        match software.modules.iter().find(is_path) {
            None => Ok(()),
            Some(name) => {
                let words = format!("allows modules by their names, and {name} is a path or a placeholder");
                Err(self.refused("software", &words))
            }
        }
    }

    /// Judges a command as it would be executed now: the file that its program is, through all links, where it stands, and its
    /// variables, but for those that software has `made`. It may always stand below `own`.
    pub(crate) fn check(
        &self,
        what: &str,
        command: &LaunchCommand,
        made: Option<&BTreeMap<String, String>>,
        own: &Path,
    ) -> Result<(), NotAllowed> {
        let directory = &command.directory;
        self.check_below(directory, &format!("the directory {} of {what}", directory.display()), Some(own))?;
        let Some(allowed) = &self.commands else { return Ok(()) };
        let is_made = |name: &OsStr, value: &OsStr| {
            let made = made.zip(name.to_str()).and_then(|(made, name)| made.get(name));
            made.is_some_and(|made| value == made.as_str())
        };
        let brings_in = |(name, value): &&(OsString, OsString)| is_unsafe(name) && !is_made(name, value);
        if let Some((name, _)) = command.env.iter().find(brings_in) {
            let name = name.to_string_lossy();
            let words =
                format!("is of no use with the variable {name} of {what}, which brings in other code");
            return Err(self.refused("commands", &words));
        }
        let not_there = |error: &dyn std::error::Error| {
            let name = command.argv.first().map(|name| name.to_string_lossy()).unwrap_or_default();
            NotAllowed::NotThere(format!("{what} was not executed: cannot find its program {name}: {error}"))
        };
        let program = program_of(command).map_err(|error| not_there(&error))?;
        let real = program.canonicalize().map_err(|error| not_there(&error))?;
        if allowed.iter().any(|allowed| allowed.covers(&program, &real)) {
            return Ok(());
        }
        let is = if real == program { String::new() } else { format!(", which is {},", real.display()) };
        let words = format!("does not list the program {}{is} of {what}", program.display());
        Err(self.refused("commands", &words))
    }

    fn check_below(&self, path: &Path, what: &str, own: Option<&Path>) -> Result<(), NotAllowed> {
        let Some(allowed) = &self.directories else { return Ok(()) };
        let real = path
            .canonicalize()
            .map_err(|error| NotAllowed::NotThere(format!("cannot find {what}: {error}")))?;
        let mut all = allowed.iter().map(PathBuf::as_path).chain(own);
        if all.any(|directory| real.starts_with(directory)) {
            return Ok(());
        }
        let is = if real == path { String::new() } else { format!(", which is {}", real.display()) };
        Err(self.refused("directories", &format!("lists no directory above {what}{is}")))
    }

    fn refused(&self, key: &str, words: &str) -> NotAllowed {
        NotAllowed::Refused(format!("{WORDS}`{key}` of {} {words}", self.file.display()))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    commands: Option<Vec<Allowed>>,
    directories: Option<Vec<Directory>>,
    #[serde(default)]
    forbid: Vec<Forbidden>,
    #[serde(default)]
    software: Vec<Part>,
}

/// What may be executed.
#[derive(Debug, Deserialize)]
#[serde(try_from = "PathBuf")]
enum Allowed {
    /// One program, by the name under which it is listed: many a program is several, and asks by which name it was called.
    Program { real: PathBuf, name: OsString },
    /// All below this directory.
    Below(PathBuf),
}

impl Allowed {
    fn covers(&self, called: &Path, real: &Path) -> bool {
        match self {
            Self::Program { real: own, name } => real == own && called.file_name() == Some(name),
            Self::Below(directory) => real.starts_with(directory),
        }
    }
}

impl TryFrom<PathBuf> for Allowed {
    type Error = String;

    fn try_from(path: PathBuf) -> Result<Self, String> {
        let real = real(&path)?;
        match path.file_name() {
            Some(name) if !real.is_dir() => Ok(Self::Program { real, name: name.to_owned() }),
            Some(_) | None => Ok(Self::Below(real)),
        }
    }
}

/// A directory below which plans may work and read.
#[derive(Deserialize)]
#[serde(try_from = "PathBuf")]
struct Directory(PathBuf);

impl TryFrom<PathBuf> for Directory {
    type Error = String;

    fn try_from(path: PathBuf) -> Result<Self, String> {
        let real = real(&path)?;
        if real.is_dir() { Ok(Self(real)) } else { Err(format!("{} is no directory", path.display())) }
    }
}

/// Settings that plans may not ask for.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Forbidden(Vec<Setting>);

impl TryFrom<String> for Forbidden {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        if name == HOST_SETTINGS {
            return Ok(Self(Setting::ALL.into_iter().filter(|setting| is_of_host(*setting)).collect()));
        }
        let setting = Setting::ALL.into_iter().find(|setting| setting.name() == name);
        setting.map(|setting| Self(vec![setting])).ok_or_else(|| {
            let names = Setting::ALL.map(Setting::name).join(", ");
            format!("there is no setting {name:?}; there are {HOST_SETTINGS}, {names}")
        })
    }
}

/// A part of the software that plans may have prepared where commands are limited.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Part(SoftwarePart);

impl TryFrom<String> for Part {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let part = SoftwarePart::ALL.into_iter().find(|part| part.name() == name);
        part.map(Self).ok_or_else(|| {
            let names = SoftwarePart::ALL.map(SoftwarePart::name).join(", ");
            format!("there is no part {name:?} of the software; there are {names}")
        })
    }
}

/// Whether a setting takes from others, or changes what the host decides: CPUs, their frequency, memory and its layout.
fn is_of_host(setting: Setting) -> bool {
    match setting {
        Setting::Cpus
        | Setting::Housekeeping
        | Setting::Nice
        | Setting::Scheduler
        | Setting::Aslr
        | Setting::PageCache
        | Setting::HugePages
        | Setting::Governor
        | Setting::Turbo => true,
        Setting::EnvSize | Setting::Limits | Setting::DirectoryLength | Setting::Software => false,
    }
}

fn is_unsafe(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(LINKER) || UNSAFE_VARIABLES.iter().any(|known| name == *known)
}

fn real(path: &Path) -> Result<PathBuf, String> {
    if !path.is_absolute() {
        return Err(format!("{} is not an absolute path", path.display()));
    }
    path.canonicalize().map_err(|error| format!("cannot find {}: {error}", path.display()))
}

#[cfg(test)]
mod tests;
