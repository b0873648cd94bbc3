//! An attempt that was not executed: why, and who stood in the way.

use speedup_core::run::Obstacle;

use super::field::{enumerated, enumeration, reason};
use super::malformed::Malformed;
use crate::v1;

/// What the reason begins with where an owner's limits stood in the way and the message, which is of a release that had no
/// field for it, does not say so. Journals of such releases are replayed by it, for ever.
const OWNERS_WORDS: &str = "the owner of this host does not allow it: ";

enumeration!(Obstacle, v1::Obstacle, [Host, Owner, Plan]);

/// The host is written only where the words would tell otherwise: else the bytes are those of releases without the field.
pub(super) fn not_executed(reason: &str, obstacle: Obstacle) -> v1::NotExecuted {
    let told = if by_words(reason) == obstacle && obstacle == Obstacle::Host {
        v1::Obstacle::Unspecified
    } else {
        obstacle.into()
    };
    v1::NotExecuted { reason: reason.to_owned(), obstacle: told.into() }
}

/// The reason and who stood in the way.
pub(super) fn told(wire: v1::NotExecuted) -> Result<(String, Obstacle), Malformed> {
    let v1::NotExecuted { reason: text, obstacle } = wire;
    let obstacle = if obstacle == v1::Obstacle::Unspecified as i32 {
        by_words(&text)
    } else {
        enumerated::<v1::Obstacle, _>(obstacle, "obstacle")?
    };
    Ok((reason(text), obstacle))
}

fn by_words(reason: &str) -> Obstacle {
    if reason.starts_with(OWNERS_WORDS) { Obstacle::Owner } else { Obstacle::Host }
}
