//! Fingerprints: the facts that make a host identical to another or not, and the class of hosts that have the same.
//!
//! Only what is stable belongs here: what changes between two readings of one machine says nothing of which machine it is.
//!
//! A fact is a value, or absent, or unreadable, and these are three things. *Absent* is an answer: the host has no such
//! thing. *Unreadable* is none: the host may have anything there. So an unreadable fact differs from every value and from
//! absence, and two that cannot be read are alike: nothing is known that tells them apart. Why a fact could not be read is
//! told, but tells no host from another. A fact that is not stated is absent: a release that learns to look for
//! something new does not separate the hosts that do not have it.

mod class;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use class::{ClassId, HardwareId, HashIdError};

/// Most facts a host may state: a fingerprint has a few dozen.
pub const MAX_FACTS: usize = 256;
/// Longest name or value of a fact, or reason why it cannot be read.
pub const MAX_FACT_BYTES: usize = 4_096;

/// What is known of one property of a host. In JSON a text, `null`, or `{"unreadable": "why"}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StatedFact", into = "StatedFact")]
pub enum Fact {
    Value(String),
    /// The host has no such thing.
    Absent,
    /// It could not be read, and why.
    Unreadable(String),
}

impl Fact {
    /// Whether nothing that is known tells the two apart.
    pub fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Value(here), Self::Value(there)) => here == there,
            (Self::Absent, Self::Absent) | (Self::Unreadable(_), Self::Unreadable(_)) => true,
            (Self::Value(_) | Self::Absent | Self::Unreadable(_), _) => false,
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Value(text) | Self::Unreadable(text) => text.len(),
            Self::Absent => 0,
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StatedFact {
    Value(String),
    Unreadable { unreadable: String },
    Absent,
}

impl From<StatedFact> for Fact {
    fn from(stated: StatedFact) -> Self {
        match stated {
            StatedFact::Value(value) => Self::Value(value),
            StatedFact::Unreadable { unreadable } => Self::Unreadable(unreadable),
            StatedFact::Absent => Self::Absent,
        }
    }
}

impl From<Fact> for StatedFact {
    fn from(fact: Fact) -> Self {
        match fact {
            Fact::Value(value) => Self::Value(value),
            Fact::Unreadable(unreadable) => Self::Unreadable { unreadable },
            Fact::Absent => Self::Absent,
        }
    }
}

/// The facts of one host by name: at most [`MAX_FACTS`], none longer than [`MAX_FACT_BYTES`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<String, Fact>", into = "BTreeMap<String, Fact>")]
pub struct Fingerprint(BTreeMap<String, Fact>);

/// Why facts are no fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FingerprintError {
    #[error("{0} facts are more than the {MAX_FACTS} allowed")]
    TooMany(usize),
    #[error("the fact {name:?} has {bytes} bytes, more than the {MAX_FACT_BYTES} allowed")]
    TooLong {
        /// Which fact; the beginning of its name.
        name: String,
        bytes: usize,
    },
}

/// A fact in which two hosts differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    pub fact: String,
    pub here: Fact,
    pub there: Fact,
}

impl Fingerprint {
    /// Takes facts over.
    ///
    /// # Errors
    /// When there are too many of them, or one is too long.
    pub fn new(facts: BTreeMap<String, Fact>) -> Result<Self, FingerprintError> {
        /// So much of a name that is too long is told.
        const TOLD: usize = 64;
        if facts.len() > MAX_FACTS {
            return Err(FingerprintError::TooMany(facts.len()));
        }
        for (name, fact) in &facts {
            let bytes = name.len().max(fact.bytes());
            if bytes > MAX_FACT_BYTES {
                return Err(FingerprintError::TooLong { name: name.chars().take(TOLD).collect(), bytes });
            }
        }
        Ok(Self(facts))
    }

    /// The facts, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Fact)> {
        self.0.iter().map(|(name, fact)| (name.as_str(), fact))
    }

    /// One of them; what is not stated is absent.
    pub fn get(&self, name: &str) -> &Fact {
        self.0.get(name).unwrap_or(&Fact::Absent)
    }

    /// How many facts are stated.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether none is stated.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The facts that could not be read, with the reasons: of these a class says nothing.
    pub fn unreadable(&self) -> impl Iterator<Item = (&str, &str)> {
        self.iter().filter_map(|(name, fact)| match fact {
            Fact::Unreadable(why) => Some((name, why.as_str())),
            Fact::Value(_) | Fact::Absent => None,
        })
    }

    /// The class of the hosts that have these facts. Two hosts are of one class exactly when they have no
    /// [differences](Self::differences).
    pub fn class(&self) -> ClassId {
        ClassId::from_fingerprint(self)
    }

    /// The facts in which the two differ, by name.
    pub fn differences(&self, other: &Self) -> Vec<Difference> {
        let names: BTreeSet<&String> = self.0.keys().chain(other.0.keys()).collect();
        let pairs = names.into_iter().map(|name| (name, self.get(name), other.get(name)));
        let differing = pairs.filter(|(_, here, there)| !here.is_like(there));
        differing
            .map(|(fact, here, there)| Difference {
                fact: fact.clone(),
                here: here.clone(),
                there: there.clone(),
            })
            .collect()
    }
}

impl TryFrom<BTreeMap<String, Fact>> for Fingerprint {
    type Error = FingerprintError;

    fn try_from(facts: BTreeMap<String, Fact>) -> Result<Self, FingerprintError> {
        Self::new(facts)
    }
}

impl From<Fingerprint> for BTreeMap<String, Fact> {
    fn from(fingerprint: Fingerprint) -> Self {
        fingerprint.0
    }
}
