//! How often, in which order, on which hosts. What older plans do not say has its default here.

use speedup_core::experiment::prior::{LinePrior, MAX_PRIOR_PATHS, PathWeight};
use speedup_core::experiment::{Bisection, Levels, Order, Policy, Rest, Rule, Sameness, Scope, Spending};
use speedup_core::repetition::MAX_LINE;

use super::wire::{AtMost, Each, enumeration, oneof, structure};
use crate::v1;
use v1::rule::{Budget, Pilot, Rule as WireRule, Sequential};

enumeration!(Policy, v1::Policy, [Distinct, DistinctSets, Rebooted, Reallocated, Rested, Any]);
enumeration!(Scope, v1::Scope, [Benchmark, Experiment, Cell]);
enumeration!(Sameness, v1::Sameness, [Identical, Classes, Unchecked]);
enumeration!(Order, v1::RunOrder, [Randomized, Interleaved, Blocked]);
enumeration!(Spending, v1::Spending, [ObrienFleming, Pocock]);
structure!(Levels, v1::Levels, [hosts, boots]);
structure!(Bisection, v1::rule::Bisection, [maximum, block, blocks]);

structure!(LinePrior, v1::LinePrior, [paths => Each(MAX_PRIOR_PATHS), weights => AtMost(MAX_LINE)]);
structure!(PathWeight, v1::PathWeight, [path, weight]);
structure!(
    Rest,
    v1::Rest,
    [idle = idle_ns, load_percent, temperature_mc, frequency_percent, patience = patience_ns]
);

// A plan that says the number of runs has no rule.
oneof!(Rule, v1::Rule { rule: WireRule } never [Fixed], [
    Pilot { precision, maximum } = Pilot(Pilot { precision, maximum }),
    Sequential { looks, maximum, spending } = Sequential(Sequential { looks, maximum, spending }),
    Budget { time, maximum } = Budget(Budget { time_ns: time, maximum }),
    Bisection(bisection) = Bisection(bisection),
]);
