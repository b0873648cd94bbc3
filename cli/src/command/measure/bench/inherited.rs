//! What the commands see of this shell's environment. It is part of the plan, so it is kept with what was measured: what looks
//! like a secret stays out of both.

use std::{collections::BTreeMap, ffi::OsString};

use anyhow::anyhow;
use speedup_core::experiment::MAX_VAR_BYTES;

use crate::exit::failure::Failure;

/// Parts of names that tell of a secret, in capital letters.
const SECRET_PARTS: [&str; 9] =
    ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "COOKIE", "API_KEY", "APIKEY"];
const SECRET_ENDS: [&str; 4] = ["_KEY", "_PAT", "_AUTH", "_PASS"];
/// What a shell sets to the path of the program that it starts: of ours, not of the commands.
const OF_THIS_PROGRAM: &str = "_";

/// The environment of the commands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CommandEnvironment {
    pub(super) variables: BTreeMap<String, String>,
    /// The names of what they do not see, as it looks like a secret or cannot stand in a plan.
    pub(super) withheld: Vec<String>,
}

impl CommandEnvironment {
    /// Of the variables of a shell those that are fit to be kept, unless the environment is to be clean; and what the user names.
    pub(super) fn new(
        shell: impl IntoIterator<Item = (OsString, OsString)>,
        is_clean: bool,
        named: &[String],
    ) -> Result<Self, Failure> {
        let shell: BTreeMap<OsString, OsString> = shell.into_iter().collect();
        let mut inherited = Self::default();
        let named: Result<BTreeMap<String, String>, Failure> =
            named.iter().map(|text| given(text, &shell)).collect();
        let named = named?;
        if is_clean {
            inherited.variables = named;
            return Ok(inherited);
        }
        for (name, value) in &shell {
            let name = name.to_string_lossy();
            if name == OF_THIS_PROGRAM || named.contains_key(&*name) {
                continue;
            }
            match value.to_str().filter(|value| is_fit(&name, value)) {
                Some(value) => {
                    inherited.variables.insert(name.into_owned(), value.to_owned());
                }
                None => inherited.withheld.push(name.into_owned()),
            }
        }
        inherited.variables.extend(named);
        Ok(inherited)
    }
}

/// What `--env` names: a value, or the one of the shell.
fn given(text: &str, shell: &BTreeMap<OsString, OsString>) -> Result<(String, String), Failure> {
    if let Some((name, value)) = text.split_once('=') {
        return Ok((name.to_owned(), value.to_owned()));
    }
    let value = shell.get(&OsString::from(text)).and_then(|value| value.to_str()).ok_or_else(|| {
        Failure::usage(anyhow!("this shell has no variable {text}, or its value is not UTF-8"))
            .hint("give the value: --env NAME=VALUE")
    })?;
    Ok((text.to_owned(), value.to_owned()))
}

/// Whether a variable can stand in a plan, and may.
fn is_fit(name: &str, value: &str) -> bool {
    let can =
        !name.is_empty() && !name.contains(|c: char| c.is_control() || c == char::REPLACEMENT_CHARACTER);
    can && value.len() <= MAX_VAR_BYTES && !is_secret(name, value)
}

fn is_secret(name: &str, value: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let by_name = SECRET_PARTS.iter().any(|part| name.contains(part))
        || SECRET_ENDS.iter().any(|end| name.ends_with(end));
    // An address with a password: scheme://user:password@host.
    let authorities = value.split("://").skip(1).filter_map(|rest| rest.split(['/', ' ']).next());
    let by_value =
        authorities.filter_map(|authority| authority.rsplit_once('@')).any(|(user, _)| user.contains(':'));
    by_name || by_value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str)], is_clean: bool, named: &[&str]) -> CommandEnvironment {
        let shell = pairs.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let named: Vec<String> = named.iter().map(|text| (*text).to_owned()).collect();
        CommandEnvironment::new(shell, is_clean, &named).unwrap()
    }

    #[test]
    fn the_environment_is_inherited_and_secrets_are_not_unless_named() {
        let long = "x".repeat(MAX_VAR_BYTES + 1);
        let shell = [
            ("OMP_NUM_THREADS", "1"),
            ("PATH", "/bin"),
            ("_", "/bin/speedup"),
            ("GITHUB_TOKEN", "t"),
            ("AWS_SECRET_ACCESS_KEY", "k"),
            ("DATABASE_URL", "postgres://me:word@host/db"),
            ("HOMEPAGE", "https://example.org/a:b@c"),
            ("LONG", &long),
            ("KEYBOARD", "de"),
        ];
        let inherited = of(&shell, false, &["GITHUB_TOKEN", "A=b=c"]);
        let names: Vec<&str> = inherited.variables.keys().map(String::as_str).collect();
        assert_eq!(names, ["A", "GITHUB_TOKEN", "HOMEPAGE", "KEYBOARD", "OMP_NUM_THREADS", "PATH"]);
        assert_eq!(inherited.variables["A"], "b=c");
        assert_eq!(inherited.withheld, ["AWS_SECRET_ACCESS_KEY", "DATABASE_URL", "LONG"]);
        let clean = of(&shell, true, &["PATH"]);
        assert_eq!(clean.variables.into_keys().collect::<Vec<_>>(), ["PATH"]);
        assert!(CommandEnvironment::new([], false, &["NONE".to_owned()]).is_err());
    }
}
