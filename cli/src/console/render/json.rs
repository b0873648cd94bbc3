//! JSON as it is printed: no character of it acts on the terminal or turns the direction of what follows, and a report keeps
//! the order of its fields, which is an order of reading.

use serde::de::IgnoredAny;
pub(crate) use speedup_core::value::foreign::escaped;

/// The same JSON, indented by two spaces a level; an error when it is none.
pub(crate) fn indented(text: &str) -> Result<String, serde_json::Error> {
    serde_json::from_str::<IgnoredAny>(text)?;
    let text = escaped(text);
    let mut out = String::with_capacity(text.len() * 2);
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    let mut rest = text.chars().filter(|c| !c.is_control()).peekable();
    while let Some(c) = rest.next() {
        if in_string {
            out.push(c);
            (in_string, escaped) = (escaped || c != '"', !escaped && c == '\\');
            continue;
        }
        match c {
            ' ' => {}
            '{' | '[' => {
                out.push(c);
                while rest.next_if_eq(&' ').is_some() {}
                if rest.peek().is_some_and(|next| matches!(next, '}' | ']')) {
                    out.extend(rest.next());
                } else {
                    depth += 1;
                    break_line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                break_line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                break_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            other => {
                in_string = other == '"';
                out.push(other);
            }
        }
    }
    Ok(out)
}

fn break_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.push_str(&"  ".repeat(depth));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_looks_as_serde_would_have_it() {
        let texts = [
            r#"{"z":1,"a":[1.50,{"b":null}],"e":[],"o":{ },"s":"x, {\"y\": [\\\"]}\\"}"#,
            "[ ]",
            "[\n 1 ,\n\t{ \"a\" : \"b : c\" } ]",
            "\"text\"",
        ];
        for text in texts {
            let value: serde_json::Value = serde_json::from_str(text).unwrap();
            let indented = indented(text).unwrap();
            assert_eq!(serde_json::from_str::<serde_json::Value>(&indented).unwrap(), value);
            let lines = |text: &str| text.lines().count();
            assert_eq!(lines(&indented), lines(&serde_json::to_string_pretty(&value).unwrap()), "{indented}");
        }
        assert!(indented(texts[0]).unwrap().starts_with("{\n  \"z\": 1,\n  \"a\": [\n    1.50,"));
    }

    #[test]
    fn what_a_terminal_would_obey_is_escaped_and_read_back() {
        let text = "\u{9b}31m\u{202e}gpj.exe";
        let printed = indented(&serde_json::to_string(&[text]).unwrap()).unwrap();
        assert!(!printed.contains(['\u{9b}', '\u{202e}']), "{printed:?}");
        assert_eq!(serde_json::from_str::<[String; 1]>(&printed).unwrap(), [text]);
    }

    #[test]
    fn what_is_no_json_is_refused() {
        assert!(indented("{").is_err() && indented("").is_err());
    }
}
