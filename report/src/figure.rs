//! What is drawn.

/// A drawing.
#[derive(Clone, Debug, PartialEq)]
pub enum Figure {}
