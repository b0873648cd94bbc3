//! Hints for keys and values nobody knows: what was probably meant, or that it is for a later release.

/// What the design has and this release does not, with its section; a plan that uses it shall learn that it is not mistyped.
const NOT_YET: [(&str, &str); 1] = [("repetitions", "iterations")];

/// Longer words are compared with nothing: the distance costs their product, and nobody mistypes so much.
const MAX_COMPARED: usize = 40;

/// What to write instead of `word` in a section, where one of `known` was expected. `elsewhere` is the table that knows
/// the word.
pub(super) fn hint(section: &str, word: &str, known: &[&str], elsewhere: Option<&str>) -> String {
    let possible = || format!("possible here: {}", known.join(", "));
    if NOT_YET.contains(&(section, word)) {
        return format!("this release does not support `{word}`; {}", possible());
    }
    match (nearest(word, known), elsewhere) {
        (Some(near), _) => format!("did you mean `{near}`?"),
        (None, Some(table)) => format!("`{word}` belongs in [{table}]; {}", possible()),
        (None, None) => possible(),
    }
}

/// The known word that is nearest, if it is near: at most a third of its letters differ.
pub fn nearest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    if word.len() > MAX_COMPARED {
        return None;
    }
    let word: Vec<char> = word.to_lowercase().chars().collect();
    let with_distance = known.iter().map(|&near| (distance(&word, near), near));
    let (distance, near) = with_distance.min_by_key(|(distance, _)| *distance)?;
    (distance <= near.chars().count().div_ceil(3)).then_some(near)
}

/// The fewest insertions, deletions, replacements and swaps of neighbours that lead from one word to the other (Damerau
/// and Levenshtein, in the form where no part is edited twice).
fn distance(from: &[char], to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (i, letter) in from.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, other) in to.iter().enumerate() {
            let replaced = last[j] + usize::from(letter != other);
            let mut least = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *letter == to[j - 1] && from[i - 1] == *other {
                least = least.min(before_last[j - 1] + 1);
            }
            row.push(least);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letters(word: &str) -> Vec<char> {
        word.chars().collect()
    }

    #[test]
    fn the_distance_counts_edits() {
        assert_eq!(distance(&letters("runs"), "runs"), 0);
        assert_eq!(distance(&letters("rusn"), "runs"), 1);
        assert_eq!(distance(&letters("run"), "runs"), 1);
        assert_eq!(distance(&letters("kitten"), "sitting"), 3);
        assert_eq!(distance(&letters(""), "abc"), 3);
        assert_eq!(distance(&letters("abc"), ""), 3);
    }

    #[test]
    fn a_hint_names_what_is_near_or_all_there_is() {
        let known = ["timeout", "warmup"];
        let near = hint("benchmarks", "Timout", &known, None);
        assert!(near.contains("`timeout`") && !near.contains("warmup"), "{near}");
        let elsewhere = hint("setup", "runs", &known, Some("repetitions"));
        assert!(elsewhere.contains("[repetitions]") && elsewhere.ends_with("timeout, warmup"), "{elsewhere}");
        let later = hint("repetitions", "iterations", &["runs"], None);
        assert!(later.contains("release") && later.ends_with(": runs"), "{later}");
        for key in ["zebra", &"x".repeat(1 << 20)] {
            let all = hint("benchmarks", key, &known, None);
            assert!(all.ends_with(": timeout, warmup") && !all.contains(key), "{all}");
        }
    }
}
