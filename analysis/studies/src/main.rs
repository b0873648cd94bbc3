//! `cargo run --profile bench -p speedup-studies -- STUDY …`: runs a study of the methods and prints its rows as CSV.

use anyhow::Context as _;
use clap::Parser;
use serde::Serialize;
use speedup_studies::{
    BisectionStudy, Coverage, Estimators, FalseAlarmStudy, Power, ScalingStudy, TrackStudy,
};

/// Simulates how often the methods are right, as in the papers
///
/// docs/studies.md shows the results, and explains the names of the methods.
#[derive(Debug, Parser)]
#[command(name = "speedup-studies")]
enum Study {
    /// How often the intervals contain the true value (Kalibera 2012 §8.4)
    Coverage(Coverage),
    /// How often equal versions are called different (Touati 2010 §4, Kalibera 2012 §8.3)
    FalseAlarms(FalseAlarmStudy),
    /// How often a true speedup is found (Chen 2012 §5.2), and when a mean is normal (Touati 2010 App. C)
    Power(Power),
    /// How often a bisection names the commit that made a program slower
    Bisection(BisectionStudy),
    /// How often a track of commits raises a false alarm, and how soon it finds a change
    Track(TrackStudy),
    /// How often the intervals of scaling contain the truth, and how often a law is rejected
    Scaling(ScalingStudy),
    /// Whether observations or fitted mixtures estimate variability better (Worms 2016 §6.5)
    Estimators(Estimators),
}

fn main() -> anyhow::Result<()> {
    match Study::parse() {
        Study::Coverage(study) => print(&study.run()?),
        Study::FalseAlarms(study) => print(&study.run()?),
        Study::Power(study) => print(&study.run()?),
        Study::Bisection(study) => print(&study.run()?),
        Study::Track(study) => print(&study.run()?),
        Study::Scaling(study) => print(&study.run()?),
        Study::Estimators(study) => print(&study.run()?),
    }
}

fn print(rows: &[impl Serialize]) -> anyhow::Result<()> {
    let mut writer = csv::Writer::from_writer(std::io::stdout());
    for row in rows {
        writer.serialize(row).context("cannot write the rows")?;
    }
    writer.flush().context("cannot write the rows")
}
