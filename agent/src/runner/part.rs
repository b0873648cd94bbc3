//! The part of a host in a run that several serve together. All of them prepare: files, setup, software, the environment, rest.
//! Then each waits for the others, and the host of the first seat executes the run as it would any other. The others have a
//! working directory of the same name, with what the plan's preparation makes in it, and read what they are like before and
//! after; what the launcher has started there and left behind is ended.

use std::{borrow::Cow, path::PathBuf, rc::Rc, sync::atomic::AtomicBool};

use rustix::process::{Pid, PidfdFlags, Signal};
use speedup_core::{
    agent::message::Grant, experiment::environment::DIRECTORY_NAME, experiment::gang::HOSTFILE,
    experiment::gang::HOSTS_VARIABLE, experiment::gang::JOB, experiment::gang::RANK_TIMER,
    experiment::gang::RUN_VARIABLE, experiment::template::placeholders, run::disturbance::Disturbance,
    run::record::Outcome, run::record::Record, run::work::WorkOrder, value::id::JobId,
};

use super::software::PreparedSoftware;
use super::{
    ExecContext, NotExecuted, RunCommands, RunExecution, Runner, cut, insist, no_directory, no_place,
};
use crate::files::Files;
use crate::launch::rank;
use crate::surroundings::{Before, Established};
use crate::wall_clock::unix_ns;
use crate::workplace::Workplace;

pub(crate) struct PreparedPart {
    /// Of a host that does not start the program.
    watch: Option<PartWatch>,
}

/// What is known of a host while others execute the run.
struct PartWatch {
    directory: PathBuf,
    software: Rc<PreparedSoftware>,
    established: Established,
    before: Before,
    started_unix_ns: u64,
}

impl Runner {
    pub(crate) fn prepare(
        &mut self,
        grant: &Grant,
        files: &mut Files,
        stop: &AtomicBool,
    ) -> Result<PreparedPart, NotExecuted> {
        self.with_place(grant, files, stop, |execution| {
            execution.permit()?;
            execution.clear_ranks()?;
            execution.set_up()?;
            let order = execution.order;
            let software = execution.software()?;
            let established = execution.runner.surroundings.establish(&order.environment);
            insist(order, &established.unmet)?;
            if let Some(rest) = &order.rest {
                execution.rest(rest)?;
            }
            let starts = order.seat.as_ref().is_none_or(|seat| seat.number == 0);
            let watch = if starts { None } else { Some(execution.watch(established, software)?) };
            Ok(PreparedPart { watch })
        })
    }

    /// Ends the part of the host: its record says what it was like meanwhile, or that the run was given up.
    pub(crate) fn end(
        &mut self,
        grant: &Grant,
        part: PreparedPart,
        given_up: &str,
        files: &mut Files,
        stop: &AtomicBool,
    ) -> Record {
        let Some(watch) = part.watch else { return self.not_executed(NotExecuted::new(given_up)) };
        match self.with_place(grant, files, stop, |execution| Ok(execution.end(watch))) {
            Ok(record) => record,
            Err(refused) => self.not_executed(refused),
        }
    }

    fn with_place<T>(
        &mut self,
        grant: &Grant,
        files: &mut Files,
        stop: &AtomicBool,
        work: impl FnOnce(&mut RunExecution<'_>) -> Result<T, NotExecuted>,
    ) -> Result<T, NotExecuted> {
        let experiment = grant.experiment;
        let place = self.workplace(grant).map_err(|error| no_place(&error))?;
        let job = self.job.clone();
        let order = &*seated(grant, &place, job.as_ref())?;
        let commands = RunCommands::resolve(order, &place.input().to_string_lossy())
            .map_err(|error| NotExecuted::through_plan(error.to_string()))?;
        let mut execution =
            RunExecution { runner: self, experiment, order, commands: &commands, place: &place, files, stop };
        let done = work(&mut execution);
        self.workplace = Some(place);
        done
    }
}

impl RunExecution<'_> {
    /// Forgets the times of ranks of an earlier run.
    pub(super) fn clear_ranks(&self) -> Result<(), NotExecuted> {
        self.place.clear_ranks().map_err(|error| no_timer(&error))
    }

