//! `[files.NAME]`: what runs need beside the system.

use schemars::JsonSchema;
use serde::Deserialize;

/// A file that runs need: exactly one of path and shared.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::plan::file) struct FileForm {
    /// A regular file of this machine, relative to the plan file; its content is sent to the hosts.
    pub(in crate::plan::file) path: Option<String>,
    /// Whether a file given by path may be executed.
    #[serde(default)]
    pub(in crate::plan::file) executable: bool,
    /// The absolute path of a file on a file system that all hosts share; used in place, once its hash is verified.
    pub(in crate::plan::file) shared: Option<String>,
    /// The BLAKE3 hash of a shared file, 64 hexadecimal digits as b3sum prints them; computed from the file as this
    /// machine sees it when absent.
    pub(in crate::plan::file) blake3: Option<String>,
}
