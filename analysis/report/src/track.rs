//! What a track says: its steps, its benchmarks, and the history of each.

use speedup_analysis::track::{
    RatioReport, TrackBenchmark, TrackCommit, TrackEntryState, TrackPointReport, TrackReport, TrackStepReport,
};
use speedup_analysis::{conclusion::Word, count::counted, count::percent, count::ratio, count::spread};
use speedup_core::{experiment::commit::Commit, experiment::metric::Better, experiment::metric::Metric};
use speedup_statistics::track::{ChangeShape, Track};

use crate::document::{
    Align, Column, Document, Element, Field, Kind, LegendEntry, Table, TableRow, TextLimit, Tone,
};
use crate::{facts::Sheet, facts::SheetCell, facts::number, facts::words, figure::Figure, figure::History};

/// Points of a benchmark that a table shows, the newest; the sheet has all.
const MOST_POINTS_SHOWN: usize = 30;
/// Characters of a subject where there is little room.
const MOST_OF_A_SUBJECT: usize = 40;
/// What stands for nothing in a table.
const NOTHING: &str = "–";

impl Document {
    /// All of a track.
    pub fn track(report: &TrackReport) -> Self {
        let mut document = Self::brief_track(report);
        for benchmark in &report.benchmarks {
            write_points(&mut document, report, benchmark);
        }
        write_method(&mut document, report);
        document
    }

    /// What was found, and the benchmarks: what fits a screen.
    pub fn brief_track(report: &TrackReport) -> Self {
        let mut document = Self::new(format!("Track {}", report.terms.name));
        write_head(&mut document, report);
        write_verdict(&mut document, report);
        write_benchmarks(&mut document, report);
        if !report.caveats.is_empty() {
            document.section(Kind::Caveats, "Caveats");
            report.caveats.iter().for_each(|caveat| document.item(caveat));
        }
        document
    }
}

fn write_head(document: &mut Document, report: &TrackReport) {
    let terms = &report.terms;
    document.section(Kind::Head, format!("Track {}", terms.name));
    let references: Vec<String> = terms.references.iter().map(reference).collect();
    let latest = match &report.commits[..] {
        [] | [_] => "none yet".to_owned(),
        [.., latest] => latest.in_words(),
    };
    document.paragraph(
        format!(
            "{} of {}, beside {}; latest {latest}; {} a year declared, of {} together",
            counted(report.points() as u64, "point"),
            terms.branch,
            references.join(" and "),
            alarms(terms.false_alarms_a_year),
            counted(terms.benchmarks.len() as u64, "benchmark"),
        ),
        Tone::Plain,
    );
}

/// A reference by its revision, and its commit where that is not the same.
fn reference(commit: &Commit) -> String {
    match commit.revision.as_str() {
        revision if commit.id.starts_with(revision) => commit.short().to_owned(),
        revision => format!("{revision} ({})", commit.short()),
    }
}

fn alarms(number: f64) -> String {
    format!("{number} {}", if number == 1.0 { "false alarm" } else { "false alarms" })
}

fn write_verdict(document: &mut Document, report: &TrackReport) {
    document.section(Kind::Verdict, "Verdict");
    let open: Vec<&TrackStepReport> =
        report.steps.iter().filter(|step| step.acknowledged.is_none()).collect();
    for sentence in &report.sentences {
        let step = open.iter().find(|step| report.sentence(step) == *sentence);
        let tone = step.map_or(Tone::Plain, |step| step_tone(step));
        document.push(Element::Verdict { text: sentence.clone(), tone });
    }
    if report.steps.is_empty() {
        return;
    }
    let columns = vec![
        Column::new("step", Align::Right, 0),
        Column::new("benchmark", Align::Left, 0),
        Column::new("ratio", Align::Left, 0),
        Column::new("shape", Align::Left, 2),
        Column::new("commits", Align::Right, 0),
        Column::new("likeliest", Align::Left, 0),
        Column::new("found at", Align::Left, 1),
        Column::new("acknowledged", Align::Left, 1),
    ];
    let text = "Ratio: the new level over the old one, with its interval. Commits: how many may have begun it. Found at: the \
                commit whose point raised the alarm. `speedup track acknowledge` takes a step for the new level.";
    let legend = vec![LegendEntry::always(text)];
    document.table(Table {
        columns,
        rows: report.steps.iter().map(|step| step_row(report, step)).collect(),
        legend,
        tells_left_out: false,
    });
}

