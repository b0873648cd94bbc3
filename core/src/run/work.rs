//! A work order: all that an agent needs to execute one run. The agent chooses nothing; it only knows where its own
//! input directory lies, so [`WorkOrder::resolve`] fills the placeholders there, with the rules of [`crate::experiment::template`].

use std::collections::{BTreeMap, BTreeSet};

use crate::experiment::{
    AcceptedExits, Benchmark, CommandLine, Expectation, Experiment, Metric, OutputChoice, OwnMetric, Rest,
    Setup, build, build::Product, build::UsedBuild, environment::Environment, environment::SizeChoice, files,
    files::StagedFile, gang::RANK, software::Software, template::BENCHMARK, template::INPUT,
    template::TemplateError, template::VERSION, template::expand, template::placeholders,
};
use crate::plan::{Cell, Plan, Task};
use crate::run::lease::Lease;
use crate::value::{id::RunIndex, id::VersionIndex, seed::below, time::Span};

/// All that an agent needs to execute one run.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkOrder {
    /// What is executed; placeholders are still in place.
    pub command: CommandLine,
    /// Its environment, beside what the agent gives every run.
    pub env: BTreeMap<String, String>,
    pub vars: BTreeMap<String, String>,
    /// What a correct run looks like.
    pub expect: Expectation,
    /// A run that lasts longer has failed.
    pub timeout: Span,
    /// Executions before the clock starts.
    pub warmup: u32,
    /// Where the run stands; placeholders are still in place.
    pub directory: Option<String>,
    /// Done once on this host before the experiment's first run.
    pub setup: Option<Setup>,
    /// Done before each execution, outside the clock.
    pub prepare: Option<Setup>,
    /// Done after each execution, outside the clock.
    pub cleanup: Option<Setup>,
    /// Timed by itself after the run.
    pub canary: Option<Setup>,
    pub environment: Environment,
    /// The software of setup and canary: that of all versions.
    pub common_software: Option<Software>,
    /// The padding of the environment variables in bytes, where the plan has it drawn.
    pub env_padding: Option<u32>,
    /// By how much the name of the working directory is lengthened, in bytes, where the plan has it drawn.
    pub directory_padding: Option<u32>,
    pub metrics: Vec<Metric>,
    pub own_metrics: Vec<OwnMetric>,
    pub output: OutputChoice,
    /// What the host has to be like before anything is done, where the plan has it rest.
    pub rest: Option<Rest>,
    /// The files that its commands name: they are on the host, and the right ones, before anything is executed.
    pub files: Vec<StagedFile>,
    /// What its build made of what its commands name: staged files as well, under [`Product::placeholder`].
    pub built: Vec<Product>,
    /// What it makes, where it is a build: by their names, the paths in its working directory from which its products are
    /// collected when it has succeeded.
    pub collect: BTreeMap<String, String>,
    /// Its place among the hosts of the run, where that is spread over several.
    pub seat: Option<WorkSeat>,
}

/// What a host has to know of the gang that it serves in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkSeat {
    /// Its number. The host of seat 0 starts the program.
    pub number: u32,
    pub size: u32,
    /// The lines of the file that names them, for the host of seat 0.
    pub hostfile: String,
    /// What they are called, likewise.
    pub hosts: Vec<String>,
}

/// A command with nothing left to fill in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedCommand {
    pub argv: Vec<String>,
    /// The environment beside what the agent gives every run.
    pub env: BTreeMap<String, String>,
    /// Where it stands, unless in a new directory.
    pub directory: Option<String>,
}

impl WorkOrder {
    /// The work order of an attempt: all that is in it follows from the plan and the lease.
    ///
    /// # Panics
    /// When the plan has no such run.
    pub fn of(plan: &Plan, lease: &Lease) -> Self {
        match plan.task(lease.run) {
            Task::Build(version) => Self::for_build(&plan.experiment, version),
            Task::Run(cell) => {
                let order =
                    Self::new(&plan.experiment, cell, lease.run).seated(&plan.experiment, cell, lease);
                match &lease.evidence.build {
                    Some(build) => order.using(build),
                    None => order,
                }
            }
        }
    }

