//! What is refused of commits, each with its reason and what to do; and that nothing of a repository is executed.

use speedup_tests::{output::ended, output::succeeded};
use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, path::PathBuf, process::Command};

use super::{PROGRAM, Project, said, work};

/// A plan whose second version is of this revision.
fn plan(revision: &str) -> String {
    super::plan(2).replace("git = \"HEAD\"", &format!("git = {revision:?}"))
}

fn refused(project: &Project, text: &str, words: &[&str]) {
    fs::write(project.repository().join("plan.toml"), text).expect("a plan");
    for verb in [&["plan", "check"][..], &["submit"], &["run"]] {
        let output = ended(&project.speedup(&[verb, &["plan.toml"]].concat()), 2);
        for words in words {
            assert!(output.contains(words), "{words:?}:\n{output}");
        }
    }
}

#[test]
fn a_revision_that_is_none_is_refused_where_it_stands() {
    let project = Project::new();
    let place = "line 10, column 7";
    refused(&project, &plan("mainn"), &[place, "has no commit \"mainn\"", "did you mean `main`?"]);
    refused(&project, &plan("v1..main"), &[place, "has no commit", "it is a range"]);
    refused(&project, &plan("HEAD~7"), &[place, "has no commit \"HEAD~7\"", "git log --oneline"]);
    refused(&project, &plan("--output=/tmp/x"), &[place, "begins with a dash"]);
    refused(&project, &plan(""), &[place, "it is empty"]);
    refused(&project, &plan("HEAD:prog.c"), &[place, "has no commit"]);
    let elsewhere = plan("HEAD").replace("git = \"HEAD\"", "git = \"HEAD\"\nrepository = \"../temporary\"");
    refused(&project, &elsewhere, &[place, "is in no Git repository", "repository ="]);
    refused(&project, &elsewhere.replace("../temporary", "../nowhere"), &[place, "there is no directory"]);
    refused(&project, &plan("HEAD").replace("build =", "command ="), &["nothing that builds"]);
}

#[test]
fn a_name_that_is_a_tag_and_a_branch_is_refused_until_it_says_which() {
    let project = Project::new();
    project.git(&["branch", "both", "main"]);
    project.git(&["tag", "both", "v1"]);
    // A repository does not decide whether its user learns of it.
    project.git(&["config", "core.warnAmbiguousRefs", "false"]);
    let whole_names = ["refs/tags/both", "refs/heads/both"];
    refused(&project, &plan("both"), &[&["line 10, column 7"][..], &whole_names].concat());
    project.write("plan.toml", &plan("HEAD~1"));
    for arguments in [
        &["bench", "--git", "v1..both~0", "true"][..],
        &["bench", "--git", "both...main", "true"],
        &["bisect", "both..main", "plan.toml", "--only", "once"],
        &["track", "add", "plan.toml", "--branch", "both", "--reference", "v1"],
    ] {
        let output = ended(&project.speedup(arguments), 2);
        assert!(whole_names.iter().all(|name| output.contains(name)), "{arguments:?}: {output}");
    }
    let bench = ["bench", "-r", "2", "--format", "json", "--git", "refs/tags/both..refs/heads/both", "true"];
    let output = project.speedup(&bench);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a report");
    let measured: Vec<String> = super::commits(&report).into_iter().map(|(_, id, _)| id).collect();
    assert_eq!(measured, [project.id("v1"), project.id("main")]);
}

#[test]
fn a_range_that_is_none_is_refused() {
    let project = Project::new();
    for (range, words) in [
        ("main", "is not two revisions"),
        ("..", "is not two revisions"),
        ("main..HEAD", "is one commit"),
        ("v1..nowhere", "has no commit \"nowhere\""),
        ("v1..-x", "begins with a dash"),
    ] {
        let output = project.speedup(&["bench", "--git", range, "true"]);
        assert_eq!(output.status.code(), Some(2), "{range}");
        let output = said(&output);
        assert!(output.contains(words), "{range}: {output}");
        assert!(output.contains("hint: "), "{range}: {output}");
    }
    project.git(&["checkout", "-q", "--orphan", "other"]);
    project.commit("Begin anew", &[]);
    let output = project.speedup(&["bench", "--git", "main...other", "true"]);
    assert!(said(&output).contains("have none"), "{}", said(&output));
    for arguments in [&["--build", "make", "true"][..], &["--git", "v1..main", "--reference", "true", "true"]]
    {
        assert_eq!(project.speedup(&[&["bench"], arguments].concat()).status.code(), Some(2));
    }
    let lines = project.speedup(&["bench", "--git", "v1..main", "-p", "true", "-p", "false", "true", "true"]);
    assert!(said(&lines).contains("--conclude once"), "{}", said(&lines));
    project.assert_removed();
}