fn step_tone(step: &TrackStepReport) -> Tone {
    if step.is_worse { Tone::Worse } else { Tone::Better }
}

fn step_row(report: &TrackReport, step: &TrackStepReport) -> TableRow {
    let [lower, upper] = step.size.interval;
    let size = ratio(step.size.ratio, Some((lower, upper)));
    let shape = match step.shape {
        ChangeShape::Step => "step",
        ChangeShape::Drift => "drift",
        ChangeShape::Undecided => "undecided",
    };
    let acknowledged = step.acknowledged.as_ref().map_or(NOTHING, |one| one.by.as_str());
    let note = step.acknowledged.as_ref().map(|one| one.note.clone()).filter(|note| !note.is_empty());
    let fields = vec![
        step.number.to_string().into(),
        Field::name(&step.benchmark),
        Field { tone: step_tone(step), ..size.into() },
        shape.into(),
        step.set.versions.len().to_string().into(),
        name(report, &step.set.likeliest),
        short(report, &step.found_at).into(),
        acknowledged.into(),
    ];
    TableRow { fields, note }
}

fn write_benchmarks(document: &mut Document, report: &TrackReport) {
    let terms = &report.terms;
    let reference = terms.references.first().map_or("the reference", |commit| commit.revision.as_str());
    let of = if terms.metric == Metric::Wall.name() { "wall time".to_owned() } else { terms.metric.clone() };
    document.section(Kind::Benchmarks, format!("Benchmarks: {of} over that of {reference}"));
    let columns = vec![
        Column::new("benchmark", Align::Left, 0),
        Column::new("points", Align::Right, 1),
        Column::new("now", Align::Left, 0),
        Column::new("since", Align::Left, 1),
        Column::new("evidence", Align::Right, 2),
        Column::new("noise floor", Align::Right, 1),
        Column::new("found", Align::Right, 2),
    ];
    let mut rows = Vec::new();
    for benchmark in &report.benchmarks {
        let level = benchmark.levels.last();
        let floor = benchmark.noise_floor.as_ref();
        rows.push(TableRow::from(vec![
            Field::name(&benchmark.benchmark),
            benchmark.points.len().to_string().into(),
            level.map_or_else(|| NOTHING.to_owned(), |level| shown(&level.ratio)).into(),
            level.map_or(NOTHING, |level| short(report, &level.from)).into(),
            format!("{:.1} of {:.0}", benchmark.evidence, benchmark.threshold).into(),
            floor.map_or_else(|| NOTHING.to_owned(), |floor| spread(floor.usual.ratio - 1.0)).into(),
            floor.map_or_else(|| NOTHING.to_owned(), |floor| spread(floor.smallest_found.ratio - 1.0)).into(),
        ]));
    }
    let level = percent(terms.confidence);
    let better = match terms.better {
        Better::Lower => "less is better",
        Better::Higher => "more is better",
    };
    let text = format!(
        "Now: the median ratio of the points since the latest step; {better}. Evidence: for a change since the latest alarm, and what raises one. \
         Noise floor: within which the reference is of itself in {level} of points. Found: the smallest change that a single point \
         shows in 80\u{a0}% of cases."
    );
    document.table(Table { columns, rows, legend: vec![LegendEntry::always(text)], tells_left_out: true });
}

fn write_points(document: &mut Document, report: &TrackReport, benchmark: &TrackBenchmark) {
    document.section(Kind::Suite, format!("History: {}", benchmark.benchmark));
    if let Some(history) = History::from_report(report, benchmark) {
        document.push(Element::Figure(Box::new(Figure::History(history))));
    }
    let columns = vec![
        Column::new("commit", Align::Left, 0),
        Column::new("subject", Align::Left, 1),
        Column::new("measured", Align::Left, 2),
        Column::new("blocks", Align::Right, 2),
        Column::new("ratio", Align::Left, 0),
        Column::new("control", Align::Right, 1),
    ];
    let tried: Vec<&TrackCommit> = report.commits.iter().filter(|commit| commit.state.is_some()).collect();
    let left_out = tried.len().saturating_sub(MOST_POINTS_SHOWN);
    let rows = tried[left_out..].iter().map(|commit| {
        let point = benchmark.points.iter().rev().find(|point| point.commit == commit.id);
        point_row(commit, point)
    });
    let text = "Blocks: with both commit and reference. Ratio: their median, with its interval where the blocks are enough. Control: the reference \
                again over the reference.";
    let legend = vec![LegendEntry::always(text)];
    document.table(Table { columns, rows: rows.collect(), legend, tells_left_out: false });
    if left_out > 0 {
        let text = format!("{} before these are in --format csv.", counted(left_out as u64, "point"));
        document.paragraph(text, Tone::Plain);
    }
}

