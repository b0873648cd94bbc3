//! The surroundings of a timed run: sees to it that the host is as the plan's environment wants it, as far as it can be,
//! and reads how it was. Everything here happens outside the clock.
//!
//! Paths lead into a tree of files at a root, which is `/` but in tests.
//!
//! In reading order: `topology` and `placement` (which CPUs), `host_settings` (governor, turbo, huge pages; put back
//! afterwards), `instruments` (readings), and `file` (the kernel's one-line files).

mod file;
mod host_settings;
mod instruments;
mod placement;
mod topology;
#[cfg(test)]
mod tree;

use std::{path::Path, path::PathBuf, time::Instant};

use speedup_core::experiment::environment::{Environment, HugePages, Setting};
use speedup_core::run::conditions::{Conditions, Unmet};
use speedup_core::run::disturbance::{Disturbance, Window, judge};
use speedup_core::run::reading::Reading;
use speedup_core::run::record::RestReading;
use speedup_core::value::cpu_set::CpuSet;
use speedup_core::value::id::BootId;

use self::file::number;
use self::host_settings::{HostSettings, Wanted};
use self::instruments::Instruments;
use self::placement::place;
use self::topology::Topology;
use crate::launch::{
    CpuMask, Execution, FailedStep, LaunchStep, NoHugePages, Preparation, Standstill, User, allowed,
    nanoseconds,
};

/// What sees to the surroundings of runs on this host.
#[derive(Debug)]
pub(crate) struct Surroundings {
    root: PathBuf,
    host: HostSettings,
    topology: Topology,
    /// The CPUs that the agent may use.
    allowed: CpuSet,
    instruments: Option<Instruments>,
    user: Option<User>,
}

#[derive(Clone, Debug)]
pub(crate) struct Established {
    pub(crate) preparation: Preparation,
    /// What could not be brought about.
    pub(crate) unmet: Vec<Unmet>,
    /// The CPUs that the program is confined to, if it is.
    cpus: Option<CpuSet>,
    /// Where the agent stands aside.
    agent: Option<CpuSet>,
    asked: Vec<Setting>,
    no_huge_pages: bool,
    frequency_is_held: bool,
}

/// What is held while a run is executed, and let go when it is dropped.
#[derive(Debug)]
pub(crate) struct Hold {
    /// Where the agent was before it stood aside.
    back: Option<CpuMask>,
    _no_huge_pages: Option<NoHugePages>,
}

/// A reading with its moment.
#[derive(Debug)]
pub(crate) struct Before {
    reading: Reading,
    at: Instant,
    agent_ns: u64,
}

impl Surroundings {
    /// Those of the host whose files are at `root`. Puts back what an earlier start of the agent with this state
    /// directory has left changed.
    pub(crate) fn new(root: &Path, state: &Path, boot: &BootId, user: Option<User>) -> Self {
        let topology = Topology::read(root);
        let online = topology.online();
        // Where the tree is another machine's, what this thread may use says nothing of it.
        let allowed = if root == Path::new("/") { allowed().unwrap_or_default() } else { online };
        Self {
            root: root.to_owned(),
            host: HostSettings::open(root, state, boot),
            topology,
            allowed,
            instruments: None,
            user,
        }
    }

    /// Whether settings of the host are changed that have to be put back.
    pub(crate) fn are_changed(&self) -> bool {
        self.host.are_changed()
    }

    /// Puts the settings of the host back.
    pub(crate) fn release(&mut self) {
        self.host.release();
    }

    /// The user as whom programs execute, if not the agent's own.
    pub(crate) fn user(&self) -> Option<&User> {
        self.user.as_ref()
    }

