//! A directory where commands are typed that need no coordinator, with a state of its own.

use std::{io::ErrorKind, path::Path, process::Command, process::Output, process::Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::output::{said, stderr, stdout};

/// The directory, and the command under test.
#[derive(Debug)]
pub struct Desk {
    directory: TempDir,
    binary: &'static str,
}

impl Desk {
    /// An empty one.
    pub fn new(binary: &'static str) -> Self {
        Self { directory: tempfile::tempdir().expect("a directory"), binary }
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The command under test with these arguments.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.binary);
        command.args(arguments).current_dir(self.path()).stdin(Stdio::null());
        command.env("XDG_STATE_HOME", self.path().join("state"));
        command
    }

    /// How the command ends, and all that it prints.
    pub fn speedup(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the command")
    }

    /// What a command prints that has to succeed.
    #[track_caller]
    pub fn ok(&self, arguments: &[&str]) -> String {
        let output = self.speedup(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", said(&output));
        stdout(&output)
    }

    /// What a command says that has to be refused.
    #[track_caller]
    pub fn refused(&self, arguments: &[&str]) -> String {
        let output = self.speedup(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", said(&output));
        stderr(&output)
    }

    /// The JSON of a command that has to succeed.
    #[track_caller]
    pub fn json(&self, arguments: &[&str]) -> Value {
        let text = self.ok(&[arguments, &["--format", "json"]].concat());
        serde_json::from_str(&text).expect("JSON alone on standard output")
    }

    /// Writes a file.
    pub fn write(&self, file: &str, text: impl AsRef<[u8]>) {
        std::fs::write(self.path().join(file), text).expect("a file");
    }

    /// What is in a file; nothing where there is none.
    pub fn read(&self, file: &str) -> String {
        match std::fs::read_to_string(self.path().join(file)) {
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            read => read.expect("a text"),
        }
    }
}
