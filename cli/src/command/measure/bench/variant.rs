//! The commands with their parameters filled in: one variant for each combination of values.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::anyhow;
use speedup_core::{
    experiment::MAX_NAME_BYTES, experiment::MAX_VERSIONS, experiment::template::is_identifier,
};

use crate::exit::failure::Failure;

/// What our own placeholders begin with; the user's parameters do not.
pub(super) const OWN: &str = "bench_";
/// Longest name that is made of a command: it stands in tables.
const NAME_CHARACTERS: usize = 32;
/// Decimal places of a scan: more would be rounding.
const MAX_PLACES: usize = 9;

/// A parameter with its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scan {
    variable: String,
    values: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Variant {
    pub(super) name: String,
    /// What it is called where there is room: as the user named it, or its command.
    pub(super) title: String,
    pub(super) command: String,
    pub(super) position: usize,
    pub(super) parameters: BTreeMap<String, String>,
}

impl Scan {
    /// The parameters of the arguments: pairs of variable and values, triples of variable, least and largest.
    pub(super) fn all(lists: &[String], ranges: &[String], step: &str) -> Result<Vec<Self>, Failure> {
        let mut scans = Vec::new();
        for pair in lists.chunks_exact(2) {
            let values = listed(&pair[1]);
            scans.push(Self::new(&pair[0], values)?);
        }
        for triple in ranges.chunks_exact(3) {
            scans.push(Self::new(&triple[0], range(&triple[1], &triple[2], step)?)?);
        }
        let mut seen = BTreeSet::new();
        match scans.iter().find(|scan| !seen.insert(&scan.variable)) {
            None => Ok(scans),
            Some(scan) => Err(Failure::usage(anyhow!("the parameter {} is given twice", scan.variable))),
        }
    }

    fn new(variable: &str, values: Vec<String>) -> Result<Self, Failure> {
        if !is_identifier(variable) {
            return Err(Failure::usage(anyhow!("{variable:?} is not a valid name of a parameter"))
                .hint("use lower-case letters, digits and _, beginning with a letter or _"));
        }
        if variable.starts_with(OWN) {
            return Err(Failure::usage(anyhow!("a parameter's name does not begin with {OWN}")));
        }
        Ok(Self { variable: variable.to_owned(), values })
    }
}

/// The values of a list: separated by commas, but not by one behind a backslash.
fn listed(text: &str) -> Vec<String> {
    let (mut values, mut value) = (Vec::new(), String::new());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\\' if rest.next_if_eq(&',').is_some() => value.push(','),
            ',' => values.push(std::mem::take(&mut value)),
            c => value.push(c),
        }
    }
    values.push(value);
    values
}

/// The decimal numbers from `least` to `largest`, exact: in whole steps of the finest decimal place.
fn range(least: &str, largest: &str, step: &str) -> Result<Vec<String>, Failure> {
    let places =
        [least, largest, step].map(|text| text.split_once('.').map_or(0, |(_, digits)| digits.len()));
    let places = places.into_iter().max().unwrap_or(0);
    let scaled = |text: &str| {
        scaled(text, places).ok_or_else(|| Failure::usage(anyhow!("{text:?} is not a decimal number")))
    };
    let (first, last, step) = (scaled(least)?, scaled(largest)?, scaled(step)?);
    if step <= 0 || first > last {
        return Err(Failure::usage(anyhow!("from {least} to {largest} there is no number at this step"))
            .hint("give the smaller number first, and a step above 0"));
    }
    let count = (last - first) / step + 1;
    if count > MAX_VERSIONS as i128 {
        return Err(too_many(usize::try_from(count).unwrap_or(usize::MAX)));
    }
    Ok((0..count).map(|number| unscaled(first + number * step, places)).collect())
}

fn scaled(text: &str, places: usize) -> Option<i128> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |part: &str| part.chars().all(|c| c.is_ascii_digit());
    if places > MAX_PLACES || whole.is_empty() || !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let value: i64 = format!("{whole}{fraction:0<places$}").parse().ok()?;
    Some(if negative { -i128::from(value) } else { i128::from(value) })
}

