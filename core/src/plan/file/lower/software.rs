//! From the software as it is written to that of the runs. A version has what it writes, and the rest of what is common.

use super::Lowering;
use crate::experiment::KeyPath;
use crate::experiment::files::ContentHash;
use crate::experiment::software::{Container, ContainerLauncher, Software, USUAL_PROBE};
use crate::plan::file::form::{ContainerForm, LauncherForm, SoftwareForm};

impl Lowering<'_> {
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
            blake3: blake3.or(common.blake3.filter(|_| !makes)),
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