    /// The cell whose runs all have this order, where it says nothing of its own to the run or the host.
    pub fn cell_of(plan: &Plan, lease: &Lease) -> Option<Cell> {
        let Task::Run(cell) = plan.task(lease.run) else { return None };
        let experiment = &plan.experiment;
        let is_drawn = matches!(experiment.environment.env_size, SizeChoice::Random(_))
            || matches!(experiment.environment.directory_length, SizeChoice::Random(_));
        let is_gangs = experiment.benchmarks[cell.benchmark.0 as usize].gang.is_some();
        let is_of_cell = !is_drawn && !is_gangs && lease.evidence.build.is_none();
        is_of_cell.then_some(cell)
    }

    /// The order of a host that serves in a gang, or alone where the plan has a gang of one.
    fn seated(mut self, experiment: &Experiment, cell: Cell, lease: &Lease) -> Self {
        let Some(gang) = &experiment.benchmarks[cell.benchmark.0 as usize].gang else { return self };
        let hosts = lease.hosts();
        let number = lease.seat.as_ref().map_or(0, |seat| seat.number);
        self.seat = Some(WorkSeat {
            number,
            size: gang.hosts,
            hostfile: gang.hostfile(hosts.iter().map(String::as_str)),
            hosts,
        });
        self
    }

    /// The work order of a run of a cell, before it is known what its build made. What is random in it depends on the
    /// experiment's seed and the run, not on the attempt.
    pub fn new(experiment: &Experiment, cell: Cell, run: RunIndex) -> Self {
        let benchmark = &experiment.benchmarks[cell.benchmark.0 as usize];
        let version = &experiment.versions[cell.version.0 as usize];
        let environment = &experiment.environment;
        let mut env = benchmark.env.clone();
        env.extend(version.env.clone());
        let mut vars = version.vars.clone();
        vars.insert(VERSION.to_owned(), experiment.name_in_commands(cell.version).to_owned());
        vars.insert(BENCHMARK.to_owned(), benchmark.name.clone());
        let Benchmark { command, expect, timeout, warmup, directory, .. } = benchmark.clone();
        let command = version.command.clone().unwrap_or(command);
        let command = match &benchmark.gang {
            Some(gang) => {
                vars.extend(gang.placeholders());
                // Its timer fills it in.
                vars.insert(RANK.to_owned(), format!("{{{RANK}}}"));
                gang.launch(command, &env)
            }
            None => command,
        };
        let texts = [&command].into_iter().chain(outside(experiment)).flat_map(CommandLine::texts);
        let texts = texts.chain(env.values().map(String::as_str)).chain(directory.as_deref());
        let common_software = experiment.common_software();
        let texts = texts.chain(experiment.software_of(version).texts());
        let texts = texts.chain(common_software.iter().flat_map(Software::texts));
        let named: BTreeSet<&str> = texts.flat_map(placeholders).collect();
        let files = files_named(&named, &experiment.files);
        Self {
            files,
            built: Vec::new(),
            collect: BTreeMap::new(),
            seat: None,
            command,
            env,
            vars,
            expect,
            timeout,
            warmup,
            directory,
            setup: experiment.setup.clone(),
            prepare: experiment.prepare.clone(),
            cleanup: experiment.cleanup.clone(),
            canary: experiment.canary.clone(),
            environment: Environment {
                software: experiment.software_of(version).clone(),
                ..environment.clone()
            },
            common_software,
            env_padding: drawn_bytes(experiment, environment.env_size, "environment size", run),
            directory_padding: drawn_bytes(experiment, environment.directory_length, "directory length", run),
            metrics: experiment.metrics.clone(),
            own_metrics: experiment.own_metrics.clone(),
            output: experiment.output,
            rest: experiment.independence.wanted_rest().copied(),
        }
    }

    /// Whether several hosts serve the run together.
    pub(crate) fn is_together(&self) -> bool {
        self.seat.as_ref().is_some_and(|seat| seat.size > 1)
    }

    /// Whether an order of the same benchmark does the same, whatever its version is called, if both execute the same program: the
    /// commands, the environment and the directory are equal, and a program of a build or a staged one is executed itself.
    pub fn is_alike(&self, other: &Self) -> bool {
        let [one, two] = [self, other].map(Self::spelled);
        one.is_some() && one == two && self.environment.software == other.environment.software
    }

