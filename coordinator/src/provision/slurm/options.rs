//! The options of `sbatch` that a user gives: everything but what makes a job one agent on one whole node.

use std::path::Path;

use rustix::fs::Access;
use thiserror::Error;

use crate::provision::engine::EngineError;

/// Most options: a command line that a person wrote has a few.
const MAX_OPTIONS: usize = 64;
const MAX_OPTION_BYTES: usize = 4_096;
/// What is ours to say, long and short.
const OURS: [(&str, Option<&str>); 11] = [
    ("--array", Some("-a")),
    ("--comment", None),
    ("--help", Some("-h")),
    ("--hold", Some("-H")),
    ("--job-name", Some("-J")),
    ("--nodes", Some("-N")),
    ("--ntasks", Some("-n")),
    ("--parsable", None),
    ("--test-only", None),
    ("--wait", Some("-W")),
    ("--wrap", None),
];

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum OptionsError {
    #[error("{0} is set by Speedup: a job is one agent on a whole node, and its name says whose it is")]
    Ours(String),
    #[error("{0} comes last, but needs a value")]
    NoValue(String),
    #[error("at most {MAX_OPTIONS} options of {MAX_OPTION_BYTES} bytes each are allowed")]
    TooMany,
    #[error("option {0:?} holds a control character")]
    Character(String),
    /// The list would begin with the script.
    #[error("{0:?} is not an option: options of sbatch start with - and come after --")]
    NoOption(String),
}

