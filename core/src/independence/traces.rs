//! What is known of a host as it begins a visit, held against its last use in the scope. The coordinator knows it of its hosts,
//! a lease keeps it as evidence, and the analysis finds it in the attempts.

use crate::value::time::Span;

/// What is known of a host as it begins a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traces {
    /// Whether it served in the scope before.
    pub was_used: bool,
    /// Whether it served in the scope before together with the very hosts that serve with it now, or alone if it serves alone.
    pub was_set_used: bool,
    /// What became of its boot since then.
    pub boot: Since,
    /// What became of its allocation since then.
    pub allocation: Since,
    /// How long it was idle at least, whatever it served before; nothing where that does not count.
    pub idle: Option<Span>,
    /// What was read before the run.
    pub readings: Readings,
}

impl Traces {
    /// Of a host that has served nothing.
    pub(crate) const UNUSED: Self = Self {
        was_used: false,
        was_set_used: false,
        boot: Since::Unknown,
        allocation: Since::Unknown,
        idle: None,
        readings: Readings::Within,
    };
}

/// What became of a boot or an allocation since the last use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// That of now or that of then is not known, or there was no use.
    Unknown,
    /// It is the same.
    Kept,
    Renewed,
}

impl Since {
    /// From what is known of then, each from another source, and of now.
    pub fn compare<T: Copy + PartialEq>(then: &[Option<T>], now: Option<T>) -> Self {
        if now.is_none() || then.iter().all(Option::is_none) {
            Self::Unknown
        } else if then.contains(&now) {
            Self::Kept
        } else {
            Self::Renewed
        }
    }
}

/// What the readings before a run say of the bounds of rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readings {
    /// They are within, or nothing is bounded.
    Within,
    /// One is beyond its bound.
    Beyond,
    /// A bound was asked for, and its reading is not there.
    Absent,
}
