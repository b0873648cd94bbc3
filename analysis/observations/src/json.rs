//! JSON as it is printed: no character of it acts on the terminal or turns the direction of what follows.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The same JSON, in which characters that JSON allows in strings but a terminal or an editor obeys stand as `\uXXXX`: DEL
/// and the C1 controls, separators of lines and paragraphs, and those that set the direction of text (UAX 9). Outside of
/// strings JSON has none of them.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_obeyed(c) {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

fn is_obeyed(c: char) -> bool {
    let turns = matches!(
        c,
        '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    turns || matches!(c, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_escaped_and_read_back() {
        let obeyed = ["\u{7f}", "\u{85}", "\u{9b}31m", "\u{202e}gpj.exe", "\u{2066}", "\u{061c}", "\u{2028}"];
        for text in obeyed {
            let json = serde_json::to_string(&[text, "é漢💥"]).unwrap();
            let printed = escaped(&json);
            assert!(!printed.chars().any(is_obeyed) && printed.contains("é漢💥"), "{printed:?}");
            assert_eq!(serde_json::from_str::<[String; 2]>(&printed).unwrap(), [text, "é漢💥"]);
        }
        assert!(matches!(escaped("{\"plain\":1}"), Cow::Borrowed(_)));
    }
}
