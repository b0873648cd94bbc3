//! The report on a terminal. OPEN SEAM: the terminal's form is written beside the analysis; until then it is the JSON of
//! the report, which says the same.

use crate::console::Paint;
use crate::render::json::indented;

/// The report as people read it. `json` is what `Analysis.Report` answered.
pub(crate) fn report(json: &str, _paint: Paint) -> Result<String, serde_json::Error> {
    indented(json)
}
