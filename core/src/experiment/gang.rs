//! A run on several hosts: one execution of a program whose ranks are spread over them, as those of MPI are. It is one
//! observation, and all its hosts serve it together: a gang.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::experiment::CommandLine;

/// Most hosts of one run.
pub const MAX_GANG: u32 = 4_096;
/// Most ranks that a run has on one host.
pub(crate) const MAX_RANKS_PER_HOST: u32 = 4_096;
/// Most sizes of one scaling series.
pub(crate) const MAX_SIZES: usize = 64;

/// Most digits of a number that a placeholder stands for.
pub(crate) const MAX_DIGITS: usize = 10;

/// The placeholder for the number of hosts.
pub const HOSTS: &str = "hosts";
/// The placeholder for the number of ranks.
pub const RANKS: &str = "ranks";
/// The placeholder for the number of ranks on each host.
pub(crate) const RANKS_PER_HOST: &str = "ranks_per_host";
/// The placeholder for the path of the file that names the hosts.
pub const HOSTFILE: &str = "hostfile";
/// The placeholder for the number of Slurm's job in which the first host is.
pub const JOB: &str = "job";
/// The placeholder for the number of a rank, which is filled in where the rank is started, if the ranks are timed.
pub const RANK: &str = "rank";
/// The placeholder for the program that times a rank.
pub const RANK_TIMER: &str = "rank_timer";
/// The placeholders that the runs of gangs know.
pub(crate) const PLACEHOLDERS: [&str; 6] = [HOSTS, RANKS, RANKS_PER_HOST, HOSTFILE, JOB, RANK];
/// The variable of a run that names its hosts, with commas between.
pub const HOSTS_VARIABLE: &str = "SPEEDUP_HOSTS";

/// The variable of a run that names the directory, on each host, where the times of its ranks go.
pub const RANKS_VARIABLE: &str = "SPEEDUP_RANKS";
/// The variable of a run that no other attempt has: by it what a launcher left behind on a host is found.
pub const RUN_VARIABLE: &str = "SPEEDUP_RUN";

/// How a run is spread over hosts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gang {
    pub hosts: u32,
    pub ranks_per_host: u32,
    pub launcher: GangLauncher,
    /// Whether each rank is timed: its launcher starts the timer, and that the rank.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub times_ranks: bool,
    /// The scaling series that the benchmark is a point of, where the plan gives several sizes.
    pub series: Option<ScalingSeries>,
}

/// The benchmarks that are one program on different numbers of hosts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScalingSeries {
    /// What the plan calls the program.
    pub name: String,
    pub law: ScalingLaw,
}

crate::words! {
    /// What stays the same when a program is given more hosts.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum ScalingLaw {
        /// The work: on k hosts it should take a k-th of the time (Amdahl 1967).
        #[default]
        Strong = "strong",
        /// The work of each host: the time should stay the same (Gustafson 1988).
        Weak = "weak",
    }
    fn name;
    const ALL;
}

/// What starts the ranks of a run, on its first host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum GangLauncher {
    #[default]
    None,
    /// The mpirun of Open MPI.
    OpenMpi,
    /// The Hydra process manager of MPICH.
    Mpich,
    /// The srun of Slurm, as a step of the job in which all hosts are.
    Srun,
    /// These words, which stand before the command; placeholders are still in place.
    Own(Vec<String>),
}

const OPEN_MPI: [&str; 7] =
    ["mpirun", "--hostfile", "{hostfile}", "-np", "{ranks}", "--map-by", "ppr:{ranks_per_host}:node"];
const MPICH: [&str; 7] = ["mpiexec.hydra", "-f", "{hostfile}", "-n", "{ranks}", "-ppn", "{ranks_per_host}"];
const SRUN: [&str; 7] = [
    "srun",
    "--jobid={job}",
    "--overlap",
    "--nodelist={hostfile}",
    "--nodes={hosts}",
    "--ntasks={ranks}",
    "--ntasks-per-node={ranks_per_host}",
];

impl Gang {
    /// The ranks of a run.
    pub fn ranks(&self) -> u64 {
        u64::from(self.hosts) * u64::from(self.ranks_per_host)
    }

    /// The values of the placeholders that do not depend on the host.
    pub fn placeholders(&self) -> [(String, String); 3] {
        [
            (HOSTS.to_owned(), self.hosts.to_string()),
            (RANKS.to_owned(), self.ranks().to_string()),
            (RANKS_PER_HOST.to_owned(), self.ranks_per_host.to_string()),
        ]
    }

    /// What a benchmark is called that the plan calls so: a point of a scaling series has a name of its own.
    pub fn name_of(&self, benchmark: &str) -> String {
        match (&self.series, self.hosts) {
            (None, _) => benchmark.to_owned(),
            (Some(_), 1) => format!("{benchmark}-1host"),
            (Some(_), hosts) => format!("{benchmark}-{hosts}hosts"),
        }
    }

    /// Whether all hosts have to be in one job of their engine.
    pub fn is_in_one_job(&self) -> bool {
        self.launcher == GangLauncher::Srun
    }

    /// The command that starts a command on all hosts. Open MPI gives the ranks of other hosts these variables alone.
    pub fn launch(&self, command: CommandLine, env: &BTreeMap<String, String>) -> CommandLine {
        let mut argv: Vec<String> = match &self.launcher {
            GangLauncher::None => return command,
            GangLauncher::OpenMpi => OPEN_MPI.map(str::to_owned).into(),
            GangLauncher::Mpich => MPICH.map(str::to_owned).into(),
            GangLauncher::Srun => SRUN.map(str::to_owned).into(),
            GangLauncher::Own(own) => own.clone(),
        };
        if self.launcher == GangLauncher::OpenMpi {
            let ranks = self.times_ranks.then_some(RANKS_VARIABLE);
            let own = [HOSTS_VARIABLE, RUN_VARIABLE].into_iter().chain(ranks);
            for name in env.keys().map(String::as_str).chain(own) {
                argv.extend(["-x".to_owned(), name.to_owned()]);
            }
        }
        if self.times_ranks {
            argv.push(format!("{{{RANK_TIMER}}}"));
        }
        argv.extend(match command {
            CommandLine::Exact(argv) => argv,
            CommandLine::Shell(line) => vec!["/bin/sh".to_owned(), "-c".to_owned(), line],
        });
        CommandLine::Exact(argv)
    }

    /// The lines of the file that names these hosts, as the launcher reads it.
    pub fn hostfile<'h>(&self, hosts: impl IntoIterator<Item = &'h str>) -> String {
        let mut lines = String::new();
        for host in hosts {
            lines += host;
            match self.launcher {
                GangLauncher::OpenMpi => lines += &format!(" slots={}", self.ranks_per_host),
                GangLauncher::Mpich => lines += &format!(":{}", self.ranks_per_host),
                GangLauncher::None | GangLauncher::Srun | GangLauncher::Own(_) => {}
            }
            lines.push('\n');
        }
        lines
    }
}
