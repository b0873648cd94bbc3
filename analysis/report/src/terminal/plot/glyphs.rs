//! The characters of the drawings.

use crate::terminal::Plots;

/// The characters of the drawings.
#[derive(Debug)]
pub(super) struct Glyphs {
    pub(super) faster: char,
    pub(super) slower: char,
    pub(super) neither: char,
    /// Where there is no difference.
    pub(super) reference: char,
    /// Of an interval and of an axis.
    pub(super) line: char,
    pub(super) lower: char,
    pub(super) upper: char,
    /// An interval that begins before the drawing.
    pub(super) before: char,
    /// An interval that ends beyond the drawing.
    pub(super) beyond: char,
    pub(super) tick: char,
    /// Heights, the least first; nothing is a space.
    pub(super) levels: [char; 8],
}

const UNICODE: Glyphs = Glyphs {
    faster: '●',
    slower: '■',
    neither: '○',
    reference: '┊',
    line: '─',
    lower: '├',
    upper: '┤',
    before: '←',
    beyond: '→',
    tick: '┴',
    levels: ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'],
};
const ASCII: Glyphs = Glyphs {
    faster: '*',
    slower: '#',
    neither: 'o',
    reference: ':',
    line: '-',
    lower: '|',
    upper: '|',
    before: '<',
    beyond: '>',
    tick: '+',
    levels: ['.', ':', '-', '=', '+', '*', '#', '@'],
};

impl Glyphs {
    pub(super) const fn for_plots(plots: Plots) -> Option<&'static Self> {
        match plots {
            Plots::None => None,
            Plots::Ascii => Some(&ASCII),
            Plots::Unicode => Some(&UNICODE),
        }
    }

    /// The height of a share of the largest; what is nothing is empty.
    pub(super) fn height(&self, share: f64) -> char {
        if share > 0.0 { self.level(share) } else { ' ' }
    }

    /// The height of a share, at least the lowest.
    pub(super) fn level(&self, share: f64) -> char {
        let last = self.levels.len() - 1;
        self.levels[((share * self.levels.len() as f64) as usize).min(last)]
    }
}
