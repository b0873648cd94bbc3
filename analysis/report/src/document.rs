//! The report as one structure: sections of paragraphs, tables and figures. It knows no page and no form; what a narrow page
//! leaves out, shortens or cannot draw is the renderers' affair, and what they need for it stands here.

use speedup_analysis::conclusion::{EndpointVerdict, Verdict};
use speedup_core::value::foreign::one_line;

use crate::figure::Figure;

/// A report that people read, in the order in which they read it.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// What it is about.
    pub title: String,
    /// Its parts; the verdict comes first.
    pub sections: Vec<Section>,
    /// Whether it is long, so that where only its end is seen the verdict is said again.
    pub repeats_verdict: bool,
}

/// A part under a heading of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    pub kind: Kind,
    /// Its heading; that of [`Kind::Head`] is the title.
    pub heading: String,
    /// What stands in it.
    pub blocks: Vec<Element>,
}

speedup_core::words! {
    /// What a section tells.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Kind {
        /// Which experiment it is.
        Head = "experiment",
        /// What was shown, and what that is worth.
        Verdict = "verdict",
        /// What the plan's rule of repetition says.
        Rule = "rule",
        /// The table per benchmark.
        Benchmarks = "benchmarks",
        /// What to run next.
        Advice = "advice",
        /// The verdicts beside the headlines.
        Endpoints = "endpoints",
        /// What more hosts bring.
        Scaling = "scaling",
        /// What the ranks of runs on several hosts took.
        Ranks = "ranks",
        Suite = "suite",
        /// The proportion of accelerated benchmarks.
        Proportion = "proportion",
        /// The share of benchmarks that is truly faster.
        TrueShare = "truly-faster",
        /// The verdicts adjusted for their number.
        Multiplicity = "adjusted",
        /// The Speedup-Test as it was published.
        SpeedupTest = "speedup-test",
        /// The clusters of the times.
        Mixtures = "mixtures",
        Metric = "metric",
        /// What the evidence says of independence.
        Independence = "independence",
        /// What is found where nothing differs.
        Controls = "controls",
        /// Whether the runs were what the methods take them for.
        Diagnostics = "diagnostics",
        /// Hosts that were taken out of service.
        Exclusions = "exclusions",
        /// Failures and lost attempts.
        Mishaps = "failures",
        Caveats = "caveats",
        Runs = "runs",
        /// How the report was made, and how to make it again.
        Method = "method",
        /// What to do next, where the report is brief.
        Next = "next",
    }
    /// A word for addresses within a page, and for asking for the section.
    fn slug;
    /// All of them, in the order of a report.
    const ALL;
}

/// A piece of a section.
#[derive(Clone, Debug, PartialEq)]
pub enum Element {
    Paragraph {
        text: String,
        tone: Tone,
    },
    /// What was shown of a candidate: the sentences that are read first, all candidates' alike.
    Verdict {
        text: String,
        tone: Tone,
    },
    /// One of a list.
    Item(String),
    /// A command to be typed as it stands.
    Command(String),
    Table(Table),
    Figure(Box<Figure>),
}

/// What a text means, which a colour repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Nothing a colour should say.
    Plain,
    Better,
    Worse,
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The columns; the first is what the rows are about.
    pub columns: Vec<Column>,
    /// The rows, each with a field a column.
    pub rows: Vec<TableRow>,
    /// One paragraph under the table, in parts that explain what is shown.
    pub legend: Vec<LegendEntry>,
    /// Whether it is told that columns are left out for want of room.
    pub tells_left_out: bool,
}

/// A row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableRow {
    /// A field a column.
    pub fields: Vec<Field>,
    /// What stands under it, whole.
    pub note: Option<String>,
}

/// A field of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub text: String,
    pub tone: Tone,
    /// How far it may be shortened.
    pub limit: TextLimit,
}

/// How long a text may be where there is little room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextLimit {
    Whole,
    /// A name in a table, which has its share of the page.
    Name,
    Characters(usize),
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub heading: String,
    /// The heading where there is little room.
    pub short: String,
    /// Where its fields are flush.
    pub align: Align,
    /// 0 is always shown; the others as far as there is room, in the order of their numbers.
    pub rank: u8,
}

/// At which side a column's fields are flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
}

/// A part of a legend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LegendEntry {
    pub text: String,
    /// The column without which there is nothing to explain.
    pub column: Option<usize>,
}

