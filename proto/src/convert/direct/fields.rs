//! The fields of an encoded message, as the encoding of protocol buffers describes them.

use prost::Message;
use prost::encoding::{WireType, decode_varint, encode_varint, encoded_len_varint};
use speedup_core::{fingerprint::HashIdError, value::id::IdError};

use crate::convert::Malformed;

/// Bytes that have to be read as a message, because something in them is rare or wrong.
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

/// The wire types that are read.
const VARINT: u32 = WireType::Varint as u32;
const SIXTY_FOUR_BIT: u32 = WireType::SixtyFourBit as u32;
const LENGTH_DELIMITED: u32 = WireType::LengthDelimited as u32;

/// A cursor over the fields of an encoded message.
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

#[derive(Clone, Copy)]
pub(super) enum Value<'a> {
    /// A varint: a number, truth value or enumeration.
    Number(u64),
    /// A number of eight bytes.
    Fixed(u64),
    /// A text, bytes, a message, or a packed list.
    Bytes(&'a [u8]),
}

impl<'a> Fields<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Reads the next field: its number and its value; `None` at the end. Inlined into each reader, so that the compiler sees
    /// what becomes of the value.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Result<Option<(u32, Value<'a>)>, Unusual> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let key = u32::try_from(self.varint()?).map_err(|_| Unusual)?;
        let number = key >> 3;
        if number == 0 {
            return Err(Unusual);
        }
        let value = match key & 0b111 {
            VARINT => Value::Number(self.varint()?),
            SIXTY_FOUR_BIT => {
                let (bytes, rest) = self.rest.split_first_chunk().ok_or(Unusual)?;
                self.rest = rest;
                Value::Fixed(u64::from_le_bytes(*bytes))
            }
            LENGTH_DELIMITED => {
                let length = usize::try_from(self.varint()?).map_err(|_| Unusual)?;
                let (bytes, rest) = self.rest.split_at_checked(length).ok_or(Unusual)?;
                self.rest = rest;
                Value::Bytes(bytes)
            }
            _ => return Err(Unusual),
        };
        Ok(Some((number, value)))
    }

    /// Reads a varint. Keys, lengths and many values are one byte, which is tried first.
    #[inline(always)]
    fn varint(&mut self) -> Result<u64, Unusual> {
        match self.rest {
            [byte @ ..0x80, rest @ ..] => {
                self.rest = rest;
                Ok(u64::from(*byte))
            }
            _ => self.long_varint(),
        }
    }

    #[cold]
    fn long_varint(&mut self) -> Result<u64, Unusual> {
        Ok(decode_varint(&mut self.rest)?)
    }
}

impl<'a> Value<'a> {
    /// The value as a number that fits `N`.
    pub(super) fn number<N: TryFrom<u64>>(self) -> Result<N, Unusual> {
        match self {
            Self::Number(number) => N::try_from(number).map_err(|_| Unusual),
            Self::Fixed(_) | Self::Bytes(_) => Err(Unusual),
        }
    }

    /// The value as a zigzag-encoded signed number (`sint32`).
    pub(super) fn signed(self) -> Result<i32, Unusual> {
        let number: u32 = self.number()?;
        Ok((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    /// The value as a packed list of numbers.
    pub(super) fn packed(self) -> Result<impl Iterator<Item = Result<u64, Unusual>>, Unusual> {
        let mut rest = self.bytes()?;
        Ok(std::iter::from_fn(move || {
            (!rest.is_empty()).then(|| decode_varint(&mut rest).map_err(Unusual::from))
        }))
    }

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

    pub(super) fn bytes(self) -> Result<&'a [u8], Unusual> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Number(_) | Self::Fixed(_) => Err(Unusual),
        }
    }

    /// The value as bytes of a certain length.
    pub(super) fn exactly<const N: usize>(self) -> Result<[u8; N], Unusual> {
        self.bytes()?.try_into().map_err(|_| Unusual)
    }

    pub(super) fn text(self) -> Result<&'a str, Unusual> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Unusual)
    }

