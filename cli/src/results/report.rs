//! The report of an experiment: requested from the coordinator's analysis, and parsed once.

use anyhow::Error;
use speedup_analysis::study::{Report, SCHEMA_VERSION};
use speedup_core::value::id::ExperimentId;
use speedup_proto::{convert::id_text, v1};

use crate::{
    arguments::Output, connection::Connection, console::Console, console::Paint,
    console::render::json::indented, console::render::report::Extent, console::render::report::document,
    exit::failure::Failure,
};

/// What is asked of a report besides its experiment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReportOptions {
    pub(crate) confidence: Option<f64>,
    /// The slowdown that gates ignore.
    pub(crate) noise_threshold: Option<f64>,
    pub(crate) mixtures: bool,
    pub(crate) figures: bool,
}

/// Requests the report of an experiment, as JSON.
pub(crate) async fn request(
    connection: &Connection,
    experiment: ExperimentId,
    options: ReportOptions,
) -> Result<String, Failure> {
    let ReportOptions { confidence, noise_threshold, mixtures, figures } = options;
    let request = v1::ReportRequest {
        experiment: id_text(experiment.0),
        confidence,
        noise_threshold,
        mixtures,
        figures,
        ..Default::default()
    };
    let answer = connection.analysis().report(request).await;
    let answer = answer.map_err(|status| Failure::status("cannot make the report", &status))?;
    Ok(answer.into_inner().json)
}

/// What the JSON of a report says.
#[derive(Debug)]
pub(crate) enum ParsedReport {
    /// In the schema that this command knows.
    Known(Box<Report>),
    /// In a newer one.
    Newer,
}

impl ParsedReport {
    pub(crate) fn parse(json: &str) -> Result<Self, serde_json::Error> {
        #[derive(serde::Deserialize)]
        struct Versioned {
            schema_version: u32,
        }
        match serde_json::from_str::<Box<Report>>(json) {
            Ok(report) if report.schema_version == SCHEMA_VERSION => Ok(Self::Known(report)),
            Ok(_) => Ok(Self::Newer),
            // A newer schema need not fit the fields that are known here.
            Err(error) => match serde_json::from_str::<Versioned>(json)?.schema_version {
                SCHEMA_VERSION => Err(error),
                _ => Ok(Self::Newer),
            },
        }
    }
}

/// The report that the analysis answered: its JSON, which is shown as it came, and what that says.
#[derive(Debug)]
pub(crate) struct AnsweredReport {
    pub(crate) json: String,
    /// The parsed report, or why it is not JSON; each reader adds its own context.
    parsed: Result<ParsedReport, String>,
}

impl AnsweredReport {
    pub(crate) fn parse(json: String) -> Self {
        let parsed = ParsedReport::parse(&json).map_err(|error| error.to_string());
        Self { json, parsed }
    }

    /// The report as the analysis would answer it.
    pub(crate) fn from_report(report: Report) -> Result<Self, Failure> {
        let json = serde_json::to_string(&report).map_err(|error| not_json(error.into()))?;
        Ok(Self { json, parsed: Ok(ParsedReport::Known(Box::new(report))) })
    }

    pub(crate) fn parsed(&self) -> Result<&ParsedReport, Error> {
        self.parsed.as_ref().map_err(|error| Error::msg(error.clone()))
    }

    /// What is printed of it: the JSON whole, or as much of the report as is asked for. A report of a newer schema is shown
    /// as it came.
    pub(crate) fn text(&self, extent: &Extent, output: Output, paint: Paint) -> Result<String, Failure> {
        let as_it_came = || indented(&self.json).map_err(|error| not_json(error.into()));
        match output {
            Output::Json => as_it_came(),
            Output::Table => match self.parsed().map_err(not_json)? {
                ParsedReport::Known(report) => Ok(whole_or_part(report, extent, paint)),
                ParsedReport::Newer => as_it_came(),
            },
        }
    }

    /// Prints it.
    pub(crate) fn print(&self, extent: &Extent, output: Output, console: &Console) -> Result<(), Failure> {
        console.print(&self.text(extent, output, console.out)?).map_err(Failure::printing)
    }
}

/// The report as people read it, as wide as the terminal.
fn whole_or_part(report: &Report, extent: &Extent, paint: Paint) -> String {
    let shown = extent.document(report);
    if shown.sections.is_empty() {
        return "This report has no such section; -v shows all that it has.".to_owned();
    }
    document(&shown, paint)
}

/// The failure for an answer of the analysis that is not JSON.
pub(crate) fn not_json(error: Error) -> Failure {
    Failure::infrastructure(error.context("the answer of the analysis is not JSON"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_shape_is_shown_as_it_came() {
        let text = |json: &str, extent| {
            AnsweredReport::parse(json.to_owned()).text(&extent, Output::Table, Console::plain().out)
        };
        let newer = r#"{"schema_version":2,"news":true}"#;
        assert!(text(newer, Extent::Brief).unwrap().contains("\"news\": true"));
        assert!(text("{}", Extent::Whole).is_err());
    }
}