#[test]
fn without_git_or_a_repository_or_its_history_it_is_said() {
    let project = Project::new();
    fs::write(project.repository().join("plan.toml"), plan("HEAD")).expect("a plan");
    let output = ended(
        &project
            .command(&["plan", "check", "plan.toml"])
            .env("PATH", "/nowhere")
            .output()
            .expect("the command"),
        2,
    );
    assert!(output.contains("cannot execute git"), "{output}");
    assert!(output.contains("install git"), "{output}");
    let output =
        project.command(&["bench", "--git", "a..b", "true"]).current_dir(project.path("temporary")).output();
    assert!(said(&output.expect("the command")).contains("is in no Git repository"));
    let shallow = project.path("shallow").display().to_string();
    let url = format!("file://{}", project.repository().display());
    project.git(&["clone", "-q", "--depth", "1", "--no-tags", &url, &shallow]);
    let bench = |range: &str| {
        let mut command = project.command(&["bench", "-r", "2", "--git", range, "true"]);
        said(&command.current_dir(&shallow).output().expect("the command"))
    };
    assert!(bench("HEAD~1..HEAD").contains("git fetch --unshallow"), "{}", bench("HEAD~1..HEAD"));
    assert!(bench("HEAD...HEAD").contains("cut off"), "{}", bench("HEAD...HEAD"));
}

#[test]
fn pointers_are_refused_and_submodules_are_told() {
    let project = Project::new();
    let pointer =
        format!("version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 12345\n", "0a".repeat(32));
    project.commit("Large", &[("data/large.bin", &pointer)]);
    refused(&project, &plan("HEAD"), &["\"data/large.bin\"", "a pointer of Git LFS", "line 10, column 7"]);
    let output = project.speedup(&["bench", "--git", "v1..HEAD", "true"]);
    assert!(said(&output).contains("a pointer of Git LFS"), "{}", said(&output));
    project.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let id = project.id("HEAD");
    project.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{id},lib/other")]);
    project.git(&["commit", "-q", "-m", "Submodule"]);
    let output = ended(&project.speedup(&["bench", "-r", "2", "--git", "v1..HEAD", "true"]), 0);
    assert!(output.contains("lib/other is missing"), "{output}");
}

/// A commit whose tree Git itself would not make.
fn crafted(project: &Project, mode: &str, name: &str) -> String {
    use std::io::Write as _;
    let blob = project.git(&["rev-parse", "HEAD:prog.c"]);
    let bytes: Vec<u8> = (0..blob.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&blob[at..at + 2], 16).expect("hex"))
        .collect();
    let path = project.path("tree");
    let mut tree = fs::File::create(&path).expect("a file");
    tree.write_all(&[format!("{mode} {name}\0").as_bytes(), &bytes].concat()).expect("written");
    let path = path.display().to_string();
    let tree = project.git(&["hash-object", "-t", "tree", "--literally", "-w", &path]);
    project.git(&["commit-tree", "-m", "crafted", &tree])
}

#[test]
fn a_commit_that_would_be_written_elsewhere_is_refused() {
    let project = Project::new();
    for name in ["..", "../outside", "/etc/outside", ".git", "a/../../outside"] {
        let id = crafted(&project, "100644", name);
        refused(&project, &plan(&id), &["cannot be put on a disk", "line 10, column 7"]);
        let output = project.speedup(&["bench", "--git", &format!("v1..{id}"), "true"]);
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert!(said(&output).contains("cannot be put on a disk"), "{name}: {}", said(&output));
    }
    assert!(!project.path("outside").exists() && !Path::new("/etc/outside").exists());
    project.assert_removed();
}

