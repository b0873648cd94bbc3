//! Staged files: their names, their paths, and that hosts can hold them.

use std::collections::BTreeSet;

use super::Fault;
use crate::experiment::Experiment;
use crate::experiment::files::{
    Content, FileSource, MAX_ALL_FILES_BYTES, MAX_FILE_BYTES, MAX_FILES, MAX_SHARED_PATH_BYTES, StagedFile,
    contents,
};
use crate::experiment::problem::Problems;
use crate::experiment::template::is_identifier;

impl Experiment {
    pub(super) fn check_files(&self, problems: &mut Problems) {
        let count = self.files.len();
        if count > MAX_FILES {
            problems.refuse(["files"], Fault::TooMany { what: "files", count, most: MAX_FILES });
            return;
        }
        let mut seen = BTreeSet::new();
        for file in &self.files {
            let place = ["files", &file.name];
            if !is_identifier(&file.name) || file.name.len() > super::MAX_NAME_BYTES {
                problems.refuse(place, Fault::FileName(file.name.clone()));
            }
            if !seen.insert(&file.name) {
                problems.refuse(place, Fault::SameName(file.name.clone()));
            }
            check_source(file, problems);
        }
        let bytes = contents(&self.files).iter().map(|content| content.bytes).fold(0, u64::saturating_add);
        if bytes > MAX_ALL_FILES_BYTES {
            let what = "all files together have";
            problems.refuse(["files"], Fault::TooManyBytes { what, bytes, most: MAX_ALL_FILES_BYTES });
        }
    }
}

fn check_source(file: &StagedFile, problems: &mut Problems) {
    match &file.source {
        FileSource::Content(Content { bytes, .. }) => {
            if *bytes > MAX_FILE_BYTES {
                let fault = Fault::TooManyBytes { what: "the file has", bytes: *bytes, most: MAX_FILE_BYTES };
                problems.refuse(["files", &file.name, "path"], fault);
            }
        }
        FileSource::Shared { path, .. } => {
            let is_usable = path.starts_with('/') && path.len() <= MAX_SHARED_PATH_BYTES;
            if !is_usable || path.chars().any(char::is_control) {
                problems.refuse(["files", &file.name, "shared"], Fault::SharedPath(path.clone()));
            }
        }
    }
}
