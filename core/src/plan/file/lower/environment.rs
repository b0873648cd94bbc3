//! From `[environment]` as it is written to the environment and the software of the runs.

use crate::experiment::environment::{CpuChoice, Environment, ResourceLimits, Scheduler, SizeChoice};
use crate::experiment::files::ContentHash;
use crate::experiment::software::{Container, ContainerLauncher, Software, USUAL_PROBE};
use crate::plan::file::form::{
    ContainerForm, EnvironmentForm, LauncherForm, ResourceLimitsForm, SoftwareForm,
};
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
            env_size: self.size_choice("size", "env_bytes", form.env_bytes, form.env_bytes_random),
            directory_length: self.size_choice(
                "length",
                "directory_bytes",
                form.directory_bytes,
                form.directory_bytes_random,
            ),
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

    /// A size that is fixed by one key or drawn by another.
    fn size_choice(&mut self, what: &str, key: &str, total: Option<u32>, random: Option<u32>) -> SizeChoice {
        match (total, random) {
            (None, None) => SizeChoice::AsIs,
            (Some(total), None) => SizeChoice::Total(total),
            (None, Some(most)) => SizeChoice::Random(most),
            (Some(total), Some(_)) => {
                self.note(&KeyPath::from(["environment", &format!("{key}_random")]), || {
                    let cause = format!("[environment] has both `{key}` and `{key}_random`");
                    (cause, format!("keep one: a {what} is either fixed or drawn"))
                });
                SizeChoice::Total(total)
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

impl Lowering<'_> {
    /// The software of a version has what the version writes, and the rest of what is common.
    pub(super) fn software(&mut self, place: &KeyPath, form: SoftwareForm, common: &Software) -> Software {
        /// An empty text takes away what is common.
        fn text(own: Option<String>, common: &Option<String>) -> Option<String> {
            own.or_else(|| common.clone()).filter(|text| !text.is_empty())
        }
        // The hash is of all variables, so it belongs to what makes them.
        let makes = form.prologue.is_some()
            || form.modules.is_some()
            || form.spack.is_some()
            || form.spack_environment.is_some();
        let blake3 = form.blake3.and_then(|hash| self.hash(&place.at("blake3"), &hash));
        let container = form.container.map(|container| self.container(&place.at("container"), container));
        let timeout = form.software_timeout;
        let timeout = timeout.and_then(|text| self.length(&place.at("software_timeout"), &text));
        Software {
            prologue: text(form.prologue, &common.prologue),
            modules: form.modules.unwrap_or_else(|| common.modules.clone()),
            spack_environment: text(form.spack_environment, &common.spack_environment),
            spack: form.spack.unwrap_or_else(|| common.spack.clone()),
            container: container.or_else(|| common.container.clone()),
            timeout: timeout.unwrap_or(common.timeout),
            blake3: if makes { blake3 } else { blake3.or(common.blake3) },
        }
    }

    fn container(&mut self, place: &KeyPath, form: ContainerForm) -> Container {
        let launcher = match (form.launcher, form.command) {
            (Some(LauncherForm::Apptainer), None) => ContainerLauncher::Apptainer,
            (None, Some(words)) => ContainerLauncher::Words(words),
            (given, _) => {
                self.note(place, || {
                    let both = if given.is_some() { "both" } else { "neither" };
                    let cause = format!("[{place}] has {both} of `launcher` and `command`");
                    let hint = "write launcher = \"apptainer\", or the words of another launcher: command = [\"podman\", \
                                \"run\", \"--rm\", \"-v\", \"{scratch}:{scratch}\", \"-w\", \"{work}\", \"{image}\"]";
                    (cause, hint.to_owned())
                });
                ContainerLauncher::Apptainer
            }
        };
        let probe = form.probe.unwrap_or_else(|| vec![USUAL_PROBE.to_owned()]);
        Container { image: form.image, launcher, digest: form.digest, probe }
    }

    fn hash(&mut self, place: &KeyPath, text: &str) -> Option<ContentHash> {
        let hint = "write the 64 hexadecimal digits of the export's column environment_blake3";
        self.readable(ContentHash::from_hex(text), text, place, "is not a BLAKE3 hash", hint)
    }
}
