//! From text to values.

use super::Json;
use crate::{bounds::MAX_JSON_NODES, bounds::MAX_NESTING, name::Name, problem::Fault, problem::FileProblem};
use std::borrow::Cow;

/// The one value of a text; `first_line` is where the text begins in its file.
pub(crate) fn parse(text: &str, first_line: usize) -> Result<Json<'_>, Fault> {
    let mut parser = Parser { text, at: 0, nodes: 0 };
    let outcome = parser.value(0).and_then(|value| {
        parser.skip_blanks();
        match parser.peek() {
            None => Ok(value),
            Some(found) => Err(FileProblem::Unexpected { expected: "the end of the text", found }),
        }
    });
    outcome.map_err(|problem| parser.fault(first_line, problem))
}

/// All values of a text in which one follows the other, as lines of JSON do, each with the offset where it begins.
pub(crate) fn parse_all(text: &str) -> Result<Vec<(usize, Json<'_>)>, Fault> {
    let mut parser = Parser { text, at: 0, nodes: 0 };
    let mut values = Vec::new();
    while values.is_empty() || parser.peek().is_some() {
        parser.skip_blanks();
        let begin = parser.at;
        let value = parser.value(0).map_err(|problem| parser.fault(1, problem))?;
        values.push((begin, value));
        parser.skip_blanks();
    }
    Ok(values)
}

