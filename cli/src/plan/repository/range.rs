//! Two revisions as `git diff` takes them: `A..B` compares B with A, `A...B` with the commit from which both come.

use super::GitRefusal;

/// What the side that is left out is.
const LEFT_OUT: &str = "HEAD";

/// Two revisions to compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) baseline: String,
    /// The one behind them.
    pub(crate) candidate: String,
    pub(crate) base: BaseOf,
}

/// What the candidate of a range is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BaseOf {
    /// `A..B`: A.
    Range,
    /// `A...B`: the merge base of A and B.
    Both,
}

impl Range {
    pub(crate) fn text(&self) -> String {
        let dots = match self.base {
            BaseOf::Range => "..",
            BaseOf::Both => "...",
        };
        format!("{}{dots}{}", self.baseline, self.candidate)
    }
}

impl std::str::FromStr for Range {
    type Err = GitRefusal;

    fn from_str(text: &str) -> Result<Self, GitRefusal> {
        if text.trim_matches('.').is_empty() {
            return Err(GitRefusal::NoRange(text.to_owned()));
        }
        let (a, b, base) = if let Some((a, b)) = text.split_once("...") {
            (a, b, BaseOf::Both)
        } else if let Some((a, b)) = text.split_once("..") {
            (a, b, BaseOf::Range)
        } else {
            return Err(GitRefusal::NoRange(text.to_owned()));
        };
        let side = |side: &str| if side.is_empty() { LEFT_OUT.to_owned() } else { side.to_owned() };
        Ok(Self { baseline: side(a), candidate: side(b), base })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn two_dots_are_a_range_and_three_ask_for_the_merge_base() {
        let range = |text: &str| text.parse::<Range>().map(|range| range.text());
        assert_eq!(range("main..HEAD").unwrap(), "main..HEAD");
        assert_eq!(range("main..").unwrap(), "main..HEAD");
        assert_eq!(range("..topic").unwrap(), "HEAD..topic");
        assert_eq!(range("main...topic").unwrap(), "main...topic");
        assert_eq!("main...".parse::<Range>().unwrap().base, BaseOf::Both);
        for bad in ["", "main", "..", "...", "v1.0"] {
            assert!(range(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_range_or_refused(text in "[a.~^-]{0,12}") {
            if let Ok(range) = text.parse::<Range>() {
                prop_assert!(text.contains(".."));
                prop_assert!(!range.baseline.is_empty() && !range.candidate.is_empty());
            }
        }
    }
}
