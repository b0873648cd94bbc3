//! The sample as another tool's file: the values of the runs that count, by benchmark, version and metric.

use std::{collections::BTreeMap, io};

use speedup_core::experiment::{Experiment, metric::Metric, metric::OwnMetric, metric::Unit as Measured};
use speedup_core::value::{id::RunIndex, time::Timestamp};
use speedup_formats::{
    Hyperfine2Header, MAX_RSS, Name, NameTooLong, Runs, SYSTEM, Series, SeriesName, SeriesUnit, USER, WALL,
    write_go, write_hyperfine_1, write_hyperfine_2,
};

use super::{column::metric, column::own, lines::rfc3339, row::Row};

/// The tool whose format is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    Go,
    Hyperfine1,
    Hyperfine2,
}

/// The values so far, by benchmark and version in the order of the plan, and by metric.
pub(super) struct Samples {
    metrics: Vec<SampleMetric>,
    cells: BTreeMap<(usize, usize), Vec<Cell>>,
    benchmarks: BTreeMap<String, usize>,
    versions: BTreeMap<String, usize>,
    first: Option<Timestamp>,
}

/// A metric of the experiment, and what formats call it.
struct SampleMetric {
    source: MetricSource,
    name: String,
    unit: SeriesUnit,
    /// What one of the base unit is of the instrument's.
    scale: f64,
}

enum MetricSource {
    Metric(Metric),
    Own(String),
}

/// The values of one metric in one cell, by run.
type Cell = BTreeMap<RunIndex, Vec<f64>>;

impl Samples {
    pub(super) fn new(experiment: &Experiment, tool: Tool) -> io::Result<Self> {
        let mut metrics = Vec::new();
        for metric in experiment.metrics.iter().filter(|metric| tool.holds(**metric)) {
            metrics.push(SampleMetric::from_instrument(*metric));
        }
        if tool == Tool::Go {
            for own in &experiment.own_metrics {
                metrics.push(SampleMetric::from_plan(own).map_err(io::Error::other)?);
            }
        }
        Ok(Self {
            metrics,
            cells: BTreeMap::new(),
            benchmarks: experiment
                .benchmarks
                .iter()
                .map(|benchmark| benchmark.name.clone())
                .zip(0..)
                .collect(),
            versions: experiment.versions.iter().map(|version| version.name.clone()).zip(0..).collect(),
            first: None,
        })
    }

    /// Takes the values of a row that counts.
    pub(super) fn row(&mut self, row: &Row<'_>) {
        if !row.counts() {
            return;
        }
        let cell =
            (number(&self.benchmarks, row.planned.benchmark), number(&self.versions, row.planned.version));
        let cells = self.cells.entry(cell).or_insert_with(|| vec![Cell::new(); self.metrics.len()]);
        for (metric, values) in self.metrics.iter().zip(cells) {
            let read = metric.read(row);
            if !read.is_empty() {
                values.insert(row.run(), read);
            }
        }
        let started = row.ended().and_then(|ended| ended.lease.started);
        self.first = self.first.into_iter().chain(started).min();
    }

    /// The file to write
    pub(super) fn text(&self, tool: Tool) -> io::Result<String> {
        let series = self.series(tool)?;
        match tool {
            Tool::Go => write_go(&series).map_err(|error| with_hint(&error, error.hint())),
            Tool::Hyperfine1 => write_hyperfine_1(&series).map_err(|error| with_hint(&error, error.hint())),
            Tool::Hyperfine2 => {
                let start = self.first.map(rfc3339);
                let header = Hyperfine2Header {
                    writer: concat!("speedup ", env!("CARGO_PKG_VERSION")),
                    start_time: start.as_deref(),
                    operating_system: Some("linux"),
                    architecture: None,
                };
                write_hyperfine_2(&series, &header).map_err(|error| with_hint(&error, error.hint()))
            }
        }
    }

    /// Of a metric that not every run has, hyperfine's formats have no place for the values that are there.
    fn series(&self, tool: Tool) -> io::Result<Vec<Series>> {
        let benchmarks = by_number(&self.benchmarks);
        let versions = by_number(&self.versions);
        let mut series = Vec::new();
        for ((benchmark, version), cells) in &self.cells {
            let runs = cells.iter().map(BTreeMap::len).max().unwrap_or(0);
            for (metric, values) in self.metrics.iter().zip(cells) {
                if values.is_empty() || (tool != Tool::Go && values.len() < runs) {
                    continue;
                }
                let name = SeriesName {
                    benchmark: name(benchmarks[benchmark])?,
                    version: Some(name(versions[version])?),
                    labels: BTreeMap::new(),
                    metric: name(&metric.name)?,
                };
                let runs = Runs::new(values.values()).map_err(io::Error::other)?;
                series.push(Series::new(name, metric.unit.clone(), runs));
            }
        }
        Ok(series)
    }
}

/// The place of a name in the plan.
fn number(names: &BTreeMap<String, usize>, name: &str) -> usize {
    names.get(name).copied().unwrap_or(names.len())
}

fn by_number(names: &BTreeMap<String, usize>) -> BTreeMap<usize, &str> {
    names.iter().map(|(name, number)| (*number, name.as_str())).collect()
}

fn name(text: &str) -> io::Result<Name> {
    Name::new(text).map_err(io::Error::other)
}

fn with_hint(error: &impl std::fmt::Display, hint: &str) -> io::Error {
    io::Error::other(format!("{error}; {hint}"))
}

impl Tool {
    /// Whether its format has a place for the metric.
    fn holds(self, metric: Metric) -> bool {
        match self {
            Self::Hyperfine1 => {
                matches!(metric, Metric::Wall | Metric::User | Metric::System | Metric::MaxRss)
            }
            Self::Go | Self::Hyperfine2 => true,
        }
    }
}

impl SampleMetric {
    fn from_instrument(metric: Metric) -> Self {
        let name = match metric {
            Metric::Wall => WALL,
            Metric::User => USER,
            Metric::System => SYSTEM,
            Metric::MaxRss => MAX_RSS,
            other => other.name(),
        };
        let (unit, scale) = match metric.unit() {
            Measured::Nanoseconds => (SeriesUnit::Seconds, 1e9),
            Measured::Bytes => (SeriesUnit::Bytes, 1.0),
            Measured::Count => (SeriesUnit::Bare, 1.0),
            // No tool has a base unit of energy.
            Measured::Microjoules => (Name::new("uJ").map_or(SeriesUnit::Bare, SeriesUnit::Named), 1.0),
        };
        Self { source: MetricSource::Metric(metric), name: name.to_owned(), unit, scale }
    }

    fn from_plan(own: &OwnMetric) -> Result<Self, NameTooLong> {
        let unit = if own.unit.is_empty() {
            SeriesUnit::Bare
        } else {
            SeriesUnit::Named(Name::new(own.unit.as_str())?)
        };
        Ok(Self { source: MetricSource::Own(own.name.clone()), name: own.name.clone(), unit, scale: 1.0 })
    }

    /// Its values in one run, in its unit.
    fn read(&self, row: &Row<'_>) -> Vec<f64> {
        match &self.source {
            MetricSource::Metric(of) => {
                metric(row, *of).map(|count| count as f64 / self.scale).into_iter().collect()
            }
            MetricSource::Own(name) => own(row, name).map(<[f64]>::to_vec).unwrap_or_default(),
        }
    }
}
