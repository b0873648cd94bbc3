//! Which attempts of an experiment were lost, by their moments: the latest are told without reading all attempts.

use speedup_core::machine::event::EndedAttempt;
use speedup_core::value::id::ExperimentId;
use speedup_proto::v1;

use super::attempts::{attempt_at, attempt_key};
use super::{Store, StoreError, Tree, Writes};

/// The first byte of the keys, beside those of the events.
const LOST: u8 = 2;
/// Bytes of the moment in a key.
const MOMENT: usize = 8;

/// Before the keys of an experiment's lost attempts.
fn prefix(experiment: ExperimentId) -> Vec<u8> {
    [&[LOST], experiment.0.as_bytes().as_slice()].concat()
}

impl Writes {
    /// Keeps where a lost attempt is found.
    pub(super) fn lost(&mut self, EndedAttempt { lease, ended, .. }: &EndedAttempt) {
        let key = attempt_key((lease.experiment, (lease.run.0, lease.attempt.0)));
        let place = [&prefix(lease.experiment), ended.0.to_be_bytes().as_slice(), &key].concat();
        self.put(Tree::Events, place, Vec::new());
    }
}

impl Store {
    /// The latest lost attempts of an experiment, up to so many, the latest first.
    pub(crate) fn latest_losses(
        &self,
        experiment: ExperimentId,
        most: usize,
    ) -> Result<Vec<v1::EndedAttempt>, StoreError> {
        let prefix = prefix(experiment);
        let places = self.guard(|| {
            self.events.scan_prefix(&prefix).keys().rev().take(most).collect::<Result<Vec<_>, _>>()
        })?;
        let attempts = places.iter().map(|place| {
            let key = place.get(prefix.len() + MOMENT..).unwrap_or_default();
            let stored = self.attempt((experiment, attempt_at(key)))?;
            stored.map(|encoded| self.decode(&encoded)).transpose()
        });
        attempts.filter_map(Result::transpose).collect()
    }
}
