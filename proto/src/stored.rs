//! Attempts on their way from the store to a reader: the coordinator sends the bytes that it stored, and only who reads them
//! decodes them. On the wire it is the message of the .proto file, because a message in another is its bytes.

use bytes::Bytes;
use prost::Message;
use speedup_core::machine::event::EndedAttempt;

use crate::convert::{Malformed, Within, encoded_attempt, read_attempt};

/// An attempt as it is stored: a `speedup.v1.EndedAttempt`.
pub fn stored_attempt(attempt: &EndedAttempt) -> Vec<u8> {
    encoded_attempt(attempt)
}

/// `speedup.v1.ExportAttempts`, with each attempt encoded.
#[derive(Clone, PartialEq, Message)]
pub struct ExportAttempts {
    /// Each a `speedup.v1.EndedAttempt`.
    #[prost(bytes = "bytes", repeated, tag = "1")]
    pub attempts: Vec<Bytes>,
}

impl ExportAttempts {
    /// What the attempts are, one after the other: of a large export never all are here at once.
    ///
    /// # Errors
    /// What is wrong with one that cannot be read.
    pub fn read(self) -> impl Iterator<Item = Result<EndedAttempt, Malformed>> {
        let read = |(place, bytes): (usize, Bytes)| {
            read_attempt(&bytes).within_nth("attempts", place).within("attempts")
        };
        self.attempts.into_iter().enumerate().map(read)
    }
}

impl<'a> FromIterator<&'a EndedAttempt> for ExportAttempts {
    fn from_iter<T: IntoIterator<Item = &'a EndedAttempt>>(attempts: T) -> Self {
        Self { attempts: attempts.into_iter().map(|attempt| stored_attempt(attempt).into()).collect() }
    }
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::ExportAttempts;
    use crate::v1::{EndedAttempt, Lease};

    /// The message as it stands in the .proto file.
    #[derive(Clone, PartialEq, prost::Message)]
    struct Described {
        #[prost(message, repeated, tag = "1")]
        attempts: Vec<EndedAttempt>,
    }

    #[test]
    fn on_the_wire_it_is_the_described_message() {
        let of_run =
            |run| EndedAttempt { lease: Some(Lease { run, ..Lease::default() }), ..EndedAttempt::default() };
        let attempts: Vec<EndedAttempt> = (0..3).map(of_run).collect();
        let stored: Vec<_> = attempts.iter().map(|attempt| attempt.encode_to_vec().into()).collect();
        let stored = ExportAttempts { attempts: stored };
        let described = Described { attempts };
        assert_eq!(stored.encode_to_vec(), described.encode_to_vec());
        assert_eq!(ExportAttempts::decode(described.encode_to_vec().as_slice()).unwrap(), stored);
    }
}