    /// Decodes a message by prost, where a reader of its own does not pay: it is rare, or all numbers.
    pub(super) fn message<W: Message + Default>(self) -> Result<W, Unusual> {
        Ok(W::decode(self.bytes()?)?)
    }
}

/// Stores a value that may come once. A message that comes twice is merged, which is left to prost.
pub(super) fn once<T>(place: &mut Option<T>, value: T) -> Result<(), Unusual> {
    match place.replace(value) {
        Some(_) => Err(Unusual),
        None => Ok(()),
    }
}

/// Writes the fields of a message, in the order of their numbers, as prost does.
pub(super) struct Writer<'a> {
    to: &'a mut Vec<u8>,
}

impl<'a> Writer<'a> {
    /// Creates a writer that appends to `to`.
    pub(super) fn new(to: &'a mut Vec<u8>) -> Self {
        Self { to }
    }

    /// Writes a number unless it is 0.
    pub(super) fn number(&mut self, field: u32, number: impl Into<u64>) {
        let number = number.into();
        self.number_if(field, (number != 0).then_some(number));
    }

    /// Writes a number that may be absent.
    pub(super) fn number_if(&mut self, field: u32, number: Option<impl Into<u64>>) {
        if let Some(number) = number {
            self.key(field, WireType::Varint);
            self.varint(number.into());
        }
    }

    /// Writes a number of eight bytes unless it is 0.
    pub(super) fn fixed(&mut self, field: u32, number: u64) {
        self.fixed_if(field, (number != 0).then_some(number));
    }

    /// Writes a number of eight bytes that may be absent.
    pub(super) fn fixed_if(&mut self, field: u32, number: Option<u64>) {
        if let Some(number) = number {
            self.key(field, WireType::SixtyFourBit);
            self.to.extend_from_slice(&number.to_le_bytes());
        }
    }

    /// Writes bytes or a text unless they are empty.
    pub(super) fn bytes(&mut self, field: u32, bytes: impl AsRef<[u8]>) {
        self.bytes_if(field, Some(bytes).filter(|bytes| !bytes.as_ref().is_empty()));
    }

    /// Writes bytes or a text that may be absent.
    pub(super) fn bytes_if(&mut self, field: u32, bytes: Option<impl AsRef<[u8]>>) {
        if let Some(bytes) = bytes {
            let bytes = bytes.as_ref();
            self.key(field, WireType::LengthDelimited);
            self.varint(bytes.len() as u64);
            self.to.extend_from_slice(bytes);
        }
    }

    /// Writes a message of these fields. Its length goes before it and is known only after it: one byte is left for the length,
    /// and the message is moved if that needs more.
    pub(super) fn fields(&mut self, field: u32, write: impl FnOnce(&mut Writer<'_>)) {
        self.key(field, WireType::LengthDelimited);
        let place = self.to.len();
        self.to.push(0);
        write(&mut Writer::new(self.to));
        let end = self.to.len();
        let length = (end - place - 1) as u64;
        let more = encoded_len_varint(length) - 1;
        if more > 0 {
            self.to.resize(end + more, 0);
            self.to.copy_within(place + 1..end, place + 1 + more);
        }
        encode_varint(length, &mut &mut self.to[place..]);
    }

    fn key(&mut self, field: u32, kind: WireType) {
        self.varint(u64::from(field << 3 | kind as u32));
    }

    fn varint(&mut self, number: u64) {
        match u8::try_from(number) {
            Ok(byte @ ..0x80) => self.to.push(byte),
            _ => encode_varint(number, self.to),
        }
    }

    /// Writes a message by prost, where a writer of its own does not pay: it is rare, or all numbers.
    pub(super) fn message(&mut self, field: u32, message: &impl Message) {
        prost::encoding::message::encode(field, message, self.to);
    }

    /// Writes such a message that may be absent.
    pub(super) fn message_if(&mut self, field: u32, message: Option<impl Message>) {
        if let Some(message) = message {
            self.message(field, &message);
        }
    }
}
