//! How often a study repeats its experiment, and the counts over the replicates.

use super::{SimulationError, error::MOST_REPLICATES};
use crate::law::draws::Draws;
use clap::{Args, builder::TypedValueParser as _};
use rayon::prelude::*;
use speedup_core::value::seed::Seed;
use speedup_statistics::inference::ConfidenceLevel;
use std::str::FromStr as _;

/// How often, whence the random numbers, and at which confidence level the methods are asked.
#[derive(Clone, Copy, Debug, PartialEq, Args)]
pub struct Replication {
    /// How many experiments are drawn for each cell of the study.
    #[arg(long, default_value_t = 1000)]
    pub replicates: u32,
    /// The seed of the random numbers: the same one gives the same answer on any number of threads.
    #[arg(long, default_value = "1", value_parser = clap::value_parser!(u64).map(Seed))]
    pub seed: Seed,
    /// The confidence level of every interval; tests have its risk.
    #[arg(long, default_value = "0.95", value_parser = f64::from_str.try_map(ConfidenceLevel::new))]
    pub confidence: ConfidenceLevel,
}

/// What a method said over the replicates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) yes: u64,
    pub(super) no: u64,
    pub(super) unanswered: u64,
}

impl Tally {
    pub(super) fn new(answers: impl Iterator<Item = Option<bool>>) -> Self {
        let mut tally = Self::default();
        answers.for_each(|answer| tally.count(answer));
        tally
    }

    fn count(&mut self, answer: Option<bool>) {
        match answer {
            Some(true) => self.yes += 1,
            Some(false) => self.no += 1,
            None => self.unanswered += 1,
        }
    }

    fn add(&mut self, other: Self) {
        self.yes += other.yes;
        self.no += other.no;
        self.unanswered += other.unanswered;
    }
}

impl Replication {
    pub(super) fn check(&self) -> Result<(), SimulationError> {
        let in_range = (1..=MOST_REPLICATES).contains(&self.replicates);
        if in_range { Ok(()) } else { Err(SimulationError::Replicates(self.replicates)) }
    }

    /// Over all replicates of `cell`, what each of `methods` answers: `experiment` draws one and gives as many answers.
    pub(super) fn tally(
        &self,
        cell: &str,
        methods: usize,
        experiment: impl Fn(&mut Draws) -> Vec<Option<bool>> + Sync,
    ) -> Vec<Tally> {
        let streams = self.seed.child(cell);
        let none = || vec![Tally::default(); methods];
        (0..u64::from(self.replicates))
            .into_par_iter()
            .fold(none, |mut tallies, replicate| {
                let answers = experiment(&mut Draws::new(&streams, replicate));
                debug_assert_eq!(answers.len(), methods);
                tallies.iter_mut().zip(answers).for_each(|(tally, answer)| tally.count(answer));
                tallies
            })
            .reduce(none, |mut sum, part| {
                sum.iter_mut().zip(part).for_each(|(sum, part)| sum.add(part));
                sum
            })
    }

    /// What `experiment` gives for each replicate of `cell`, in the order of their numbers.
    pub(super) fn each<T: Send>(&self, cell: &str, experiment: impl Fn(&mut Draws) -> T + Sync) -> Vec<T> {
        let streams = self.seed.child(cell);
        let numbers = (0..u64::from(self.replicates)).into_par_iter();
        numbers.map(|replicate| experiment(&mut Draws::new(&streams, replicate))).collect()
    }
}
