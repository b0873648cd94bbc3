//! The encoding of values in fields of messages, and the macros that join core's types with messages.
//!
//! [`Wire`] converts a value by its type, so that a field of a struct needs only its name. Where the
//! type is not enough, because a text is cut or a list has a limit, a [`Converter`] follows `=>`:
//!
//! `structure!(Build, v1::Build, [command, products => Each(9), timeout = timeout_ns])`
//!
//! `oneof!(Line, WireLine, [Shell(line) = Shell(line), Exact(words) = Exact(Argv { words })])`

pub(super) mod field;
pub(super) mod id;
pub(super) mod malformed;
pub(super) mod moment;

use std::{collections::BTreeMap, sync::Arc};

use speedup_core::experiment::files::ContentHash;
use speedup_core::fingerprint::{ClassId, HardwareId, HashIdError};
use speedup_core::run::record::MAX_REASON_BYTES;
use speedup_core::value::cpu_set::CpuSet;
use speedup_core::value::id::{
    AgentEpoch, AgentId, AllocationId, Attempt, BootId, ExperimentId, HostId, HostName, JobId, LeaseEpoch,
    NodeName, RunIndex, SwitchPath,
};
use speedup_core::value::{seed::Seed, time::Span, time::Timestamp};
use uuid::Uuid;

use self::field::{at_most, cpu_set, cut, exactly, id, no_longer, small, small_signed};
use self::id::{experiment_named, id_text};
use self::malformed::{Malformed, Within};
use self::moment::{moment, required_moment, timestamp};
use crate::encoded::ExportAttempts;

/// A value that a field of a message stores as a `W`.
pub(crate) trait Wire<W>: Sized {
    fn to_wire(&self) -> W;
    /// `field` is the name of the field in an error.
    fn from_wire(wire: W, field: &str) -> Result<Self, Malformed>;
}

/// Converts a field whose type alone does not determine the conversion.
pub(crate) trait Converter<C, W> {
    fn write(&self, core: &C) -> W;
    fn read(&self, wire: W, field: &str) -> Result<C, Malformed>;
}

/// The converter of every field without another: by [`Wire`].
pub(crate) struct ByType;

impl<C: Wire<W>, W> Converter<C, W> for ByType {
    fn write(&self, core: &C) -> W {
        core.to_wire()
    }

    fn read(&self, wire: W, field: &str) -> Result<C, Malformed> {
        C::from_wire(wire, field)
    }
}

/// A function for each direction.
impl<C, W, Out: Fn(&C) -> W, In: Fn(W, &str) -> Result<C, Malformed>> Converter<C, W> for (Out, In) {
    fn write(&self, core: &C) -> W {
        self.0(core)
    }

    fn read(&self, wire: W, field: &str) -> Result<C, Malformed> {
        self.1(wire, field)
    }
}

/// A list of messages with a limit.
pub(crate) struct Each(pub(crate) usize);

impl<C, W> Converter<Vec<C>, Vec<W>> for Each
where
    C: TryFrom<W, Error = Malformed>,
    W: for<'a> From<&'a C>,
{
    fn write(&self, core: &Vec<C>) -> Vec<W> {
        core.iter().map(Into::into).collect()
    }

    fn read(&self, wire: Vec<W>, field: &str) -> Result<Vec<C>, Malformed> {
        field::each(wire, self.0, field)
    }
}

/// A list of values that are the same on the wire, with a limit.
pub(crate) struct PlainList(pub(crate) usize);

impl<T: Clone> Converter<Vec<T>, Vec<T>> for PlainList {
    fn write(&self, core: &Vec<T>) -> Vec<T> {
        core.clone()
    }

    fn read(&self, wire: Vec<T>, field: &str) -> Result<Vec<T>, Malformed> {
        at_most(wire.len(), self.0, field)?;
        Ok(wire)
    }
}