    /// Brings about what the environment wants and can be brought about before the program is launched.
    pub(crate) fn establish(&mut self, environment: &Environment) -> Established {
        let placement = place(&self.topology, &self.allowed, &environment.cpus, environment.housekeeping);
        let mut unmet = placement.unmet;
        let used = placement.run.as_ref().unwrap_or(&self.allowed).clone();
        unmet.extend(self.host.hold(&Wanted {
            governor: environment.governor.clone(),
            turbo: environment.turbo,
            huge_pages: environment.huge_pages.filter(|pages| *pages != HugePages::Never),
            cpus: used.clone(),
        }));
        unmet.extend(self.aslr_unmet(environment.aslr));
        if self.instruments.as_ref().is_none_or(|instruments| *instruments.cpus() != used) {
            self.instruments = Some(Instruments::open(&self.root, &self.topology, &used));
        }
        let fixed_governor = environment.governor.as_deref().is_some_and(|name| name != "schedutil");
        let preparation = Preparation {
            cpus: placement.run.as_ref().map(Into::into),
            scheduler: environment.scheduler,
            nice: environment.nice,
            aslr: environment.aslr,
            limits: environment.limits,
            user: self.user.clone(),
            strict: environment.strict,
        };
        Established {
            preparation,
            unmet,
            cpus: placement.run,
            agent: placement.agent,
            asked: environment.asked(),
            no_huge_pages: environment.huge_pages == Some(HugePages::Never),
            frequency_is_held: fixed_governor && environment.turbo == Some(false),
        }
    }

    /// A program can be spared the randomisation of its address space, but not given what the host has switched off.
    fn aslr_unmet(&self, wanted: Option<bool>) -> Option<Unmet> {
        if wanted != Some(true) || number(&self.root.join("proc/sys/kernel/randomize_va_space"))? != 0 {
            return None;
        }
        let reason = "address space randomisation is disabled on the host".to_owned();
        Some(Unmet { setting: Setting::Aslr, reason })
    }

    /// Writes the page cache back and drops it.
    pub(crate) fn drop_page_cache(&self) -> Result<(), Unmet> {
        let file = self.root.join("proc/sys/vm/drop_caches");
        rustix::fs::sync();
        std::fs::write(file, "3").map_err(|error| Unmet {
            setting: Setting::PageCache,
            reason: format!("the page cache cannot be dropped: {error}"),
        })
    }

    /// Holds what belongs to the agent's own process, until the program has ended.
    pub(crate) fn hold(&self, established: &mut Established) -> Hold {
        let mut unmet = |setting, reason: String| {
            established.unmet.retain(|known| known.setting != setting);
            established.unmet.push(Unmet { setting, reason });
        };
        let aside = established.agent.as_ref().map(|cpus| CpuMask::from(cpus).confine_this_thread());
        let back = match aside {
            Some(Err(errno)) => {
                unmet(
                    Setting::Housekeeping,
                    format!("the agent cannot leave the CPUs of the program: {errno}"),
                );
                None
            }
            Some(Ok(())) => Some(CpuMask::from(&self.allowed)),
            None => None,
        };
        let no_huge_pages = established.no_huge_pages.then(NoHugePages::for_children);
        let no_huge_pages = no_huge_pages.and_then(|held| {
            held.inspect_err(|error| unmet(Setting::HugePages, format!("they cannot be refused: {error}")))
                .ok()
        });
        Hold { back, _no_huge_pages: no_huge_pages }
    }

    /// How far the host has come to rest.
    pub(crate) fn rest(&mut self) -> RestReading {
        self.instruments.as_mut().map_or_else(RestReading::default, Instruments::rest)
    }

    /// Something is executed: what the host was like before tells nothing any more.
    pub(crate) fn forget_reading(&mut self) {
        if let Some(instruments) = &mut self.instruments {
            instruments.forget();
        }
    }

    /// Reads the host before a run.
    pub(crate) fn before(&mut self) -> Before {
        let reading = self.instruments.as_mut().map_or_else(Reading::default, Instruments::read_on);
        Before { reading, at: Instant::now(), agent_ns: own_cpu_ns() }
    }

