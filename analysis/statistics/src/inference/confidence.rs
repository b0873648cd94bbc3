//! Confidence levels, risks and p-values: three numbers between 0 and 1 that must not be mistaken for one
//! another.

use serde::{Serialize, Serializer};
use std::fmt;

/// The papers' 1 − α, strictly between 0 and 1.
///
/// ```
/// use speedup_statistics::inference::{ConfidenceLevel, PValue};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let level = ConfidenceLevel::new(0.99)?;
/// assert_eq!(level.to_string(), "99 %");
/// // A test with p = 0.02 rejects at 95 %, and not at 99 %.
/// let p_value = PValue::new(0.02)?;
/// assert!(p_value.rejects_at(ConfidenceLevel::USUAL.risk()));
/// assert!(!p_value.rejects_at(level.risk()));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct ConfidenceLevel(f64);

/// The papers' α: the probability of concluding wrongly that is accepted, or that was reached.
///
/// At least 0 and below 1. Zero is a risk too small for a double, not certainty.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Risk(f64);

/// The probability, under the null hypothesis, of a statistic at least as extreme as the observed one; in [0,
/// 1].
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct PValue(f64);

/// The least p-value, and risk, that is told: one that is smaller, or was lost below the doubles, is told as this. Readers take
/// a zero for certainty.
pub const LEAST_TOLD: f64 = 1e-300;

/// A confidence level or a risk out of its range.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum LevelError {
    /// Not strictly between 0 and 1.
    #[error("a confidence level must be strictly between 0 and 1, not {0}")]
    ConfidenceLevel(f64),
    /// Not in [0, 1).
    #[error("a risk must be at least 0 and below 1, not {0}")]
    Risk(f64),
    /// Not in [0, 1].
    #[error("a p-value must be between 0 and 1, not {0}")]
    PValue(f64),
}

speedup_core::hints! { LevelError: Self::ConfidenceLevel(_) => "95 % is written 0.95" }

/// A share that is beside 0 or 1 and neither, in percent with as many digits as it takes to tell: "0.0001".
pub fn percent_beside(share: f64) -> String {
    let beside = 100.0 * if share < 0.5 { share } else { (1.0 - share).abs() };
    // The slack is for what rounding takes from a power of ten.
    let digits = -(beside.log10() + 1e-9).floor();
    if digits <= 15.0 {
        format!("{:.*}", digits as usize, share * 100.0)
    } else {
        format!("{:.0e}", share * 100.0)
    }
}

impl ConfidenceLevel {
    /// 95 %, the level of the papers' examples.
    pub const USUAL: Self = Self(0.95);

    /// The level `level`, a fraction: 0.95 for 95 %.
    ///
    /// # Errors
    /// [`LevelError::ConfidenceLevel`] unless 0 < `level` < 1.
    pub fn new(level: f64) -> Result<Self, LevelError> {
        if level > 0.0 && level < 1.0 { Ok(Self(level)) } else { Err(LevelError::ConfidenceLevel(level)) }
    }

    /// The level as a fraction.
    pub fn get(self) -> f64 {
        self.0
    }

    /// The risk that goes with this level, 1 − level.
    pub fn risk(self) -> Risk {
        Risk(1.0 - self.0)
    }

    /// The level of an interval that misses with probability `miss`; held inside (0, 1) where rounding would
    /// leave it.
    pub(crate) fn achieved(miss: f64) -> Self {
        Self((1.0 - miss).clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON / 2.0))
    }
}

impl fmt::Display for ConfidenceLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rounded = (self.0 * 1e6).round() / 1e4;
        if rounded > 0.0 && rounded < 100.0 {
            return write!(f, "{rounded} %");
        }
        // A level is never nothing and never certainty.
        write!(f, "{} %", percent_beside(self.0))
    }
}

