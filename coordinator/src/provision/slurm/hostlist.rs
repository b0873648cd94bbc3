//! Many nodes in few words: `n[1-3,7],login`, as Slurm reads them. Thousands of excluded nodes have to fit one argument.

use std::collections::BTreeMap;

use speedup_core::machine::provision::Nodes;

/// What is the same in the names of one bracket: before and after the number, and the digits of one with leading zeros.
type Shape<'a> = (&'a str, &'a str, usize);

/// Digits of the longest number that is put into a bracket; longer ones are written out.
const MAX_DIGITS: usize = 9;

/// The nodes as a hostlist.
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
        let ranges = ranges(&numbers);
        let word = |number: u32| format!("{number:0digits$}");
        let inside: Vec<String> = ranges
            .iter()
            .map(
                |(first, last)| {
                    if first == last { word(*first) } else { format!("{}-{}", word(*first), word(*last)) }
                },
            )
            .collect();
        match (&inside[..], &ranges[..]) {
            ([one], [(first, last)]) if first == last => words.push(format!("{before}{one}{after}")),
            _ => words.push(format!("{before}[{}]{after}", inside.join(","))),
        }
    }
    words.join(",")
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
        let expanded: Nodes = expand(&compress(&nodes)).iter().map(|name| name.parse().unwrap()).collect();
        assert_eq!(expanded, nodes);
    }

    /// As Slurm documents it.
    fn expand(list: &str) -> Vec<String> {
        let mut depth = 0;
        let words = list.split(|c| {
            depth += i32::from(c == '[') - i32::from(c == ']');
            c == ',' && depth == 0
        });
        words
            .flat_map(|word| {
                let Some((before, rest)) = word.split_once('[') else { return vec![word.to_owned()] };
                let (inside, after) = rest.split_once(']').unwrap();
                let name = |number: u32, width: usize| format!("{before}{number:0width$}{after}");
                let range = |range: &str| {
                    let (first, last) = range.split_once('-').unwrap_or((range, range));
                    let width = first.len();
                    (first.parse().unwrap()..=last.parse().unwrap())
                        .map(|n| name(n, width))
                        .collect::<Vec<_>>()
                };
                inside.split(',').flat_map(range).collect()
            })
            .collect()
    }
}
