//! One diagnostic: what it says, of what it is a sign, and the cell of which it is asked.

use crate::conclusion::WarningCode;
use crate::study::{
    gather::evidence::NamedLocation, gather::evidence::RunLocations, sampled::BenchmarkSamples,
};
use serde::{Deserialize, Serialize};
use speedup_core::value::id::RunIndex;
use speedup_statistics::{inference::PValue, sample::Sample};
use std::{borrow::Cow, collections::BTreeMap};

/// One test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DiagnosticReport {
    /// Its statistic.
    pub statistic: f64,
    /// The two-sided p-value of random order, or of hosts being alike.
    pub p_value: f64,
    /// The same adjusted for all diagnostics of the report.
    pub adjusted: f64,
}

speedup_core::words! {
    /// What a significant diagnostic says.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Sign {
        /// A run resembles the one before it.
        Autocorrelation,
        /// Runs above and below the median come in series, or alternate.
        RunsInSeries,
        /// The times drift with the order of the runs.
        Drift,
        /// First runs differ from those after them.
        FirstRun,
        /// The clusters of the times are hosts.
        ModesAreHosts,
        /// They are fingerprint classes.
        ModesAreClasses,
        HostEffect,
        /// Some hosts are unlike all others.
        OutlyingHosts,
        /// Runs over more switches take longer, or less long.
        PlacementEffect,
        /// The versions' runs were spread over unlike numbers of switches.
        PlacementsDiffer,
        /// The versions lost different shares of their attempts.
        LossesDiffer,
        /// They failed in different shares of their runs.
        FailuresDiffer,
    }
    /// All of them, in the order in which they are told.
    const ALL;
}

/// A cell with what its diagnostics need.
pub(crate) struct DiagnosedCell<'a> {
    /// What a caveat says it concerns.
    pub(crate) about: &'a str,
    pub(crate) sample: &'a Sample,
    /// Where each run was executed, in run order.
    pub(crate) locations: &'a RunLocations<'a>,
    /// All hosts of each run, ascending; nothing where each has one.
    pub(crate) gangs: &'a [Vec<u32>],
    /// The build of each run, where its version is built several times; nothing otherwise.
    pub(crate) builds: &'a [RunIndex],
    /// What is independent by design, in order: the runs, or the means of visits that have several, or of rounds of builds.
    pub(crate) independent: &'a Sample,
    /// Whether versions are compared within the fingerprint classes of hosts.
    pub(crate) classes_are_blocks: bool,
}

impl DiagnosticReport {
    pub(crate) fn new(statistic: f64, p_value: PValue) -> Self {
        Self { statistic, p_value: p_value.told(), adjusted: p_value.told() }
    }
}

impl From<Sign> for WarningCode {
    fn from(sign: Sign) -> Self {
        match sign {
            Sign::Autocorrelation => Self::Autocorrelation,
            Sign::RunsInSeries => Self::RunsInSeries,
            Sign::Drift => Self::Drift,
            Sign::FirstRun => Self::FirstRun,
            Sign::ModesAreHosts => Self::ModesAreHosts,
            Sign::ModesAreClasses => Self::ModesAreClasses,
            Sign::HostEffect => Self::HostEffect,
            Sign::OutlyingHosts => Self::OutlyingHosts,
            Sign::PlacementEffect => Self::PlacementEffect,
            Sign::PlacementsDiffer => Self::PlacementsDiffer,
            Sign::LossesDiffer => Self::LossesDiffer,
            Sign::FailuresDiffer => Self::FailuresDiffer,
        }
    }
}

impl<'a> DiagnosedCell<'a> {
    /// The cell of a version, if it was measured.
    pub(crate) fn new(sampled: &'a BenchmarkSamples<'_>, version: usize) -> Option<Self> {
        let sample = sampled.samples[version].as_ref()?;
        Some(Self {
            about: sampled.name,
            sample,
            locations: &sampled.locations[version],
            gangs: &sampled.gangs[version],
            builds: &sampled.builds[version],
            independent: sampled.ordered[version].as_ref().unwrap_or(sample),
            classes_are_blocks: sampled.classes_are_blocks,
        })
    }

    /// The runs with the numbers of their hosts, of which each has one; apart for each build, and for each
    /// fingerprint class where the classes are blocks, since builds, and hosts of another class, are known to differ.
    pub(crate) fn by_build_and_class(&self) -> Vec<(Cow<'a, Sample>, Vec<u32>)> {
        self.split(|_, location| location.host)
    }

    /// Likewise with all hosts of each.
    pub(crate) fn gangs_by_build_and_class(&self) -> Vec<(Cow<'a, Sample>, Vec<Vec<u32>>)> {
        self.split(|at, location| self.gangs.get(at).cloned().unwrap_or_else(|| vec![location.host]))
    }

    /// The runs with their numbers in the plan, likewise.
    pub(crate) fn runs_by_build_and_class(&self) -> Vec<(Cow<'a, Sample>, Vec<RunIndex>)> {
        self.split(|_, location| location.run)
    }

    fn split<T>(&self, of: impl Fn(usize, NamedLocation) -> T) -> Vec<(Cow<'a, Sample>, Vec<T>)> {
        if self.builds.is_empty() && !self.classes_are_blocks {
            let all = self.locations.iter().enumerate().map(|(at, location)| of(at, location));
            return vec![(Cow::Borrowed(self.sample), all.collect())];
        }
        let mut classes: BTreeMap<_, (Vec<f64>, Vec<T>)> = BTreeMap::new();
        let runs = self.sample.in_run_order().iter().zip(self.locations.iter());
        for (at, (value, location)) in runs.enumerate() {
            let class = location.class.filter(|_| self.classes_are_blocks);
            let (values, hosts) = classes.entry((self.builds.get(at), class)).or_default();
            values.push(*value);
            hosts.push(of(at, location));
        }
        let sample = |(values, hosts)| Some((Cow::Owned(Sample::new(values).ok()?), hosts));
        classes.into_values().filter_map(sample).collect()
    }
}
