//! JSON as benchmark tools write it.
//!
//! A reader of our own, for four reasons: Google Benchmark writes bare `NaN` and `Infinity`; a number is kept as its text, so
//! that nanoseconds become seconds without a second rounding; what does not fit is reported with its JSON pointer; and every
//! cost has a bound. It accepts RFC 8259 plus those two words (and C's `inf` and `nan`), and control characters other than a
//! line end inside strings, which Google Benchmark does not escape. It refuses objects that name a key twice.

mod access;
mod parse;

pub(crate) use access::{AtNode, Misfit, read_document, read_lines};
pub(crate) use parse::{parse, parse_all};

use std::borrow::Cow;

/// One JSON value; texts are borrowed from the file where nothing is escaped.
#[derive(Debug)]
pub(crate) enum Json<'a> {
    Null,
    Bool(bool),
    /// As written, and in the form that JSON allows.
    Number(&'a str),
    /// A bare NaN or infinity.
    NotFinite(&'a str),
    Text(Cow<'a, str>),
    List(Vec<Json<'a>>),
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}