fn point_row(commit: &TrackCommit, point: Option<&TrackPointReport>) -> TableRow {
    let ratio = match (commit.state.as_ref().and_then(Word::known), point.and_then(|point| point.ratio)) {
        (Some(TrackEntryState::NotBuilt), _) => "not built".to_owned(),
        (Some(TrackEntryState::Unfinished), _) => "unfinished".to_owned(),
        (_, Some(ratio)) => shown(&ratio),
        (Some(TrackEntryState::Failing), None) => "fails".to_owned(),
        (_, None) => NOTHING.to_owned(),
    };
    let subject = Field { limit: TextLimit::Characters(MOST_OF_A_SUBJECT), ..commit.subject.clone().into() };
    let control = point.and_then(|point| point.control);
    TableRow::from(vec![
        commit.short().into(),
        subject,
        commit.day().unwrap_or_else(|| NOTHING.to_owned()).into(),
        point.map_or_else(|| NOTHING.to_owned(), |point| point.blocks.to_string()).into(),
        ratio.into(),
        control
            .map_or_else(|| NOTHING.to_owned(), |control| speedup_analysis::count::ratio(control, None))
            .into(),
    ])
}

fn write_method(document: &mut Document, report: &TrackReport) {
    let terms = &report.terms;
    document.section(Kind::Method, "Method");
    let counted = if terms.builds_alike {
        "Each block counts as a ratio."
    } else {
        "Each point counts as one ratio, the pseudo-median of its blocks (Hodges and Lehmann 1963)."
    };
    let within = terms
        .margin
        .map_or_else(String::new, |margin| format!(" Changes up to {} count as none.", percent(margin)));
    document.item(format!(
        "Alarms: {}. For {} points a year, {} a year declared, of all benchmarks together. {counted}{within}",
        Track::NAME,
        terms.points_a_year,
        alarms(terms.false_alarms_a_year)
    ));
    document.item("Commits and sizes: Bayes' rule with Student's noise, one change.");
    document.item(
        "Intervals of points and levels: between order statistics. Noise floor: quantiles of the controls.",
    );
}

/// A ratio with its interval.
fn shown(of: &RatioReport) -> String {
    ratio(of.ratio, of.interval.map(|[lower, upper]| (lower, upper)))
}

fn short<'r>(report: &'r TrackReport, id: &'r str) -> &'r str {
    report.commit(id).map_or(id, TrackCommit::short)
}

fn name(report: &TrackReport, id: &str) -> Field {
    let words = report.commit(id).map_or_else(|| id.to_owned(), TrackCommit::in_words);
    Field { limit: TextLimit::Characters(MOST_OF_A_SUBJECT), ..words.into() }
}

/// The points as CSV, one row per benchmark and commit.
pub fn sheet(report: &TrackReport) -> Sheet {
    let headings = vec![
        words("benchmark", "benchmark"),
        words("commit", "commit"),
        words("subject", "subject"),
        words("ended", "ended"),
        number("blocks", "blocks"),
        number("ratio", "ratio"),
        number("ratio_lower", "lower"),
        number("ratio_upper", "upper"),
        number("control", "control"),
    ];
    let rows = report.benchmarks.iter().flat_map(|benchmark| {
        benchmark.points.iter().map(move |point| {
            let commit = report.commit(&point.commit);
            let ends = point.ratio.and_then(|ratio| ratio.interval);
            vec![
                SheetCell::text(&benchmark.benchmark),
                SheetCell::text(&point.commit),
                SheetCell::text(commit.map_or("", |commit| commit.subject.as_str())),
                commit.and_then(TrackCommit::moment).map_or(SheetCell::Absent, SheetCell::text),
                SheetCell::Count(point.blocks),
                SheetCell::optional(point.ratio.map(|ratio| ratio.ratio)),
                SheetCell::optional(ends.map(|[lower, _]| lower)),
                SheetCell::optional(ends.map(|[_, upper]| upper)),
                SheetCell::optional(point.control),
            ]
        })
    });
    Sheet { headings, rows: rows.collect() }
}
