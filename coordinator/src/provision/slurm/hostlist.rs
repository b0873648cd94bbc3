//! Many nodes in few words: `n[1-3,7],login`, as Slurm reads them. Thousands of excluded nodes have to fit one argument.

use std::collections::BTreeMap;

use speedup_core::machine::provision::Nodes;

/// What is the same in the names of one bracket: before and after the number, and the digits of one with leading zeros.
type Shape<'a> = (&'a str, &'a str, usize);

/// Digits of the longest number that is put into a bracket; longer ones are written out.
const MAX_DIGITS: usize = 9;

pub(super) fn compress(nodes: &Nodes) -> String {
    let mut brackets: BTreeMap<Shape<'_>, Vec<u32>> = BTreeMap::new();
    let mut words = Vec::new();
    for node in nodes {
        match split(node.as_str()) {
            Some((shape, number)) => brackets.entry(shape).or_default().push(number),
            None => words.push(node.as_str().to_owned()),
        }
    }
    for ((before, after, digits), mut numbers) in brackets {
        numbers.sort_unstable();
        let mut inside = Vec::new();
        for (first, last) in ranges(&numbers) {
            inside.push(match first == last {
                true => format!("{first:0digits$}"),
                false => format!("{first:0digits$}-{last:0digits$}"),
            });
        }
        // A bracket of one number is no bracket.
        words.push(match (&numbers[..], &inside[..]) {
            ([_], [one]) => format!("{before}{one}{after}"),
            _ => format!("{before}[{}]{after}", inside.join(",")),
        });
    }
    words.join(",")
}

/// The nodes of a hostlist, in its order; none if it is none, or has more than so many.
pub(super) fn expand(list: &str, most: usize) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut depth = 0_u32;
    let mut begun = 0;
    for (at, c) in list.char_indices().chain([(list.len(), ',')]) {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.checked_sub(1)?,
            ',' if depth == 0 => {
                names.extend(word(&list[begun..at], most)?);
                begun = at + 1;
            }
            _ => {}
        }
        if names.len() > most {
            return None;
        }
    }
    (depth == 0).then_some(names)
}

/// The names of one word: what is in its first bracket, with all names of the rest after each.
fn word(text: &str, most: usize) -> Option<Vec<String>> {
    let Some((before, rest)) = text.split_once('[') else {
        return Some(if text.is_empty() { Vec::new() } else { vec![text.to_owned()] });
    };
    let (inside, after) = rest.split_once(']')?;
    let after = if after.is_empty() { vec![String::new()] } else { word(after, most)? };
    let mut names = Vec::new();
    for range in inside.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let from: u32 = first.parse().ok()?;
        let to: u32 = last.parse().ok()?;
        let digits = first.len();
        if ((to.checked_sub(from)? as usize) + 1).checked_mul(after.len())? > most.saturating_sub(names.len())
        {
            return None;
        }
        let numbers = (from..=to).map(|number| format!("{before}{number:0digits$}"));
        names.extend(numbers.flat_map(|name| after.iter().map(move |after| format!("{name}{after}"))));
    }
    Some(names)
}

/// The last number of a name, with what is around it.
fn split(name: &str) -> Option<(Shape<'_>, u32)> {
    let end = name.rfind(|c: char| c.is_ascii_digit())? + 1;
    let start = name[..end].rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| at + 1);
    let digits = &name[start..end];
    if digits.len() > MAX_DIGITS || start == 0 {
        return None;
    }
    let width = if digits.starts_with('0') { digits.len() } else { 0 };
    Some(((&name[..start], &name[end..], width), digits.parse().ok()?))
}

/// Numbers, ascending, as ranges.
fn ranges(numbers: &[u32]) -> Vec<(u32, u32)> {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            Some(_) | None => ranges.push((*number, *number)),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compressed(nodes: &[&str]) -> String {
        compress(&nodes.iter().map(|node| node.parse().unwrap()).collect())
    }

    #[test]
    fn lists_are_expanded_in_their_order() {
        let expanded = |list: &str| expand(list, 20).map(|names| names.join(" "));
        assert_eq!(expanded("").as_deref(), Some(""));
        assert_eq!(expanded("n[8-10,3],login").as_deref(), Some("n8 n9 n10 n3 login"));
        assert_eq!(expanded("n[008-010]").as_deref(), Some("n008 n009 n010"));
        assert_eq!(expanded("r[1-2]n[1-2]-ib").as_deref(), Some("r1n1-ib r1n2-ib r2n1-ib r2n2-ib"));
        for refused in ["n[1-2", "n1-2]", "n[2-1]", "n[1-x]", "n[1-21]", "n[]", "r[1-5]n[1-5]"] {
            assert_eq!(expand(refused, 20), None, "{refused}");
        }
    }

    #[test]
    fn numbers_are_put_into_brackets() {
        assert_eq!(compressed(&[]), "");
        assert_eq!(compressed(&["login"]), "login");
        assert_eq!(compressed(&["n1"]), "n1");
        assert_eq!(compressed(&["n3", "n1", "n10", "n2", "gpu-7"]), "gpu-7,n[1-3,10]");
        assert_eq!(compressed(&["r1n2-ib", "r1n3-ib", "r2n2-ib"]), "r1n[2-3]-ib,r2n2-ib");
        assert_eq!(compressed(&["17", "x99999999999"]), "17,x99999999999");
    }

    #[test]
    fn leading_zeros_stay() {
        assert_eq!(compressed(&["n008", "n009", "n07", "n0", "n1"]), "n1,n0,n07,n[008-009]");
    }

    #[test]
    fn every_node_comes_out_again() {
        let names = (0..500_u32).map(|number| match number % 3 {
            0 => format!("n{}", number * 7 % 101),
            1 => format!("rack{:02}-{:03}", number % 4, number),
            _ => format!("gpu{number}a"),
        });
        let nodes: Nodes = names.map(|name| name.parse().unwrap()).collect();
        let expanded = expand(&compress(&nodes), 500).unwrap();
        let expanded: Nodes = expanded.iter().map(|name| name.parse().unwrap()).collect();
        assert_eq!(expanded, nodes);
    }
}
