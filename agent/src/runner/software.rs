//! The software of a run, made ready before any clock starts: a login shell executes the prologue, loads modules and specs of
//! Spack, and hands over its variables, which the program is then given directly; and the container is looked at and tried.
//!
//! It happens once for each experiment and version while the agent lives. Whatever fails stands in the way of the run, in the
//! words of the tool; it is no failure of the program.

mod container;
mod shell;

use std::{collections::BTreeMap, path::Path, rc::Rc, slice};

use speedup_core::experiment::environment::DIRECTORY_NAME;
use speedup_core::experiment::files::ContentHash;
use speedup_core::experiment::software::{Container, SCRATCH, Software, WORK};
use speedup_core::run::software::{MadeVariables, UsedContainer, UsedSoftware, UsedVariables, hash_of};
use speedup_core::value::id::ExperimentId;
use speedup_core::value::time::Span;
use speedup_core::{experiment::template::INPUT, run::work::ResolvedCommand};

use super::{NotExecuted, RunExecution, no_directory};
use crate::wall_clock::unix_ns;

/// What has been made ready on this host, for the experiment that it works on.
#[derive(Debug, Default)]
pub(super) struct SoftwareCache {
    experiment: Option<ExperimentId>,
    ready: BTreeMap<Vec<String>, Rc<PreparedSoftware>>,
    /// Of which the variables have been told.
    told: Vec<ContentHash>,
}

#[derive(Debug, Default)]
pub(super) struct PreparedSoftware {
    variables: Option<Variables>,
    container: Option<UsedContainer>,
}

/// The variables that a shell has made.
#[derive(Debug)]
struct Variables {
    /// As the shell left them, with its own directory in them.
    made: BTreeMap<String, String>,
    home: String,
    blake3: ContentHash,
    told: MadeVariables,
}

impl PreparedSoftware {
    /// The variables of a program that works in this directory, where a shell made any.
    pub(super) fn variables(&self, work: &Path) -> Option<BTreeMap<String, String>> {
        let Variables { made, home, .. } = self.variables.as_ref()?;
        let work = work.to_string_lossy();
        Some(made.iter().map(|(name, value)| (name.clone(), value.replace(home, &work))).collect())
    }
}

impl SoftwareCache {
    /// What is told of the software of a run: the variables once.
    pub(super) fn used(&mut self, ready: &PreparedSoftware) -> Option<UsedSoftware> {
        let variables = ready.variables.as_ref().map(|variables| {
            let is_new = !self.told.contains(&variables.blake3);
            if is_new {
                self.told.push(variables.blake3);
            }
            UsedVariables { blake3: variables.blake3, made: is_new.then(|| variables.told.clone()) }
        });
        let container = ready.container.clone();
        (variables.is_some() || container.is_some()).then_some(UsedSoftware { variables, container })
    }

    fn of(&mut self, experiment: ExperimentId) -> &mut Self {
        if self.experiment != Some(experiment) {
            *self = Self { experiment: Some(experiment), ..Self::default() };
        }
        self
    }
}

impl RunExecution<'_> {
    /// Makes the software of the run ready, unless it is.
    pub(super) fn software(&mut self) -> Result<Rc<PreparedSoftware>, NotExecuted> {
        let order = self.order;
        self.ready(&order.environment.software)
    }

    /// The same for setup and canary, which have that of all versions.
    pub(super) fn common_software(&mut self) -> Result<Rc<PreparedSoftware>, NotExecuted> {
        let order = self.order;
        order.common_software.as_ref().map_or_else(|| Ok(Rc::default()), |software| self.ready(software))
    }

    fn ready(&mut self, software: &Software) -> Result<Rc<PreparedSoftware>, NotExecuted> {
        if software.is_empty() {
            return Ok(Rc::default());
        }
        let input = self.place.input().to_string_lossy().into_owned();
        let shell = shell::arguments(self.order, software, &input)?;
        let mut key = shell.clone();
        if let Some(container) = &software.container {
            let Container { image, digest, probe, .. } = container;
            let all = [slice::from_ref(image), &container.words(), digest, probe].concat();
            key.extend(self.words_of(container, &all, WORK)?);
        }
        if let Some(ready) = self.runner.software.of(self.experiment).ready.get(&key) {
            return Ok(ready.clone());
        }
        let variables =
            if software.has_variables() { Some(self.make_variables(software, &shell)?) } else { None };
        let mut ready = PreparedSoftware { variables, container: None };
        if let Some(container) = &software.container {
            ready.container = Some(self.try_container(container, &ready)?);
        }
        let ready = Rc::new(ready);
        self.runner.software.ready.insert(key, ready.clone());
        Ok(ready)
    }

    fn make_variables(&mut self, software: &Software, shell: &[String]) -> Result<Variables, NotExecuted> {
        let home = self.place.new_work(DIRECTORY_NAME).map_err(|error| no_directory(&error))?;
        let (made, wall_ns) = self.shell(shell, &home, software.timeout)?;
        let ended_unix_ns = unix_ns();
        let home = home.to_string_lossy().into_owned();
        let told = self.without_places(&made, &home);
        let blake3 = hash_of(&told);
        if let Some(wanted) = software.blake3.filter(|wanted| *wanted != blake3) {
            return Err(NotExecuted::through_plan(format!(
                "the prepared variables are not those that the plan wants: their BLAKE3 hash on this host is {blake3} \
                 instead of {wanted}"
            )));
        }
        let told = MadeVariables { variables: told, ended_unix_ns, took: Span(wall_ns) };
        Ok(Variables { made, home, blake3, told })
    }

    /// The same variables where what differs from run to run and from host to host is named instead: their directories.
    fn without_places(&self, made: &BTreeMap<String, String>, home: &str) -> BTreeMap<String, String> {
        let input = self.place.input();
        let (input, scratch) = (input.to_string_lossy(), self.runner.scratch.to_string_lossy());
        let places = [(home, WORK), (&*input, INPUT), (&*scratch, SCRATCH)];
        let named = |value: &String| {
            places.iter().fold(value.clone(), |text, (path, name)| text.replace(path, &format!("{{{name}}}")))
        };
        made.iter().map(|(name, value)| (name.clone(), named(value))).collect()
    }
}

/// A command of the software, as the steps of a run have them.
fn resolved(argv: Vec<String>) -> ResolvedCommand {
    ResolvedCommand { argv, env: BTreeMap::new(), directory: None }
}
