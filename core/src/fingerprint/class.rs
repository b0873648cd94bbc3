//! Ids that are hashes: of what makes a host identical to others, and of what makes it this one.

use std::{collections::BTreeSet, fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Fact, Fingerprint};

/// Bytes of a hash that is an id: half of BLAKE3's, no two of which any pool of hosts will share by chance.
const BYTES: usize = 16;

/// The encodings that are hashed. Another encoding is another version, and makes other ids.
const CLASS_VERSION: &str = "speedup fingerprint class, version 1";
const HARDWARE_VERSION: &str = "speedup hardware identity, version 1";

/// Why a text is no id of this kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the id of a class of hosts or of a machine's hardware has {} digits of 0-9 and a-f", 2 * BYTES)]
pub struct HashIdError;

macro_rules! hash_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name([u8; BYTES]);

        impl fmt::Display for $name {
            /// All of it in hex; its beginning with a precision, as in `{:.12}`.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(str::from_utf8(&hex(&self.0)).unwrap_or_default())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({self})", stringify!($name))
            }
        }

        impl FromStr for $name {
            type Err = HashIdError;

            fn from_str(text: &str) -> Result<Self, HashIdError> {
                bytes(text).map(Self).ok_or(HashIdError)
            }
        }

        impl TryFrom<String> for $name {
            type Error = HashIdError;

            fn try_from(text: String) -> Result<Self, HashIdError> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.to_string()
            }
        }
    };
}

hash_id!(
    /// A class of identical hosts: the hash of the facts that they share.
    ClassId
);
hash_id!(
    /// One machine's hardware: the hash of its serial numbers and addresses, which it does not tell. Two hosts that were
    /// cloned from one image have one machine id and differ in this.
    HardwareId
);

impl ClassId {
    /// Facts that are absent are not in it, stated or not; of those that cannot be read, only that.
    pub(super) fn from_fingerprint(fingerprint: &Fingerprint) -> Self {
        const VALUE: u8 = 1;
        const UNREADABLE: u8 = 2;
        let mut hasher = blake3::Hasher::new_derive_key(CLASS_VERSION);
        for (name, fact) in fingerprint.iter() {
            match fact {
                Fact::Absent => {}
                Fact::Value(value) => {
                    text(&mut hasher, name);
                    hasher.update(&[VALUE]);
                    text(&mut hasher, value);
                }
                Fact::Unreadable(_) => {
                    text(&mut hasher, name);
                    hasher.update(&[UNREADABLE]);
                }
            }
        }
        Self(first_bytes(&hasher))
    }
}

impl HardwareId {
    /// The id of the machine that bears these marks: what a mark is, and what it says, such as a serial number. Their
    /// order does not count. Nothing without marks.
    pub fn from_marks<'a>(marks: impl IntoIterator<Item = (&'a str, &'a str)>) -> Option<Self> {
        let marks: BTreeSet<(&str, &str)> = marks.into_iter().collect();
        if marks.is_empty() {
            return None;
        }
        let mut hasher = blake3::Hasher::new_derive_key(HARDWARE_VERSION);
        for (kind, mark) in marks {
            text(&mut hasher, kind);
            text(&mut hasher, mark);
        }
        Some(Self(first_bytes(&hasher)))
    }
}

/// A text and its length before it, so that no two lists of texts are the same bytes.
fn text(hasher: &mut blake3::Hasher, text: &str) {
    hasher.update(&(text.len() as u64).to_le_bytes());
    hasher.update(text.as_bytes());
}

fn first_bytes(hasher: &blake3::Hasher) -> [u8; BYTES] {
    let mut first = [0; BYTES];
    hasher.finalize_xof().fill(&mut first);
    first
}

/// Not byte by byte as a formatted number: an export spells two of them per row.
fn hex(bytes: &[u8; BYTES]) -> [u8; 2 * BYTES] {
    let mut digits = [0; 2 * BYTES];
    let (pairs, _) = digits.as_chunks_mut::<2>();
    for (pair, byte) in pairs.iter_mut().zip(bytes) {
        *pair = [byte >> 4, byte & 0xf].map(|digit| HEX[usize::from(digit)]);
    }
    digits
}

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Lower case only: an id has one text.
fn bytes(text: &str) -> Option<[u8; BYTES]> {
    let digits: &[u8; 2 * BYTES] = text.as_bytes().try_into().ok()?;
    let (pairs, _) = digits.as_chunks::<2>();
    let mut bytes = [0; BYTES];
    let mut none = 0;
    for (byte, pair) in bytes.iter_mut().zip(pairs) {
        let [high, low] = pair.map(|digit| DIGITS[usize::from(digit)]);
        // All of them, rather than to the first that is none: it saves a branch for each.
        none |= high | low;
        *byte = high << 4 | low & 0xf;
    }
    (none & NO_DIGIT == 0).then_some(bytes)
}

/// What is set of a byte that is no digit.
const NO_DIGIT: u8 = 0xf0;

/// What each byte is as a digit.
const DIGITS: [u8; 256] = {
    let mut digits = [NO_DIGIT; 256];
    let mut value = 0;
    while value < 16 {
        digits[HEX[value as usize] as usize] = value;
        value += 1;
    }
    digits
};
