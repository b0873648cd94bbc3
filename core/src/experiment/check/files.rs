//! Staged files: their names, their paths, and that hosts can hold them.

use std::collections::BTreeSet;

use super::Fault;
use crate::experiment::Experiment;
use crate::experiment::files::{
    Content, FileSource, MAX_ALL_FILES_BYTES, MAX_FILE_BYTES, MAX_FILES, MAX_SHARED_PATH_BYTES, StagedFile,
    contents,
};
use crate::experiment::problem::{KeyPath, Problems};
use crate::experiment::template::is_identifier;

impl Experiment {
    pub(super) fn check_files(&self, problems: &mut Problems) {
        let count = self.files.len();
        if count > MAX_FILES {
            problems.refuse(["files"].into(), Fault::TooMany { what: "files", count, most: MAX_FILES });
            return;
        }
        let mut seen = BTreeSet::new();
        for file in &self.files {
            let place = || KeyPath::from(["files", &file.name]);
            if !is_identifier(&file.name) || file.name.len() > super::MAX_NAME_BYTES {
                problems.refuse(place(), Fault::FileName(file.name.clone()));
            }
            if !seen.insert(&file.name) {
                problems.refuse(place(), Fault::SameName(file.name.clone()));
            }
            check_source(file, place, problems);
        }
        let bytes = contents(&self.files).iter().map(|content| content.bytes).fold(0, u64::saturating_add);
        if bytes > MAX_ALL_FILES_BYTES {
            let (what, most) = ("all files together have", MAX_ALL_FILES_BYTES);
            problems.refuse(["files"].into(), Fault::TooManyBytes { what, bytes, most });
        }
    }
}

fn check_source(file: &StagedFile, place: impl Fn() -> KeyPath, problems: &mut Problems) {
    match &file.source {
        FileSource::Content(Content { bytes, .. }) => {
            if *bytes > MAX_FILE_BYTES {
                let (what, most) = ("the file has", MAX_FILE_BYTES);
                problems.refuse(place().at("path"), Fault::TooManyBytes { what, bytes: *bytes, most });
            }
        }
        FileSource::Shared { path, .. } => {
            let is_usable = path.starts_with('/') && path.len() <= MAX_SHARED_PATH_BYTES;
            if !is_usable || path.chars().any(char::is_control) {
                problems.refuse(place().at("shared"), Fault::SharedPath(path.clone()));
            }
        }
    }
}
