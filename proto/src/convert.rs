//! Conversions.
