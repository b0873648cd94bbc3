//! The upload of a file: a message that announces its hash and size, then its bytes in pieces.

use std::io::{self, Read, Take};

use crate::{convert::Blob, limits::MAX_PIECE_BYTES, v1};
use v1::put_request::Part;

/// The messages of an upload, read from the source as they are taken. A source shorter than announced ends early; of a longer
/// one, a single byte too many is sent. The receiver refuses either.
#[derive(Debug)]
pub struct Pieces<R> {
    first: Option<Blob>,
    rest: Take<R>,
}

impl<R: Read> Pieces<R> {
    /// Creates the upload of `blob`, whose bytes are read from `bytes`.
    pub fn of(blob: Blob, bytes: R) -> Self {
        Self { first: Some(blob), rest: bytes.take(blob.bytes.saturating_add(1)) }
    }
}

impl<R: Read> Iterator for Pieces<R> {
    type Item = io::Result<v1::PutRequest>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(blob) = self.first.take() {
            return Some(Ok(v1::PutRequest { part: Some(Part::Blob(blob.into())) }));
        }
        let mut piece = Vec::with_capacity(MAX_PIECE_BYTES);
        match self.rest.by_ref().take(MAX_PIECE_BYTES as u64).read_to_end(&mut piece) {
            Ok(0) => None,
            Ok(_) => Some(Ok(v1::PutRequest { part: Some(Part::Piece(piece)) })),
            Err(error) => Some(Err(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(announced: u64, bytes: &[u8]) -> (Blob, Vec<u8>) {
        let mut parts = Pieces::of(Blob { blake3: [7; 32], bytes: announced }, bytes)
            .map(|message| message.unwrap().part.unwrap());
        let Some(Part::Blob(blob)) = parts.next() else { panic!("first what it is") };
        let pieces = parts.flat_map(|part| match part {
            Part::Piece(piece) => {
                assert!((1..=MAX_PIECE_BYTES).contains(&piece.len()));
                piece
            }
            Part::Blob(_) => panic!("once"),
        });
        (Blob::try_from(blob).unwrap(), pieces.collect())
    }

    #[test]
    fn all_bytes_are_sent_and_at_most_one_too_many() {
        let long = vec![3; 2 * MAX_PIECE_BYTES + 5];
        let announced = long.len() as u64;
        assert_eq!(sent(announced, &long), (Blob { blake3: [7; 32], bytes: announced }, long.clone()));
        assert_eq!(sent(announced - 9, &long).1.len() as u64, announced - 8);
        assert_eq!(sent(announced + 9, &long).1, long);
        assert!(sent(0, b"").1.is_empty());
    }
}
