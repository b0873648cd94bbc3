//! Attempts on their way from the store to a reader: the coordinator sends the bytes that it stored, and only who reads them
//! decodes them. On the wire it is the message of the .proto file, because a message in another is its bytes.

use bytes::Bytes;
use prost::Message;
use speedup_core::machine::event::EndedAttempt;

use crate::convert::encoded_attempt;
use crate::v1;

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

impl FromIterator<v1::EndedAttempt> for ExportAttempts {
    fn from_iter<T: IntoIterator<Item = v1::EndedAttempt>>(attempts: T) -> Self {
        Self { attempts: attempts.into_iter().map(|attempt| attempt.encode_to_vec().into()).collect() }
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
        let stored: ExportAttempts = attempts.iter().cloned().collect();
        let decoded = stored.attempts.iter().map(|bytes| EndedAttempt::decode(bytes.as_ref()).unwrap());
        assert_eq!(decoded.collect::<Vec<_>>(), attempts);
        let described = Described { attempts };
        assert_eq!(stored.encode_to_vec(), described.encode_to_vec());
        assert_eq!(ExportAttempts::decode(described.encode_to_vec().as_slice()).unwrap(), stored);
    }
}
