//! Runs on several hosts: how many, and what cannot be together with them.

use std::collections::BTreeMap;

use super::super::gang::{Gang, GangLauncher, MAX_GANG, MAX_RANKS_PER_HOST, MAX_SIZES, RANK};
use super::super::problem::{Fault, KeyPath, Problems};
use super::super::template::placeholders;
use super::super::{Benchmark, Experiment, MAX_BENCHMARKS, Order, Policy, Scope};
use super::check_range;

impl Experiment {
    /// Whether any run is spread over hosts by the coordinator.
    pub(super) fn has_gangs(&self) -> bool {
        self.benchmarks.iter().any(|benchmark| benchmark.gang.is_some())
    }

    pub(super) fn check_gangs(&self, problems: &mut Problems) {
        if self.independence.policy.is_of_sets() {
            let place = ["independence", "policy"];
            if !self.has_gangs() {
                problems.refuse(place, Fault::Sets("none has `hosts`"));
            }
            if self.independence.scope == Scope::Experiment {
                let why = "the scope is the experiment, whose runs want sets of several sizes";
                problems.refuse(place, Fault::Sets(why));
            }
        }
        if !self.has_gangs() {
            return;
        }
        let benchmarks = self.benchmarks.iter().take(MAX_BENCHMARKS);
        let mut sizes = BTreeMap::<&str, usize>::new();
        for (benchmark, gang) in benchmarks.filter_map(|one| Some((one, one.gang.as_ref()?))) {
            // A point of a scaling series is refused under the name that the plan file has for all of them.
            let name = gang.series.as_ref().map_or(&benchmark.name, |series| &series.name);
            check_gang(gang, &KeyPath::from(["benchmarks", name]), problems);
            if !gang.times_ranks {
                check_no_rank(benchmark, name, problems);
            }
            if gang.series.is_some() {
                *sizes.entry(name).or_default() += 1;
            }
        }
        for (name, count) in sizes.into_iter().filter(|(_, count)| *count > MAX_SIZES) {
            let fault = Fault::TooMany { what: "numbers of hosts", count, most: MAX_SIZES };
            problems.refuse(["benchmarks", name, "hosts"], fault);
        }
        if self.order == Order::Blocked {
            let why = "the order is blocked, where one host serves all versions after each other";
            problems.refuse(["benchmarks"], Fault::Gang(why));
        }
        if self.levels.are_nested() {
            problems.refuse(["benchmarks"], Fault::Gang("it repeats over hosts or boots"));
        }
        if self.independence.policy == Policy::Rebooted {
            problems.refuse(["benchmarks"], Fault::Gang("hosts are to boot anew between runs"));
        }
    }
}

/// Nobody fills in the number of a rank where ranks are not timed.
fn check_no_rank(benchmark: &Benchmark, name: &str, problems: &mut Problems) {
    let launch = match &benchmark.gang {
        Some(Gang { launcher: GangLauncher::Own(words), .. }) => words.as_slice(),
        Some(_) | None => &[],
    };
    let texts = benchmark.command.texts().chain(launch.iter().map(String::as_str));
    if texts.flat_map(placeholders).any(|placeholder| placeholder == RANK) {
        problems.refuse(["benchmarks", name, "time_ranks"], Fault::RankUnknown);
    }
}

fn check_gang(gang: &Gang, place: &KeyPath, problems: &mut Problems) {
    check_range(gang.hosts.into(), 1, MAX_GANG.into(), place.at("hosts"), problems);
    let most = MAX_RANKS_PER_HOST.into();
    check_range(gang.ranks_per_host.into(), 1, most, place.at("ranks_per_host"), problems);
    if gang.times_ranks && gang.launcher == GangLauncher::None {
        problems.refuse(place.at("time_ranks"), Fault::NoRanks);
    }
    if let GangLauncher::Own(words) = &gang.launcher
        && words.first().is_none_or(String::is_empty)
    {
        problems.refuse(place.at("launch"), Fault::EmptyCommand);
    }
}
