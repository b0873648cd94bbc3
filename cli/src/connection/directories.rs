//! Where state lies when nobody says otherwise: `$XDG_STATE_HOME/speedup`, or `~/.local/state/speedup`.

use std::path::{Path, PathBuf};

use anyhow::anyhow;

use crate::exit::failure::Failure;

/// Local commands that measure at the same time. Already two disturb each other.
const MOST_LOCAL: usize = 8;

/// A place below the state directory, unless `chosen`.
pub(crate) fn or_state(chosen: Option<&Path>, name: &str) -> Result<PathBuf, Failure> {
    match chosen {
        Some(chosen) => Ok(chosen.to_owned()),
        None => state().map(|state| state.join(name)),
    }
}

/// The directories in which local commands keep what they measure: each has one for itself as long as it measures, and all
/// but the first are there only because several measured at the same time.
pub(crate) fn locals() -> Result<Vec<PathBuf>, Failure> {
    let name = |number| if number == 1 { "local".to_owned() } else { format!("local-{number}") };
    state().map(|state| (1..=MOST_LOCAL).map(|number| state.join(name(number))).collect())
}

fn state() -> Result<PathBuf, Failure> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    below(variable("XDG_STATE_HOME"), variable("HOME")).ok_or_else(|| {
        Failure::usage(anyhow!("there is no directory for state: neither XDG_STATE_HOME nor HOME is set"))
            .hint("set XDG_STATE_HOME, or name the places with --data, --state and --access-file")
    })
}

/// The XDG specification ignores paths that are not absolute.
fn below(state_home: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    let absolute = |path: &PathBuf| path.is_absolute();
    let home = || home.filter(absolute).map(|home| home.join(".local/state"));
    state_home.filter(absolute).or_else(home).map(|state| state.join("speedup"))
}

/// Whether `text` is a valid file name everywhere, and not a path: what users name becomes a file below the state
/// directory.
pub(crate) fn is_file_name(text: &str, max_chars: usize) -> bool {
    let is_usual = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let begins = text.chars().next().is_some_and(|first| first.is_ascii_alphanumeric());
    begins && text.len() <= max_chars && text.chars().all(is_usual)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_home_goes_first_and_has_to_be_absolute() {
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(below(path("/state"), path("/home/a")), path("/state/speedup"));
        assert_eq!(below(path("relative"), path("/home/a")), path("/home/a/.local/state/speedup"));
        assert_eq!(below(None, None), None);
    }
}
