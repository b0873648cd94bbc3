//! Which host serves which run.

use super::Synthetic;
use speedup_core::{fingerprint::ClassId, plan::Cell, value::id::Attempt, value::id::RunIndex};

/// How hosts are given out.
pub(super) enum Hosts {
    Fresh,
    Few(u32),
    SharedBetweenVersions,
    /// A host for each visit of the plan, in further boots of it where the plan says so, or in one.
    OfVisits {
        booted: bool,
    },
    /// The hosts in turn, each in a new boot and allocation for every visit but this one.
    InTurn {
        hosts: u32,
        kept: Option<u32>,
    },
}

impl Synthetic {
    pub(in crate::study::tests) fn hosts(self, count: u32) -> Self {
        Self { hosts: Hosts::Few(count), ..self }
    }

    pub(in crate::study::tests) fn slow_host(self, host: u32, factor: f64) -> Self {
        Self { slow_host: Some((host, factor)), ..self }
    }

    pub(in crate::study::tests) fn shared_between_versions(self) -> Self {
        Self { hosts: Hosts::SharedBetweenVersions, ..self }
    }

    pub(in crate::study::tests) fn visits(self) -> Self {
        Self { hosts: Hosts::OfVisits { booted: true }, ..self }
    }

    /// The same without a boot within a visit.
    pub(in crate::study::tests) fn visits_without_boots(self) -> Self {
        Self { hosts: Hosts::OfVisits { booted: false }, ..self }
    }

    /// Hosts in turn, renewed before each visit but the one numbered `kept`.
    pub(in crate::study::tests) fn in_turn(self, hosts: u32, kept: Option<u32>) -> Self {
        Self { hosts: Hosts::InTurn { hosts, kept }, ..self }
    }

    /// Lets all runs of a host take longer by factors with this spread.
    pub(in crate::study::tests) fn host_spread(self, spread: f64) -> Self {
        Self { host_spread: spread, ..self }
    }

    /// Lets hosts be idle for so long between two runs, in seconds.
    pub(in crate::study::tests) fn idle(self, idle_s: u64) -> Self {
        Self { idle_s, ..self }
    }

    /// Hosts of two classes, one half slower and with two thirds of the candidate's runs and one of the baseline's.
    pub(in crate::study::tests) fn of_two_classes(self) -> Self {
        Self { classes: true, ..self }
    }

    /// Hosts of two classes, one half slower: every other host is of it.
    pub(in crate::study::tests) fn of_two_classes_by_host(self) -> Self {
        Self { classes: true, classes_by_host: true, ..self }
    }

    pub(super) fn is_slow_class(&self, run: u32) -> bool {
        if let (true, Hosts::Few(count)) = (self.classes_by_host, &self.hosts) {
            return run % count % 2 == 1;
        }
        let third =
            self.plan.order()[..run as usize].iter().filter(|cell| **cell == self.plan.order()[run as usize]);
        (third.count() % 3 == 0) == (self.plan.task(RunIndex(run)).version().0 == 0)
    }

    /// Host, boot and allocation of a run, and the uses before that its lease tells.
    pub(super) fn host(&self, run: RunIndex, repetition: u32, attempt: Attempt) -> (String, String, u32) {
        let Cell { benchmark, version } = self.plan.cell(run).expect("a run that is measured");
        let place = self.plan.place(run);
        let (group, boot) = (place.group.0, place.boot);
        let of_one_boot = |host: String, served| (host, "boot".to_owned(), served);
        match self.hosts {
            Hosts::Fresh => of_one_boot(format!("host-{}-{}-{}", version.0, repetition, attempt.0), 0),
            Hosts::Few(count) => of_one_boot(format!("host-{}", run.0 % count), run.0 / count),
            Hosts::SharedBetweenVersions => of_one_boot(format!("host-{}-{repetition}", benchmark.0), 0),
            Hosts::OfVisits { booted } => {
                let boot = if booted { boot } else { 0 };
                (format!("host-{group}"), format!("boot-{group}-{boot}"), 0)
            }
            Hosts::InTurn { hosts, kept } => {
                let visit = group / place.size;
                let renewed = if kept == Some(visit) { visit - hosts } else { visit };
                (format!("host-{}", visit % hosts), format!("boot-{renewed}-{boot}"), visit / hosts)
            }
        }
    }
}

pub(super) fn class(is_slow: bool) -> ClassId {
    format!("{:032x}", u8::from(is_slow)).parse().unwrap()
}
