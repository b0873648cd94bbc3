//! How much is shown, in hyperfine's words.

use clap::ValueEnum;

use crate::console::{Color, Console};

/// The style of `--style`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Style {
    /// What fits where it is shown.
    #[default]
    Auto,
    /// Neither colours nor a line that is drawn anew.
    Basic,
    /// Both, terminal or not.
    Full,
    /// A line that is drawn anew, without colours.
    Nocolor,
    /// Colours, and no line that is drawn anew.
    Color,
    /// Nothing; errors are still told.
    None,
}

impl Style {
    /// The console in this style.
    pub(super) fn of(self, console: &Console) -> Console {
        let with = |color, interactive| Console { interactive, ..Console::new(color) };
        match self {
            Self::Auto => console.clone(),
            Self::Basic => with(Color::Never, false),
            Self::Full => with(Color::Always, true),
            Self::Nocolor => with(Color::Never, true),
            Self::Color => with(Color::Always, false),
            Self::None => Console { silent: true, interactive: false, ..console.clone() },
        }
    }
}
