//! The software in `[environment]` and `[versions.NAME.environment]` as its author writes it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The software of a version's runs and builds.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(in crate::plan::file) struct SoftwareForm {
    /// A script for bash, executed before the modules are loaded, e.g. "module use /opt/modules" or ".
    /// /opt/intel/setvars.sh"; {input}, {version}, the version's vars and {file.NAME} are filled in. It fails if its
    /// last command does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) prologue: Option<String>,
    /// Environment modules to load, in this order, e.g. ["gcc/12", "openmpi"], by the command module of a login shell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) modules: Option<Vec<String>>,
    /// An environment of Spack to activate: a name or a directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) spack_environment: Option<String>,
    /// Specs of Spack to load, in this order, e.g. ["gcc@12"], by the command spack of a login shell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) spack: Option<Vec<String>>,
    /// The container in which the program is executed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) container: Option<ContainerForm>,
    /// A preparation of modules, Spack, prologue or container that lasts longer has failed, e.g. "5m"; 2 minutes when
    /// absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) software_timeout: Option<String>,
    /// The BLAKE3 hash that the prepared variables must have, 64 hexadecimal digits; a host where they have another
    /// does not execute the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) blake3: Option<String>,
}

/// The container in which the program is executed; exactly one of launcher and command.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::plan::file) struct ContainerForm {
    /// The image: an absolute path on every host, {file.NAME}, or a name that the launcher knows.
    pub(in crate::plan::file) image: String,
    /// A launcher that is known: "apptainer".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) launcher: Option<LauncherForm>,
    /// The words of any other launcher, after which those of the program follow; {image}, {work} (where the program
    /// stands) and {scratch} (above it, with the files of the run) are filled in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) command: Option<Vec<String>>,
    /// A command whose first line of output identifies the image, where that is not a file, e.g. ["podman", "image",
    /// "inspect", "--format", "{{.Id}}", "{image}"].
    #[serde(default)]
    pub(in crate::plan::file) digest: Vec<String>,
    /// A program in the image that does nothing. It is executed once on each host before the first run, to find out whether
    /// the container starts and how long that takes; ["true"] when absent, none when empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) probe: Option<Vec<String>>,
}

/// A launcher that is known.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(in crate::plan::file) enum LauncherForm {
    /// `apptainer exec`.
    Apptainer,
}
