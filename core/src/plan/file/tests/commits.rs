//! Versions that are built from commits: what they become, and what is refused.

use super::SHORTEST;
use crate::experiment::commit::Commit;
use crate::experiment::files::{Content, ContentHash, FileSource, StagedFile};
use crate::experiment::{CommandLine, Experiment};
use crate::plan::file::{
    FoundCommit, PlanFileError, PlanLook, Unusable, WantedCommit, WantedFile, parse, parse_with,
};
use crate::value::seed::Seed;

/// A repository in which each revision of one letter is a commit.
struct Letters;

impl PlanLook for Letters {
    fn file(&mut self, wanted: &WantedFile) -> Result<FileSource, Unusable> {
        Err(Unusable { cause: format!("no {}", wanted.name), hint: "none".to_owned() })
    }

    fn commit(&mut self, wanted: &WantedCommit) -> Result<FoundCommit, Unusable> {
        let (revision, subject) = (wanted.revision.clone(), format!("in {:?}", wanted.repository));
        match revision.len() {
            1 => Ok(FoundCommit {
                commit: Commit { id: revision.repeat(40), revision, subject },
                source: Content { blake3: ContentHash([1; 32]), bytes: 7, executable: false },
            }),
            _ => Err(Unusable { cause: format!("no commit {revision}"), hint: "one letter".to_owned() }),
        }
    }
}

fn seen(versions: &str) -> Result<Experiment, PlanFileError> {
    let text = format!(
        "[experiment]\nname = \"commits\"\n{versions}[benchmarks.x]\ncommand = [\"{{build.prog}}\"]\n\
         [independence]\npolicy = \"any\"\n"
    );
    parse_with(&text, Seed(7), &mut Letters)
}

const BUILT: &str = "build = [\"make\", \"prog\"]\nproducts = { prog = \"prog\" }\n";

#[test]
fn a_commit_becomes_a_staged_file_that_the_build_unpacks() {
    let experiment = seen(&format!(
        "[versions.old]\nbaseline = true\ngit = \"a\"\n{BUILT}[versions.new]\ngit = \"b\"\nrepository = \"../prog\"\n\
         build_shell = \"make\"\nproducts = {{ prog = \"prog\" }}\n[versions.again]\ngit = \"a\"\n{BUILT}"
    ))
    .unwrap();
    let names: Vec<&str> = experiment.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, [format!("git_{}", "a".repeat(40)), format!("git_{}", "b".repeat(40))], "each once");
    let [old, new, _] = &experiment.versions[..] else { panic!("three versions") };
    assert_eq!(old.commit.as_ref().unwrap().in_words(), "a is aaaaaaaaaaaa, in None");
    assert_eq!(new.commit.as_ref().unwrap().subject, "in Some(\"../prog\")");
    let CommandLine::Exact(words) = &old.build.as_ref().unwrap().command else { panic!("words") };
    assert_eq!(
        words[3..],
        [format!("{{file.git_{}}}", "a".repeat(40)), "make".to_owned(), "prog".to_owned()]
    );
    let CommandLine::Shell(line) = &new.build.as_ref().unwrap().command else { panic!("a line") };
    assert!(line.ends_with("\nmake"), "{line}");
}

#[test]
fn what_is_no_commit_is_refused_where_it_stands() {
    let refused = |version: &str| {
        let error =
            seen(&format!("[versions.old]\nbaseline = true\n{version}[versions.new]\ngit = \"b\"\n{BUILT}"));
        let error = error.unwrap_err();
        let finding = &error.findings()[0];
        (finding.line, finding.column, finding.message.clone(), finding.hint.clone())
    };
    let told = |line, column, message: &str, hint: &str| (line, column, message.to_owned(), hint.to_owned());
    assert_eq!(refused(&format!("git = \"main\"\n{BUILT}")), told(5, 7, "no commit main", "one letter"));
    let (line, column, message, hint) = refused("git = \"a\"\ncommand = [\"true\"]\n");
    assert_eq!((line, column), (5, 7));
    assert!(message.contains("`git`") && hint.contains("build = [\"make\"]"), "{message}");
    let (line, _, message, _) = refused(&format!("repository = \".\"\n{BUILT}"));
    assert!(line == 5 && message.contains("`repository`"), "{message}");
}

#[test]
fn a_file_cannot_take_the_name_of_a_source() {
    let files =
        format!("[files.git_{}]\nshared = \"/a\"\nblake3 = \"{}\"\n", "a".repeat(40), "0a".repeat(32));
    let error = seen(&format!(
        "{files}[versions.old]\nbaseline = true\ngit = \"a\"\n{BUILT}[versions.new]\ngit = \"b\"\n{BUILT}"
    ));
    assert!(error.unwrap_err().to_string().contains("git_aaaa"));
}

#[test]
fn without_a_repository_to_look_at_a_revision_is_refused() {
    let text = SHORTEST.replace("baseline = true\n", &format!("baseline = true\ngit = \"a\"\n{BUILT}"));
    assert_ne!(text, SHORTEST);
    assert!(parse(&text, Seed(7)).unwrap_err().to_string().contains("cannot name a revision"));
}

#[test]
fn a_commit_that_is_none_passes_no_door() {
    let plan =
        format!("[versions.old]\nbaseline = true\ngit = \"a\"\n{BUILT}[versions.new]\ngit = \"b\"\n{BUILT}");
    let mut experiment = seen(&plan).unwrap();
    assert!(experiment.check().is_ok());
    experiment.versions[0].commit.as_mut().unwrap().id = "../../etc".to_owned();
    let error = experiment.check().unwrap_err();
    assert_eq!(error.problems()[0].place.to_string(), "versions.old.git");
    // Its source is a file like any other.
    assert!(matches!(&experiment.files[0], StagedFile { source: FileSource::Content(_), .. }));
}
