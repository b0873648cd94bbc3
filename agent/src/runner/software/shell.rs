//! The shell that makes the variables. It is a login shell, because that is how a site gives its users the commands `module`
//! and `spack` (`/etc/profile`), in an empty home directory, so that nobody's own files come in. It gets none of the plan's
//! variables: those are the program's, and stronger.

use std::{collections::BTreeMap, path::Path};

use speedup_core::experiment::software::Software;
use speedup_core::run::software::{MAX_VARIABLES, MAX_VARIABLES_BYTES};
use speedup_core::run::work::WorkOrder;
use speedup_core::value::excerpt::legible;
use speedup_core::value::time::Span;

use super::resolved;
use crate::launch::{End, Execution, Preparation, Sink};
use crate::runner::variables::variables;
use crate::runner::{NotExecuted, RunExecution, command, cut, interrupted, not_launched};

/// What the shell executes. Its arguments are the prologue and then, by twos, what is to be loaded: how, and its name. Standard
/// output tells, each with a final zero, what is done next, so that a failure has a name, and then the variables; whatever
/// the commands print goes to standard error. That a module was loaded is seen by the list of those that are: old
/// releases of Modules, and Lmod that cannot start, report success whatever happens. The array outlives a prologue that sets arguments of its own.
const SCRIPT: &str = r#"
exec 3>&1 1>&2
declare -a speedup_wanted=("$@")
need() {
    type -t "$1" >/dev/null && return
    echo "a login shell on this host has no command \`$1\`; the prologue can define it" >&2
    exit 127
}
builtin printf 'the prologue\0' >&3
eval "${speedup_wanted[0]}" 3>&- || exit
for ((speedup_next = 1; speedup_next < ${#speedup_wanted[@]}; speedup_next += 2)); do
    speedup_how=${speedup_wanted[speedup_next]} speedup_name=${speedup_wanted[speedup_next + 1]}
    builtin printf '`%s %s`\0' "$speedup_how" "$speedup_name" >&3
    case $speedup_how in
        'module load')
            need module
            speedup_before=${LOADEDMODULES-}
            module load "$speedup_name" 3>&- || exit
            [[ ${LOADEDMODULES-} != "$speedup_before" || :${LOADEDMODULES-}: == *:"$speedup_name"[:/]* ]] || {
                echo "it is not among the loaded modules afterwards: ${LOADEDMODULES-}" >&2
                exit 1
            }
            ;;
        'spack env activate') need spack; spack env activate "$speedup_name" 3>&- || exit ;;
        'spack load') need spack; spack load "$speedup_name" 3>&- || exit ;;
    esac
done
unset -f need
builtin printf '\0' >&3
exec /usr/bin/env -0 >&3
"#;
/// The shell. Modules and Spack know it, and so do users' scripts.
pub(super) const SHELL: &str = "bash";
/// What the shell may write to standard output: its variables and the names of its steps.
const MOST_TOLD: usize = MAX_VARIABLES_BYTES + (64 << 10);
/// What is kept of standard error, to say why it failed; the end of a long one is what counts, so more is captured.
const MOST_WORDS: usize = 64 << 10;
/// What each stream may hold: a script may print what it does.
const LIMIT: u64 = 16 << 20;
/// Variables that are the shell's own, or that would make a shell of the program load all of it again within the clock.
const OF_SHELL: [&str; 7] = ["_", "PWD", "OLDPWD", "SHLVL", "BASH_ENV", "HOSTNAME", "HOST"];
/// The same by their beginnings: functions of the shell, and what Lmod remembers, with times and places of its caches.
const OF_SHELL_BEGIN: [&str; 3] = ["BASH_FUNC_", "_ModuleTable", "__LMOD_REF_COUNT_"];

pub(super) fn arguments(
    order: &WorkOrder,
    software: &Software,
    input: &str,
) -> Result<Vec<String>, NotExecuted> {
    let Software { prologue, modules, spack_environment, spack, .. } = software;
    let own = BTreeMap::new();
    let expanded = |text: &String| {
        order.expand(text, input, &own).map_err(|error| NotExecuted::through_plan(error.to_string()))
    };
    let mut arguments = vec![prologue.as_ref().map(expanded).transpose()?.unwrap_or_default()];
    let modules = modules.iter().map(|name| ("module load", name));
    let environment = spack_environment.iter().map(|name| ("spack env activate", name));
    let specs = spack.iter().map(|name| ("spack load", name));
    for (how, name) in modules.chain(environment).chain(specs) {
        arguments.extend([how.to_owned(), expanded(name)?]);
    }
    Ok(arguments)
}

pub(super) fn words(arguments: &[String]) -> Vec<String> {
    let own = [SHELL, "--login", "-c", SCRIPT, "speedup"].map(str::to_owned);
    own.into_iter().chain(arguments.iter().cloned()).collect()
}

