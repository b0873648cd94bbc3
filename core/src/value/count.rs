//! Counts as sentences show them.

/// A count with its thousands set apart: 1 860. A line never breaks within it.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() * 2);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push('\u{a0}');
        }
        text.push(digit);
    }
    text
}

/// A count of things with the right form of the noun: "1 run", "2 runs".
pub fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart_and_nouns_agree() {
        let shown = [0, 999, 1_860, 12_345, 1_000_000].map(grouped);
        assert_eq!(shown, ["0", "999", "1\u{a0}860", "12\u{a0}345", "1\u{a0}000\u{a0}000"]);
        assert_eq!((counted(1, "run"), counted(0, "host")), ("1 run".to_owned(), "0 hosts".to_owned()));
        assert_eq!(counted(2_000, "run"), "2\u{a0}000 runs");
    }
}
