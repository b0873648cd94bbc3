//! What `cargo bench` prints: the benchmarks of libtest and those of criterion.rs.
//!
//! libtest prints the median of a benchmark, criterion an interval with its estimate in the middle. Either is one number that a
//! process made of many iterations, so it is one run, and a benchmark that is printed again comes from another process.
//! Throughputs and changes repeat what the times say and are not read, nor are tests, which `cargo bench` ignores.

use crate::{
    Collection, Fault, FileProblem, MissingKind, Name, SeriesName, SeriesUnit, criterion::metric_of,
    text::lines,
};
use std::collections::BTreeMap;

/// The label that tells benchmarks of one name in several programs apart.
const TARGET: &str = "target";

pub(crate) fn read(text: &str) -> Result<Collection, Fault> {
    let mut reader = Reader::default();
    for (line, content) in lines(text) {
        reader.read_line(content).map_err(|problem| Fault::at(line, 1, problem))?;
        if !content.trim().is_empty() {
            reader.line_before = content.trim();
        }
    }
    reader.end_announced(None).map_err(Fault::of_file)?;
    Ok(reader.collection)
}

/// Whether a line has an estimate.
pub(crate) fn is_estimate(line: &str) -> bool {
    let is_median = libtest_outcome(line).is_some_and(|(_, outcome)| libtest_median(outcome).is_some());
    is_median || criterion_estimate(line).is_some()
}

#[derive(Default)]
struct Reader<'t> {
    collection: Collection,
    /// The last line with anything on it: criterion prints a long name there.
    line_before: &'t str,
    /// The program whose benchmarks follow, where cargo's own lines are in the text.
    target: &'t str,
    /// The benchmark that criterion announced, until its estimate.
    announced: &'t str,
    /// The program that each benchmark was first seen in.
    targets: BTreeMap<&'t str, &'t str>,
    /// How often each program has printed each benchmark.
    processes: BTreeMap<(&'t str, &'t str), u64>,
}

impl<'t> Reader<'t> {
    fn read_line(&mut self, line: &'t str) -> Result<(), FileProblem> {
        if let Some((name, outcome)) = libtest_outcome(line) {
            return self.read_outcome(name, outcome);
        }
        if let Some((name, value, unit)) = criterion_estimate(line) {
            self.announced = "";
            let name = if name.is_empty() { self.line_before } else { name };
            return self.push(name, value, unit);
        }
        if let Some(program) = line.trim_start().strip_prefix("Running ") {
            // `benches/sums.rs (target/release/deps/sums-59ef8f906f0396bb)`: behind the hyphen is a hash.
            let file = program.rsplit(['/', '\\']).next().unwrap_or(program);
            self.target = file.rsplit_once('-').map_or(file, |(target, _)| target);
        } else if let Some(announced) = line.strip_prefix("Benchmarking ") {
            let announced = announced.split(": ").next().unwrap_or(announced);
            if self.announced != announced {
                self.end_announced(None)?;
            }
            self.announced = announced;
        } else if line.contains(" panicked at ") && !self.announced.is_empty() {
            self.end_announced(Some(Name::beginning(line)))?;
        }
        Ok(())
    }

    /// A benchmark of criterion that was announced, and whose estimate did not come, has failed.
    fn end_announced(&mut self, message: Option<Name>) -> Result<(), FileProblem> {
        let announced = std::mem::take(&mut self.announced);
        if announced.is_empty() {
            return Ok(());
        }
        self.collection.miss(Name::new(announced)?, MissingKind::Failed, message)
    }

    fn read_outcome(&mut self, name: &'t str, outcome: &'t str) -> Result<(), FileProblem> {
        if let Some(median) = libtest_median(outcome) {
            return self.push(name, median, "ns");
        }
        if outcome == "ok" || outcome.starts_with("ignored") {
            return Ok(());
        }
        // Between the name and its median a benchmark may have printed something.
        let kind = if outcome == "FAILED" { MissingKind::Failed } else { MissingKind::Unreadable };
        self.collection.miss(Name::new(name)?, kind, Some(Name::beginning(outcome)))
    }

    fn push(&mut self, benchmark: &'t str, value: &str, unit: &str) -> Result<(), FileProblem> {
        let (unit, shift) = match unit {
            "ps" => (SeriesUnit::Seconds, -12),
            word => SeriesUnit::of_word(&Name::new(word)?),
        };
        let mut series = SeriesName::new(Name::new(benchmark)?, metric_of(&unit));
        if *self.targets.entry(benchmark).or_insert(self.target) != self.target {
            series.labels.insert(Name::of(TARGET), Name::new(self.target)?);
        }
        let process = self.processes.entry((self.target, benchmark)).or_default();
        *process += 1;
        self.collection.push_text(&series.in_unit((unit, shift)), *process, &value.replace(',', ""))
    }
}

/// The name of a test or benchmark of libtest, and what became of it.
fn libtest_outcome(line: &str) -> Option<(&str, &str)> {
    let (name, outcome) = line.strip_prefix("test ")?.split_once(" ... ")?;
    Some((name.trim_end(), outcome.trim()))
}

/// The median in `bench:   1,234.56 ns/iter (+/- 12.34)`.
fn libtest_median(outcome: &str) -> Option<&str> {
    let (median, _) = outcome.strip_prefix("bench:")?.split_once(" ns/iter ")?;
    Some(median.trim())
}

/// The estimate in `name  time:   [1.2 ns 1.3 ns 1.4 ns]`, and its unit. Changes are intervals of percentages, which have none.
fn criterion_estimate(line: &str) -> Option<(&str, &str, &str)> {
    let (name, interval) = line.rsplit_once("time:")?;
    let (interval, _) = interval.trim_start().strip_prefix('[')?.split_once(']')?;
    let mut words = interval.split_whitespace().skip(2);
    let value = words.next()?;
    let unit = words.next()?;
    (words.count() == 2).then_some((name.trim(), value, unit))
}