/// That options are within bounds, whatever they say.
pub(crate) fn checked(given: &[String]) -> Result<(), OptionsError> {
    if given.len() > MAX_OPTIONS || given.iter().any(|word| word.len() > MAX_OPTION_BYTES) {
        return Err(OptionsError::TooMany);
    }
    match given.iter().find(|word| word.chars().any(char::is_control)) {
        Some(word) => Err(OptionsError::Character(word.clone())),
        None => Ok(()),
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SlurmOptions {
    /// Without the nodes that are excluded.
    words: Vec<String>,
    excluded: String,
}

impl SlurmOptions {
    pub(crate) fn parse(given: Vec<String>) -> Result<Self, OptionsError> {
        checked(&given)?;
        if let Some(first) = given.first().filter(|word| !word.starts_with('-')) {
            return Err(OptionsError::NoOption(first.clone()));
        }
        let mut words = Vec::new();
        let mut excluded = Vec::new();
        let mut rest = given.into_iter();
        while let Some(word) = rest.next() {
            if OURS.iter().any(|(long, short)| is_option(&word, long, *short)) {
                return Err(OptionsError::Ours(word));
            }
            if !is_option(&word, "--exclude", Some("-x")) {
                words.push(word);
                continue;
            }
            let value = match word.strip_prefix("--exclude=").or_else(|| word.strip_prefix("-x")) {
                Some(value) if !value.is_empty() => value.to_owned(),
                Some(_) | None => rest.next().ok_or(OptionsError::NoValue(word))?,
            };
            excluded.push(value);
        }
        Ok(Self { words, excluded: excluded.join(",") })
    }

    /// The options, without the nodes that are excluded.
    pub(super) fn words(&self) -> &[String] {
        &self.words
    }

    /// The nodes that the user excludes, as a hostlist.
    pub(super) fn excluded(&self) -> &str {
        &self.excluded
    }

    /// Whether they say where a job prints.
    pub(super) fn say_output(&self) -> bool {
        self.words
            .iter()
            .any(|word| is_option(word, "--output", Some("-o")) || is_option(word, "--error", Some("-e")))
    }

    /// The partition, where they name one.
    pub(crate) fn partition(&self) -> Option<&str> {
        self.value("--partition", "-p")
    }

    /// The value of an option, where there is one. Slurm goes by the last.
    fn value(&self, long: &str, short: &str) -> Option<&str> {
        let mut found = None;
        for (at, word) in self.words.iter().enumerate() {
            let value = match word.strip_prefix(long) {
                Some("") => Some(""),
                Some(rest) => rest.strip_prefix('='),
                None if word.starts_with("--") => None,
                None => word.strip_prefix(short),
            };
            found = match value {
                Some("") => self.words.get(at + 1).map(String::as_str),
                Some(value) => Some(value),
                None => found,
            };
        }
        found
    }

    /// Checks that the directories are there in which jobs begin and print, on this machine, which has a disk in common with the nodes: a
    /// job without them ends without a word.
    pub(super) fn check_directories(&self) -> Result<(), EngineError> {
        let refused =
            |option, path: &Path, source| EngineError::Directory { option, path: path.to_owned(), source };
        let begins = Path::new(self.value("--chdir", "-D").unwrap_or("."));
        begins.metadata().map_err(|source| refused("--chdir", begins, source))?;
        for (option, short) in [("--output", "-o"), ("--error", "-e")] {
            let Some(file) = self.value(option, short) else { continue };
            // Before the first placeholder, which each job fills.
            let prefix = file.split('%').next().unwrap_or_default();
            let known = begins.join(prefix);
            let is_directory = prefix.is_empty() || prefix.ends_with('/');
            let directory = if is_directory { &known } else { known.parent().unwrap_or(begins) };
            // A job whose log cannot be written fails before it says why.
            let access = match known.metadata() {
                Ok(there) if !there.is_dir() => rustix::fs::access(&known, Access::WRITE_OK),
                Ok(_) | Err(_) => rustix::fs::access(directory, Access::WRITE_OK | Access::EXEC_OK),
            };
            access.map_err(|errno| refused(option, directory, errno.into()))?;
        }
        Ok(())
    }

    /// Whether they say how much memory a job gets.
    pub(super) fn says_memory(&self) -> bool {
        self.words.iter().any(|word| word.starts_with("--mem"))
    }
}

/// `--long`, `--long=…`, what begins like it (Slurm takes that for it), `-s`, `-s…`.
fn is_option(word: &str, long: &str, short: Option<&str>) -> bool {
    let name = word.split('=').next().unwrap_or_default();
    let is_long = name.starts_with("--") && name.len() > 2 && long.starts_with(name);
    is_long || !word.starts_with("--") && short.is_some_and(|short| word.starts_with(short))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<SlurmOptions, OptionsError> {
        SlurmOptions::parse(words.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn options_go_through_and_exclusions_are_gathered() {
        let options = parsed(&["-p", "main", "--exclude=a[1-2]", "-x", "b", "-xc", "--time=10"]).unwrap();
        assert_eq!(options.words(), ["-p", "main", "--time=10"]);
        assert_eq!(options.excluded(), "a[1-2],b,c");
        assert!(!options.says_memory() && parsed(&["--mem=4G"]).unwrap().says_memory());
        assert!(!options.say_output() && !parsed(&["--exclusive", "--overcommit"]).unwrap().say_output());
        for word in ["-o", "-o/tmp/log", "--output=log", "-e", "--error=log"] {
            assert!(parsed(&[word]).unwrap().say_output(), "{word}");
        }
    }

    #[test]
    fn directories_that_are_not_there_are_refused() {
        let made = tempfile::tempdir().unwrap();
        let made = made.path().to_str().unwrap();
        std::fs::create_dir(format!("{made}/logs")).unwrap();
        let check = |words: &[&str]| parsed(words).unwrap().check_directories();
        for file in ["logs/%j.log", "logs/%j/../x", "%j.log", "log", "./logs/of-%j", "/dev/null"] {
            assert!(check(&["-D", made, "-o", file]).is_ok(), "{file}");
        }
        let of_root = format!("--output={made}/logs/%j.log");
        assert!(check(&[&of_root]).is_ok(), "whatever its parents allow");
        for file in ["none/%j.log", "logs/none/%j", "none/of-%j"] {
            let refused = check(&["-D", made, "-e", file]).unwrap_err();
            assert!(
                matches!(&refused, EngineError::Directory { option: "--error", path, .. } if path.to_str().unwrap().contains("none"))
            );
        }
        let nowhere = format!("{made}/nowhere");
        let refused = check(&["--chdir", &nowhere]).unwrap_err();
        assert!(matches!(refused, EngineError::Directory { option: "--chdir", .. }), "{refused}");
    }

    #[test]
    fn the_partition_is_found_however_it_is_written() {
        for words in
            [&["-p", "main"][..], &["-pmain"], &["--partition=main"], &["-pa", "--partition", "main"]]
        {
            assert_eq!(parsed(words).unwrap().partition(), Some("main"), "{words:?}");
        }
        assert_eq!(parsed(&["--time=10"]).unwrap().partition(), None);
    }

    #[test]
    fn what_makes_the_job_ours_is_refused() {
        for word in ["--array=1-3", "-a1-3", "-N2", "--nodes", "-J", "--wrap=true", "--hold", "-W", "--arr=3"]
        {
            assert_eq!(parsed(&["-p", "main", word]), Err(OptionsError::Ours(word.to_owned())));
        }
        assert!(
            parsed(&["--nodefile=x", "--nodelist=n1", "--ntasks-per-core=1"]).is_ok(),
            "only the same word"
        );
    }

    #[test]
    fn what_is_no_option_is_refused() {
        assert_eq!(parsed(&["main"]), Err(OptionsError::NoOption("main".to_owned())));
        assert_eq!(parsed(&["--exclude"]), Err(OptionsError::NoValue("--exclude".to_owned())));
        assert_eq!(parsed(&["-p", "a\nb"]), Err(OptionsError::Character("a\nb".to_owned())));
        assert_eq!(parsed(&vec!["-k"; 65]), Err(OptionsError::TooMany));
    }
}
