//! The fields of an encoded message, as the encoding of protocol buffers describes them.

use prost::Message;
use prost::encoding::{WireType, decode_key, decode_varint};
use speedup_core::host::fingerprint::HashIdError;
use speedup_core::value::id::IdError;

use crate::convert::Malformed;

/// There is something in the bytes that has to go the messages' way: something rare, or something wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unusual;

impl From<IdError> for Unusual {
    fn from(_: IdError) -> Self {
        Self
    }
}

impl From<HashIdError> for Unusual {
    fn from(_: HashIdError) -> Self {
        Self
    }
}

impl From<Malformed> for Unusual {
    fn from(_: Malformed) -> Self {
        Self
    }
}

impl From<prost::DecodeError> for Unusual {
    fn from(_: prost::DecodeError) -> Self {
        Self
    }
}

/// The fields of a message that are not read yet.
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

/// The value of a field.
#[derive(Clone, Copy)]
pub(super) enum Value<'a> {
    /// A whole number of variable length: numbers, truth values and enumerations.
    Number(u64),
    /// A number of eight bytes.
    Fixed(u64),
    /// A text, bytes, a message, or a packed list.
    Bytes(&'a [u8]),
}

impl<'a> Fields<'a> {
    /// The fields of a message.
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The next field: its number and its value; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<(u32, Value<'a>)>, Unusual> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let (number, kind) = decode_key(&mut self.rest)?;
        let value = match kind {
            WireType::Varint => Value::Number(decode_varint(&mut self.rest)?),
            WireType::SixtyFourBit => {
                let (bytes, rest) = self.rest.split_first_chunk().ok_or(Unusual)?;
                self.rest = rest;
                Value::Fixed(u64::from_le_bytes(*bytes))
            }
            WireType::LengthDelimited => {
                let length = usize::try_from(decode_varint(&mut self.rest)?).map_err(|_| Unusual)?;
                let (bytes, rest) = self.rest.split_at_checked(length).ok_or(Unusual)?;
                self.rest = rest;
                Value::Bytes(bytes)
            }
            WireType::StartGroup | WireType::EndGroup | WireType::ThirtyTwoBit => return Err(Unusual),
        };
        Ok(Some((number, value)))
    }
}

impl<'a> Value<'a> {
    /// A whole number that fits.
    pub(super) fn number<N: TryFrom<u64>>(self) -> Result<N, Unusual> {
        match self {
            Self::Number(number) => N::try_from(number).map_err(|_| Unusual),
            Self::Fixed(_) | Self::Bytes(_) => Err(Unusual),
        }
    }

    /// A truth value.
    pub(super) fn truth(self) -> Result<bool, Unusual> {
        self.number::<u64>().map(|number| number != 0)
    }

    /// A number of eight bytes.
    pub(super) fn fixed(self) -> Result<u64, Unusual> {
        match self {
            Self::Fixed(number) => Ok(number),
            Self::Number(_) | Self::Bytes(_) => Err(Unusual),
        }
    }

    /// Bytes.
    pub(super) fn bytes(self) -> Result<&'a [u8], Unusual> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Number(_) | Self::Fixed(_) => Err(Unusual),
        }
    }

    /// Bytes of a certain length.
    pub(super) fn exactly<const N: usize>(self) -> Result<[u8; N], Unusual> {
        self.bytes()?.try_into().map_err(|_| Unusual)
    }

    /// A text.
    pub(super) fn text(self) -> Result<&'a str, Unusual> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Unusual)
    }

    /// A message that is worth no reading of its own: it is rare, or all numbers.
    pub(super) fn message<W: Message + Default>(self) -> Result<W, Unusual> {
        Ok(W::decode(self.bytes()?)?)
    }
}

/// Takes a value that comes once. Messages that come twice are merged, which is left to them.
pub(super) fn once<T>(place: &mut Option<T>, value: T) -> Result<(), Unusual> {
    match place.replace(value) {
        Some(_) => Err(Unusual),
        None => Ok(()),
    }
}
