//! What a file does not say itself.

use crate::{GoUnits, Name, SeriesUnit};

/// What the bytes of a file do not say.
#[derive(Clone, Debug, Default)]
pub struct Options<'a> {
    /// The file's path, for formats that do not name their benchmark: criterion's `sample.json` gets the folders it lies
    /// in, a file of numbers its name without ending.
    pub path: Option<&'a str>,
    /// The benchmark of a file that does not name it; goes before the path.
    pub benchmark: Option<Name>,
    /// The columns of a table and the fields of JSON lines.
    pub columns: Columns<'a>,
    /// The unit of values that have none in the file; such values are numbers alone without it.
    pub unit: Option<&'a str>,
    /// What to do with Go's units.
    pub go_units: GoUnits,
    /// Labels that distinguish nothing: series that differ in them alone are one.
    pub ignored_labels: Vec<&'a str>,
}

impl Options<'_> {
    /// The unit that a word means, or the given one where there is no word, and the power of ten to it.
    pub(crate) fn unit_of(&self, word: Option<&Name>) -> (SeriesUnit, i32) {
        match (word.filter(|word| !word.as_str().is_empty()), self.unit) {
            (Some(word), _) => SeriesUnit::of_word(word),
            (None, given) => SeriesUnit::of_word(&Name::beginning(given.unwrap_or_default())),
        }
    }

    /// The benchmark of a file that does not name it.
    pub(crate) fn unnamed_benchmark(&self) -> Name {
        if let Some(name) = &self.benchmark {
            return name.clone();
        }
        let file = self.path.and_then(|path| path.rsplit(['/', '\\']).next()).unwrap_or_default();
        let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
        Name::beginning(if stem.is_empty() { "unnamed" } else { stem })
    }
}

/// Which columns of a table, or fields of JSON lines, hold what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns<'a> {
    pub benchmark: &'a str,
    /// The version; in other formats, the label that is the version, unless it is called `version`.
    pub version: &'a str,
    /// What the values of one run have in common: a number or a word. The same word in another cell is another run.
    pub run: &'a str,
    /// The metric; without it, the metric is `wall`, or the name of the value's column if that is not `value`.
    pub metric: &'a str,
    /// The unit; without it, the values are taken as numbers alone.
    pub unit: &'a str,
    /// The values: at least one column, and all of them have to be there.
    pub values: Vec<&'a str>,
    /// What runs may have in common, coarsest first: [`UNITS`], or none. The first of these columns that is there and groups
    /// runs stands in the place of the run, and a warning says so. Blocks do so too where they hold runs of several versions, which
    /// they make pairs.
    pub units: &'a [&'a str],
}

/// The column of blocks: what a table's design ran together.
pub const BLOCK: &str = "block";
/// What makes runs depend on each other, coarsest first: the build of the program, the host, the block of runs.
pub const UNITS: &[&str] = &["build", "host", BLOCK];

const BENCHMARK: &str = "benchmark";
pub(crate) const VALUE: &str = "value";

impl Default for Columns<'_> {
    fn default() -> Self {
        Self {
            benchmark: BENCHMARK,
            version: "version",
            run: "run",
            metric: "metric",
            unit: "unit",
            values: vec![VALUE],
            units: &[],
        }
    }
}

/// Columns with a meaning, whatever they hold: none of them is taken for the values unless it is named. The last ones are those that our
/// own tables have beside values.
const RESERVED: [&str; 15] = [
    BENCHMARK, "version", "run", "metric", "unit", "build", "host", BLOCK, "remark", "count", "runs",
    "message", "better", "value_of", "tool",
];

impl Columns<'_> {
    /// Whether a column is one of these, or reserved, and so not that of the values.
    pub(crate) fn names(&self, column: &str) -> bool {
        let named = [self.benchmark, self.version, self.run, self.metric, self.unit];
        named.contains(&column) || RESERVED.contains(&column)
    }
}
