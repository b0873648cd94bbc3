//! From text to values.

use super::Json;
use crate::{Fault, FileProblem, Name, bounds::MAX_JSON_NODES, bounds::MAX_NESTING};
use std::borrow::Cow;

/// The one value of a text; `first_line` is where the text begins in its file.
pub(crate) fn parse(text: &str, first_line: usize) -> Result<Json<'_>, Fault> {
    let mut parser = Parser { text, at: 0, nodes: 0 };
    let value = parser.value(0).map_err(|problem| parser.fault(first_line, problem))?;
    parser.skip_blanks();
    if parser.peek().is_some() {
        return Err(parser.fault(first_line, parser.unexpected("the end of the text")));
    }
    Ok(value)
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
            Some('[') => self.elements(']', "`,` or `]`", |parser| parser.value(depth + 1)).map(Json::List),
            Some('"') => self.string().map(Json::Text),
            Some('-' | '0'..='9') => self.number(),
            Some('a'..='z' | 'A'..='Z') => self.word(),
            _ => Err(self.unexpected("a value")),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json<'a>, FileProblem> {
        let members = self.elements('}', "`,` or `}`", |parser| parser.member(depth))?;
        let mut keys: Vec<&str> = members.iter().map(|(key, _)| key.as_ref()).collect();
        keys.sort_unstable();
        if let Some(pair) = keys.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(FileProblem::DuplicateKey { key: Name::beginning(pair[0]) });
        }
        Ok(Json::Object(members))
    }

    fn member(&mut self, depth: usize) -> Result<(Cow<'a, str>, Json<'a>), FileProblem> {
        self.skip_blanks();
        if self.peek() != Some('"') {
            return Err(self.unexpected("a key in quotes"));
        }
        let key = self.string()?;
        self.skip_blanks();
        if !self.took(':') {
            return Err(self.unexpected("`:`"));
        }
        Ok((key, self.value(depth + 1)?))
    }

    /// The elements between a bracket and the one that closes it, with commas between them.
    fn elements<T>(
        &mut self,
        close: char,
        separators: &'static str,
        element: impl Fn(&mut Self) -> Result<T, FileProblem>,
    ) -> Result<Vec<T>, FileProblem> {
        self.at += 1;
        let mut elements = Vec::new();
        self.skip_blanks();
        while !self.took(close) {
            if !elements.is_empty() && !self.took(',') {
                return Err(self.unexpected(separators));
            }
            elements.push(element(self)?);
            self.skip_blanks();
        }
        elements.shrink_to_fit();
        Ok(elements)
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
            let Json::NotFinite(_) = self.word()? else {
                return Err(FileProblem::Unexpected { expected: "a digit", found: '-' });
            };
            return Ok(Json::NotFinite(&self.text[start..self.at]));
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
        // Most strings have no escapes and are borrowed; the first escape makes a copy.
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
        if self.took('u') {
            return self.code_point();
        }
        let plain = match self.peek() {
            Some(c @ ('"' | '\\' | '/')) => c,
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            _ => return Err(self.unexpected("an escaped character")),
        };
        self.at += 1;
        Ok(plain)
    }

    /// The character of `\u` and four digits, or of two such halves.
    fn code_point(&mut self) -> Result<char, FileProblem> {
        const EXPECTED: FileProblem = FileProblem::Expected { expected: "the code of a character" };
        let mut code = self.four_digits()?;
        if (0xd800..0xdc00).contains(&code) && self.rest().starts_with("\\u") {
            self.at += 2;
            let second = self.four_digits()?;
            if !(0xdc00..0xe000).contains(&second) {
                return Err(EXPECTED);
            }
            code = 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00);
        }
        char::from_u32(code).ok_or(EXPECTED)
    }

    fn four_digits(&mut self) -> Result<u32, FileProblem> {
        let digits = self.rest().get(..4).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
        let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let code = code.ok_or_else(|| self.unexpected("four hexadecimal digits"))?;
        self.at += 4;
        Ok(code)
    }
}
