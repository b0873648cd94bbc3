//! The fields of an encoded message, as the encoding of protocol buffers describes them.

use prost::Message;
use prost::encoding::{WireType, decode_varint, encode_varint, encoded_len_varint};
use speedup_core::{fingerprint::HashIdError, value::id::IdError};

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

/// The kinds of values that are read, as keys name them.
const VARINT: u32 = WireType::Varint as u32;
const SIXTY_FOUR_BIT: u32 = WireType::SixtyFourBit as u32;
const LENGTH_DELIMITED: u32 = WireType::LengthDelimited as u32;

/// The fields of a message that are not read yet.
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

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
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The next field: its number and its value; `None` at the end. Compiled into each of its readers, where it is known what
    /// becomes of the value.
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

    /// A number of variable length. Keys, lengths and many values are one byte.
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
    /// A whole number that fits.
    pub(super) fn number<N: TryFrom<u64>>(self) -> Result<N, Unusual> {
        match self {
            Self::Number(number) => N::try_from(number).map_err(|_| Unusual),
            Self::Fixed(_) | Self::Bytes(_) => Err(Unusual),
        }
    }

    /// A signed number whose signs alternate (`sint32`).
    pub(super) fn signed(self) -> Result<i32, Unusual> {
        let number: u32 = self.number()?;
        Ok((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    /// A list of whole numbers.
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

    /// Bytes of a certain length.
    pub(super) fn exactly<const N: usize>(self) -> Result<[u8; N], Unusual> {
        self.bytes()?.try_into().map_err(|_| Unusual)
    }

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

/// Writes the fields of a message, in the order of their numbers, as prost does.
pub(super) struct Writer<'a> {
    to: &'a mut Vec<u8>,
}

impl<'a> Writer<'a> {
    /// Appends to bytes.
    pub(super) fn new(to: &'a mut Vec<u8>) -> Self {
        Self { to }
    }

    /// A whole number, which is not written where it is 0.
    pub(super) fn number(&mut self, field: u32, number: impl Into<u64>) {
        let number = number.into();
        self.number_if(field, (number != 0).then_some(number));
    }

    /// A whole number that may be absent.
    pub(super) fn number_if(&mut self, field: u32, number: Option<impl Into<u64>>) {
        if let Some(number) = number {
            self.key(field, WireType::Varint);
            self.varint(number.into());
        }
    }

    /// A number of eight bytes, which is not written where it is 0.
    pub(super) fn fixed(&mut self, field: u32, number: u64) {
        self.fixed_if(field, (number != 0).then_some(number));
    }

    /// A number of eight bytes that may be absent.
    pub(super) fn fixed_if(&mut self, field: u32, number: Option<u64>) {
        if let Some(number) = number {
            self.key(field, WireType::SixtyFourBit);
            self.to.extend_from_slice(&number.to_le_bytes());
        }
    }

    /// Bytes or a text, which are not written where there are none.
    pub(super) fn bytes(&mut self, field: u32, bytes: impl AsRef<[u8]>) {
        self.bytes_if(field, Some(bytes).filter(|bytes| !bytes.as_ref().is_empty()));
    }

    /// Bytes or a text that may be absent.
    pub(super) fn bytes_if(&mut self, field: u32, bytes: Option<impl AsRef<[u8]>>) {
        if let Some(bytes) = bytes {
            let bytes = bytes.as_ref();
            self.key(field, WireType::LengthDelimited);
            self.varint(bytes.len() as u64);
            self.to.extend_from_slice(bytes);
        }
    }

    /// A message of these fields. Its length, which stands before it, is known after it: what takes more than the one byte that
    /// was left for it moves on.
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

    /// A message that is written as it is encoded: it is rare, or all numbers.
    pub(super) fn message(&mut self, field: u32, message: &impl Message) {
        prost::encoding::message::encode(field, message, self.to);
    }

    /// The same that may be absent.
    pub(super) fn message_if(&mut self, field: u32, message: Option<impl Message>) {
        if let Some(message) = message {
            self.message(field, &message);
        }
    }
}
