//! From `[environment]` as it is written to the environment of the runs.

use crate::experiment::environment::{
    CpuChoice, DirectoryLength, EnvSize, Environment, ResourceLimits, Scheduler,
};
use crate::experiment::software::Software;
use crate::plan::file::form::{EnvironmentForm, ResourceLimitsForm, SoftwareForm};
use crate::{experiment::KeyPath, value::excerpt::quoted};

use super::Lowering;

const CPUS_HINT: &str = "write \"all\", \"cores:N\", \"numa:K\" or a list of CPUs such as \"2-5,8\"";
const SCHEDULER_HINT: &str =
    "write \"other\", \"batch\", \"fifo:PRIORITY\" or \"rr:PRIORITY\", with a priority of 1 to 99";

impl Lowering<'_> {
    pub(super) fn environment(&mut self, form: EnvironmentForm) -> Environment {
        let software = SoftwareForm {
            prologue: form.prologue,
            modules: form.modules,
            spack_environment: form.spack_environment,
            spack: form.spack,
            container: form.container,
            software_timeout: form.software_timeout,
            blake3: form.blake3,
        };
        Environment {
            cpus: self.cpus(&form.cpus),
            housekeeping: form.housekeeping,
            nice: form.nice,
            scheduler: form.scheduler.and_then(|text| self.scheduler(&text)),
            aslr: form.aslr,
            env_size: self.env_size(form.env_bytes, form.env_bytes_random),
            directory_length: self.directory_length(form.directory_bytes, form.directory_bytes_random),
            page_cache: form.page_cache,
            huge_pages: form.transparent_huge_pages,
            governor: form.governor,
            turbo: form.turbo,
            settle: self.length(&["environment", "settle"].into(), &form.settle).unwrap_or_default(),
            limits: self.resource_limits(form.limits),
            strict: form.strict,
            software: self.software(&["environment"].into(), software, &Software::default()),
        }
    }

    fn cpus(&mut self, text: &str) -> CpuChoice {
        text.parse().unwrap_or_else(|error| {
            self.note(&["environment", "cpus"].into(), || {
                (format!("{} names no CPUs: {error}", quoted(text)), CPUS_HINT.to_owned())
            });
            CpuChoice::All
        })
    }

    fn scheduler(&mut self, text: &str) -> Option<Scheduler> {
        let place = ["environment", "scheduler"].into();
        self.readable(text.parse().ok(), text, &place, "is not a scheduling class", SCHEDULER_HINT)
    }

    fn env_size(&mut self, total: Option<u32>, random: Option<u32>) -> EnvSize {
        match (total, random) {
            (None, None) => EnvSize::AsIs,
            (Some(total), None) => EnvSize::Total(total),
            (None, Some(most)) => EnvSize::Random(most),
            (Some(total), Some(_)) => {
                self.note(&["environment", "env_bytes_random"].into(), || {
                    let cause = "[environment] has both `env_bytes` and `env_bytes_random`";
                    (cause.to_owned(), "keep one: a size is either fixed or drawn".to_owned())
                });
                EnvSize::Total(total)
            }
        }
    }

    fn directory_length(&mut self, total: Option<u32>, random: Option<u32>) -> DirectoryLength {
        match (total, random) {
            (None, None) => DirectoryLength::AsIs,
            (Some(total), None) => DirectoryLength::Total(total),
            (None, Some(most)) => DirectoryLength::Random(most),
            (Some(total), Some(_)) => {
                self.note(&["environment", "directory_bytes_random"].into(), || {
                    let cause = "[environment] has both `directory_bytes` and `directory_bytes_random`";
                    (cause.to_owned(), "keep one: a length is either fixed or drawn".to_owned())
                });
                DirectoryLength::Total(total)
            }
        }
    }

    fn resource_limits(&mut self, form: ResourceLimitsForm) -> ResourceLimits {
        let mut bytes = |key: &str, text: Option<String>| {
            self.size(&KeyPath::from(["environment", "limits", key]), &text?)
        };
        ResourceLimits {
            open_files: form.open_files,
            memory: bytes("memory", form.memory),
            stack: bytes("stack", form.stack),
            core: bytes("core", form.core),
            processes: form.processes,
        }
    }
}