    fn watch(
        &mut self,
        established: Established,
        software: Rc<PreparedSoftware>,
    ) -> Result<PartWatch, NotExecuted> {
        let Self { commands, order, .. } = *self;
        let name = self.place.name_of_work(order.environment.directory_length, order.directory_padding);
        let work = self.place.new_work(name.as_deref().unwrap_or(DIRECTORY_NAME));
        let context = ExecContext::for_program(
            &commands.program.resolved,
            work.map_err(|error| no_directory(&error))?,
            &software,
        )?;
        if let Some(prepare) = &commands.prepare {
            self.outside(prepare, &context)?;
        }
        let directory = context.work;
        let before = self.runner.surroundings.before();
        Ok(PartWatch { directory, software, established, before, started_unix_ns: unix_ns() })
    }

    fn end(&mut self, watch: PartWatch) -> Record {
        let PartWatch { directory, software, established, before, started_unix_ns } = watch;
        let mut conditions = self.runner.surroundings.watched(before, established);
        let survivors = self.order.env.get(RUN_VARIABLE).map_or(0, |run| end_leftovers(run));
        let context = ExecContext::for_program(&self.commands.program.resolved, directory, &software);
        if let (Some(cleanup), Ok(context)) = (&self.commands.cleanup, &context)
            && let Err(failed) = self.outside(cleanup, context)
        {
            conditions.disturbances.push(Disturbance::CleanupFailed { reason: cut(failed.reason) });
        }
        self.place.clear_work();
        Record {
            started_unix_ns,
            survivors,
            conditions: Some(Box::new(conditions)),
            ranks: rank::left(&self.place.ranks()),
            timer: self.runner.timer,
            ..Record::bare(Outcome::Measured)
        }
    }
}

/// The order of a run with what depends on the gang that serves it: the file that names its hosts, and the variables that tell of
/// it.
pub(super) fn seated<'g>(
    grant: &'g Grant,
    place: &Workplace,
    job: Option<&JobId>,
) -> Result<Cow<'g, WorkOrder>, NotExecuted> {
    let Some(seat) = &grant.order.seat else { return Ok(Cow::Borrowed(&grant.order)) };
    let path = place.hostfile();
    if !seat.hosts.is_empty() {
        std::fs::write(&path, &seat.hostfile).map_err(|error| {
            NotExecuted::new(format!("cannot write the file that names the hosts: {error}"))
        })?;
    }
    let timer = place.rank_timer().map_err(|error| no_timer(&error))?;
    let mut order = grant.order.clone();
    for (name, path) in [(HOSTFILE, path), (RANK_TIMER, timer)] {
        let path = path.into_os_string().into_string();
        let path = path.map_err(|_| NotExecuted::new("the scratch directory's path is not UTF-8"))?;
        order.vars.insert(name.to_owned(), path);
    }
    let needs_job = order.command.texts().any(|text| placeholders(text).any(|name| name == JOB));
    match job {
        Some(job) => _ = order.vars.insert(JOB.to_owned(), job.whole().to_owned()),
        None if needs_job && seat.number == 0 => {
            return Err(NotExecuted::new(
                "the launcher starts ranks within a job of Slurm, and this host is in none",
            ));
        }
        None => _ = order.vars.insert(JOB.to_owned(), String::new()),
    }
    order.env.insert(HOSTS_VARIABLE.to_owned(), seat.hosts.join(","));
    let run = format!("{}/{}/{}", grant.experiment, grant.run, grant.attempt);
    order.env.insert(RUN_VARIABLE.to_owned(), run);
    Ok(Cow::Owned(order))
}

fn no_timer(error: &std::io::Error) -> NotExecuted {
    NotExecuted::new(format!("cannot prepare what times ranks: {error}"))
}

/// Kills the processes of this user that bear the variable of a run: launchers give it to the ranks that they start. Says how
/// many they were.
fn end_leftovers(run: &str) -> u32 {
    let mark = format!("{RUN_VARIABLE}={run}");
    let bears = |pid: Pid| {
        let variables = std::fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero())).unwrap_or_default();
        variables.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    };
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?));
    let mut killed = 0;
    for pid in pids {
        // Held by a descriptor, so that an id that is reused meanwhile hits nobody.
        let Ok(process) = rustix::process::pidfd_open(pid, PidfdFlags::empty()) else { continue };
        let is_killed = bears(pid) && rustix::process::pidfd_send_signal(&process, Signal::KILL).is_ok();
        killed += u32::from(is_killed);
    }
    killed
}