fn unscaled(value: i128, places: usize) -> String {
    let (sign, digits) = (if value < 0 { "-" } else { "" }, value.unsigned_abs());
    let scale = 10_u128.pow(places as u32);
    match places {
        0 => format!("{sign}{digits}"),
        _ => format!("{sign}{}.{:0places$}", digits / scale, digits % scale),
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct CommandArguments<'a> {
    pub(super) commands: &'a [String],
    /// What they are called: a name for all, for each, or for each with each combination of values.
    pub(super) names: &'a [String],
    /// The one that all are compared with, if it stands by itself, without parameters.
    pub(super) reference: Option<&'a str>,
    /// What that is called.
    pub(super) reference_name: Option<&'a str>,
}

impl Variant {
    /// Every command with every combination of values, in that order, the reference before them.
    pub(super) fn all(given: CommandArguments<'_>, scans: &[Scan]) -> Result<Vec<Self>, Failure> {
        let CommandArguments { commands, names, reference, reference_name } = given;
        let combinations: usize = scans.iter().map(|scan| scan.values.len()).product();
        let count = commands.len().saturating_mul(combinations);
        let before = usize::from(reference.is_some());
        if count + before > MAX_VERSIONS {
            return Err(too_many(count + before));
        }
        if names.len() > commands.len() && names.len() != count {
            return Err(Failure::usage(anyhow!("{} names for {} commands", names.len(), commands.len())));
        }
        let mut variants = Vec::new();
        variants.extend(reference.map(|command| {
            Self::new(command.to_owned(), reference_name.map(str::to_owned), BTreeMap::new(), 0)
        }));
        for (command, at) in commands.iter().zip(0..) {
            for number in 0..combinations {
                let parameters = combination(scans, number);
                let is_of_each = names.len() == count;
                let name = names.get(if is_of_each { at * combinations + number } else { at });
                let name = name.map(|name| match is_of_each || combinations == 1 {
                    true => name.clone(),
                    false => parameters.values().fold(name.clone(), |name, value| format!("{name}-{value}")),
                });
                variants.push(Self::new(filled(command, &parameters), name, parameters, before + at));
            }
        }
        distinguish(&mut variants, |variant| &mut variant.name, '-');
        distinguish(&mut variants, |variant| &mut variant.title, ' ');
        Ok(variants)
    }

    fn new(
        command: String,
        name: Option<String>,
        parameters: BTreeMap<String, String>,
        position: usize,
    ) -> Self {
        let title = name.unwrap_or_else(|| command.clone());
        Self { name: fitting(&title), title, command, parameters, position }
    }

    /// Of what is given once for all commands, once for each, or once for each with its parameters: that of this one, which is
    /// the variant `at`.
    pub(super) fn own<'a, T>(
        &self,
        at: usize,
        all: &[Self],
        given: &'a [T],
        flag: &str,
    ) -> Result<Option<&'a T>, Failure> {
        let commands = all.last().map_or(0, |last| last.position + 1);
        match given.len() {
            0 | 1 => Ok(given.first()),
            each if each == commands => Ok(given.get(self.position)),
            each if each == all.len() => Ok(given.get(at)),
            other => Err(Failure::usage(anyhow!(
                "{flag} is given {other} times, but there are {commands} commands"
            ))
            .hint("give it once for all commands, or once per command, including the reference")),
        }
    }
}

impl Variant {
    /// A line that belongs to the command, with the values of the command's parameters.
    pub(super) fn filled(&self, line: &str) -> String {
        filled(line, &self.parameters)
    }

    /// A line with the values of each variant, each result once.
    pub(super) fn all_filled(variants: &[Self], line: &str) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for line in variants.iter().map(|variant| variant.filled(line)) {
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines
    }
}

fn filled(line: &str, parameters: &BTreeMap<String, String>) -> String {
    parameters
        .iter()
        .fold(line.to_owned(), |line, (variable, value)| line.replace(&format!("{{{variable}}}"), value))
}

fn combination(scans: &[Scan], mut number: usize) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    for Scan { variable, values: possible } in scans {
        values.insert(variable.clone(), possible[number % possible.len()].clone());
        number /= possible.len();
    }
    values
}

/// A text as a name: what a name may not have becomes a dash.
fn fitting(text: &str) -> String {
    let mut name = String::new();
    for c in text.chars() {
        let fits = c.is_alphanumeric() || "._+".contains(c);
        match (fits, name.ends_with('-') || name.is_empty()) {
            (true, _) => name.push(c),
            (false, false) => name.push('-'),
            (false, true) => {}
        }
        if name.chars().count() >= NAME_CHARACTERS || name.len() + c.len_utf8() > MAX_NAME_BYTES - 4 {
            break;
        }
    }
    let name = name.trim_matches(['-', '.', '+']);
    if name.is_empty() { "command".to_owned() } else { name.to_owned() }
}

/// Texts as names that differ.
pub(super) fn names<const N: usize>(texts: [String; N]) -> [String; N] {
    let mut names = texts.map(|text| fitting(&text));
    distinguish(&mut names, |name| name, '-');
    names
}

/// Of several with one name, each but the first gets a number.
fn distinguish<T>(all: &mut [T], name: impl Fn(&mut T) -> &mut String, before: char) {
    let mut taken = BTreeSet::new();
    for one in all {
        let name = name(one);
        let plain = name.clone();
        let numbered = (2..).map(|number| format!("{plain}{before}{number}"));
        let free = std::iter::once(plain.clone()).chain(numbered).find(|name| !taken.contains(name));
        *name = free.unwrap_or(plain);
        taken.insert(name.clone());
    }
}

