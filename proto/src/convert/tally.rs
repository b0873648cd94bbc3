//! A tally. Its runs are no more than an experiment may have, so that its sums stay within their type.

use speedup_core::experiment::MAX_RUNS;
use speedup_core::machine::event::Tally;

use super::malformed::{Malformed, Why};
use crate::v1;

impl From<&Tally> for v1::Tally {
    fn from(tally: &Tally) -> Self {
        let Tally { waiting, leased, running, measured, failed, abandoned, cancelled, lost_attempts } =
            *tally;
        Self { waiting, leased, running, measured, failed, abandoned, cancelled, lost_attempts }
    }
}

impl TryFrom<v1::Tally> for Tally {
    type Error = Malformed;

    fn try_from(wire: v1::Tally) -> Result<Self, Malformed> {
        let v1::Tally { waiting, leased, running, measured, failed, abandoned, cancelled, lost_attempts } =
            wire;
        let states = [waiting, leased, running, measured, failed, abandoned, cancelled];
        let number: u64 = states.into_iter().map(u64::from).sum();
        if number > MAX_RUNS {
            return Err(Malformed::new("runs", Why::TooLarge { number, most: MAX_RUNS }));
        }
        Ok(Self { waiting, leased, running, measured, failed, abandoned, cancelled, lost_attempts })
    }
}
