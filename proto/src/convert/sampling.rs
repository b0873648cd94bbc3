//! How often, in which order, on which hosts. What older plans do not say has its default here.

use speedup_core::experiment::prior::{LinePrior, MAX_PRIOR_PATHS, PathWeight};
use speedup_core::experiment::{Bisection, Levels, Order, Policy, Rest, Rule, Sameness, Scope, Spending};
use speedup_core::repetition::MAX_LINE;
use speedup_core::value::time::Span;

use super::field::{at_most, chosen, enumerated, enumeration, structure};
use super::malformed::Malformed;
use crate::v1;
use v1::rule::{Budget, Pilot, Rule as Wire, Sequential};

enumeration!(Policy, v1::Policy, [Distinct, DistinctSets, Rebooted, Reallocated, Rested, Any]);
enumeration!(Scope, v1::Scope, [Benchmark, Experiment, Cell]);
enumeration!(Sameness, v1::Sameness, [Identical, Classes, Unchecked]);
enumeration!(Order, v1::RunOrder, [Randomized, Interleaved, Blocked]);
enumeration!(Spending, v1::Spending, [ObrienFleming, Pocock]);
structure!(Levels, v1::Levels, [hosts, boots]);
structure!(Bisection, v1::rule::Bisection, [maximum, block, blocks]);

impl From<&LinePrior> for v1::LinePrior {
    fn from(prior: &LinePrior) -> Self {
        let LinePrior { paths, weights } = prior;
        let path = |of: &PathWeight| v1::PathWeight { path: of.path.clone(), weight: of.weight };
        Self { paths: paths.iter().map(path).collect(), weights: weights.clone() }
    }
}

impl TryFrom<v1::LinePrior> for LinePrior {
    type Error = Malformed;

    fn try_from(wire: v1::LinePrior) -> Result<Self, Malformed> {
        let v1::LinePrior { paths, weights } = wire;
        at_most(paths.len(), MAX_PRIOR_PATHS, "paths")?;
        at_most(weights.len(), MAX_LINE, "weights")?;
        let path = |v1::PathWeight { path, weight }| PathWeight { path, weight };
        Ok(Self { paths: paths.into_iter().map(path).collect(), weights })
    }
}

/// Which hosts may take part, on the wire: what is the default of older plans is written as they wrote it.
pub(super) fn wire_sameness(hosts: Sameness) -> v1::Sameness {
    match hosts {
        Sameness::Unchecked => v1::Sameness::Unspecified,
        Sameness::Identical | Sameness::Classes => hosts.into(),
    }
}

/// The order of the runs on the wire, likewise.
pub(super) fn wire_run_order(order: Order) -> v1::RunOrder {
    match order {
        Order::Randomized => v1::RunOrder::Unspecified,
        Order::Interleaved | Order::Blocked => order.into(),
    }
}

/// Which hosts may take part; plans from before there was a choice take any.
pub(super) fn sameness(wire: i32) -> Result<Sameness, Malformed> {
    if wire == v1::Sameness::Unspecified as i32 {
        return Ok(Sameness::Unchecked);
    }
    enumerated::<v1::Sameness, _>(wire, "hosts")
}

/// The order of the runs; plans from before there was a choice are randomized.
pub(super) fn run_order(wire: i32) -> Result<Order, Malformed> {
    if wire == v1::RunOrder::Unspecified as i32 {
        return Ok(Order::Randomized);
    }
    enumerated::<v1::RunOrder, _>(wire, "run_order")
}

impl From<Rest> for v1::Rest {
    fn from(rest: Rest) -> Self {
        let Rest { idle, load_percent, temperature_mc, frequency_percent, patience } = rest;
        let (idle_ns, patience_ns) = (idle.0, patience.0);
        Self { idle_ns, load_percent, temperature_mc, frequency_percent, patience_ns }
    }
}

impl TryFrom<v1::Rest> for Rest {
    type Error = Malformed;

    fn try_from(wire: v1::Rest) -> Result<Self, Malformed> {
        let v1::Rest { idle_ns, load_percent, temperature_mc, frequency_percent, patience_ns } = wire;
        let (idle, patience) = (Span(idle_ns), Span(patience_ns));
        Ok(Self { idle, load_percent, temperature_mc, frequency_percent, patience })
    }
}

/// The rule on the wire, unless the plan says the number of runs.
pub(super) fn wire_rule(rule: Rule) -> Option<v1::Rule> {
    let rule = match rule {
        Rule::Fixed => return None,
        Rule::Pilot { precision, maximum } => Wire::Pilot(Pilot { precision, maximum }),
        Rule::Sequential { looks, maximum, spending } => {
            let spending = v1::Spending::from(spending).into();
            Wire::Sequential(Sequential { looks, maximum, spending })
        }
        Rule::Budget { time, maximum } => Wire::Budget(Budget { time_ns: time.0, maximum }),
        Rule::Bisection(bisection) => Wire::Bisection(bisection.into()),
    };
    Some(v1::Rule { rule: Some(rule) })
}

impl TryFrom<v1::Rule> for Rule {
    type Error = Malformed;

    fn try_from(wire: v1::Rule) -> Result<Self, Malformed> {
        Ok(match chosen(wire.rule, "rule")? {
            Wire::Pilot(Pilot { precision, maximum }) => Self::Pilot { precision, maximum },
            Wire::Sequential(Sequential { looks, maximum, spending }) => {
                let spending = enumerated::<v1::Spending, _>(spending, "spending")?;
                Self::Sequential { looks, maximum, spending }
            }
            Wire::Budget(Budget { time_ns, maximum }) => Self::Budget { time: Span(time_ns), maximum },
            Wire::Bisection(bisection) => Self::Bisection(bisection.try_into()?),
        })
    }
}
