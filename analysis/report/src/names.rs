//! Names of benchmarks and versions where there is little room for them.

use std::collections::{BTreeMap, BTreeSet};

/// A name, shortened in its middle when it is longer than `most`: names of a family often end in what tells them apart.
pub fn shortened(name: &str, most: usize) -> String {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= most {
        return name.to_owned();
    }
    let (front, back) = (most / 2, most - most / 2 - 1);
    let part = |letters: &[char]| letters.iter().collect::<String>();
    format!("{}…{}", part(&letters[..front]), part(&letters[letters.len() - back..]))
}

/// Names as labels of at most `most` characters, in their order. Unlike names have unlike labels: what is elided is what names
/// have in common, and where that does not make room, names stay whole.
pub(crate) fn labels(names: &[&str], most: usize) -> Vec<String> {
    let mut alike: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for name in names {
        alike.entry(shortened(name, most)).or_default().insert(name);
    }
    let mut labels: BTreeMap<&str, String> = BTreeMap::new();
    for (label, group) in alike {
        match group.len() {
            1 => labels.extend(group.into_iter().map(|name| (name, label.clone()))),
            _ => labels.extend(told_apart(&group, most)),
        }
    }
    let mut named: BTreeMap<&str, usize> = BTreeMap::new();
    labels.values().for_each(|label| *named.entry(label).or_default() += 1);
    let label = |name: &&str| match &labels[name] {
        label if named[label.as_str()] == 1 => label.clone(),
        _ => (*name).to_owned(),
    };
    names.iter().map(label).collect()
}

/// Labels of names that would be shortened alike: what they do not share, and as much before it as there is room for.
fn told_apart<'a>(names: &BTreeSet<&'a str>, most: usize) -> Vec<(&'a str, String)> {
    let letters: Vec<Vec<char>> = names.iter().map(|name| name.chars().collect()).collect();
    let shared = |other: &Vec<char>, turned: bool| {
        let is_same = |(one, other): &(&char, &char)| one == other;
        match turned {
            false => letters[0].iter().zip(other).take_while(is_same).count(),
            true => letters[0].iter().rev().zip(other.iter().rev()).take_while(is_same).count(),
        }
    };
    let least = |turned| letters[1..].iter().map(|other| shared(other, turned)).min().unwrap_or(0);
    let (front, back) = (least(false), least(true));
    let part = |letters: &[char]| letters.iter().collect::<String>();
    let label = |letters: &Vec<char>| {
        // Of names that repeat themselves, front and back may overlap.
        let back = back.min(letters.len() - front);
        let own = &letters[front..letters.len() - back];
        // Elided before and after.
        let before = most.saturating_sub(own.len() + 2).min(front);
        let sign = |is_elided: bool| if is_elided { "…" } else { "" };
        format!("{}{}{}{}", part(&letters[..before]), sign(before < front), part(own), sign(back > 0))
    };
    names.iter().copied().zip(letters.iter().map(label)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_elided_is_what_names_share() {
        assert_eq!(labels(&["short", "also-short"], 16), ["short", "also-short"]);
        let long = ["compress-large-archive-1-with-fast", "compress-large-archive-2-with-fast"];
        assert_eq!(labels(&long, 14), ["compress-la…1…", "compress-la…2…"]);
        assert_eq!(
            labels(&["sort --key=1 words.txt", "sort --key=1 words.txt"], 12),
            ["sort -…s.txt"; 2],
            "one name"
        );
        assert_eq!(labels(&["sort-words-x.txt", "LC_ALL-C-sort-words-x.txt"], 12)[0], "sort-w…x.txt");
        let whole = ["aaaaaaaaaaaaaaaaaaaab", "aaaaaaaaaaaaaaaaaaab"];
        let told = labels(&whole, 8);
        assert_ne!(told[0], told[1], "whatever they are: {told:?}");
    }
}
