//! Checks of single fields: presence, limits, and the form of ids, numbers and lists.

use prost::UnknownEnumValue;
use speedup_core::run::record::MAX_REASON_BYTES;
use speedup_core::value::cpu_set::{CpuSet, CpuSetError};
use speedup_core::value::id::IdError;

use super::malformed::{Malformed, Why, Within};
use crate::limits::{MAX_BY_BYTES, MAX_CPU_LIST_BYTES};

/// Reads a required message.
pub fn required<W, C>(wire: Option<W>, field: &str) -> Result<C, Malformed>
where
    C: TryFrom<W, Error = Malformed>,
{
    match wire {
        Some(wire) => C::try_from(wire).within(field),
        None => Err(Malformed::new(field, Why::Missing)),
    }
}

/// Reads an optional message.
pub fn optional<W, C>(wire: Option<W>, field: &str) -> Result<Option<C>, Malformed>
where
    C: TryFrom<W, Error = Malformed>,
{
    wire.map(|wire| C::try_from(wire).within(field)).transpose()
}

pub(crate) fn chosen<T>(oneof: Option<T>, field: &str) -> Result<T, Malformed> {
    oneof.ok_or_else(|| Malformed::new(field, Why::Unset))
}

/// Reads a list of at most `most` messages.
pub(crate) fn each<W, C>(wire: Vec<W>, most: usize, field: &str) -> Result<Vec<C>, Malformed>
where
    C: TryFrom<W, Error = Malformed>,
{
    at_most(wire.len(), most, field)?;
    wire.into_iter().enumerate().map(|(index, item)| C::try_from(item).within_nth(field, index)).collect()
}

/// Refuses a list that is too long.
pub(crate) fn at_most(items: usize, most: usize, field: &str) -> Result<(), Malformed> {
    if items > most {
        return Err(Malformed::new(field, Why::TooMany { items, most }));
    }
    Ok(())
}

/// Refuses a text, or bytes, that are too long.
pub(crate) fn no_longer(bytes: usize, most: usize, field: &str) -> Result<(), Malformed> {
    if bytes > most {
        return Err(Malformed::new(field, Why::TooLong { bytes, most }));
    }
    Ok(())
}

pub(crate) fn enumerated<W, C>(value: i32, field: &str) -> Result<C, Malformed>
where
    W: TryFrom<i32, Error = UnknownEnumValue>,
    C: TryFrom<W, Error = Why>,
{
    let wire = W::try_from(value).map_err(|unknown| Malformed::new(field, Why::Unknown(unknown.0)))?;
    C::try_from(wire).map_err(|why| Malformed::new(field, why))
}

pub(crate) fn id<I>(text: String, field: &str) -> Result<I, Malformed>
where
    I: TryFrom<String, Error = IdError>,
{
    I::try_from(text).map_err(|error| Malformed::new(field, error))
}

/// Reads an optional id.
pub(crate) fn optional_id<I>(text: Option<String>, field: &str) -> Result<Option<I>, Malformed>
where
    I: TryFrom<String, Error = IdError>,
{
    text.map(|text| id(text, field)).transpose()
}

/// Reads a number of 8 bits: an exit code or signal.
pub(crate) fn small(number: u32, field: &str) -> Result<u8, Malformed> {
    u8::try_from(number).map_err(|_| {
        let why = Why::TooLarge { number: u64::from(number), most: u64::from(u8::MAX) };
        Malformed::new(field, why)
    })
}

/// Reads a signed number of 8 bits: a nice value.
pub(crate) fn small_signed(number: i32, field: &str) -> Result<i8, Malformed> {
    i8::try_from(number)
        .map_err(|_| Malformed::new(field, Why::Outside { number, bounds: (i8::MIN, i8::MAX) }))
}

/// Reads a list of CPUs in the kernel's format.
pub(crate) fn cpu_set(list: &str, field: &str) -> Result<CpuSet, Malformed> {
    no_longer(list.len(), MAX_CPU_LIST_BYTES, field)?;
    list.parse().map_err(|_: CpuSetError| Malformed::new(field, Why::Cpus))
}

/// Reads bytes of a certain length: a hash or UUID.
pub(crate) fn exactly<const N: usize>(bytes: &[u8], field: &str) -> Result<[u8; N], Malformed> {
    bytes.try_into().map_err(|_| Malformed::new(field, Why::Length { bytes: bytes.len(), expected: N }))
}

/// Cuts a reason in words to its limit.
pub(crate) fn reason(text: String) -> String {
    cut(text, MAX_REASON_BYTES)
}

/// Cuts the name of a requester to its limit.
pub(crate) fn by(text: String) -> String {
    cut(text, MAX_BY_BYTES)
}

/// Cuts a text between characters to at most `most` bytes.
pub(crate) fn cut(mut text: String, most: usize) -> String {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
        text.shrink_to_fit();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_cut_between_characters() {
        let long = format!("{}é!", "a".repeat(MAX_REASON_BYTES - 1));
        assert_eq!(reason(long), "a".repeat(MAX_REASON_BYTES - 1));
        let just = "é".repeat(MAX_REASON_BYTES / 2);
        assert_eq!(reason(just.clone()), just);
    }
}
