//! A plan file as JSON: the same document, which is written as TOML and read as any other. Names keep the order of the text, as
//! they do in a plan file.

use std::fmt::{self, Write as _};

use serde::de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use thiserror::Error;

use super::MAX_PLAN_BYTES;

/// Why a text is no plan in JSON.
#[derive(Debug, Error)]
#[error("the plan is not a JSON object as `speedup plan schema` describes it: {0}")]
pub struct JsonError(#[from] serde_json::Error);

/// The plan file that says the same. What it holds is not looked at.
pub fn toml_of_json(text: &str) -> Result<String, JsonError> {
    if text.len() > MAX_PLAN_BYTES {
        let cause = format!("it has {} bytes, but at most {MAX_PLAN_BYTES} are read", text.len());
        return Err(JsonError(de::Error::custom(cause)));
    }
    let mut toml = String::new();
    let mut reader = serde_json::Deserializer::from_str(text);
    Root(&mut toml).deserialize(&mut reader)?;
    reader.end()?;
    Ok(toml)
}

/// The document: each of its keys on a line of its own.
struct Root<'t>(&'t mut String);

impl<'de> DeserializeSeed<'de> for Root<'_> {
    type Value = ();

    fn deserialize<D: de::Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Root<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            quote(&key, self.0);
            self.0.push_str(" = ");
            map.next_value_seed(Inline(self.0))?;
            self.0.push('\n');
        }
        Ok(())
    }
}

/// A value, on one line.
struct Inline<'t>(&'t mut String);

impl<'de> DeserializeSeed<'de> for Inline<'_> {
    type Value = ();

    fn deserialize<D: de::Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Inline<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "an object, an array, a string, a number, true or false: a key without a value is left out",
        )
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        self.0.push_str(if value { "true" } else { "false" });
        Ok(())
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        write!(self.0, "{value}").expect("a string takes all");
        Ok(())
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        write!(self.0, "{value}").expect("a string takes all");
        Ok(())
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        // With a point or an exponent, by which TOML tells it from an integer.
        write!(self.0, "{value:?}").expect("a string takes all");
        Ok(())
    }

    fn visit_str<E>(self, value: &str) -> Result<(), E> {
        quote(value, self.0);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        self.0.push('[');
        while items.next_element_seed(Inline(self.0))?.is_some() {
            self.0.push_str(", ");
        }
        self.0.push(']');
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.0.push_str("{ ");
        let mut between = "";
        while let Some(key) = map.next_key::<String>()? {
            self.0.push_str(between);
            quote(&key, self.0);
            self.0.push_str(" = ");
            map.next_value_seed(Inline(self.0))?;
            between = ", ";
        }
        self.0.push_str(" }");
        Ok(())
    }
}

/// A basic string of TOML.
fn quote(text: &str, toml: &mut String) {
    toml.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => toml.extend(['\\', character]),
            control if control.is_control() => {
                write!(toml, "\\U{:08X}", u32::from(control)).expect("a string takes all");
            }
            plain => toml.push(plain),
        }
    }
    toml.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{plan::file::parse, value::seed::Seed};

    const JSON: &str = r#"{"experiment": {"name": "sort", "description": "a\"b\\c\né"},
        "versions": {"z": {"baseline": true}, "a": {"vars": {"level": "O2"}}},
        "benchmarks": {"y": {"command": ["true"]}, "b": {"command": ["true"]}},
        "repetitions": {"runs": 2}, "analysis": {"confidence": 0.5}}"#;

    #[test]
    fn a_plan_in_json_says_what_it_says_in_toml() {
        let toml: toml::Value = toml::from_str(&toml_of_json(JSON).unwrap()).unwrap();
        let json: serde_json::Value = serde_json::from_str(JSON).unwrap();
        assert_eq!(serde_json::to_value(&toml).unwrap(), json);
        let experiment = parse(&toml_of_json(JSON).unwrap(), Seed(1)).unwrap();
        let names: Vec<&str> = experiment.benchmarks.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["y", "b"], "in the order of the text");
        let flaw =
            parse(&toml_of_json(&JSON.replace("[\"true\"]", "\"true\"")).unwrap(), Seed(1)).unwrap_err();
        let paths: Vec<String> = flaw.findings().iter().map(|one| one.path.to_string()).collect();
        assert_eq!(paths, ["benchmarks.y.command", "benchmarks.b.command"]);
    }

    #[test]
    fn what_is_no_plan_in_json_is_refused() {
        for (text, told) in [
            ("", "EOF"),
            ("[]", "an object"),
            ("{} {}", "trailing"),
            (r#"{"a": null}"#, "left out"),
            (r#"{"a": [1, 2"#, "EOF"),
            (&"[".repeat(100_000), "object"),
            (&format!("{{\"a\": {}", "[".repeat(100_000)), "recursion"),
            (&" ".repeat(MAX_PLAN_BYTES + 1), "at most"),
        ] {
            let error = toml_of_json(text).unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
    }
}