fn too_many(count: usize) -> Failure {
    Failure::usage(anyhow!("{count} commands with their parameters, but at most {MAX_VERSIONS} are allowed"))
        .hint("compare fewer values at once")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn all(commands: &[&str], scans: &[Scan], names: &[&str]) -> Result<Vec<Variant>, Failure> {
        let (commands, names) = (words(commands), words(names));
        let given =
            CommandArguments { commands: &commands, names: &names, reference: None, reference_name: None };
        Variant::all(given, scans)
    }

    #[test]
    fn a_reference_is_first_and_what_is_given_for_each_command_counts_it() {
        let scans = Scan::all(&words(&["n", "1,2"]), &[], "1").unwrap();
        let commands = words(&["a {n}"]);
        let given = CommandArguments {
            commands: &commands,
            names: &[],
            reference: Some("old {n}"),
            reference_name: Some("the old"),
        };
        let variants = Variant::all(given, &scans).unwrap();
        let titles: Vec<&str> = variants.iter().map(|variant| variant.title.as_str()).collect();
        assert_eq!(titles, ["the old", "a 1", "a 2"]);
        assert_eq!(variants[0].command, "old {n}", "without parameters");
        let own = |given: &[u8]| -> Vec<Option<u8>> {
            let own = variants.iter().enumerate().map(|(at, one)| one.own(at, &variants, given, "-p"));
            own.map(|own| own.unwrap().copied()).collect()
        };
        assert_eq!(own(&[]), [None; 3]);
        assert_eq!(own(&[1]), [Some(1); 3]);
        assert_eq!(own(&[1, 2]), [Some(1), Some(2), Some(2)]);
        assert_eq!(own(&[1, 2, 3]), [Some(1), Some(2), Some(3)]);
        assert!(variants[0].own(0, &variants, &[1, 2, 3, 4], "-p").is_err());
    }

    #[test]
    fn every_combination_of_values_is_a_variant() {
        let scans = Scan::all(&words(&["threads", "1,2", "level", "a,b"]), &[], "1").unwrap();
        let variants = all(&["make -j{threads} {level} {}"], &scans, &[]).unwrap();
        let commands: Vec<&str> = variants.iter().map(|variant| variant.command.as_str()).collect();
        assert_eq!(commands, ["make -j1 a {}", "make -j2 a {}", "make -j1 b {}", "make -j2 b {}"]);
        let names: Vec<&str> = variants.iter().map(|variant| variant.name.as_str()).collect();
        assert_eq!(names, ["make-j1-a", "make-j2-a", "make-j1-b", "make-j2-b"]);
    }

    #[test]
    fn a_comma_behind_a_backslash_is_part_of_the_value() {
        assert_eq!(listed(r"a,b\,c,,\d\\,e"), ["a", "b,c", "", r"\d\,e"]);
        assert_eq!(listed(""), [""]);
    }

    #[test]
    fn a_line_around_the_commands_is_filled_for_each_value_once() {
        let scans = Scan::all(&words(&["n", "1,2"]), &[], "1").unwrap();
        let variants = all(&["a {n}", "b {n}"], &scans, &[]).unwrap();
        assert_eq!(Variant::all_filled(&variants, "make {n} ${X} {}"), ["make 1 ${X} {}", "make 2 ${X} {}"]);
        assert_eq!(Variant::all_filled(&variants, "make"), ["make"]);
    }

    #[test]
    fn a_scan_is_exact_in_decimals() {
        assert_eq!(range("0", "0.3", "0.1").unwrap(), ["0.0", "0.1", "0.2", "0.3"]);
        assert_eq!(range("-1", "1", "1").unwrap(), ["-1", "0", "1"]);
        assert_eq!(range("-0.5", "0", "0.25").unwrap(), ["-0.50", "-0.25", "0.00"]);
        assert!(range("1", "0", "1").is_err() && range("0", "1", "0").is_err());
        assert!(range("0", "1e3", "1").is_err());
        assert!(range("0", "99999999", "0.000001").is_err());
    }

    #[test]
    fn names_fit_and_differ() {
        let variants = all(&["true", "true", "/bin/true"], &[], &["a b", "-"]).unwrap();
        let names: Vec<&str> = variants.iter().map(|variant| variant.name.as_str()).collect();
        assert_eq!(names, ["a-b", "command", "bin-true"]);
        let titles: Vec<&str> = variants.iter().map(|variant| variant.title.as_str()).collect();
        assert_eq!(titles, ["a b", "-", "/bin/true"], "as the user wrote them");
        let twice = all(&["true", "true"], &[], &[]).unwrap();
        assert_eq!((&*twice[1].name, &*twice[1].title), ("true-2", "true 2"));
        let long = "ß".repeat(500);
        assert!(fitting(&long).len() <= MAX_NAME_BYTES);
    }

    #[test]
    fn too_much_is_refused() {
        let scans = Scan::all(&words(&["n", &vec!["1"; 65].join(",")]), &[], "1").unwrap();
        assert!(all(&["true {n}"], &scans, &[]).is_err());
        assert!(Scan::all(&words(&["N!", "1"]), &[], "1").is_err());
        assert!(Scan::all(&words(&["n", "1", "n", "2"]), &[], "1").is_err());
    }
}
