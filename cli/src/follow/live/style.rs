//! What the terminal of the live view can show.

use crate::console::Paint;

/// What the terminal can show.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    pub(super) paint: Paint,
    /// Whether it takes more than ASCII.
    pub(super) unicode: bool,
}
