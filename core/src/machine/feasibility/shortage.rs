//! What a pool lacks for a plan. The machine refuses by this and `plan check` says it before: there is one truth.

use std::fmt::{Display, Formatter};

use serde::Serialize;

use super::{HostClass, can_come_again, usable};
use crate::independence::{Renewal, Reuse};
use crate::machine::{hosts_needed, largest_gang, needs_reboots, visits_of_fullest_lane};
use crate::plan::Plan;

/// What the hosts that an experiment may take lack for its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Shortage {
    /// How many hosts of the kind that it wants the plan needs.
    pub needed: u32,
    /// How many such hosts there are.
    pub here: u32,
    pub want: Want,
}

/// Which hosts a plan wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Want {
    Fresh,
    /// As many fresh ones, or one that can boot anew between its visits.
    FreshOrRebooting,
    /// As many fresh ones, or one in an allocation, so that it can be given out anew between its visits.
    FreshOrAllocated,
    /// Those that can boot anew in the course of a visit.
    Rebooting,
    /// Different ones, because visits of a cell are on different hosts.
    Different,
    /// So many at once, because they serve a run together.
    Together,
    /// As many as have a set for each run, because no set of them serves twice.
    Sets,
    /// Different ones that come again: they can boot anew between visits of several cells.
    DifferentRebooting,
}

/// What a class of hosts lacks for a plan, if it lacks anything. A host that cannot come again is fresh once. Under a policy
/// that lets hosts come again, one that can is enough, or, where visits of a cell are on different hosts, as many as it has
/// visits: whatever others took before, one of them is left for the next.
pub fn shortage(plan: &Plan, class: &HostClass) -> Option<Shortage> {
    if plan.runs() == 0 {
        return None;
    }
    let least = hosts_needed(plan);
    let here = usable(plan, class);
    let reboots = needs_reboots(&plan.experiment);
    // What no host can do by coming again is lacking whatever the policy.
    if here < least {
        let may_return = plan.experiment.independence.policy.reuses_hosts();
        let want = match reboots {
            true => Want::Rebooting,
            false if plan.experiment.independence.policy.is_of_sets() => Want::Sets,
            false if largest_gang(plan) == least && least > 1 && may_return => Want::Together,
            false if may_return && least > 1 => Want::Different,
            false => Want::Fresh,
        };
        return Some(Shortage { needed: least, here, want });
    }
    let needed = visits_of_fullest_lane(plan);
    let again = can_come_again(plan, class);
    if here >= needed || again >= least {
        return None;
    }
    if least > 1 && plan.experiment.levels.are_nested() {
        return Some(Shortage { needed: least, here: again, want: Want::DifferentRebooting });
    }
    let want = match plan.experiment.independence.policy.reuse() {
        Reuse::After(Renewal::Boot) => Want::FreshOrRebooting,
        Reuse::After(Renewal::Allocation) => Want::FreshOrAllocated,
        Reuse::AmongOthers => Want::Sets,
        Reuse::Never | Reuse::Free => Want::Fresh,
    };
    Some(Shortage { needed, here, want })
}

impl Shortage {
    /// What the user can do about it.
    pub fn hint(self) -> &'static str {
        match self.want {
            Want::Fresh => {
                "start more agents, or submit with --wait-for-hosts, or set policy = \"any\" in [independence], which \
                 gives up independence"
            }
            Want::FreshOrRebooting => {
                "start agents with a --reboot-command, or more agents, or submit with --wait-for-hosts"
            }
            Want::FreshOrAllocated => {
                "start agents as jobs of an engine that allocates hosts, or more agents, or submit with --wait-for-hosts"
            }
            Want::Different => {
                "start more agents, or submit with --wait-for-hosts, or ask for fewer hosts in [repetitions]"
            }
            Want::Together => {
                "start more agents, or submit with --wait-for-hosts, or give the benchmark fewer `hosts`"
            }
            Want::Sets => {
                "start more agents, or submit with --wait-for-hosts, or ask for fewer runs, or set policy = \"any\" in \
                 [independence], which gives up independence"
            }
            Want::DifferentRebooting => {
                "start more agents with a --reboot-command, or submit with --wait-for-hosts, or ask for fewer hosts in \
                 [repetitions]"
            }
            Want::Rebooting => "start agents with a --reboot-command, or submit with --wait-for-hosts",
        }
    }
}

impl Display for Shortage {
    fn fmt(&self, to: &mut Formatter<'_>) -> std::fmt::Result {
        let Self { needed, here, want } = *self;
        match want {
            Want::Fresh => write!(to, "the plan needs {needed} fresh hosts, the pool has {here}"),
            Want::FreshOrRebooting => write!(
                to,
                "the plan needs {needed} fresh hosts, or one that can reboot between its runs; the pool has \
                    {here}, and none of them can"
            ),
            Want::FreshOrAllocated => write!(
                to,
                "the plan needs {needed} fresh hosts, or one whose allocation may change between its runs; the pool has \
                 {here}, and none of them is in an allocation"
            ),
            Want::Different => write!(
                to,
                "the plan has each cell visited by {needed} different hosts (`hosts` in [repetitions]), the pool has {here}"
            ),
            Want::Together => {
                write!(to, "the plan has runs on {needed} hosts at once, the pool has {here} of one class")
            }
            Want::Sets => write!(
                to,
                "the plan needs {needed} hosts, as many as have a set of their own for each run of a benchmark; the pool has {here}"
            ),
            Want::DifferentRebooting => write!(
                to,
                "the plan has each cell visited by {needed} different hosts (`hosts` in [repetitions]), which \
                    serve several cells and so have to reboot in between; the pool has {here} that can"
            ),
            Want::Rebooting => write!(
                to,
                "the plan reboots its hosts between the runs of a visit: it needs {needed} that can reboot, the \
                    pool has {here}"
            ),
        }
    }
}
