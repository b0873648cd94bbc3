//! Shares of benchmarks and factors as sentences, tables and drawings show them.

use speedup_analysis::study::IntervalReport;

/// An interval of a proportion: "[21.9 %, 98.7 %]".
pub(crate) fn ends(interval: &IntervalReport) -> Option<String> {
    let (lower, upper) = interval.ends()?;
    Some(format!("[{}, {}]", percent_rounded(lower.max(0.0)), percent_rounded(upper.min(1.0))))
}

/// A share in percent with one decimal.
pub(crate) fn percent_rounded(share: f64) -> String {
    format!("{:.1}\u{a0}%", 100.0 * share)
}

/// A factor to three places: neighbours on the curve differ by less than ratios that are rounded to their errors.
pub(crate) fn factor(speedup: f64) -> String {
    format!("{speedup:.3}×")
}
