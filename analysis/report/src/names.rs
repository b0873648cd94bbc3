//! Names of benchmarks and versions where there is little room for them.

use std::collections::{BTreeMap, BTreeSet};

/// A name, shortened in its middle when it is longer than `most`: names of a family often end in what tells them apart.
pub fn shortened(name: &str, most: usize) -> String {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= most {
        return name.to_owned();
    }
    let front: String = letters[..most / 2].iter().collect();
    // One character is that of the elision.
    let back: String = letters[letters.len() - (most - most / 2 - 1)..].iter().collect();
    format!("{front}…{back}")
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
    let mut unlike = Vec::new();
    for name in names {
        let label = &labels[name];
        unlike.push(if named[label.as_str()] == 1 { label.clone() } else { (*name).to_owned() });
    }
    unlike
}

/// Labels of names that would be shortened alike: what they do not share, and as much before it as there is room for.
fn told_apart<'a>(names: &BTreeSet<&'a str>, most: usize) -> Vec<(&'a str, String)> {
    let letters: Vec<Vec<char>> = names.iter().map(|name| name.chars().collect()).collect();
    let mut front = letters[0].len();
    let mut back = letters[0].len();
    for other in &letters[1..] {
        front = front.min(shared(letters[0].iter(), other.iter()));
        back = back.min(shared(letters[0].iter().rev(), other.iter().rev()));
    }
    let mut labels = Vec::new();
    for (name, letters) in names.iter().zip(&letters) {
        // Of names that repeat themselves, front and back may overlap.
        let back = back.min(letters.len() - front);
        let own = &letters[front..letters.len() - back];
        // Elided before and after.
        let before = most.saturating_sub(own.len() + 2).min(front);
        let mut label: String = letters[..before].iter().collect();
        if before < front {
            label.push('…');
        }
        label.extend(own);
        if back > 0 {
            label.push('…');
        }
        labels.push((*name, label));
    }
    labels
}

/// How many characters two names begin with that are the same.
fn shared<'c>(one: impl Iterator<Item = &'c char>, other: impl Iterator<Item = &'c char>) -> usize {
    one.zip(other).take_while(|(one, other)| one == other).count()
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
