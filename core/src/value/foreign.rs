//! Text that others wrote, as it is shown: names, subjects of commits, descriptions, what programs print. Nothing in it moves a
//! cursor, hides, turns the direction of what stands beside it, or is a command to whatever executes a workflow and reads its log.

use std::{borrow::Cow, fmt::Write as _};

/// Where a runner of workflows begins to read a command, after blanks: `::error::`.
const COMMAND: &str = "::";
/// Where runners read a command within a line, after letters and before a bracket: `##[error]`, `##vso[`, `##teamcity[`.
const MARK: &str = "##";

/// Whether terminals, editors and browsers obey a character rather than show it: controls, separators of lines, and format characters
/// without a shape (UAX 9, UAX 44). Joiners within words of Arabic, Indic and emoji are no such.
pub fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{13430}'..='\u{1343f}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e007f}')
}

/// Text as a part of a line: ends of lines and tabs are spaces, and what else would be obeyed is seen as such.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        line.push(match c {
            '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => ' ',
            c if is_obeyed(c) => char::REPLACEMENT_CHARACTER,
            c => c,
        });
    }
    line
}

/// Text in lines, in which what would be obeyed beside ends of lines and tabs is seen as such.
pub fn lines(text: &str) -> Cow<'_, str> {
    if text.contains(is_obeyed_in_lines) {
        return text.replace(is_obeyed_in_lines, "\u{fffd}").into();
    }
    text.into()
}

/// The same JSON, in which characters that JSON allows in strings but others obey stand as `\uXXXX`: controls and format characters,
/// which terminals and editors obey, and the second of two number signs, with which commands begin in the log of a workflow. Outside of
/// strings JSON has none of them but ends of lines.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains("##") && !text.contains(is_obeyed_in_lines) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut last = ' ';
    for c in text.chars() {
        if is_obeyed_in_lines(c) || (last, c) == ('#', '#') {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
        last = c;
    }
    Cow::Owned(out)
}

/// Finished lines, none of which is a command to a runner of workflows: wherever text was wrapped, one could begin with words of others.
pub fn without_commands(text: &str) -> Cow<'_, str> {
    if !text.contains(COMMAND) && !text.contains(MARK) {
        return text.into();
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for line in text.split_inclusive(['\n', '\r']) {
        let content = line.trim_start();
        safe.push_str(&line[..line.len() - content.len()]);
        if content.starts_with(COMMAND) {
            safe.push(char::REPLACEMENT_CHARACTER);
        }
        push_without_marks(&mut safe, content);
    }
    safe.into()
}

fn is_obeyed_in_lines(c: char) -> bool {
    is_obeyed(c) && !matches!(c, '\n' | '\t')
}

/// Parts the two signs that begin a mark.
fn push_without_marks(safe: &mut String, line: &str) {
    let mut rest = line;
    while let Some(at) = rest.find(MARK) {
        let (before, mark) = rest.split_at(at + 1);
        safe.push_str(before);
        let word = mark[1..].trim_start_matches(|c: char| c.is_ascii_alphanumeric());
        if word.starts_with('[') {
            safe.push(char::REPLACEMENT_CHARACTER);
        }
        rest = mark;
    }
    safe.push_str(rest);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_obeyed_is_seen() {
        for c in ['\u{1b}', '\u{9b}', '\u{7f}', '\u{202e}', '\u{2066}', '\u{200b}', '\u{feff}', '\u{e0041}'] {
            assert!(is_obeyed(c), "{c:?}");
            assert_eq!(one_line(&format!("a{c}b")), "a\u{fffd}b");
            assert_eq!(lines(&format!("a{c}\n\tb")), "a\u{fffd}\n\tb");
        }
        for shown in ["größer", "速", "👩\u{200d}💻", "می\u{200c}خواهم", "a::b"] {
            assert_eq!(one_line(shown), shown);
            assert!(matches!(lines(shown), Cow::Borrowed(_)));
        }
        assert_eq!(one_line("a\r\n\tb\u{2028}c"), "a   b c");
    }

    #[test]
    fn what_a_terminal_would_obey_is_escaped_and_read_back() {
        let obeyed = [
            "\u{7f}",
            "\u{85}",
            "\u{9b}31m",
            "\u{202e}gpj.exe",
            "\u{2066}",
            "\u{061c}",
            "\u{2028}",
            "\u{feff}",
            "\u{e0041}",
            "###[error]",
        ];
        for text in obeyed {
            let json = serde_json::to_string(&[text, "é漢💥"]).unwrap();
            let printed = escaped(&json);
            assert!(
                !printed.chars().any(is_obeyed) && !printed.contains("##") && printed.contains("é漢💥"),
                "{printed:?}"
            );
            assert_eq!(serde_json::from_str::<[String; 2]>(&printed).unwrap(), [text, "é漢💥"]);
        }
        assert!(matches!(escaped("{\"plain\":1}"), Cow::Borrowed(_)));
    }

    #[test]
    fn commands_are_no_commands_and_other_text_stays() {
        for (text, safe) in [
            ("::error::x", "\u{fffd}::error::x"),
            ("a\n \u{a0}::stop-commands::x", "a\n \u{a0}\u{fffd}::stop-commands::x"),
            ("a\r::debug::", "a\r\u{fffd}::debug::"),
            ("a ##[error]b", "a #\u{fffd}#[error]b"),
            ("####vso[task]", "###\u{fffd}#vso[task]"),
        ] {
            assert_eq!(without_commands(text), safe);
        }
        for text in ["std::sort", "a ::b", "## Heading [1]", "##", "#[test]"] {
            assert_eq!(without_commands(text), text);
        }
    }

    proptest! {
        #[test]
        fn no_lines_have_commands_whatever_they_are(pieces in prop::collection::vec("::|##|\\[|#|[a-c]{0,2}| |\n|\r|\u{85}", 0..20)) {
            let text = pieces.concat();
            let safe = without_commands(&text);
            for line in safe.split(['\n', '\r']) {
                prop_assert!(!line.trim_start().starts_with("::"), "{safe:?}");
                prop_assert!(!line.contains("##[") && !line.contains("##a["), "{safe:?}");
            }
            prop_assert_eq!(safe.replace('\u{fffd}', ""), text);
        }
    }
}
