//! The report as one structure: sections of paragraphs, tables and figures. It knows no page and no form; what a narrow page
//! leaves out, shortens or cannot draw is the renderers' affair, and what they need for it stands here.

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
    /// What it tells.
    pub kind: Kind,
    /// Its heading; that of [`Kind::Head`] is the title.
    pub heading: String,
    /// What stands in it.
    pub blocks: Vec<Element>,
}

/// What a section tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Which experiment it is.
    Head,
    /// What was shown, and what that is worth.
    Verdict,
    /// What the plan's rule of repetition says.
    Rule,
    /// The table per benchmark.
    Benchmarks,
    /// The verdicts beside the headlines.
    Endpoints,
    /// What to run next.
    Advice,
    /// The suite.
    Suite,
    /// The proportion of accelerated benchmarks.
    Proportion,
    /// The share of benchmarks that is truly faster.
    TrueShare,
    /// The verdicts adjusted for their number.
    Multiplicity,
    /// The Speedup-Test as it was published.
    SpeedupTest,
    /// The clusters of the times.
    Mixtures,
    /// Another metric.
    Metric,
    /// What the evidence says of independence.
    Independence,
    /// What is found where nothing differs.
    Controls,
    /// Whether the runs were what the methods take them for.
    Diagnostics,
    /// Hosts that were taken out of service.
    Exclusions,
    /// Failures and lost attempts.
    Mishaps,
    /// The caveats.
    Caveats,
    /// The runs, drawn.
    Runs,
    /// How the report was made, and how to make it again.
    Method,
}

/// A piece of a section.
#[derive(Clone, Debug, PartialEq)]
pub enum Element {
    /// Sentences.
    Paragraph {
        /// The sentences.
        text: String,
        /// What they mean.
        tone: Tone,
    },
    /// What was shown of a candidate: the sentences that are read first, all candidates' alike.
    Verdict {
        /// The sentences.
        text: String,
        /// What they mean.
        tone: Tone,
    },
    /// One of a list.
    Item(String),
    /// A command to be typed as it stands.
    Command(String),
    /// Rows and columns.
    Table(Table),
    /// A drawing.
    Figure(Box<Figure>),
}

/// What a text means, which a colour repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Nothing a colour should say.
    Plain,
    /// Significantly better.
    Better,
    /// Significantly worse.
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
    /// Its text.
    pub text: String,
    /// What it means.
    pub tone: Tone,
    /// How far it may be shortened.
    pub most: Most,
}

/// How long a text may be where there is little room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Most {
    /// It stays whole.
    Whole,
    /// A name in a table, which has its share of the page.
    Name,
    /// So many characters.
    Characters(usize),
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its heading.
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
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A part of a legend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LegendEntry {
    /// Sentences.
    pub text: String,
    /// The column without which there is nothing to explain.
    pub column: Option<usize>,
}

impl Document {
    /// Without sections.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: clean(&title.into()), sections: Vec::new(), repeats_verdict: false }
    }

    /// Begins a section.
    pub fn section(&mut self, kind: Kind, heading: impl Into<String>) {
        self.sections.push(Section { kind, heading: clean(&heading.into()), blocks: Vec::new() });
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

    /// Whether the report says what it is about before it says what was shown.
    pub fn has_head(&self) -> bool {
        self.sections.iter().any(|section| section.kind == Kind::Head)
    }
}

impl Element {
    /// Takes what others wrote for what it is, text: see [`clean`]. Figures are clean when they are made.
    fn clean(&mut self) {
        match self {
            Self::Paragraph { text, .. }
            | Self::Verdict { text, .. }
            | Self::Item(text)
            | Self::Command(text) => {
                *text = clean(text);
            }
            Self::Table(table) => {
                for row in &mut table.rows {
                    row.fields.iter_mut().for_each(|field| field.text = clean(&field.text));
                    row.note = row.note.as_deref().map(clean);
                }
                for column in &mut table.columns {
                    (column.heading, column.short) = (clean(&column.heading), clean(&column.short));
                }
                table.legend.iter_mut().for_each(|part| part.text = clean(&part.text));
            }
            Self::Figure(_) => {}
        }
    }
}

impl Kind {
    /// A word for addresses within a page.
    pub fn slug(self) -> &'static str {
        match self {
            Self::Head => "experiment",
            Self::Verdict => "verdict",
            Self::Rule => "rule",
            Self::Benchmarks => "benchmarks",
            Self::Endpoints => "endpoints",
            Self::Advice => "advice",
            Self::Suite => "suite",
            Self::Proportion => "proportion",
            Self::TrueShare => "truly-faster",
            Self::Multiplicity => "adjusted",
            Self::SpeedupTest => "speedup-test",
            Self::Mixtures => "mixtures",
            Self::Metric => "metric",
            Self::Independence => "independence",
            Self::Controls => "controls",
            Self::Diagnostics => "diagnostics",
            Self::Exclusions => "exclusions",
            Self::Mishaps => "failures",
            Self::Caveats => "caveats",
            Self::Runs => "runs",
            Self::Method => "method",
        }
    }
}

impl Field {
    /// The name of something, which may be shortened.
    pub(crate) fn name(text: impl Into<String>) -> Self {
        Self { most: Most::Name, ..text.into().into() }
    }
}

impl From<String> for Field {
    fn from(text: String) -> Self {
        Self { text, tone: Tone::Plain, most: Most::Whole }
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
    pub(crate) fn of(column: usize, text: impl Into<String>) -> Self {
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

/// A name, shortened in its middle when it is longer than `most`: names of a family often end in what tells them apart.
pub fn shortened(name: &str, most: usize) -> String {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= most {
        return name.to_owned();
    }
    let (front, back) = (most / 2, most - most / 2 - 1);
    let part = |letters: &[char]| letters.iter().collect::<String>();
    format!("{}…{}", part(&letters[..front]), part(&letters[letters.len() - back..]))
}

/// Text that stays in its place, whoever wrote it: ends of lines and tabs are spaces, and other control characters and those
/// that turn the direction of what follows (UAX 9) are seen as such.
pub(crate) fn clean(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' | '\r' | '\t' => ' ',
        '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            '\u{fffd}'
        }
        '\u{2028}' | '\u{2029}' => ' ',
        c if c.is_control() => '\u{fffd}',
        c => c,
    };
    text.chars().map(shown).collect()
}
