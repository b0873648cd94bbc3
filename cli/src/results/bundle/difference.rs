//! In what two JSON values differ, by place.

use std::fmt;

use serde_json::Value;

/// Differences that are named: the first few show what it is.
pub(crate) const MOST_NAMED: usize = 20;
/// Characters of a value that is shown.
const MOST_SHOWN: usize = 60;

/// A place where two values differ.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Difference {
    /// As in `/suites/0/verdict` (RFC 6901).
    pub(crate) place: String,
    /// What the bundle has there.
    before: Option<Value>,
    now: Option<Value>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |value: &Option<Value>| match value {
            None => "nothing".to_owned(),
            Some(value) => {
                let text = value.to_string();
                let short: String = text.chars().take(MOST_SHOWN).collect();
                if short.len() < text.len() { format!("{short}…") } else { short }
            }
        };
        write!(f, "{}: {} in the bundle, {} computed", self.place, shown(&self.before), shown(&self.now))
    }
}

/// The first [`MOST_NAMED`] places, in the order of the documents.
pub(crate) fn differences(before: &Value, now: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    collect(before, now, &mut String::new(), &mut found);
    found
}

/// How deep it goes is bounded by the parser, which made the values.
fn collect(before: &Value, now: &Value, place: &mut String, found: &mut Vec<Difference>) {
    if found.len() == MOST_NAMED || before == now {
        return;
    }
    let mut each = |key: &str, before: Option<&Value>, now: Option<&Value>| {
        let length = place.len();
        place.push('/');
        place.push_str(&key.replace('~', "~0").replace('/', "~1"));
        match (before, now) {
            (Some(before), Some(now)) => collect(before, now, place, found),
            (before, now) if found.len() < MOST_NAMED => {
                found.push(Difference { place: place.clone(), before: before.cloned(), now: now.cloned() });
            }
            _ => {}
        }
        place.truncate(length);
    };
    match (before, now) {
        (Value::Object(before), Value::Object(now)) => {
            before.iter().for_each(|(key, value)| each(key, Some(value), now.get(key)));
            now.iter().filter(|(key, _)| !before.contains_key(*key)).for_each(|(key, value)| {
                each(key, None, Some(value));
            });
        }
        (Value::Array(before), Value::Array(now)) => {
            for at in 0..before.len().max(now.len()) {
                each(&at.to_string(), before.get(at), now.get(at));
            }
        }
        (before, now) => {
            found.push(Difference {
                place: place.clone(),
                before: Some(before.clone()),
                now: Some(now.clone()),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn differences_are_named_by_their_place() {
        let before = json!({"a": [1, {"b/c": 2.5}], "gone": null, "same": "x"});
        let now = json!({"a": [1, {"b/c": 2.6}, 3], "same": "x"});
        let found: Vec<String> = differences(&before, &now).iter().map(ToString::to_string).collect();
        let [changed, added, gone] = &found[..] else { panic!("{found:?}") };
        assert!(changed.starts_with("/a/1/b~1c: 2.5 ") && changed.contains(" 2.6 "), "{changed}");
        assert!(added.starts_with("/a/2: nothing ") && added.contains(" 3 "), "{added}");
        assert!(gone.starts_with("/gone: null ") && gone.contains(" nothing "), "{gone}");
        assert_eq!(differences(&before, &before), Vec::new());
        let many: Vec<u32> = (0..100).collect();
        assert_eq!(differences(&json!(many), &json!(vec![7; 99])).len(), MOST_NAMED);
    }
}
