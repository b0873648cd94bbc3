//! Sets of CPUs, written as the kernel writes them: `0-3,8`.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// One more than the highest CPU number that is taken: the most CPUs that a Linux kernel is built for.
pub const MAX_CPUS: u32 = 8_192;

/// Logical CPUs by their numbers, ascending, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CpuSet(Vec<u32>);

/// Why a text is no set of CPUs.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CpuSetError {
    #[error("{0:?} is neither a CPU's number nor a range of them")]
    NoNumber(String),
    #[error("the range {0:?} ends before it begins")]
    Backwards(String),
    #[error("there is no CPU {0}: the highest possible is {last}", last = MAX_CPUS - 1)]
    TooHigh(u32),
}

impl CpuSet {
    /// The CPUs, ascending.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a CPU is in it.
    pub fn contains(&self, cpu: u32) -> bool {
        self.0.binary_search(&cpu).is_ok()
    }

    /// Whether all of it is in the other.
    pub fn is_within(&self, other: &Self) -> bool {
        self.iter().all(|cpu| other.contains(cpu))
    }

    /// What is in it and not in the other.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        Self(self.iter().filter(|cpu| !other.contains(*cpu)).collect())
    }

    /// What is in both.
    #[must_use]
    pub fn within(&self, other: &Self) -> Self {
        Self(self.iter().filter(|cpu| other.contains(*cpu)).collect())
    }
}

impl FromIterator<u32> for CpuSet {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> Self {
        let mut cpus: Vec<u32> = cpus.into_iter().collect();
        cpus.sort_unstable();
        cpus.dedup();
        Self(cpus)
    }
}

impl FromStr for CpuSet {
    type Err = CpuSetError;

    /// Reads the kernel's list format; the empty text is the empty set.
    fn from_str(text: &str) -> Result<Self, CpuSetError> {
        let mut cpus = Vec::new();
        if text.trim().is_empty() {
            return Ok(Self(cpus));
        }
        for part in text.trim().split(',').map(str::trim) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let first = cpu_number(first, part)?;
            let last = cpu_number(last, part)?;
            if last < first {
                return Err(CpuSetError::Backwards(part.to_owned()));
            }
            cpus.extend(first..=last);
            // A text of many overlapping ranges would grow without end.
            if cpus.len() > MAX_CPUS as usize {
                cpus.sort_unstable();
                cpus.dedup();
            }
        }
        Ok(cpus.into_iter().collect())
    }
}

fn cpu_number(text: &str, part: &str) -> Result<u32, CpuSetError> {
    let number = text.trim().parse().map_err(|_| CpuSetError::NoNumber(part.to_owned()))?;
    if number < MAX_CPUS { Ok(number) } else { Err(CpuSetError::TooHigh(number)) }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = self.0.chunk_by(|earlier, later| earlier + 1 == *later);
        for (number, run) in runs.enumerate() {
            let comma = if number == 0 { "" } else { "," };
            match run {
                [first, .., last] => write!(f, "{comma}{first}-{last}")?,
                [only] => write!(f, "{comma}{only}")?,
                [] => {}
            }
        }
        Ok(())
    }
}

impl TryFrom<String> for CpuSet {
    type Error = CpuSetError;

    fn try_from(text: String) -> Result<Self, CpuSetError> {
        text.parse()
    }
}

impl From<CpuSet> for String {
    fn from(set: CpuSet) -> Self {
        set.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> CpuSet {
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn lists_are_read_as_the_kernel_writes_them() {
        assert_eq!(read("0-3,8\n").iter().collect::<Vec<_>>(), [0, 1, 2, 3, 8]);
        assert_eq!(read("7,5-6,6").to_string(), "5-7");
        assert_eq!(read("").to_string(), "");
        for bad in ["a", "1-", "-1", "3-1", "1,,2", "8192", "0x1", "1-2-3"] {
            assert!(bad.parse::<CpuSet>().is_err(), "{bad}");
        }
        let repeated = vec!["0-8191"; 1_000].join(",");
        assert_eq!(read(&repeated).len(), MAX_CPUS as usize);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(cpus in proptest::collection::vec(0..MAX_CPUS, 0..60)) {
            let set: CpuSet = cpus.into_iter().collect();
            prop_assert_eq!(read(&set.to_string()), set);
        }

        #[test]
        fn two_sets_part_into_what_is_in_both_and_what_is_not(
            one in proptest::collection::vec(0..64_u32, 0..40),
            other in proptest::collection::vec(0..64_u32, 0..40),
        ) {
            let (one, other): (CpuSet, CpuSet) = (one.into_iter().collect(), other.into_iter().collect());
            let in_both = one.within(&other);
            let only = one.without(&other);
            prop_assert_eq!(in_both.len() + only.len(), one.len());
            prop_assert!(in_both.is_within(&other) && only.within(&other).is_empty());
        }
    }
}