    /// What the order spells out beside its program; none where a build's product stands in it elsewhere.
    fn spelled(&self) -> Option<Vec<String>> {
        let around = [&self.prepare, &self.cleanup].into_iter().flatten().map(|setup| &setup.command);
        let mut texts: Vec<&str> =
            [&self.command].into_iter().chain(around).flat_map(CommandLine::texts).collect();
        texts.extend(self.env.iter().flat_map(|(name, value)| [name.as_str(), value]));
        texts.extend(self.directory.as_deref());
        let program = usize::from(matches!(self.command, CommandLine::Exact(_)));
        let mut named = texts.iter().skip(program).flat_map(|text| placeholders(text));
        if named.any(|name| name.starts_with(build::PREFIX)) {
            return None;
        }
        let mut vars = self.vars.clone();
        for name in texts.iter().flat_map(|text| placeholders(text)) {
            vars.entry(name.to_owned()).or_insert_with(|| format!("{{{name}}}"));
        }
        texts.iter().map(|text| expand(text, |name| vars.get(name).map(String::as_str)).ok()).collect()
    }

    /// The order with those products of a build that its commands name.
    fn using(mut self, build: &UsedBuild) -> Self {
        let around = [&self.prepare, &self.cleanup].into_iter().flatten().map(|setup| &setup.command);
        let texts = around
            .chain([&self.command])
            .flat_map(CommandLine::texts)
            .chain(self.env.values().map(String::as_str));
        let texts = texts.chain(self.directory.as_deref());
        let named: BTreeSet<&str> = texts.flat_map(placeholders).collect();
        let built = build.products.iter().filter(|product| named.contains(product.placeholder().as_str()));
        self.built = built.cloned().collect();
        self
    }

    /// The work order of a build of a version: a plain execution in a new directory, where nothing is asked of the host.
    ///
    /// # Panics
    /// When the version is not built.
    pub fn for_build(experiment: &Experiment, version: VersionIndex) -> Self {
        let name = experiment.name_in_commands(version).to_owned();
        let version = &experiment.versions[version.0 as usize];
        let software = experiment.software_of(version).clone();
        let build = version.build.as_ref().expect("a version with builds says how");
        let mut vars = version.vars.clone();
        vars.insert(VERSION.to_owned(), name);
        let env = env_of_build(&version.env);
        let setup = experiment.setup.iter().map(|setup| &setup.command);
        let texts = setup
            .chain([&build.command])
            .flat_map(CommandLine::texts)
            .chain(env.values().map(String::as_str));
        let common_software = experiment.common_software().filter(|_| experiment.setup.is_some());
        let texts = texts.chain(software.texts()).chain(common_software.iter().flat_map(Software::texts));
        let files = files_named(&texts.flat_map(placeholders).collect(), &experiment.files);
        Self {
            files,
            built: Vec::new(),
            collect: build.products.clone(),
            seat: None,
            command: build.command.clone(),
            env,
            vars,
            // A build is no observation: nothing of the plan's environment or rest is asked of its host.
            expect: Expectation { exit: 0, accept: AcceptedExits::None, stdout_blake3: None },
            timeout: build.timeout,
            warmup: 0,
            directory: None,
            setup: experiment.setup.clone(),
            prepare: None,
            cleanup: None,
            canary: None,
            environment: Environment { software, ..Environment::default() },
            common_software,
            env_padding: None,
            directory_padding: None,
            metrics: experiment.metrics.clone(),
            own_metrics: Vec::new(),
            output: experiment.output,
            rest: None,
        }
    }

    /// The command of the run, on a host whose input directory is `input`.
    pub fn resolve(&self, input: &str) -> Result<ResolvedCommand, TemplateError> {
        let directory = self.directory.as_ref();
        let directory = directory.map(|text| self.expand(text, input, &BTreeMap::new())).transpose()?;
        Ok(ResolvedCommand { directory, ..resolve(&self.command, &self.env, &self.vars, input)? })
    }

    /// The command of the setup, if there is one.
    pub fn resolve_setup(&self, input: &str) -> Result<Option<ResolvedCommand>, TemplateError> {
        self.resolve_of_host(self.setup.as_ref(), input)
    }

    /// The command of the preparation, if there is one.
    pub fn resolve_prepare(&self, input: &str) -> Result<Option<ResolvedCommand>, TemplateError> {
        self.prepare.as_ref().map(|prepare| self.resolve_line(&prepare.command, input)).transpose()
    }

    /// The command of the cleanup, if there is one.
    pub fn resolve_cleanup(&self, input: &str) -> Result<Option<ResolvedCommand>, TemplateError> {
        self.cleanup.as_ref().map(|cleanup| self.resolve_line(&cleanup.command, input)).transpose()
    }

