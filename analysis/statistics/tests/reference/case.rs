//! A case of a reference file, and the ledger of what was checked in it.

use serde_json::Value;
use speedup_statistics::sample::Sample;
use std::collections::{BTreeMap, BTreeSet};

/// A case that knows which of its fields were read.
pub(crate) struct Case<'a> {
    json: &'a Value,
    read: BTreeSet<String>,
}

/// How far a number may be from the reference: |got − expected| ≤ relative·|expected| + absolute.
#[derive(Clone, Copy)]
pub(crate) struct Tolerance {
    pub(crate) relative: f64,
    pub(crate) absolute: f64,
}

/// What was checked in a file, what was not, and what disagreed.
#[derive(Default)]
pub(crate) struct Ledger {
    cases: usize,
    agreed: BTreeMap<String, usize>,
    skipped: BTreeMap<(String, String), usize>,
    failures: Vec<String>,
    /// Values compared or skipped for a reason, before the present case.
    accounted_before: usize,
}

pub(crate) const fn relative(relative: f64) -> Tolerance {
    Tolerance { relative, absolute: 0.0 }
}

pub(crate) const fn absolute(absolute: f64) -> Tolerance {
    Tolerance { relative: 0.0, absolute }
}

impl Tolerance {
    pub(crate) const fn or_absolute(self, absolute: f64) -> Self {
        Self { absolute, ..self }
    }

    fn accepts(self, got: f64, expected: f64) -> bool {
        got == expected
            || (got.is_nan() && expected.is_nan())
            || (got - expected).abs() <= self.relative * expected.abs() + self.absolute
    }
}

impl<'a> Case<'a> {
    pub(crate) fn new(json: &'a Value) -> Self {
        Self { json, read: BTreeSet::new() }
    }

    pub(crate) fn id(&self) -> &'a str {
        self.json["id"].as_str().unwrap_or("?")
    }

    /// The value at `pointer` (RFC 6901) without taking it as checked.
    pub(crate) fn peek(&self, pointer: &str) -> Option<&'a Value> {
        self.json.pointer(pointer).filter(|value| !value.is_null())
    }

    /// The value at `pointer`, and all below it, is now accounted for.
    pub(crate) fn value(&mut self, pointer: &str) -> Option<&'a Value> {
        self.read.insert(pointer.to_owned());
        self.peek(pointer)
    }

    /// Whether the reference has something at `pointer`; where that is null, it is accounted for.
    pub(crate) fn gives(&mut self, pointer: &str) -> bool {
        let something = self.peek(pointer).is_some();
        if !something {
            self.read.insert(pointer.to_owned());
        }
        something
    }

    /// Whether the reference says that there is nothing at `pointer`, which is another thing than saying nothing.
    pub(crate) fn is_null(&self, pointer: &str) -> bool {
        self.json.pointer(pointer).is_some_and(Value::is_null)
    }

    /// Whether the value at `pointer` is accounted for already.
    pub(crate) fn is_read(&self, pointer: &str) -> bool {
        self.read.contains(pointer)
    }

    pub(crate) fn number(&mut self, pointer: &str) -> Option<f64> {
        self.value(pointer).map(number)
    }

    pub(crate) fn numbers(&mut self, pointer: &str) -> Vec<f64> {
        self.value(pointer).and_then(Value::as_array).map_or(Vec::new(), |a| a.iter().map(number).collect())
    }

    /// The refusal that R gave where `pointer` should hold numbers.
    pub(crate) fn refusal(&mut self, pointer: &str) -> Option<&'a str> {
        self.value(&format!("{pointer}/error")).and_then(Value::as_str)
    }

    pub(crate) fn sample(&mut self, pointer: &str) -> Sample {
        Sample::new(self.numbers(pointer)).expect("a reference sample is a sample")
    }

    fn unread(&self) -> Vec<String> {
        let mut leaves = Vec::new();
        collect_leaves(self.json, String::new(), &self.read, &mut leaves);
        leaves
    }
}

/// A number as the reference files write it.
pub(crate) fn number(value: &Value) -> f64 {
    match value.as_str() {
        Some("Inf") => f64::INFINITY,
        Some("-Inf") => f64::NEG_INFINITY,
        Some(_) => f64::NAN,
        None => value.as_f64().unwrap_or(f64::NAN),
    }
}

fn collect_leaves(value: &Value, path: String, read: &BTreeSet<String>, leaves: &mut Vec<String>) {
    if read.contains(&path) {
        return;
    }
    let below = format!("{path}/");
    let is_read_below = read.range(below.clone()..).next().is_some_and(|next| next.starts_with(&below));
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                collect_leaves(field, format!("{below}{}", escaped(name)), read, leaves);
            }
        }
        Value::Array(values) if is_read_below || values.iter().any(Value::is_object) => {
            for (position, value) in values.iter().enumerate() {
                collect_leaves(value, format!("{below}{position}"), read, leaves);
            }
        }
        // What was asked of a field that is null was answered: there is nothing.
        Value::Null if is_read_below => {}
        Value::Null | Value::Array(_) | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            leaves.push(path);
        }
    }
}