/// Gives a repository all by which its own files and configuration can name programs; each leaves a mark in the file that is given
/// back.
fn arm(project: &Project) -> PathBuf {
    let mark = project.path("executed");
    let script = project.path("script");
    fs::write(&script, format!("#!/bin/sh\necho \"$0\" >> {}\ncat\n", mark.display())).expect("a script");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("permissions");
    let hooks = project.repository().join(".git/hooks");
    for hook in
        ["post-checkout", "post-index-change", "reference-transaction", "pre-commit", "fsmonitor-watchman"]
    {
        fs::copy(&script, hooks.join(hook)).expect("a hook");
    }
    // For a search path with a relative directory.
    fs::copy(&script, project.repository().join("git")).expect("a program");
    let attributes = "*.c filter=mine diff=mine merge=mine\n*.h filter=a=b\n*.lfs filter=lfs\n";
    project.commit("Attributes", &[(".gitattributes", attributes), ("large.lfs", "large\n")]);
    fs::write(project.repository().join(".git/info/attributes"), "*.c filter=mine\n").expect("attributes");
    let script = script.display().to_string();
    let included = project.path("included").display().to_string();
    let filter = format!("[filter \"a=b\"]\n\tclean = {script}\n\trequired = true\n");
    fs::write(&included, filter).expect("a file");
    let order = format!("!{script}");
    for (key, value) in [
        ("alias.rev-parse", &*order),
        ("alias.status", &order),
        ("core.alternateRefsCommand", &script),
        ("core.askPass", &script),
        ("core.editor", &script),
        ("core.fsmonitor", &script),
        ("core.gitProxy", &script),
        ("core.hooksPath", &hooks.display().to_string()),
        ("core.pager", &script),
        ("core.repositoryFormatVersion", "1"),
        ("core.sshCommand", &script),
        ("credential.helper", &order),
        ("diff.external", &script),
        ("diff.mine.command", &script),
        ("diff.mine.textconv", &script),
        ("extensions.partialClone", "origin"),
        ("filter.lfs.process", &script),
        ("filter.mine.clean", &script),
        ("filter.mine.process", &script),
        ("filter.mine.smudge", &script),
        ("gpg.program", &script),
        ("include.path", &included),
        ("includeIf.gitdir:/**.path", &included),
        ("log.showSignature", "true"),
        ("merge.mine.driver", &script),
        ("pager.rev-list", &script),
        ("pager.status", &script),
        ("protocol.allow", "always"),
        ("protocol.ext.allow", "always"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.uploadpack", &script),
        ("remote.origin.url", &format!("ext::{script}")),
        ("submodule.lib.update", &order),
        ("tar.umask", "0777"),
        ("uploadpack.packObjectsHook", &script),
    ] {
        project.git(&["config", key, value]);
    }
    // Git looks into files that seem to have changed.
    for (name, text) in [("prog.c", PROGRAM), ("work.h", &work(10, "fast")), ("large.lfs", "large\n")] {
        project.write(name, text);
    }
    let _ = fs::remove_file(&mark);
    mark
}

/// What was executed.
fn executed(mark: &Path) -> String {
    fs::read_to_string(mark).unwrap_or_default()
}

#[test]
fn nothing_of_the_repository_is_executed_and_no_other_is_taken_for_it() {
    let project = Project::new();
    let mark = arm(&project);
    let script = project.path("script");
    let other = Project::empty();
    other.commit("Other", &[("prog.c", PROGRAM), ("work.h", &work(1, "other"))]);
    fs::write(project.repository().join("plan.toml"), plan("HEAD")).expect("a plan");
    let surround = |command: &mut Command| {
        let git = other.repository().join(".git");
        command
            .env("GIT_DIR", &git)
            .env("GIT_WORK_TREE", other.repository())
            .env("GIT_INDEX_FILE", git.join("index"));
        command.env("GIT_PAGER", &script).env("GIT_EXTERNAL_DIFF", &script);
        command.env("PATH", format!(".::bin:{}", std::env::var("PATH").expect("a path")));
        said(&command.output().expect("the command"))
    };
    let mut check = project.command(&["plan", "check", "plan.toml", "--hosts", "1"]);
    let told = surround(&mut check);
    assert!(told.contains("Attributes"), "{told}");
    let line = "test -z \"$GIT_DIR$GIT_INDEX_FILE\"";
    let mut bench = project.command(&["bench", "-r", "2", "--git", "v1..HEAD", "--build", line, line]);
    let told = surround(&mut bench);
    assert!(told.contains("HEAD: HEAD is") && told.contains("Verdict"), "{told}");
    assert_eq!(executed(&mark), "");
}

#[test]
fn bisections_and_tracks_execute_nothing_of_the_repository_and_fetch_nothing() {
    let project = Project::new();
    let mark = arm(&project);
    fs::write(project.repository().join("plan.toml"), plan("HEAD")).expect("a plan");
    let plan = ["--branch", "main", "--reference", "v1", "--name", "line", "--points-a-year", "64"];
    succeeded(&project.speedup(&[&["track", "add", "plan.toml"], &plan[..]].concat()));
    succeeded(&project.speedup(&["track", "run", "line", "--most", "1"]));
    let bisected = project.speedup(&["bisect", "v1..HEAD", "plan.toml", "--only", "once"]);
    assert!(said(&bisected).contains("Compute less"), "{}", said(&bisected));
    assert_eq!(executed(&mark), "");
    // What a partial clone lacks is not fetched.
    let lacking = project.id("HEAD:prog.c");
    fs::remove_file(project.repository().join(".git/objects").join(&lacking[..2]).join(&lacking[2..]))
        .expect("a loose object");
    ended(&project.speedup(&["bench", "--git", "v1..HEAD", "true"]), 2);
    assert_eq!(executed(&mark), "");
    // Git itself, left to the repository, fetches by the program that this names.
    fs::write(project.path("script"), format!("#!/bin/sh\necho fetched >> {}\n", mark.display()))
        .expect("a script");
    let mut git = super::surrounded(Command::new("git"), project.path("").as_path());
    let _ = git.args(["cat-file", "-p", &lacking]).current_dir(project.repository()).output();
    assert!(executed(&mark).contains("fetched"), "the test would see it");
}

#[test]
fn the_users_own_filters_decide_what_is_a_change() {
    let project = Project::new();
    project.git(&["config", "--global", "filter.upper.clean", "tr a-z A-Z"]);
    // The command goes by no variable of git.
    fs::copy(project.path("gitconfig"), project.path(".gitconfig")).expect("the user's configuration");
    project.commit("Filtered", &[(".gitattributes", "*.txt filter=upper\n"), ("a.txt", "words\n")]);
    let arguments = ["bench", "-r", "2", "--git", "v1..HEAD", "true"];
    let told = |text: &str| {
        project.write("a.txt", text);
        ended(&project.speedup(&arguments), 0).contains("changes that are not committed")
    };
    assert!(!told("Words\n"), "it is the same after the filter");
    assert!(told("other words\n"));
}