impl Risk {
    /// The risk `risk`, a fraction.
    ///
    /// # Errors
    /// [`LevelError::Risk`] unless 0 ≤ `risk` < 1.
    pub fn new(risk: f64) -> Result<Self, LevelError> {
        if (0.0..1.0).contains(&risk) { Ok(Self(risk)) } else { Err(LevelError::Risk(risk)) }
    }

    /// The risk as a fraction.
    pub fn get(self) -> f64 {
        self.0
    }

    /// The risk as reports tell it, never below [`LEAST_TOLD`].
    pub fn told(self) -> f64 {
        self.0.max(LEAST_TOLD)
    }

    /// 1 − risk, which rounds to 1 for a risk below 1e-16: print the risk then.
    pub fn confidence(self) -> f64 {
        1.0 - self.0
    }

    pub(crate) const fn literal(risk: f64) -> Self {
        assert!(risk >= 0.0 && risk < 1.0);
        Self(risk)
    }
}

impl PValue {
    /// That of a test which shows nothing.
    pub const ONE: Self = Self(1.0);

    /// The p-value `p` of a test made elsewhere.
    ///
    /// # Errors
    /// [`LevelError::PValue`] unless 0 ≤ `p` ≤ 1.
    pub fn new(p: f64) -> Result<Self, LevelError> {
        if (0.0..=1.0).contains(&p) { Ok(Self(p)) } else { Err(LevelError::PValue(p)) }
    }

    /// The p-value that was [told](Self::told) as `p`. One that was only told to be small is taken for 0: what follows from it is not
    /// more exact.
    pub fn from_told(p: f64) -> Self {
        if p <= LEAST_TOLD { Self(0.0) } else { Self::clamped(p) }
    }

    /// The p-value as a fraction.
    pub fn get(self) -> f64 {
        self.0
    }

    /// The p-value as reports tell it, never below [`LEAST_TOLD`].
    pub fn told(self) -> f64 {
        self.0.max(LEAST_TOLD)
    }

    /// Whether a test with this p-value rejects its null hypothesis at `risk`: p ≤ risk (Touati 2010 §4.1).
    pub fn rejects_at(self, risk: Risk) -> bool {
        self.0 <= risk.0
    }

    /// The probability `p`, with what rounding put outside [0, 1] brought back.
    pub fn clamped(p: f64) -> Self {
        debug_assert!(!p.is_nan(), "a p-value is a number");
        Self(p.clamp(0.0, 1.0))
    }
}

impl Serialize for Risk {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.told())
    }
}

impl Serialize for PValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.told())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_outside_the_open_interval_are_refused() {
        for level in [0.0, 1.0, -0.1, 95.0, f64::NAN, f64::INFINITY] {
            assert!(ConfidenceLevel::new(level).is_err(), "{level}");
        }
        assert_eq!(ConfidenceLevel::USUAL.to_string(), "95 %");
        let beside_one = ConfidenceLevel::new(1.0 - f64::EPSILON / 2.0).unwrap();
        assert_eq!(beside_one.to_string(), "99.99999999999999 %");
        assert_eq!(ConfidenceLevel::new(1e-300).unwrap().to_string(), "1e-298 %");
        assert!(Risk::new(1.0).is_err());
        assert_eq!(Risk::new(0.0).unwrap().get(), 0.0);
    }

    #[test]
    fn no_p_value_is_told_as_nothing() {
        let told = |p: f64| serde_json::to_string(&PValue::new(p).unwrap()).unwrap();
        assert_eq!([0.0, 1e-310, 1e-299, 0.25].map(told), ["1e-300", "1e-300", "1e-299", "0.25"]);
        assert_eq!(serde_json::to_string(&Risk::new(0.0).unwrap()).unwrap(), "1e-300");
        assert_eq!(PValue::new(0.0).unwrap().get(), 0.0);
        assert_eq!([1e-300, 1e-299].map(|p| PValue::from_told(p).get()), [0.0, 1e-299]);
    }
}
