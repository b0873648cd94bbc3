//! Events of versions from Git: a plan that names the commit of each.

use std::sync::Arc;

use speedup_core::experiment::commit::Commit;
use speedup_core::machine::event::{Change, Event};
use speedup_core::plan::Plan;
use speedup_core::value::time::Timestamp;

use super::{EXPERIMENT, plan};

pub(super) fn events() -> Vec<Event> {
    let Plan { mut experiment, .. } = plan();
    let commits = [("main", "Sort in place"), ("HEAD~1", "")];
    for (version, (revision, subject)) in experiment.versions.iter_mut().zip(commits) {
        let (id, revision, subject) = ("0a".repeat(20), revision.to_owned(), subject.to_owned());
        version.commit = Some(Commit { id, revision, subject });
    }
    let (plan, by) = (Arc::new(Plan::draw(experiment)), "ada@laptop".to_owned());
    let change = Change::Submitted { experiment: EXPERIMENT, plan, by, request: None };
    vec![Event { at: Timestamp(1_000), change }]
}
