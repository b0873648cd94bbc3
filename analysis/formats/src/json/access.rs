//! From values to what a format means by them.

use super::Json;
use crate::{
    decimal, decimal::NumberProblem, name::Name, problem::Fault, problem::FilePlace, problem::FileProblem,
};
use std::fmt::Write;

/// A value that does not fit its place in a format. Its JSON pointer is found when it is reported: on the way down nothing
/// is kept.
pub(crate) struct Misfit<'j, 'a> {
    node: &'j Json<'a>,
    problem: FileProblem,
}

type Fitting<'j, 'a, T> = Result<T, Misfit<'j, 'a>>;

impl<'a> Json<'a> {
    pub(crate) fn misfit(&self, problem: impl Into<FileProblem>) -> Misfit<'_, 'a> {
        Misfit { node: self, problem: problem.into() }
    }

    fn expected(&self, expected: &'static str) -> Misfit<'_, 'a> {
        self.misfit(FileProblem::Expected { expected })
    }

    /// The field, unless it is missing or null.
    pub(crate) fn get(&self, field: &str) -> Option<&Self> {
        self.members()
            .find(|(key, value)| *key == field && !matches!(value, Json::Null))
            .map(|(_, value)| value)
    }

    pub(crate) fn field(&self, field: &'static str) -> Fitting<'_, 'a, &Self> {
        self.get(field).ok_or_else(|| self.misfit(FileProblem::Missing { field }))
    }

    /// The members of an object; nothing of any other value.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&str, &Self)> {
        let members = if let Json::Object(members) = self { members.as_slice() } else { &[] };
        members.iter().map(|(key, value)| (key.as_ref(), value))
    }

    pub(crate) fn list(&self) -> Fitting<'_, 'a, &[Self]> {
        if let Json::List(values) = self { Ok(values) } else { Err(self.expected("an array")) }
    }

    pub(crate) fn text(&self) -> Fitting<'_, 'a, &str> {
        if let Json::Text(text) = self { Ok(text) } else { Err(self.expected("a string")) }
    }

    /// A text as a name.
    pub(crate) fn name(&self) -> Fitting<'_, 'a, Name> {
        Name::new(self.text()?).map_err(|problem| self.misfit(problem))
    }

    /// A text, number or truth value as a name, for facts that tools write in either form.
    pub(crate) fn word(&self) -> Fitting<'_, 'a, Name> {
        let word = match self {
            Json::Text(text) => text.as_ref(),
            Json::Number(text) | Json::NotFinite(text) => text,
            Json::Bool(true) => "true",
            Json::Bool(false) => "false",
            Json::Null | Json::List(_) | Json::Object(_) => {
                return Err(self.expected("a string or a number"));
            }
        };
        Name::new(word).map_err(|problem| self.misfit(problem))
    }

    /// The word in an optional field.
    pub(crate) fn optional_word(&self, field: &str) -> Fitting<'_, 'a, Option<Name>> {
        self.get(field).map(Json::word).transpose()
    }

    /// What a file tells besides its values, if it can be shown: nothing of that kind refuses a file.
    pub(crate) fn fact(&self, field: &str) -> Option<Name> {
        self.get(field)?.word().ok()
    }

    /// Whether this is a number that is not finite, as any tool writes it: `NaN`, `"Infinity"`, or null, which writers of strict JSON
    /// have in its place.
    pub(crate) fn is_not_finite(&self) -> bool {
        match self {
            Json::NotFinite(_) | Json::Null => true,
            Json::Text(text) => decimal::read(text, 0) == Err(NumberProblem::NotFinite),
            Json::Bool(_) | Json::Number(_) | Json::List(_) | Json::Object(_) => false,
        }
    }

    /// A finite number times 10^`shift`.
    pub(crate) fn number(&self, shift: i32) -> Fitting<'_, 'a, f64> {
        let text = match self {
            Json::Number(text) | Json::NotFinite(text) => text,
            Json::Null | Json::Bool(_) | Json::Text(_) | Json::List(_) | Json::Object(_) => {
                return Err(self.expected("a number"));
            }
        };
        decimal::read(text, shift)
            .map_err(|problem| self.misfit(FileProblem::Number { text: Name::beginning(text), problem }))
    }

    pub(crate) fn is_true(&self) -> bool {
        matches!(self, Json::Bool(true))
    }

    /// The misfit with its pointer; `line` is where this document begins in a file that has several.
    pub(crate) fn locate(&self, misfit: Misfit<'_, '_>, line: Option<usize>) -> Fault {
        let mut pointer = String::new();
        let sought: *const () = std::ptr::from_ref(misfit.node).cast();
        if !self.point_at(sought, &mut pointer) {
            pointer.clear();
        }
        Fault { place: FilePlace::Pointer { line, pointer }, problem: misfit.problem }
    }

    /// Extends the pointer to the sought value; leaves it as it was if the value is not inside.
    fn point_at(&self, sought: *const (), pointer: &mut String) -> bool {
        if std::ptr::eq(std::ptr::from_ref(self).cast(), sought) {
            return true;
        }
        let length = pointer.len();
        match self {
            Json::List(values) => values.iter().enumerate().any(|(index, value)| {
                pointer.truncate(length);
                // Writing to a string cannot fail.
                let _ = write!(pointer, "/{index}");
                value.point_at(sought, pointer)
            }),
            Json::Object(members) => members.iter().any(|(key, value)| {
                pointer.truncate(length);
                pointer.push('/');
                pointer.push_str(&shortened(key).replace('~', "~0").replace('/', "~1"));
                value.point_at(sought, pointer)
            }),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::NotFinite(_) | Json::Text(_) => false,
        }
    }
}

/// At most this many characters of a key are shown in a pointer.
const MAX_POINTER_KEY_CHARS: usize = 60;

fn shortened(key: &str) -> String {
    key.chars().take(MAX_POINTER_KEY_CHARS).collect()
}
