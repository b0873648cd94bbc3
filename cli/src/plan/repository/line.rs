//! The commits from a good end to a bad one, as one line: each has all that the one before it has.

use std::collections::BTreeSet;

use speedup_core::{experiment::commit::Commit, repetition::MAX_LINE};

use super::{BaseOf, GitRefusal, Range, Repository, invocation::Answer, invocation::git, subject_of_line};

/// Most bytes of a list of commits: a line of ids and one of a subject each, of a history a thousand times as long as can be searched.
const MAX_LINE_BYTES: u64 = 256 << 20;

/// Which commits of a range are its line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LineOptions {
    /// A merge is one commit: of its parents only the first is followed.
    pub(crate) first_parent: bool,
    /// Only commits that change one of these, and both ends; all where there is none.
    pub(crate) paths: Vec<String>,
}

struct ListedCommit {
    id: String,
    parents: Vec<String>,
    subject: String,
}

impl Repository {
    /// The commits of a range in their order, the good end first.
    pub(crate) fn line(&self, range: &Range, options: &LineOptions) -> Result<Vec<Commit>, GitRefusal> {
        let [good, bad] = self.commits(range)?;
        let between = format!("{}..{}", good.id, bad.id);
        let listed = self.listed(&between, options, &[])?;
        let merge = listed.iter().find(|commit| commit.parents.len() > 1);
        if let Some(merge) = merge
            && !options.first_parent
        {
            return Err(GitRefusal::Merges { range: range.text(), short: short(&merge.id) });
        }
        if end_of_chain(&good.id, &listed) != bad.id {
            return Err(GitRefusal::NoLine { range: range.text(), first_parent: options.first_parent });
        }
        let touching: BTreeSet<String> = match options.paths.as_slice() {
            [] => listed.iter().map(|commit| commit.id.clone()).collect(),
            paths => self.listed(&between, options, paths)?.into_iter().map(|commit| commit.id).collect(),
        };
        let mut line = vec![good];
        let inner = listed.into_iter().filter(|one| one.id != bad.id && touching.contains(&one.id));
        line.extend(inner.map(|ListedCommit { id, subject, .. }| Commit {
            revision: short(&id),
            id,
            subject,
        }));
        line.push(bad);
        if line.len() > MAX_LINE {
            return Err(GitRefusal::TooLong { range: range.text(), commits: line.len() });
        }
        Ok(line)
    }

    /// Where the commits of a branch begin that a reference does not have: their merge base.
    pub(crate) fn fork(&self, reference: &str, branch: &str) -> Result<Commit, GitRefusal> {
        let range =
            Range { baseline: reference.to_owned(), candidate: branch.to_owned(), base: BaseOf::Both };
        let base = self.merge_base(&self.id(reference)?, &self.id(branch)?, &range)?;
        self.named(&base, &short(&base))
    }

    /// The commits of a branch after one of them, by first parents, the oldest first.
    pub(crate) fn since(&self, start: &Commit, branch: &str) -> Result<Vec<Commit>, GitRefusal> {
        let head = self.id(branch)?;
        let not_on_branch = || GitRefusal::NotOnBranch {
            branch: branch.to_owned(),
            short: start.short().to_owned(),
            is_shallow: self.is_shallow,
        };
        // One that a rewritten branch left behind may be gone.
        if !self.rev_parse(&start.id)?.is_success {
            return Err(not_on_branch());
        }
        let options = LineOptions { first_parent: true, ..LineOptions::default() };
        let listed = self.listed(&format!("{}..{head}", start.id), &options, &[])?;
        if end_of_chain(&start.id, &listed) != head {
            return Err(not_on_branch());
        }
        let commit = |ListedCommit { id, subject, .. }| Commit { revision: short(&id), id, subject };
        Ok(listed.into_iter().map(commit).collect())
    }

    /// How many commits a branch has of the last year, by first parents.
    pub(crate) fn commits_of_last_year(&self, branch: &str) -> Result<u32, GitRefusal> {
        let head = self.id(branch)?;
        let count = ["rev-list", "--count", "--first-parent", "--since=1.year.ago", &head];
        let answer = Answer::wait_for(git(&self.directory, &count), MAX_LINE_BYTES)?;
        Ok(answer.text().trim().parse().unwrap_or(0))
    }

    /// The commits of a range, the oldest first; with paths, those that change one of them.
    fn listed(
        &self,
        range: &str,
        options: &LineOptions,
        paths: &[String],
    ) -> Result<Vec<ListedCommit>, GitRefusal> {
        let mut arguments = vec!["--literal-pathspecs", "rev-list", "--reverse", "--topo-order", "--parents"];
        arguments.push("--format=%s");
        arguments.extend(options.first_parent.then_some("--first-parent"));
        arguments.extend([range, "--"]);
        arguments.extend(paths.iter().map(String::as_str));
        let answer = Answer::wait_for(git(&self.directory, &arguments), MAX_LINE_BYTES)?;
        if !answer.is_success {
            return Err(GitRefusal::failed(&format!("list the commits of {range}"), answer.words()));
        }
        let text = answer.text();
        let lines: Vec<&str> = text.lines().collect();
        Ok(lines.chunks(2).filter_map(listed).collect())
    }
}

/// The last of the commits that each have the one before as their first parent, from `first` on.
fn end_of_chain<'l>(first: &'l str, listed: &'l [ListedCommit]) -> &'l str {
    listed
        .iter()
        .fold((first, true), |(end, is_whole), commit| {
            let follows = is_whole && commit.parents.first().is_some_and(|parent| parent == end);
            if follows { (commit.id.as_str(), true) } else { (end, false) }
        })
        .0
}

/// `commit ID PARENT…`, and the subject on the next line.
fn listed(lines: &[&str]) -> Option<ListedCommit> {
    let [ids, subject] = lines else { return None };
    let mut ids = ids.strip_prefix("commit ")?.split(' ').map(str::to_owned);
    Some(ListedCommit { id: ids.next()?, parents: ids.collect(), subject: subject_of_line(subject) })
}

fn short(id: &str) -> String {
    Commit { id: id.to_owned(), revision: String::new(), subject: String::new() }.short().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_two_lines() {
        let one = listed(&["commit 0a 0b 0c", "Sort\tin place"]).unwrap();
        assert_eq!((one.id.as_str(), one.parents.len(), one.subject.as_str()), ("0a", 2, "Sort in place"));
        let root = listed(&["commit 0a", ""]).unwrap();
        assert_eq!((root.parents.len(), root.subject.as_str()), (0, ""));
        for bad in [&["commit 0a"][..], &["0a 0b", "Sort"]] {
            assert!(listed(bad).is_none(), "{bad:?}");
        }
    }
}