impl Document {
    /// Without sections.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: one_line(&title.into()), sections: Vec::new(), repeats_verdict: false }
    }

    /// Begins a section.
    pub fn section(&mut self, kind: Kind, heading: impl Into<String>) {
        self.sections.push(Section { kind, heading: one_line(&heading.into()), blocks: Vec::new() });
    }

    /// Adds sentences to the last section.
    pub fn paragraph(&mut self, text: impl Into<String>, tone: Tone) {
        self.push(Element::Paragraph { text: text.into(), tone });
    }

    /// Adds one of a list.
    pub fn item(&mut self, text: impl Into<String>) {
        self.push(Element::Item(text.into()));
    }

    /// Adds rows and columns.
    pub fn table(&mut self, table: Table) {
        self.push(Element::Table(table));
    }

    pub(crate) fn push(&mut self, mut block: Element) {
        block.clean();
        if self.sections.is_empty() {
            self.section(Kind::Head, self.title.clone());
        }
        if let Some(section) = self.sections.last_mut() {
            section.blocks.push(block);
        }
    }

    /// Its sections of these kinds alone.
    #[must_use]
    pub fn only(mut self, kinds: &[Kind]) -> Self {
        self.sections.retain(|section| kinds.contains(&section.kind));
        Self { repeats_verdict: false, ..self }
    }

    /// Whether the report says what it is about before it says what was shown.
    pub fn has_head(&self) -> bool {
        self.sections.iter().any(|section| section.kind == Kind::Head)
    }
}

impl Element {
    /// Takes what others wrote for what it is, text: see [`one_line`]. Figures are clean when they are made.
    fn clean(&mut self) {
        match self {
            Self::Paragraph { text, .. }
            | Self::Verdict { text, .. }
            | Self::Item(text)
            | Self::Command(text) => {
                *text = one_line(text);
            }
            Self::Table(table) => {
                for row in &mut table.rows {
                    row.fields.iter_mut().for_each(|field| field.text = one_line(&field.text));
                    row.note = row.note.as_deref().map(one_line);
                }
                for column in &mut table.columns {
                    (column.heading, column.short) = (one_line(&column.heading), one_line(&column.short));
                }
                table.legend.iter_mut().for_each(|part| part.text = one_line(&part.text));
            }
            Self::Figure(_) => {}
        }
    }
}

impl Kind {
    /// Those that a whole report may have, in its order.
    pub fn whole() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|kind| *kind != Self::Next)
    }
}

impl Field {
    /// The name of something, which may be shortened.
    pub(crate) fn name(text: impl Into<String>) -> Self {
        Self { limit: TextLimit::Name, ..text.into().into() }
    }
}

impl From<Verdict> for Tone {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Faster => Self::Better,
            Verdict::Slower => Self::Worse,
            Verdict::Same | Verdict::Undecided | Verdict::NotEnoughData => Self::Plain,
        }
    }
}

impl From<EndpointVerdict> for Tone {
    fn from(verdict: EndpointVerdict) -> Self {
        match verdict {
            EndpointVerdict::Better => Self::Better,
            EndpointVerdict::Worse => Self::Worse,
            EndpointVerdict::Same | EndpointVerdict::Undecided | EndpointVerdict::NotEnoughData => {
                Self::Plain
            }
        }
    }
}

impl From<String> for Field {
    fn from(text: String) -> Self {
        Self { text, tone: Tone::Plain, limit: TextLimit::Whole }
    }
}

impl From<&str> for Field {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<Vec<Field>> for TableRow {
    fn from(fields: Vec<Field>) -> Self {
        Self { fields, note: None }
    }
}

impl LegendEntry {
    /// What is explained whatever columns there are.
    pub(crate) fn always(text: impl Into<String>) -> Self {
        Self { text: text.into(), column: None }
    }

    /// What is explained beside this column.
    pub(crate) fn for_column(column: usize, text: impl Into<String>) -> Self {
        Self { text: text.into(), column: Some(column) }
    }
}

impl Column {
    /// A column that is called the same wherever there is room.
    pub fn new(heading: impl Into<String>, align: Align, rank: u8) -> Self {
        let heading = heading.into();
        Self { short: heading.clone(), heading, align, rank }
    }

    /// The same with another heading where there is little room.
    pub(crate) fn or(self, short: impl Into<String>) -> Self {
        Self { short: short.into(), ..self }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_kind_has_a_word_of_its_own() {
        let words: BTreeSet<&str> = Kind::whole().map(Kind::slug).collect();
        assert_eq!(words.len(), Kind::whole().count());
    }
}
