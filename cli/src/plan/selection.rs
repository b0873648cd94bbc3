//! Some benchmarks of a plan or of a report: those whose names are like a pattern; and what is said of a name that is not there.

use anyhow::anyhow;
use clap::Args;
use speedup_core::{experiment::Experiment, plan::file::nearest};

use crate::exit::failure::Failure;

/// Most names that an error lists.
const LISTED: usize = 10;

/// Which benchmarks.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct OnlyArguments {
    /// Only the benchmarks whose names are like this pattern, in which * is any text and ? any character; repeatable
    #[arg(long = "only", value_name = "GLOB")]
    patterns: Vec<String>,
}

impl OnlyArguments {
    /// Whether any are asked for.
    pub(crate) fn is_given(&self) -> bool {
        !self.patterns.is_empty()
    }

    /// Whether a benchmark is one of them; all are where none is asked for.
    pub(crate) fn takes(&self, name: &str) -> bool {
        self.patterns.is_empty() || self.patterns.iter().any(|pattern| is_like(pattern, name))
    }

    /// Refuses a pattern that is like none of these names.
    pub(crate) fn require(&self, names: &[&str]) -> Result<(), Failure> {
        let is_vain = |pattern: &&String| !names.iter().any(|name| is_like(pattern, name));
        let Some(vain) = self.patterns.iter().find(is_vain) else { return Ok(()) };
        let text = vain.replace(['*', '?'], "");
        let hint = suggestion(&text, names, "benchmarks");
        Err(Failure::usage(anyhow!("no benchmark matches `{vain}`")).hint(hint))
    }

    /// Leaves them alone in an experiment, and says so in it.
    pub(crate) fn apply(&self, experiment: &mut Experiment) -> Result<(), Failure> {
        if !self.is_given() {
            return Ok(());
        }
        let names: Vec<&str> =
            experiment.benchmarks.iter().map(|benchmark| benchmark.name.as_str()).collect();
        self.require(&names)?;
        let words = self.patterns.iter().map(|pattern| format!("--only '{pattern}'"));
        let words = words.collect::<Vec<_>>().join(" ");
        select(experiment, words, |name| self.takes(name))
    }

    /// The option as it was given, in words.
    pub(crate) fn words(&self) -> String {
        self.patterns.iter().map(|pattern| format!("`{pattern}`")).collect::<Vec<_>>().join(" or ")
    }
}

/// Leaves some benchmarks of an experiment. Where they are a random sample of a population, a part of it would be none.
pub(crate) fn select(
    experiment: &mut Experiment,
    words: String,
    takes: impl Fn(&str) -> bool,
) -> Result<(), Failure> {
    if experiment.drawn.is_some() {
        let text = "the plan draws its benchmarks at random from a population ([population] sample), and a choice of them is \
                    no random sample";
        return Err(Failure::usage(anyhow!(text))
            .hint("leave [population] out of the plan to choose, or measure the sample as it is drawn"));
    }
    experiment.benchmarks.retain(|benchmark| takes(&benchmark.name));
    let before = std::mem::take(&mut experiment.selection);
    experiment.selection = if before.is_empty() { words } else { format!("{before} {words}") };
    Ok(())
}

/// Whether a name is like a pattern. A star takes as little as it can, and more when the rest does not follow.
fn is_like(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut seen) = (0, 0);
    let mut star = None;
    while seen < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, seen));
                at += 1;
            }
            Some(letter) if *letter == '?' || *letter == name[seen] => {
                at += 1;
                seen += 1;
            }
            Some(_) | None => match star {
                None => return false,
                Some((place, taken)) => {
                    star = Some((place, taken + 1));
                    (at, seen) = (place + 1, taken + 1);
                }
            },
        }
    }
    pattern[at..].iter().all(|letter| *letter == '*')
}

/// A hint about a name that is none of `names`: the nearest, or the first of them.
pub(crate) fn suggestion(name: &str, names: &[&str], what: &str) -> String {
    match nearest(name, names) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the {what}: {}", listed(names)),
    }
}

/// The first of many names, and how many more there are.
pub(crate) fn listed(names: &[&str]) -> String {
    let more = names.len().saturating_sub(LISTED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("{}{more}", names[..names.len().min(LISTED)].join(", "))
}

#[cfg(test)]
mod tests {
    use speedup_core::{plan, value::seed::Seed};

    use super::*;
    use crate::plan::source::tests::PLAN;

    fn only(patterns: &[&str]) -> OnlyArguments {
        OnlyArguments { patterns: patterns.iter().map(|pattern| (*pattern).to_owned()).collect() }
    }

    #[test]
    fn stars_take_any_text_and_question_marks_a_character() {
        for (pattern, like, unlike) in [
            ("sort", "sort", "sorts"),
            ("sort*", "sort-large", "resort"),
            ("*rt*", "resorts", "spot"),
            ("s?rt", "sirt", "srt"),
            ("a*b*c", "a-b-b-c", "a-b-b-d"),
            ("*", "", "\u{0}unlike-nothing"),
        ] {
            assert!(is_like(pattern, like), "{pattern} {like}");
            assert!(pattern == "*" || !is_like(pattern, unlike), "{pattern} {unlike}");
        }
    }

    #[test]
    fn a_pattern_like_nothing_names_what_is_near() {
        let failure = only(&["sort", "srot*"]).require(&["sort", "hash"]).unwrap_err();
        assert!(failure.error.to_string().contains("`srot*`"), "{}", failure.error);
        assert!(failure.hint.is_some_and(|hint| hint.contains("`sort`")));
        let failure = only(&["compress"]).require(&["sort", "hash"]).unwrap_err();
        assert!(failure.hint.is_some_and(|hint| hint.ends_with("sort, hash")));
    }

    #[test]
    fn a_part_of_a_random_sample_is_refused() {
        let text = format!("{PLAN}[population]\nsample = 1\n");
        let mut experiment = plan::file::parse(&text, Seed(1)).unwrap();
        let failure = only(&["s*"]).apply(&mut experiment).unwrap_err();
        assert!(failure.error.to_string().contains("no random sample"), "{}", failure.error);
        experiment.drawn = None;
        only(&["s*"]).apply(&mut experiment).unwrap();
        assert_eq!(experiment.selection, "--only 's*'");
    }
}