    /// Reads the host after a run that was started elsewhere. What lies between is not judged: what its ranks did here is not known.
    pub(crate) fn watched(&mut self, before: Before, established: Established) -> Conditions {
        let after = self.instruments.as_mut().map_or_else(Reading::default, Instruments::read);
        let unmet = established.unmet;
        let is_met = |setting: &Setting| !unmet.iter().any(|unmet| unmet.setting == *setting);
        Conditions {
            disturbances: Vec::new(),
            before: before.reading,
            after,
            cpus: None,
            env_bytes: None,
            env_padding: None,
            directory_bytes: None,
            file_system: None,
            software: None,
            applied: established.asked.iter().copied().filter(is_met).collect(),
            unmet,
        }
    }

    /// Reads the host after a run, and judges what lies between.
    pub(crate) fn after(
        &mut self,
        before: Before,
        execution: &Execution,
        established: Established,
    ) -> Conditions {
        let elapsed_ns = u64::try_from(before.at.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let agent_ns = own_cpu_ns().saturating_sub(before.agent_ns);
        let after = self.instruments.as_mut().map_or_else(Reading::default, Instruments::read);
        let usage = &execution.usage;
        let cpus = self.instruments.as_ref().map_or(0, |instruments| instruments.cpus().len());
        let window = Window {
            elapsed_ns,
            cpus: u32::try_from(cpus).unwrap_or(u32::MAX),
            run_ns: usage.user_ns.saturating_add(usage.system_ns),
            agent_ns,
            run_used_devices: usage.block_in + usage.block_out > 0,
            frequency_is_held: established.frequency_is_held,
        };
        let mut unmet = established.unmet;
        unmet.extend(execution.failed_steps.iter().map(unmet_step));
        unmet.sort_by_key(|unmet| unmet.setting);
        unmet.dedup_by_key(|unmet| unmet.setting);
        let is_met = |setting: &Setting| !unmet.iter().any(|unmet| unmet.setting == *setting);
        let is_confined = !execution.failed_steps.iter().any(|failed| failed.step == LaunchStep::Affinity);
        let mut disturbances = judge(&before.reading, &after, &window);
        disturbances.extend(standstills(&execution.standstill));
        Conditions {
            disturbances,
            before: before.reading,
            after,
            cpus: established.cpus.filter(|_| is_confined),
            env_bytes: None,
            env_padding: None,
            directory_bytes: None,
            file_system: None,
            software: None,
            applied: established.asked.iter().copied().filter(is_met).collect(),
            unmet,
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Some(Err(errno)) = self.back.take().map(|cpus| cpus.confine_this_thread()) {
            tracing::warn!("the agent cannot return to its CPUs: {errno}");
        }
    }
}

/// What stood still without hiding the end of the run.
fn standstills(found: &Standstill) -> impl Iterator<Item = Disturbance> {
    let program = found.program_stopped.map(|signal| Disturbance::ProgramStopped { signal });
    program.into_iter().chain(found.agent_stopped.then_some(Disturbance::AgentStopped))
}

fn unmet_step(failed: &FailedStep) -> Unmet {
    let (setting, tried) = match failed.step {
        LaunchStep::Affinity => (Setting::Cpus, "the program cannot be confined to the CPUs"),
        LaunchStep::Scheduler => (Setting::Scheduler, "the scheduling class cannot be set"),
        LaunchStep::Priority => (Setting::Nice, "the nice value cannot be set"),
        LaunchStep::AddressSpace => (Setting::Aslr, "the personality cannot be set"),
        LaunchStep::ResourceLimits
        | LaunchStep::User
        | LaunchStep::Leash
        | LaunchStep::Group
        | LaunchStep::Mark
        | LaunchStep::Privileges
        | LaunchStep::Directory
        | LaunchStep::Streams
        | LaunchStep::Exec
        | LaunchStep::Trampoline => (Setting::Limits, "a limit cannot be set"),
    };
    let error = std::io::Error::from_raw_os_error(failed.errno);
    Unmet { setting, reason: format!("{tried}: {error}") }
}

/// CPU time of this process so far.
fn own_cpu_ns() -> u64 {
    nanoseconds(rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime))
}