struct Parser<'a> {
    text: &'a str,
    /// In bytes, always at a character's beginning.
    at: usize,
    nodes: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// A problem at the place that is reached, in a text that begins at `first_line`.
    fn fault(&self, first_line: usize, problem: FileProblem) -> Fault {
        let before = &self.text[..self.at];
        let line = before.matches('\n').count();
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Fault::at(first_line + line, column, problem)
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn skip_blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    fn unexpected(&self, expected: &'static str) -> FileProblem {
        match self.peek() {
            None => FileProblem::Truncated { expected },
            Some(found) => FileProblem::Unexpected { expected, found },
        }
    }

    /// Takes a character if it is next.
    fn took(&mut self, c: char) -> bool {
        let is_next = self.rest().starts_with(c);
        if is_next {
            self.at += c.len_utf8();
        }
        is_next
    }

    fn value(&mut self, depth: usize) -> Result<Json<'a>, FileProblem> {
        self.skip_blanks();
        self.nodes += 1;
        if self.nodes > MAX_JSON_NODES {
            return Err(FileProblem::TooManyNodes);
        }
        if depth > MAX_NESTING {
            return Err(FileProblem::TooDeep);
        }
        match self.peek() {
            Some('{') => self.object(depth),
            Some('[') => self.list(depth),
            Some('"') => self.string().map(Json::Text),
            Some('-' | '0'..='9') => self.number(),
            Some('a'..='z' | 'A'..='Z') => self.word(),
            _ => Err(self.unexpected("a value")),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json<'a>, FileProblem> {
        self.at += 1;
        let mut members = Vec::new();
        self.skip_blanks();
        if self.took('}') {
            return Ok(Json::Object(members));
        }
        loop {
            self.skip_blanks();
            if self.peek() != Some('"') {
                return Err(self.unexpected("a key in quotes"));
            }
            let key = self.string()?;
            self.skip_blanks();
            if !self.took(':') {
                return Err(self.unexpected("`:`"));
            }
            members.push((key, self.value(depth + 1)?));
            self.skip_blanks();
            if self.took('}') {
                break;
            }
            if !self.took(',') {
                return Err(self.unexpected("`,` or `}`"));
            }
        }
        unique_keys(&members)?;
        members.shrink_to_fit();
        Ok(Json::Object(members))
    }

    fn list(&mut self, depth: usize) -> Result<Json<'a>, FileProblem> {
        self.at += 1;
        let mut values = Vec::new();
        self.skip_blanks();
        if self.took(']') {
            return Ok(Json::List(values));
        }
        loop {
            values.push(self.value(depth + 1)?);
            self.skip_blanks();
            if self.took(']') {
                break;
            }
            if !self.took(',') {
                return Err(self.unexpected("`,` or `]`"));
            }
        }
        values.shrink_to_fit();
        Ok(Json::List(values))
    }

    fn word(&mut self) -> Result<Json<'a>, FileProblem> {
        let length = self.rest().find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(self.rest().len());
        let word = &self.rest()[..length];
        let value = match word {
            "null" => Json::Null,
            "true" => Json::Bool(true),
            "false" => Json::Bool(false),
            "NaN" | "nan" | "Infinity" | "inf" => Json::NotFinite(word),
            _ => return Err(self.unexpected("a value")),
        };
        self.at += length;
        Ok(value)
    }

    fn number(&mut self) -> Result<Json<'a>, FileProblem> {
        let start = self.at;
        self.took('-');
        if self.peek().is_some_and(|c| c.is_ascii_alphabetic()) {
            let word = self.word()?;
            return match word {
                Json::NotFinite(_) => Ok(Json::NotFinite(&self.text[start..self.at])),
                Json::Null
                | Json::Bool(_)
                | Json::Number(_)
                | Json::Text(_)
                | Json::List(_)
                | Json::Object(_) => Err(FileProblem::Unexpected { expected: "a digit", found: '-' }),
            };
        }
        let leading_zero = self.rest().starts_with('0');
        let whole = self.digits()?;
        if leading_zero && whole > 1 {
            self.at = start;
            return Err(FileProblem::Expected { expected: "a number without leading zeros" });
        }
        if self.took('.') {
            self.digits()?;
        }
        if self.took('e') || self.took('E') {
            let _sign = self.took('+') || self.took('-');
            self.digits()?;
        }
        Ok(Json::Number(&self.text[start..self.at]))
    }

    /// Takes at least one digit.
    fn digits(&mut self) -> Result<usize, FileProblem> {
        let rest = self.rest();
        let count = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if count == 0 {
            return Err(self.unexpected("a digit"));
        }
        self.at += count;
        Ok(count)
    }

    fn string(&mut self) -> Result<Cow<'a, str>, FileProblem> {
        self.at += 1;
        let mut owned: Option<String> = None;
        loop {
            let rest = self.rest();
            let Some(plain) = rest.find(['"', '\\', '\n']) else {
                self.at = self.text.len();
                return Err(FileProblem::Truncated { expected: "a closing quote" });
            };
            let piece = &rest[..plain];
            self.at += plain;
            if self.took('"') {
                return Ok(match owned {
                    None => Cow::Borrowed(piece),
                    Some(text) => Cow::Owned(text + piece),
                });
            }
            let text = owned.get_or_insert_default();
            text.push_str(piece);
            if !self.took('\\') {
                return Err(self.unexpected("a closing quote"));
            }
            text.push(self.escaped()?);
        }
    }

    /// The character behind a backslash.
    fn escaped(&mut self) -> Result<char, FileProblem> {
        const EXPECTED: &str = "an escaped character";
        let c = self.peek().ok_or(FileProblem::Truncated { expected: EXPECTED })?;
        let plain = match c {
            '"' | '\\' | '/' => c,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                self.at += 1;
                return self.code_point();
            }
            found => return Err(FileProblem::Unexpected { expected: EXPECTED, found }),
        };
        self.at += 1;
        Ok(plain)
    }

    /// The character of `\u` and four digits, or of two such halves.
    fn code_point(&mut self) -> Result<char, FileProblem> {
        const EXPECTED: &str = "the code of a character";
        let first = self.four_digits()?;
        if (0xd800..0xdc00).contains(&first) && self.rest().starts_with("\\u") {
            self.at += 2;
            let second = self.four_digits()?;
            if !(0xdc00..0xe000).contains(&second) {
                return Err(FileProblem::Expected { expected: EXPECTED });
            }
            let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            return char::from_u32(code).ok_or(FileProblem::Expected { expected: EXPECTED });
        }
        char::from_u32(first).ok_or(FileProblem::Expected { expected: EXPECTED })
    }

    fn four_digits(&mut self) -> Result<u32, FileProblem> {
        let digits = self.rest().get(..4).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
        let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let code = code.ok_or_else(|| self.unexpected("four hexadecimal digits"))?;
        self.at += 4;
        Ok(code)
    }
}

fn unique_keys(members: &[(Cow<'_, str>, Json<'_>)]) -> Result<(), FileProblem> {
    let mut keys: Vec<&str> = members.iter().map(|(key, _)| key.as_ref()).collect();
    keys.sort_unstable();
    match keys.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(FileProblem::DuplicateKey { key: Name::beginning(pair[0]) }),
        None => Ok(()),
    }
}
