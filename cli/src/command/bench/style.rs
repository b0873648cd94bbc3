//! How much is shown, in hyperfine's words.

use clap::ValueEnum;

use crate::console::{Color, Console};

/// The style of `--style`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Style {
    /// What suits the terminal
    #[default]
    Auto,
    /// No colours and no progress line
    Basic,
    /// Colours and a progress line, even without a terminal
    Full,
    /// A progress line without colours
    Nocolor,
    /// Colours without a progress line
    Color,
    /// Nothing but errors
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
