//! From values to what a format means by them.

use super::{Json, parse::parse};
use crate::{Fault, FilePlace, FileProblem, Name, NumberProblem, decimal, text::lines};

/// A value that does not fit its place in a format. Its JSON pointer is found when it is reported: on the way down nothing
/// is kept.
pub(crate) struct Misfit {
    /// The address of the value, by which it is found again.
    node: *const (),
    problem: FileProblem,
}

/// Gives a problem the place of the value that it is about.
pub(crate) trait AtNode<T> {
    fn at_node(self, node: &Json<'_>) -> Result<T, Misfit>;
}

impl<T, E: Into<FileProblem>> AtNode<T> for Result<T, E> {
    fn at_node(self, node: &Json<'_>) -> Result<T, Misfit> {
        self.map_err(|problem| node.misfit(problem))
    }
}

/// Reads a text that is one document.
pub(crate) fn read_document<T>(
    text: &str,
    read: impl FnOnce(&Json<'_>) -> Result<T, Misfit>,
) -> Result<T, Fault> {
    let document = parse(text, 1)?;
    read(&document).map_err(|misfit| document.locate(misfit, None))
}

/// Reads a text that has a document on each line, in their order, each with the number of its line.
pub(crate) fn read_lines(
    text: &str,
    mut read: impl FnMut(usize, &Json<'_>) -> Result<(), Misfit>,
) -> Result<(), Fault> {
    for (line, content) in lines(text) {
        if !content.trim().is_empty() {
            let document = parse(content, line)?;
            read(line, &document).map_err(|misfit| document.locate(misfit, Some(line)))?;
        }
    }
    Ok(())
}

impl Json<'_> {
    pub(crate) fn misfit(&self, problem: impl Into<FileProblem>) -> Misfit {
        Misfit { node: self.address(), problem: problem.into() }
    }

    fn address(&self) -> *const () {
        std::ptr::from_ref(self).cast()
    }

    pub(crate) fn expected(&self, expected: &'static str) -> Misfit {
        self.misfit(FileProblem::Expected { expected })
    }

    pub(crate) fn summary_only(&self, what: &'static str) -> Misfit {
        self.misfit(FileProblem::SummaryOnly { what })
    }

    /// The field, unless it is missing or null.
    pub(crate) fn get(&self, field: &str) -> Option<&Self> {
        let (_, found) = self.members().find(|(key, _)| *key == field)?;
        if matches!(found, Json::Null) { None } else { Some(found) }
    }

    pub(crate) fn field(&self, field: &'static str) -> Result<&Self, Misfit> {
        self.get(field).ok_or_else(|| self.misfit(FileProblem::Missing { field }))
    }

    /// The members of an object; nothing of any other value.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&str, &Self)> {
        let members = if let Json::Object(members) = self { members.as_slice() } else { &[] };
        members.iter().map(|(key, value)| (key.as_ref(), value))
    }

    pub(crate) fn list(&self) -> Result<&[Self], Misfit> {
        if let Json::List(values) = self { Ok(values) } else { Err(self.expected("an array")) }
    }

    /// The values of an optional list.
    pub(crate) fn optional_list(&self, field: &str) -> Result<&[Self], Misfit> {
        self.get(field).map_or(Ok(&[]), Json::list)
    }

    /// The values of a list that has to be as long as another, both by their names in messages.
    pub(crate) fn list_as_long_as(
        &self,
        right: &'static str,
        left: &'static str,
        left_length: usize,
    ) -> Result<&[Self], Misfit> {
        let values = self.list()?;
        let right_length = values.len();
        if right_length == left_length {
            return Ok(values);
        }
        Err(self.misfit(FileProblem::LengthsDiffer { left, left_length, right, right_length }))
    }

    pub(crate) fn text(&self) -> Result<&str, Misfit> {
        if let Json::Text(text) = self { Ok(text) } else { Err(self.expected("a string")) }
    }

    /// A text as a name.
    pub(crate) fn name(&self) -> Result<Name, Misfit> {
        Name::new(self.text()?).at_node(self)
    }

    /// A text, number or truth value as a name, for facts that tools write in either form.
    pub(crate) fn word(&self) -> Result<Name, Misfit> {
        let word = match self {
            Json::Text(text) => text.as_ref(),
            Json::Number(text) | Json::NotFinite(text) => text,
            Json::Bool(true) => "true",
            Json::Bool(false) => "false",
            Json::Null | Json::List(_) | Json::Object(_) => return Err(self.expected("a string or a number")),
        };
        Name::new(word).at_node(self)
    }

    /// This version of a format, which has to be one of the known.
    pub(crate) fn known_version(&self, known: &'static str) -> Result<Name, Misfit> {
        let version = self.word()?;
        if known.split(" and ").any(|known| known == version.as_str()) {
            return Ok(version);
        }
        Err(self.misfit(FileProblem::UnknownVersion { version, known }))
    }

    /// The word in an optional field.
    pub(crate) fn optional_word(&self, field: &str) -> Result<Option<Name>, Misfit> {
        self.get(field).map(Json::word).transpose()
    }

    /// What is at the end of a way of keys with `/` between, or that of the first of `a|b`; the value itself where the way has no key.
    pub(crate) fn at(&self, way: &str) -> Option<&Self> {
        let mut keys = way.split('/').filter(|key| !key.is_empty());
        keys.try_fold(self, |node, keys| keys.split('|').find_map(|key| node.get(key)))
    }

    /// What a file tells besides its values, if it can be shown: nothing of that kind refuses a file.
    pub(crate) fn fact(&self, way: &str) -> Option<Name> {
        let found = if way.is_empty() { None } else { self.at(way) };
        found?.word().ok()
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
    pub(crate) fn number(&self, shift: i32) -> Result<f64, Misfit> {
        let (Json::Number(text) | Json::NotFinite(text)) = self else {
            return Err(self.expected("a number"));
        };
        decimal::read(text, shift).map_err(|problem| self.misfit(FileProblem::number(text, problem)))
    }

    pub(crate) fn is_true(&self) -> bool {
        matches!(self, Json::Bool(true))
    }

    /// The misfit with its pointer; `line` is where this document begins in a file that has several.
    pub(crate) fn locate(&self, misfit: Misfit, line: Option<usize>) -> Fault {
        let pointer = self.pointer_to(misfit.node).unwrap_or_default();
        Fault { place: FilePlace::Pointer { line, pointer }, problem: misfit.problem }
    }

    /// The pointer to the value at an address, if it is inside.
    fn pointer_to(&self, sought: *const ()) -> Option<String> {
        if self.address() == sought {
            return Some(String::new());
        }
        match self {
            Json::List(values) => values.iter().enumerate().find_map(|(index, value)| {
                let rest = value.pointer_to(sought)?;
                Some(format!("/{index}{rest}"))
            }),
            Json::Object(members) => members.iter().find_map(|(key, value)| {
                let rest = value.pointer_to(sought)?;
                let key: String = key.chars().take(MAX_POINTER_KEY_CHARS).collect();
                Some(format!("/{}{rest}", key.replace('~', "~0").replace('/', "~1")))
            }),
            _ => None,
        }
    }
}

/// At most this many characters of a key are shown in a pointer.
const MAX_POINTER_KEY_CHARS: usize = 60;
