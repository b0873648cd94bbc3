//! Plans that name files.

use std::collections::BTreeMap;

use super::{SHORTEST, names_of_versions, read};
use crate::{
    experiment::Experiment, experiment::Fault, experiment::files::Content, experiment::files::ContentHash,
    experiment::files::FileSource, experiment::files::MAX_ALL_FILES_BYTES, experiment::files::MAX_FILE_BYTES,
    experiment::files::MAX_FILES, experiment::files::StagedFile, plan::Cell, plan::file::FoundCommit,
    plan::file::PlanFileError, plan::file::PlanLook, plan::file::Unusable, plan::file::WantedAt,
    plan::file::WantedCommit, plan::file::WantedFile, plan::file::parse_with, run::work::WorkOrder,
    value::id::BenchmarkIndex, value::id::RunIndex, value::id::VersionIndex, value::seed::Seed,
};

/// A plan read where some files exist.
pub(super) fn seen(text: &str, files: &[(&str, &[u8])]) -> Result<Experiment, PlanFileError> {
    parse_with(text, Seed(7), &mut There(files.iter().copied().collect()))
}

/// Files that exist, and no repository.
struct There<'a>(BTreeMap<&'a str, &'a [u8]>);

impl PlanLook for There<'_> {
    fn file(&mut self, wanted: &WantedFile) -> Result<FileSource, Unusable> {
        let (WantedAt::Here { path, .. } | WantedAt::Shared { path }) = &wanted.at;
        let Some(bytes) = self.0.get(path.as_str()) else {
            let cause = format!("cannot read {path}: it does not exist");
            return Err(Unusable { cause, hint: "make it".to_owned() });
        };
        let blake3 = ContentHash(blake3::hash(bytes).into());
        let bytes = bytes.len() as u64;
        Ok(match &wanted.at {
            WantedAt::Here { executable, .. } => {
                FileSource::Content(Content { blake3, bytes, executable: *executable })
            }
            WantedAt::Shared { path } => {
                FileSource::Shared { path: path.clone(), blake3, bytes: Some(bytes) }
            }
        })
    }

    fn commit(&mut self, wanted: &WantedCommit) -> Result<FoundCommit, Unusable> {
        Err(Unusable { cause: format!("no {}", wanted.revision), hint: "none".to_owned() })
    }
}

const FILES: &str = "[files.words]\npath = \"data/words.txt\"\n[files.tool]\npath = \"tool\"\nexecutable = true\n\
    [files.large]\nshared = \"/shared/large\"\n";

fn plan(command: &str) -> String {
    SHORTEST.replace("[\"true\"]", command) + FILES
}

const THERE: [(&str, &[u8]); 3] = [("data/words.txt", b"a\nb\n"), ("tool", b"#!"), ("/shared/large", b"L")];

fn order(experiment: &Experiment) -> WorkOrder {
    let cell = Cell { benchmark: BenchmarkIndex(0), version: VersionIndex(1) };
    WorkOrder::new(experiment, cell, RunIndex(0))
}

#[test]
fn files_are_looked_at_and_keep_their_order() {
    let experiment = seen(&plan("[\"{file.tool}\", \"{file.words}\"]"), &THERE).unwrap();
    assert_eq!(names_of_versions(&experiment), ["before", "after"]);
    let names: Vec<&str> = experiment.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["words", "tool", "large"]);
    let tool = Content { blake3: ContentHash(blake3::hash(b"#!").into()), bytes: 2, executable: true };
    assert_eq!(experiment.files[1].source, FileSource::Content(tool));
    assert!(matches!(&experiment.files[2].source, FileSource::Shared { bytes: Some(1), .. }));
}

#[test]
fn a_work_order_has_the_files_that_its_commands_name() {
    let text = plan("[\"{file.tool}\", \"x{file.words}\"]")
        + "[setup]\nshell = \"cp '{file.large}' '{input}'\"\n[prepare]\nshell = \"cat {{file.large}}\"\n";
    let mut order = order(&seen(&text, &THERE).unwrap());
    assert_eq!(order.files.len(), 3);
    for file in order.files.clone() {
        order.place(&file, format!("/f/{}", file.name));
    }
    assert_eq!(order.resolve("/in").unwrap().argv, ["/f/tool", "x/f/words"]);
    assert_eq!(order.resolve_setup("/in").unwrap().unwrap().argv[2], "cp '/f/large' '/in'");
    assert_eq!(order.resolve_prepare("/in").unwrap().unwrap().argv[2], "cat {file.large}");

    let order = self::order(&seen(&plan("[\"{file.words}\"]"), &THERE).unwrap());
    let names: Vec<&str> = order.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["words"], "others are not fetched for it");
    assert!(order.resolve("/in").is_err(), "a file that was not placed is not silently lost");
}

#[test]
fn environment_and_directory_may_name_files() {
    let text = plan("[\"true\"]").replace(
        "command = [\"true\"]",
        "command = [\"true\"]\nenv = { WORDS = \"{file.words}\" }\ndirectory = \"{file.large}/..\"",
    );
    assert_eq!(order(&seen(&text, &THERE).unwrap()).files.len(), 2);
}