/// A field's name as pointers write it (RFC 6901 §3).
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

impl Ledger {
    /// The number at `pointer` must be `got`, and none where that is null; a field that is not there asks nothing.
    pub(crate) fn number(&mut self, case: &mut Case<'_>, pointer: &str, got: f64, tolerance: Tolerance) {
        match case.number(pointer) {
            Some(expected) => self.compare(case, pointer, got, expected, tolerance),
            None if case.is_null(pointer) => {
                self.verdict(case, pointer, got.is_nan(), || format!("got {got:e}, expected none"));
            }
            None => {}
        }
    }

    pub(crate) fn compare(
        &mut self,
        case: &Case<'_>,
        field: &str,
        got: f64,
        expected: f64,
        tolerance: Tolerance,
    ) {
        let error = (got - expected).abs() / expected.abs();
        let message = || format!("got {got:e}, expected {expected:e}, relative error {error:.1e}");
        self.verdict(case, field, tolerance.accepts(got, expected), message);
    }

    /// The numbers at `pointer` must be `got`.
    pub(crate) fn numbers(&mut self, case: &mut Case<'_>, pointer: &str, got: &[f64], tolerance: Tolerance) {
        let expected = case.numbers(pointer);
        if case.peek(pointer).is_none() && !case.is_null(pointer) {
            return;
        }
        let agrees = got.len() == expected.len()
            && got.iter().zip(&expected).all(|(got, expected)| tolerance.accepts(*got, *expected));
        self.verdict(case, pointer, agrees, || format!("got {got:?}, expected {expected:?}"));
    }

    pub(crate) fn equal<T: PartialEq + std::fmt::Debug>(
        &mut self,
        case: &Case<'_>,
        field: &str,
        got: &T,
        expected: &T,
    ) {
        self.verdict(case, field, got == expected, || format!("got {got:?}, expected {expected:?}"));
    }

    pub(crate) fn verdict(
        &mut self,
        case: &Case<'_>,
        field: &str,
        agrees: bool,
        message: impl FnOnce() -> String,
    ) {
        if agrees {
            *self.agreed.entry(without_positions(field)).or_default() += 1;
        } else {
            self.failures.push(format!("{} {field}: {}", case.id(), message()));
        }
    }

    /// The field at `pointer` is not compared, for a reason.
    pub(crate) fn skip(&mut self, case: &mut Case<'_>, pointer: &str, reason: &str) {
        if case.value(pointer).is_some() {
            *self.skipped.entry((without_positions(pointer), reason.to_owned())).or_default() += 1;
        }
    }

    /// A field that the case's other values name is not compared, for a reason.
    pub(crate) fn skip_named(&mut self, field: &str, reason: &str) {
        *self.skipped.entry((field.to_owned(), reason.to_owned())).or_default() += 1;
    }

    /// Something of the case is not known to this program, which is a failure: nobody said why it may be left out.
    pub(crate) fn unknown(&mut self, case: &Case<'_>, what: &str, reason: &str) {
        self.failures.push(format!("{} {what}: {reason}", case.id()));
    }

    /// Ends a case: what nobody read of it is a failure, and so is a case of which nothing was compared.
    pub(crate) fn close(&mut self, case: &Case<'_>) {
        const INPUT: [&str; 4] = ["/id", "/gen", "/n", "/name"];
        self.cases += 1;
        for leaf in case.unread() {
            if !INPUT.contains(&leaf.as_str()) {
                self.unknown(case, &leaf, "nobody read it");
            }
        }
        let accounted =
            self.failures.len() + self.agreed.values().sum::<usize>() + self.skipped.values().sum::<usize>();
        if accounted == self.accounted_before {
            self.unknown(case, "", "nothing of it was compared");
        }
        self.accounted_before = accounted;
    }

    /// How many values agreed, by field.
    pub(crate) fn compared(&self) -> BTreeMap<String, usize> {
        self.agreed.clone()
    }

    /// Prints the account of the file, and returns how many failures there are; a file without a case is one.
    pub(crate) fn print(&self, stem: &str) -> usize {
        let agreed: usize = self.agreed.values().sum();
        let fields = self.agreed.len();
        println!(
            "\n{stem}: {} cases, {agreed} values of {fields} fields agree, {} do not",
            self.cases,
            self.failures.len()
        );
        if self.cases == 0 {
            println!("  FAILS: there is no case, so nothing was compared");
            return 1;
        }
        for ((field, reason), count) in &self.skipped {
            println!("  skipped {field} ({count}): {reason}");
        }
        for failure in &self.failures {
            println!("  FAILS {failure}");
        }
        self.failures.len()
    }
}

/// A field's name without the positions in arrays.
fn without_positions(pointer: &str) -> String {
    let named = |part: &&str| part.parse::<usize>().is_err();
    pointer.split('/').filter(named).collect::<Vec<_>>().join("/")
}