    /// The command of the canary, if there is one. It is the same for all cells.
    pub fn resolve_canary(&self, input: &str) -> Result<Option<ResolvedCommand>, TemplateError> {
        self.resolve_of_host(self.canary.as_ref(), input)
    }

    /// A text of the software, with its placeholders filled in; `own` are those of the place where it stands.
    pub fn expand<'v>(
        &'v self,
        text: &str,
        input: &'v str,
        own: &BTreeMap<&str, &'v str>,
    ) -> Result<String, TemplateError> {
        expand(text, |name| match own.get(name) {
            Some(value) => Some(value),
            None if name == INPUT => Some(input),
            None => self.vars.get(name).map(String::as_str),
        })
    }

    /// A command that is the same for all versions and benchmarks.
    fn resolve_of_host(
        &self,
        setup: Option<&Setup>,
        input: &str,
    ) -> Result<Option<ResolvedCommand>, TemplateError> {
        let vars = self.vars_of_host();
        setup.map(|setup| resolve(&setup.command, &BTreeMap::new(), &vars, input)).transpose()
    }

    /// Says where a staged file lies on this host: the value of its placeholder.
    pub fn place(&mut self, file: &StagedFile, path: String) {
        self.vars.insert(file.placeholder(), path);
    }

    /// Says where a product of the run's build lies on this host: the value of its placeholder.
    pub fn place_product(&mut self, product: &Product, path: String) {
        self.vars.insert(product.placeholder(), path);
    }

    /// The values of placeholders that are the same for all versions and benchmarks: where staged files lie.
    pub(crate) fn vars_of_host(&self) -> BTreeMap<String, String> {
        let files = self.vars.iter().filter(|(name, _)| name.starts_with(files::PREFIX));
        files.map(|(name, path)| (name.clone(), path.clone())).collect()
    }

    fn resolve_line(&self, line: &CommandLine, input: &str) -> Result<ResolvedCommand, TemplateError> {
        resolve(line, &self.env, &self.vars, input)
    }
}

/// The commands that are executed beside the run itself.
fn outside(experiment: &Experiment) -> impl Iterator<Item = &CommandLine> {
    let all = [&experiment.setup, &experiment.prepare, &experiment.cleanup, &experiment.canary];
    all.into_iter().flatten().map(|setup| &setup.command)
}

/// The files of which a placeholder is among these.
fn files_named(named: &BTreeSet<&str>, files: &[StagedFile]) -> Vec<StagedFile> {
    let named: BTreeSet<&str> = named.iter().filter_map(|name| name.strip_prefix(files::PREFIX)).collect();
    files.iter().filter(|file| named.contains(file.name.as_str())).cloned().collect()
}

/// The variables of a version that a build has too: a benchmark and a build's products are of runs.
fn env_of_build(env: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut env = env.clone();
    env.retain(|_, value| {
        !placeholders(value).any(|name| name == BENCHMARK || name.starts_with(build::PREFIX))
    });
    env
}

/// The bytes by which a size is enlarged for a run, each number from 0 to the plan's most equally likely; `what` tells the draws of
/// a run apart.
fn drawn_bytes(experiment: &Experiment, choice: SizeChoice, what: &str, run: RunIndex) -> Option<u32> {
    let SizeChoice::Random(most) = choice else { return None };
    let random = &mut experiment.seed.child(&format!("{what} of run {run}"));
    Some(below(u64::from(most) + 1, random) as u32)
}

fn resolve(
    line: &CommandLine,
    env: &BTreeMap<String, String>,
    vars: &BTreeMap<String, String>,
    input: &str,
) -> Result<ResolvedCommand, TemplateError> {
    let value = |name: &str| if name == INPUT { Some(input) } else { vars.get(name).map(String::as_str) };
    let argv = match line {
        CommandLine::Exact(argv) => argv.iter().map(|word| expand(word, value)).collect::<Result<_, _>>()?,
        CommandLine::Shell(line) => vec!["/bin/sh".to_owned(), "-c".to_owned(), expand(line, value)?],
    };
    let mut expanded_env = BTreeMap::new();
    for (name, text) in env {
        expanded_env.insert(name.clone(), expand(text, value)?);
    }
    Ok(ResolvedCommand { argv, env: expanded_env, directory: None })
}