#[test]
fn a_file_that_is_not_there_is_told_with_its_line() {
    let error = seen(&plan("[\"{file.words}\"]"), &THERE[1..]).unwrap_err();
    let [finding] = error.findings() else { panic!("{error}") };
    assert_eq!((finding.line, finding.column), (9, 8), "{error}");
    assert!(finding.message.contains("data/words.txt") && finding.hint == "make it", "{error}");
}

#[test]
fn a_shared_file_with_its_hash_is_not_looked_at() {
    let hash = "ab".repeat(32);
    let text = format!("{SHORTEST}[files.s]\nshared = \"/s\"\nblake3 = \"{hash}\"\n");
    let blake3 = ContentHash([0xab; 32]);
    assert_eq!(
        read(&text).files,
        [StagedFile {
            name: "s".to_owned(),
            source: FileSource::Shared { path: "/s".to_owned(), blake3, bytes: None }
        }]
    );
}

#[test]
fn what_is_wrong_with_files_is_told() {
    let hash = "0".repeat(64);
    let cases = [
        ("[files.a]\n", (8, 8), "nor `shared`", "path ="),
        ("[files.a]\npath = \"tool\"\nshared = \"/s\"\n", (10, 10), "`path` and `shared`", "keep"),
        ("[files.a]\npath = \"tool\"\nblake3 = \"00\"\n", (10, 10), "without `shared`", "remove"),
        ("[files.a]\nshared = \"/s\"\nblake3 = \"00\"\n", (10, 10), "not a BLAKE3 hash", "b3sum"),
        ("[files.A]\npath = \"tool\"\n", (8, 8), "name for a file", "lower-case"),
        ("[files.a]\npathh = \"tool\"\n", (9, 1), "`pathh`", "`path`"),
    ];
    let relative = format!("[files.a]\nshared = \"s\"\nblake3 = \"{hash}\"\n");
    let executable = format!("[files.a]\nshared = \"/s\"\nblake3 = \"{hash}\"\nexecutable = true\n");
    let more = [
        (relative.as_str(), (9, 10), "shared file", "absolute path"),
        (executable.as_str(), (11, 14), "`executable`", "remove"),
    ];
    for (text, at, cause, hint) in cases.into_iter().chain(more) {
        let error = seen(&format!("{SHORTEST}{text}"), &THERE).expect_err(text);
        let [finding] = error.findings() else { panic!("not one finding:\n{error}") };
        assert_eq!((finding.line, finding.column), at, "{error}");
        assert!(finding.message.contains(cause), "{error}");
        assert!(finding.hint.contains(hint), "{error}");
    }
}

#[test]
fn a_placeholder_of_no_file_is_told_at_its_braces() {
    let error = seen(&plan("[\"{file.wrods}\"]"), &THERE).unwrap_err();
    let [finding] = error.findings() else { panic!("{error}") };
    assert_eq!((finding.line, finding.column), (7, 13), "{error}");
    assert!(finding.hint.contains("{file.words}"), "{error}");
}

#[test]
fn files_are_bounded_whichever_way_they_come() {
    let faults = |change: &dyn Fn(&mut Vec<StagedFile>)| {
        let mut experiment = read(SHORTEST);
        change(&mut experiment.files);
        let error = experiment.check().expect_err("a refusal");
        error.problems().iter().map(|problem| problem.fault.clone()).collect::<Vec<_>>()
    };
    let content = |number: usize, bytes| {
        let mut blake3 = [0; 32];
        blake3[..8].copy_from_slice(&number.to_le_bytes());
        let content = Content { blake3: ContentHash(blake3), bytes, executable: false };
        StagedFile { name: format!("f{number}"), source: FileSource::Content(content) }
    };
    let many = faults(&|files| *files = (0..=MAX_FILES).map(|number| content(number, 1)).collect());
    assert_eq!(many, [Fault::TooMany { what: "files", count: MAX_FILES + 1, most: MAX_FILES }]);
    let large = faults(&|files| files.push(content(0, MAX_FILE_BYTES + 1)));
    let (bytes, most) = (MAX_FILE_BYTES + 1, MAX_FILE_BYTES);
    assert_eq!(large, [Fault::TooManyBytes { what: "the file has", bytes, most }]);
    let all = faults(&|files| *files = (0..5).map(|number| content(number, MAX_FILE_BYTES)).collect());
    let (bytes, most) = (5 * MAX_FILE_BYTES, MAX_ALL_FILES_BYTES);
    assert_eq!(all, [Fault::TooManyBytes { what: "all files together have", bytes, most }]);
    let twice = faults(&|files| *files = vec![content(0, 1), content(0, 1)]);
    assert_eq!(twice, [Fault::SameName("f0".to_owned())]);
    let control = faults(&|files| {
        let source =
            FileSource::Shared { path: "/a\n".to_owned(), blake3: ContentHash([0; 32]), bytes: None };
        files.push(StagedFile { name: "a".to_owned(), source });
    });
    assert_eq!(control, [Fault::SharedPath("/a\n".to_owned())]);
}
