//! Small numbers for names, of which there are many attempts each.

#![expect(
    clippy::disallowed_types,
    reason = "looked up for every attempt, where a map in the order of names takes several times as long; told in that order only"
)]

use std::{collections::HashMap, hash::Hash, num::NonZeroU32};

/// Small numbers for names, as they first came: never part of a report, which must not depend on that order.
#[derive(Debug)]
pub(crate) struct Numbers<T>(HashMap<T, u32>);

/// One of [`Numbers`] that may be absent: an option of it takes no more than its four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Number(NonZeroU32);

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl From<u32> for Number {
    /// There are never 2³² − 1 names.
    fn from(number: u32) -> Self {
        Self(NonZeroU32::MIN.saturating_add(number))
    }
}

impl Number {
    pub(crate) fn get(self) -> u32 {
        self.0.get() - 1
    }
}

impl<T: Ord + Hash + Clone> Numbers<T> {
    /// The number of a name, which is a new one if it has none.
    pub(super) fn of(&mut self, name: &T) -> u32 {
        let next = self.0.len() as u32;
        match self.0.get(name) {
            Some(number) => *number,
            None => *self.0.entry(name.clone()).or_insert(next),
        }
    }

    /// The number of a name, if it has one.
    pub(super) fn get(&self, name: &T) -> Option<u32> {
        self.0.get(name).copied()
    }

    /// The names with their numbers, sorted.
    pub(crate) fn numbered(&self) -> Vec<(&T, u32)> {
        let mut names: Vec<(&T, u32)> = self.0.iter().map(|(name, number)| (name, *number)).collect();
        names.sort_unstable();
        names
    }

    /// The names, sorted.
    pub(crate) fn names(&self) -> impl Iterator<Item = &T> {
        self.numbered().into_iter().map(|(name, _)| name)
    }

    /// The place of each among the sorted names, by its number.
    pub(crate) fn places(&self) -> Vec<u32> {
        let mut places = vec![0; self.0.len()];
        for (place, (_, number)) in (0..).zip(self.numbered()) {
            places[number as usize] = place;
        }
        places
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}