/// A list of an enumeration's values with a limit. The text names a malformed value in errors.
pub(crate) struct Choices(pub(crate) &'static str, pub(crate) usize);

impl<C: Wire<i32>> Converter<Vec<C>, Vec<i32>> for Choices {
    fn write(&self, core: &Vec<C>) -> Vec<i32> {
        core.iter().map(Wire::to_wire).collect()
    }

    fn read(&self, wire: Vec<i32>, field: &str) -> Result<Vec<C>, Malformed> {
        at_most(wire.len(), self.1, field)?;
        let values = wire.into_iter().enumerate();
        values.map(|(index, value)| C::from_wire(value, self.0).within_nth(field, index)).collect()
    }
}

/// An enumeration one value of which is not written: the one that older plans imply.
pub(crate) struct Unwritten<C>(pub(crate) C);

impl<C: Wire<i32> + PartialEq + Clone> Converter<C, i32> for Unwritten<C> {
    fn write(&self, core: &C) -> i32 {
        if *core == self.0 { 0 } else { core.to_wire() }
    }

    fn read(&self, wire: i32, field: &str) -> Result<C, Malformed> {
        if wire == 0 { Ok(self.0.clone()) } else { C::from_wire(wire, field) }
    }
}

/// A message that is not written if it is the default.
pub(crate) struct OrDefault;

impl<C: Wire<W> + Default + PartialEq, W> Converter<C, Option<W>> for OrDefault {
    fn write(&self, core: &C) -> Option<W> {
        (*core != C::default()).then(|| core.to_wire())
    }

    fn read(&self, wire: Option<W>, field: &str) -> Result<C, Malformed> {
        Ok(Option::from_wire(wire, field)?.unwrap_or_default())
    }
}

/// A text that is cut to a length when it is read.
pub(crate) struct Cut(pub(crate) usize);

/// A reason in words, cut when it is read.
pub(crate) const REASON: Cut = Cut(MAX_REASON_BYTES);

impl Converter<String, String> for Cut {
    fn write(&self, core: &String) -> String {
        core.clone()
    }

    fn read(&self, wire: String, _: &str) -> Result<String, Malformed> {
        Ok(cut(wire, self.0))
    }
}

/// A text, or bytes, with a limit.
pub(crate) struct NoLonger(pub(crate) usize);

impl<T: AsRef<[u8]> + Clone> Converter<T, T> for NoLonger {
    fn write(&self, core: &T) -> T {
        core.clone()
    }

    fn read(&self, wire: T, field: &str) -> Result<T, Malformed> {
        no_longer(wire.as_ref().len(), self.0, field)?;
        Ok(wire)
    }
}

/// Where the value of a oneof's alternative is: in the field of its name, in another field, or in a message.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    Here,
    Field(&'static str),
    Within(&'static str),
}

impl Place {
    pub(crate) fn read<C, W>(self, by: &impl Converter<C, W>, wire: W, field: &str) -> Result<C, Malformed> {
        match self {
            Self::Here => by.read(wire, field),
            Self::Field(field) => by.read(wire, field),
            Self::Within(message) => by.read(wire, field).within(message),
        }
    }
}

/// Implements [`Wire`] by an expression for each direction; reading may fail.
macro_rules! wire {
    ($($core:ty as $wire:ty: |$out:ident| $to_wire:expr, |$in:ident, $field:ident| $from_wire:expr;)+) => {$(
        impl $crate::convert::wire::Wire<$wire> for $core {
            fn to_wire(&self) -> $wire {
                let $out = self;
                $to_wire
            }

            fn from_wire($in: $wire, $field: &str) -> Result<Self, $crate::convert::Malformed> {
                $from_wire
            }
        }
    )+};
}
pub(crate) use wire;

/// Implements [`Wire`] for values that are the same on both sides.
macro_rules! same {
    ($($type:ty),+) => { wire!($($type as $type: |core| Clone::clone(core), |wire, _field| Ok(wire);)+); };
}

/// Implements [`Wire`] for newtypes of numbers.
macro_rules! numbers {
    ($($core:ident($wire:ty)),+) => { wire!($($core as $wire: |core| core.0, |wire, _field| Ok(Self(wire));)+); };
}

/// Implements [`Wire`] for ids, which are texts.
macro_rules! ids {
    ($($core:ident),+) => {
        wire!($($core as String: |core| core.as_str().to_owned(), |wire, field| id(wire, field);)+);
    };
}

/// Implements [`Wire`] for hashes, which are hexadecimal digits.
macro_rules! hashes {
    ($($core:ident),+) => {
        wire!($($core as String: |core| core.to_string(), |wire, field| {
            wire.parse().map_err(|why: HashIdError| Malformed::new(field, why))
        };)+);
    };
}

same!(bool, i32, u32, i64, u64, f64, String, Vec<f64>, Vec<String>, BTreeMap<String, String>, ExportAttempts);
numbers!(Attempt(u32), RunIndex(u32), AgentEpoch(u64), LeaseEpoch(u64), Seed(u64), Span(u64), Timestamp(u64));
ids!(HostId, HostName, BootId, AllocationId, NodeName, JobId, SwitchPath);
hashes!(ClassId, HardwareId);
wire! {
    u8 as u32: |core| u32::from(*core), |wire, field| small(wire, field);
    i8 as i32: |core| i32::from(*core), |wire, field| small_signed(wire, field);
    CpuSet as String: |core| core.to_string(), |wire, field| cpu_set(&wire, field);
    [u8; 32] as Vec<u8>: |core| core.to_vec(), |wire, field| exactly(&wire, field);
    ContentHash as Vec<u8>: |core| core.0.to_vec(), |wire, field| exactly(&wire, field).map(Self);
    Uuid as Vec<u8>: |core| core.as_bytes().to_vec(), |wire, field| exactly(&wire, field).map(Self::from_bytes);
    ExperimentId as Vec<u8>: |core| core.0.to_wire(), |wire, field| Uuid::from_wire(wire, field).map(Self);
    AgentId as Vec<u8>: |core| core.0.to_wire(), |wire, field| Uuid::from_wire(wire, field).map(Self);
    ExperimentId as String: |core| id_text(core.0), |wire, field| experiment_named(&wire, field);
    Timestamp as prost_types::Timestamp: |core| timestamp(*core), |wire, field| moment(&wire, field);
    Timestamp as Option<prost_types::Timestamp>:
        |core| Some(timestamp(*core)), |wire, field| required_moment(wire.as_ref(), field);
}

impl<C: Wire<W>, W> Wire<Option<W>> for Option<C> {
    fn to_wire(&self) -> Option<W> {
        self.as_ref().map(C::to_wire)
    }

    fn from_wire(wire: Option<W>, field: &str) -> Result<Self, Malformed> {
        wire.map(|wire| C::from_wire(wire, field)).transpose()
    }
}

impl<C: Wire<W>, W> Wire<W> for Box<C> {
    fn to_wire(&self) -> W {
        self.as_ref().to_wire()
    }

    fn from_wire(wire: W, field: &str) -> Result<Self, Malformed> {
        C::from_wire(wire, field).map(Self::new)
    }
}

impl<C: Wire<W>, W> Wire<W> for Arc<C> {
    fn to_wire(&self) -> W {
        self.as_ref().to_wire()
    }

    fn from_wire(wire: W, field: &str) -> Result<Self, Malformed> {
        C::from_wire(wire, field).map(Self::new)
    }
}

/// Implements [`Wire`] for a message that has conversions. It is required unless the value is an `Option`.
macro_rules! message {
    ($core:ty, $wire:ty) => {
        impl $crate::convert::wire::Wire<$wire> for $core {
            fn to_wire(&self) -> $wire {
                self.into()
            }

            fn from_wire(wire: $wire, field: &str) -> Result<Self, $crate::convert::Malformed> {
                $crate::convert::Within::within(Self::try_from(wire), field)
            }
        }

        impl $crate::convert::wire::Wire<Option<$wire>> for $core {
            fn to_wire(&self) -> Option<$wire> {
                Some(self.into())
            }

            fn from_wire(wire: Option<$wire>, field: &str) -> Result<Self, $crate::convert::Malformed> {
                $crate::convert::required(wire, field)
            }
        }
    };
}
pub(crate) use message;

/// Joins an enumeration with its message's, which has the same names and `Unspecified`.
macro_rules! enumeration {
    ($core:ty, $wire:ty, [$($variant:ident),+ $(,)?]) => {
        impl From<$core> for $wire {
            fn from(value: $core) -> Self {
                match value {
                    $(<$core>::$variant => Self::$variant,)+
                }
            }
        }

        impl TryFrom<$wire> for $core {
            type Error = $crate::convert::Why;

            fn try_from(wire: $wire) -> Result<Self, Self::Error> {
                match wire {
                    <$wire>::Unspecified => Err($crate::convert::Why::Unspecified),
                    $(<$wire>::$variant => Ok(Self::$variant),)+
                }
            }
        }

        impl $crate::convert::wire::Wire<i32> for $core {
            fn to_wire(&self) -> i32 {
                <$wire>::from(*self).into()
            }

            fn from_wire(wire: i32, field: &str) -> Result<Self, $crate::convert::Malformed> {
                $crate::convert::wire::field::enumerated::<$wire, Self>(wire, field)
            }
        }
    };
}
pub(crate) use enumeration;

/// Joins a struct with its message. Each field stands once, in the order in which it is read, as `field` or
/// `field = name_in_the_message`, with `=> converter` where the types are not enough. A field that the message splits is
/// `field = (names)`, and its converter names them in errors. A struct of structs whose fields the message holds itself is
/// written out as a pattern.
macro_rules! structure {
    // First the fields are brought into one form, `(field [names] converter)`.
    (@ $head:tt $done:tt $field:ident => $by:expr $(, $($rest:tt)*)?) => {
        structure!(@ $head $done $field = ($field) => $by $(, $($rest)*)?);
    };
    (@ $head:tt $done:tt $field:ident = $name:ident => $by:expr $(, $($rest:tt)*)?) => {
        structure!(@ $head $done $field = ($name) => $by $(, $($rest)*)?);
    };
    (@ $head:tt [$($done:tt)*] $field:ident = ($($name:ident),+) => $by:expr $(, $($rest:tt)*)?) => {
        structure!(@ $head [$($done)* ($field [$($name)+] $by)] $($($rest)*)?);
    };
    (@ $head:tt $done:tt $field:ident = $name:ident $(, $($rest:tt)*)?) => {
        structure!(@ $head $done $field = ($name) => $crate::convert::wire::ByType $(, $($rest)*)?);
    };
    (@ $head:tt $done:tt $field:ident $(, $($rest:tt)*)?) => {
        structure!(@ $head $done $field = ($field) => $crate::convert::wire::ByType $(, $($rest)*)?);
    };
    (@ [$core:ident, $wire:path] [$(($field:ident $names:tt $by:expr))+]) => {
        structure!(@ [$core { $($field),+ }, $wire] [$(($field $names $by))+]);
    };
    (@ [$core:ident { $($part:tt)+ }, $wire:path] [$(($field:ident [$first:ident $($name:ident)*] $by:expr))+]) => {
        impl From<&$core> for $wire {
            fn from(value: &$core) -> Self {
                let $core { $($part)+ } = value;
                $(let structure!(names $first $($name)*) = $crate::convert::wire::Converter::write(&$by, $field);)+
                Self { $($first, $($name,)*)+ }
            }
        }

        impl From<$core> for $wire {
            fn from(value: $core) -> Self {
                (&value).into()
            }
        }

        impl TryFrom<$wire> for $core {
            type Error = $crate::convert::Malformed;

            fn try_from(wire: $wire) -> Result<Self, Self::Error> {
                $(let $field = $crate::convert::wire::Converter::read(
                    &$by,
                    structure!(values wire $first $($name)*),
                    stringify!($first),
                )?;)+
                Ok($core { $($part)+ })
            }
        }

        $crate::convert::wire::message!($core, $wire);
    };
    (names $name:ident) => { $name };
    (names $($name:ident)+) => { ($($name),+) };
    (values $wire:ident $name:ident) => { $wire.$name };
    (values $wire:ident $($name:ident)+) => { ($($wire.$name),+) };
    ($core:ident $({ $($part:tt)+ })?, $wire:path, [$($field:tt)+]) => {
        structure!(@ [$core $({ $($part)+ })?, $wire] [] $($field)+);
    };
}
pub(crate) use structure;

/// Joins an enum with a oneof, variant by variant: left the variant, right the alternative, with the same names. `=>` gives a
/// converter, as in `structure!`. `in "name"` is the message in which an error lies, or the field where there is no message;
/// without it, an error has the value's own name. `without` lists texts of the message that stay empty.
///
/// Before the list, `{ field: Oneof }` makes it a message of this oneof alone, the variant after `or` is written as no
/// alternative, and those after `never` are not written at all. `by hand` lists variants with a function for each way.
macro_rules! oneof {
    ($core:ident, $wire:path { $slot:ident: $oneof:ident } $($rest:tt)+) => {
        impl From<&$core> for $wire {
            fn from(value: &$core) -> Self {
                Self { $slot: $crate::convert::wire::Wire::to_wire(value) }
            }
        }

        impl From<$core> for $wire {
            fn from(value: $core) -> Self {
                (&value).into()
            }
        }

        impl TryFrom<$wire> for $core {
            type Error = $crate::convert::Malformed;

            fn try_from(wire: $wire) -> Result<Self, Self::Error> {
                $crate::convert::wire::Wire::from_wire(wire.$slot, stringify!($slot))
            }
        }

        $crate::convert::wire::message!($core, $wire);
        oneof!($core, $oneof $($rest)+);
    };
    ($core:ident, $oneof:ident $(or $none:ident)? $(never [$($never:ident),+])?, [$(
        $variant:ident $(($value:ident $(=> $value_by:expr)?))? $({ $($field:ident $(=> $by:expr)?),+ })?
            = $kind:ident($($payload:tt)+) $(in $path:literal)? $(without [$($unused:ident),+])?
    ),+ $(,)?] $(, by hand [$(
        $hand:ident $(($hand_value:ident))? $({ $($hand_field:ident),+ })? = $hand_kind:ident($out:path, $in:path)
    ),+ $(,)?])?) => {
        impl $crate::convert::wire::Wire<Option<$oneof>> for $core {
            fn to_wire(&self) -> Option<$oneof> {
                Some(match self {
                    $(Self::$none => return None,)?
                    $($(Self::$never { .. } => return None,)+)?
                    $(Self::$variant $(($value))? $({ $($field),+ })? => {
                        $(let $value = $crate::convert::wire::Converter::write(&oneof!(by $($value_by)?), $value);)?
                        $($(let $field = $crate::convert::wire::Converter::write(&oneof!(by $($by)?), $field);)+)?
                        $($(let $unused = Default::default();)+)?
                        $oneof::$kind($($payload)+)
                    })+
                    $($(Self::$hand $(($hand_value))? $({ $($hand_field),+ })? => {
                        $oneof::$hand_kind($out($($hand_value)? $($($hand_field),+)?))
                    })+)?
                })
            }

            fn from_wire(wire: Option<$oneof>, field: &str) -> Result<Self, $crate::convert::Malformed> {
                $(if wire.is_none() {
                    return Ok(Self::$none);
                })?
                match $crate::convert::wire::field::chosen(wire, field)? {
                    $($oneof::$kind($($payload)+) => {
                        let _place = oneof!(place [$($payload)+] $($path)?);
                        $(let $value = _place.read(&oneof!(by $($value_by)?), $value, stringify!($value))?;)?
                        $($(let $field = _place.read(&oneof!(by $($by)?), $field, stringify!($field))?;)+)?
                        $($(drop::<String>($unused);)+)?
                        Ok(Self::$variant $(($value))? $({ $($field),+ })?)
                    })+
                    $($($oneof::$hand_kind(wire) => $in(wire),)+)?
                }
            }
        }
    };
    (by) => { $crate::convert::wire::ByType };
    (by $by:expr) => { $by };
    (place [$($payload:tt)+]) => { $crate::convert::wire::Place::Here };
    (place [$value:ident] $path:literal) => { $crate::convert::wire::Place::Field($path) };
    (place [$($payload:tt)+] $path:literal) => { $crate::convert::wire::Place::Within($path) };
}
pub(crate) use oneof;