impl RunExecution<'_> {
    /// Executes the shell; the variables that it leaves, and how long it took.
    pub(super) fn shell(
        &mut self,
        arguments: &[String],
        home: &Path,
        timeout: Span,
    ) -> Result<(BTreeMap<String, String>, u64), NotExecuted> {
        let what = "the preparation of the software";
        let user = self.runner.surroundings.user().cloned();
        let preparation = Preparation { user, ..Preparation::default() };
        let shell = resolved(words(arguments));
        let sink = |keep| Sink::Capture { limit: LIMIT, keep };
        let env = variables(&shell, home, None);
        let mut command = command(&shell, env, home, timeout, sink(MOST_WORDS), preparation);
        command.stdout = sink(MOST_TOLD);
        // That it is executed at all, the owner has allowed by the parts of the software: `Limits::check_order`.
        let executed = self.runner.launcher.execute(&command, self.stop);
        let execution = executed.map_err(|error| not_launched(what, &error))?;
        let told = execution.stdout.as_ref().map(|output| output.head.as_slice()).unwrap_or_default();
        let (steps, variables) = told_of(told);
        if execution.end != End::Exited(0) && self.is_cut_off(&execution.end) {
            return Err(interrupted());
        }
        match (execution.end, variables) {
            (End::Exited(0), Some(told)) => Ok((read(told)?, execution.wall_ns)),
            (End::Interrupted { .. }, _) => Err(interrupted()),
            (end, _) => {
                let step = steps.last().map_or("the login shell", |step| step.as_str());
                Err(NotExecuted::through_plan(cut(failed(step, end, timeout, &execution))))
            }
        }
    }
}

/// The steps that the shell has begun, and the text of its variables if it has come to them.
fn told_of(told: &[u8]) -> (Vec<String>, Option<&[u8]>) {
    let mut steps = Vec::new();
    let mut rest = told;
    while let Some(end) = rest.iter().position(|byte| *byte == 0) {
        let step = &rest[..end];
        rest = &rest[end + 1..];
        if step.is_empty() {
            return (steps, Some(rest));
        }
        steps.push(String::from_utf8_lossy(step).into_owned());
    }
    (steps, None)
}

/// Why a step failed, in the words of its tool.
fn failed(step: &str, end: End, timeout: Span, execution: &Execution) -> String {
    let how = match end {
        End::Exited(0) => "ended the shell".to_owned(),
        End::Exited(code) => format!("ended with exit code {code}"),
        End::Signaled { signal, .. } => format!("was ended by signal {signal}"),
        End::TimedOut { .. } | End::Interrupted { .. } => format!("did not end within {timeout}"),
    };
    let said = execution.stderr.as_ref().map(|output| legible(&output.head).trim().to_owned());
    let said = said.filter(|text| !text.is_empty()).map_or(String::new(), |text| format!(": {text}"));
    format!("the software could not be prepared: {step} {how}{said}")
}

/// The variables that a program gets of those that the shell had.
fn read(told: &[u8]) -> Result<BTreeMap<String, String>, NotExecuted> {
    let mut variables = BTreeMap::new();
    let mut bytes = 0;
    for entry in told.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
        let text = std::str::from_utf8(entry).map_err(|_| {
            let shown: String = String::from_utf8_lossy(entry).chars().take(40).collect();
            NotExecuted::through_plan(format!("the software sets a variable that is not UTF-8: {shown}"))
        })?;
        let Some((name, value)) = text.split_once('=').filter(|(name, _)| !is_of_shell(name)) else {
            continue;
        };
        bytes += entry.len() + 1;
        variables.insert(name.to_owned(), value.to_owned());
    }
    if bytes > MAX_VARIABLES_BYTES || variables.len() > MAX_VARIABLES {
        return Err(NotExecuted::through_plan(format!(
            "the software sets {} variables of {bytes} bytes, but at most {MAX_VARIABLES} of {MAX_VARIABLES_BYTES} \
             bytes are passed on",
            variables.len()
        )));
    }
    Ok(variables)
}

fn is_of_shell(name: &str) -> bool {
    OF_SHELL.contains(&name) || OF_SHELL_BEGIN.iter().any(|begin| name.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_shell_tells_is_its_steps_and_then_its_variables() {
        let (steps, variables) = told_of(b"the prologue\0`module load a`\0\0A=1\0B=2\n3\0");
        assert_eq!(steps, ["the prologue", "`module load a`"]);
        let read = read(variables.expect("it came to them")).unwrap();
        assert_eq!(read, BTreeMap::from([("A".into(), "1".into()), ("B".into(), "2\n3".into())]));
        assert_eq!(told_of(b"the prologue\0`mod").1, None, "it did not come to them");
        assert_eq!(told_of(b"").0, Vec::<String>::new());
    }

    #[test]
    fn what_is_the_shells_own_or_loads_it_again_stays_behind() {
        let told = b"PWD=/x\0BASH_FUNC_module%%=() { :\n}\0BASH_ENV=/etc/m\0PATH=/a\0_ModuleTable001_=YQ==\0";
        assert_eq!(read(told).unwrap(), BTreeMap::from([("PATH".into(), "/a".into())]));
    }

    #[test]
    fn what_no_program_takes_is_refused() {
        assert!(read(b"A=\xff\0").is_err());
        let long = format!("A={}\0", "x".repeat(MAX_VARIABLES_BYTES));
        assert!(read(long.as_bytes()).is_err());
    }
}
