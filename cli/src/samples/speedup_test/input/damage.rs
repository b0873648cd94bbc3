//! Real files with damage: bytes cut off, changed, put in, doubled.

use proptest::{prelude::*, sample::Index};

/// Pieces that mean something to a reader of numbers, names or fields.
const PIECES: [&str; 20] = [
    "NaN",
    "inf",
    "1e999",
    "1e-999",
    "-0",
    "1e150",
    "99999999999999999999999999",
    "NA",
    ",",
    ",,",
    "\"",
    "\"\"",
    "\n",
    "\r",
    "\r\n",
    "\t",
    "\0",
    "\u{feff}",
    "\u{202e}",
    "\u{1b}[2J",
];

#[derive(Clone, Debug)]
enum Damage {
    Cut(Index),
    Change(Index, u8),
    Insert(Index, usize),
    Double(Index, usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = any::<Index>;
    prop_oneof![
        at().prop_map(Damage::Cut),
        (at(), any::<u8>()).prop_map(|(at, byte)| Damage::Change(at, byte)),
        (at(), 0..PIECES.len()).prop_map(|(at, piece)| Damage::Insert(at, piece)),
        (at(), 1..200_usize).prop_map(|(at, length)| Damage::Double(at, length)),
    ]
}

/// `whole` after one to five damages.
pub(super) fn damaged(whole: &'static [u8]) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(damage(), 1..6).prop_map(|damages| {
        let mut bytes = whole.to_vec();
        for damage in damages {
            let length = bytes.len();
            match damage {
                Damage::Cut(at) => bytes.truncate(at.index(length + 1)),
                Damage::Change(at, byte) if length > 0 => bytes[at.index(length)] = byte,
                Damage::Change(..) => {}
                Damage::Insert(at, piece) => {
                    let at = at.index(length + 1);
                    bytes.splice(at..at, PIECES[piece].bytes());
                }
                Damage::Double(at, count) => {
                    let at = at.index(length + 1);
                    let piece = bytes[at..(at + count).min(length)].to_vec();
                    bytes.splice(at..at, piece);
                }
            }
        }
        bytes
    })
}
