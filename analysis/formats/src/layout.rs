//! JSON of many tools by one reader: a layout says where a tool's documents have their results, and what is in each.
//!
//! A document is a value of the file, or an element of a list that the file is. It is what one process wrote, so its values are one
//! run. A benchmark that several documents have is measured by several runs; one that a document has twice gets the label
//! `occurrence`. The layouts are in `tools`.

mod tools;

use self::tools::LAYOUTS;
use crate::{
    AtNode, BetterWhen, Collection, Fault, FileProblem, Format, ImportCode, ImportWarning, Json, Misfit,
    MissingKind, Name, SeriesName, SeriesUnit, ValueOf, bounds::MAX_COLUMNS, json::parse_all,
};
use std::collections::{BTreeMap, BTreeSet};

/// Where a tool's documents have their results, and what is in each.
///
/// A way is of steps with `/` between: a key, or those of `a|b` that are there, of which a word takes the first; `*` for every element or
/// member; `+` for every element, each a run of its own; `tag=WORD` for the elements with that tag, which has `.` for its `/`; `**` for
/// any way.
///
/// A word is `@` and the way to it from the result or else from what encloses it, the innermost first, or with `@@` the outermost; `#` and
/// the number of a key on the way to the result, of which a `_` takes what is before its first `_`; `#*` for all of these keys but
/// `data`; or the word itself.
struct Layout {
    format: Format,
    /// The way from a document to its results.
    results: &'static str,
    /// What a value on this way has to have to be a result.
    only_with: &'static str,
    benchmark: &'static str,
    version: &'static str,
    /// Words, each behind the name of its label unless that is the field.
    labels: &'static [&'static str],
    /// The same, but labels only where they differ within the file: what all of it has in common may be what is compared.
    settings: &'static [&'static str],
    /// Fields that a result which did not fail has with this word, or not at all, and a field of the reason.
    sound: &'static [(&'static str, &'static str, &'static str)],
    /// The field by which values are divided.
    divisor: &'static str,
    /// The metrics: name, unit, and way from the result to the values.
    measures: &'static [(&'static str, &'static str, &'static str)],
    /// The way to values that are iterations, where others are means.
    iterations: &'static str,
    /// Whether a metric of nothing but zeros was not measured.
    zero_is_none: bool,
    /// What a result without values has instead of them, where that is no failure.
    summaries: &'static str,
    tool_version: &'static str,
    /// Host, system, architecture, processor, number of processors.
    machine: [&'static str; 5],
}

/// What github-action-benchmark writes before the JSON of a history, for browsers.
const ASSIGNMENT: &str = "window.BENCHMARK_DATA = ";

/// The JSON of a text that assigns it to a variable.
pub(crate) fn without_assignment(text: &str) -> &str {
    text.strip_prefix(ASSIGNMENT).unwrap_or(text)
}

pub(crate) fn read(text: &str, format: Format) -> Result<Collection, Fault> {
    let Some(layout) = LAYOUTS.iter().find(|layout| layout.format == format) else {
        return Ok(Collection::default());
    };
    let text = without_assignment(text);
    let values = parse_all(text)?;
    let mut reader = Reader::default();
    // Twice: which settings differ is known only after all results.
    for is_survey in [true, false] {
        reader.is_survey = is_survey;
        for (begin, value) in &values {
            let documents = if let Json::List(list) = value { list } else { std::slice::from_ref(value) };
            for document in documents {
                reader.begin_run();
                reader.collection.machine.complete(document, layout.machine);
                let version = reader.collection.tool_version.take();
                reader.collection.tool_version = version.or_else(|| document.fact(layout.tool_version));
                if let Err(misfit) = reader.descend(document, layout.results, layout) {
                    let line = text[..*begin].matches('\n').count() + 1;
                    return Err(value.locate(misfit, (values.len() > 1).then_some(line)));
                }
            }
        }
    }
    if reader.collection.has_no_values() && !layout.summaries.is_empty() {
        return Err(Fault::of_file(FileProblem::SummaryOnly { what: layout.summaries }));
    }
    Ok(reader.collection)
}

#[derive(Default)]
struct Reader<'j, 'a> {
    is_survey: bool,
    /// The words of each setting.
    settings: BTreeMap<&'static str, BTreeSet<Option<Name>>>,
    /// What encloses the result, outermost first, and the keys on the way to it.
    around: Vec<&'j Json<'a>>,
    keys: Vec<&'j str>,
    run: u64,
    /// The benchmarks that were reported to have no result: once for each.
    failed: BTreeSet<SeriesName>,
    collection: Collection,
}

impl<'j, 'a> Reader<'j, 'a> {
    fn begin_run(&mut self) {
        self.run += 1;
        self.collection.begin_document();
    }

    /// Goes the rest of the way to the results.
    fn descend(
        &mut self,
        node: &'j Json<'a>,
        way: &'static str,
        layout: &'static Layout,
    ) -> Result<(), Misfit> {
        let is_any_way = way == "**";
        if (way.is_empty() || is_any_way) && node.at(layout.only_with).is_some() {
            return self.collect(node, layout);
        }
        if way.is_empty() {
            return Ok(());
        }
        let (step, rest) = way.split_once('/').unwrap_or((way, if is_any_way { way } else { "" }));
        let next = steps(node, step);
        if matches!(step, "*" | "+") && !matches!(node, Json::Object(_)) {
            node.list()?;
        } else if next.is_empty() && !step.contains(['*', '+', '|', '=']) {
            node.field(step)?;
        }
        // Facts of a result may stand in what is around it.
        self.around.push(node);
        let depth = self.keys.len();
        for (key, node) in next {
            if step == "+" {
                self.begin_run();
            }
            self.keys.extend(key);
            self.descend(node, rest, layout)?;
            self.keys.truncate(depth);
        }
        self.around.pop();
        Ok(())
    }

    fn collect(&mut self, result: &'j Json<'a>, layout: &'static Layout) -> Result<(), Misfit> {
        if self.is_survey {
            for setting in layout.settings {
                let word = self.word(result, setting.rsplit(' ').next().unwrap_or(setting))?;
                self.settings.entry(setting).or_default().insert(word);
            }
            return Ok(());
        }
        let name = self.name(result, layout)?;
        // A result that its own fields call unsound has no values, whatever else stands in it.
        for (field, sound, reason) in layout.sound {
            if let Some(found) = self.field(result, field)
                && found.word()?.as_str() != *sound
            {
                let told = Name::beginning(&format!("{field} {}", found.word()?.as_str()));
                let reason = result.fact(reason);
                let kind = if *field == "is_skipped" { MissingKind::Skipped } else { MissingKind::Failed };
                if self.failed.insert(name.clone()) {
                    self.collection.miss_series(&name, kind, reason.or(Some(told))).at_node(result)?;
                }
                return Ok(());
            }
        }
        let divisor = self.field(result, layout.divisor).map_or(Ok(1.0), |divisor| divisor.number(0))?;
        let mut is_measured = false;
        for measure in layout.measures {
            is_measured |= self.collect_measure(result, layout, &name, measure, divisor)?;
        }
        if is_measured {
            return Ok(());
        }
        if !layout.summaries.is_empty() {
            let warning = ImportWarning::about(ImportCode::SummaryOnly, &name.benchmark);
            return self.collection.warn(warning).at_node(result);
        }
        if self.failed.insert(name.clone()) {
            self.collection.miss_series(&name, MissingKind::Failed, None).at_node(result)?;
        }
        Ok(())
    }

    /// Collects the values of one metric; says whether the result has any.
    fn collect_measure(
        &mut self,
        result: &'j Json<'a>,
        layout: &'static Layout,
        name: &SeriesName,
        &(metric, unit, way): &(&'static str, &'static str, &'static str),
        divisor: f64,
    ) -> Result<bool, Misfit> {
        // In some files the same way leads to another thing, which the key before `?` tells.
        let (guard, steps_of_way) = way.split_once('?').unwrap_or(("", way));
        if !guard.is_empty() && result.get(guard).is_none() {
            return Ok(false);
        }
        let mut values = vec![result];
        for step in steps_of_way.split('/') {
            values = values.iter().flat_map(|node| steps(node, step)).map(|(_, node)| node).collect();
        }
        if values.is_empty() {
            return Ok(false);
        }
        if layout.zero_is_none && values.iter().all(|value| value.number(0).is_ok_and(|number| number == 0.0))
        {
            return Ok(true);
        }
        let value_of = if way == layout.iterations { Some(ValueOf::Iteration) } else { None };
        let metric = self.required(result, metric)?;
        let unit = self.word(result, unit)?;
        let unit = unit.map_or((SeriesUnit::Bare, 0), |unit| unit_of(&unit, &metric));
        let series = self.collection.distinct(name.with_metric(metric)).at_node(result)?.in_unit(unit);
        self.collection.declare(&series.name, self.direction(result), value_of);
        for value in values {
            // A divisor of 0 makes values that are not finite, which are left out too.
            let pushed = match value {
                _ if value.is_not_finite() => self.collection.leave_out(&series.name),
                // nvbench writes numbers as texts, so that no reader rounds them.
                Json::Text(text) => self.collection.push_text(&series, self.run, text),
                _ => self.collection.push(&series, self.run, value.number(series.shift)? / divisor),
            };
            pushed.at_node(value)?;
        }
        Ok(true)
    }

    fn name(&self, result: &'j Json<'a>, layout: &'static Layout) -> Result<SeriesName, Misfit> {
        let mut name = SeriesName::wall(self.required(result, layout.benchmark)?);
        name.version = self.word(result, layout.version)?;
        let varied = layout.settings.iter().filter(|setting| self.settings[*setting].len() > 1);
        for place in layout.labels.iter().chain(varied) {
            let (label, place) = place.split_once(' ').unwrap_or((&place[1..], place));
            if let Some(word) = self.word(result, place)? {
                name.labels.insert(Name::of(label), word);
            }
        }
        Ok(name)
    }

    fn field(&self, result: &'j Json<'a>, way: &str) -> Option<&'j Json<'a>> {
        // Every result would be sought in an object of thousands of results; a tool's facts are in smaller ones.
        let mut around = self
            .around
            .iter()
            .filter(|outer| !matches!(outer, Json::Object(members) if members.len() > MAX_COLUMNS));
        match way.strip_prefix('@') {
            _ if way.is_empty() => None,
            Some(way) => around.find_map(|outer| outer.at(way)),
            None => result.at(way).or_else(|| around.rev().find_map(|outer| outer.at(way))),
        }
    }

    fn word(&self, result: &'j Json<'a>, word: &'static str) -> Result<Option<Name>, Misfit> {
        if let Some(way) = word.strip_prefix('@') {
            return self.field(result, way).map(Json::word).transpose();
        }
        let text = match word.strip_prefix('#') {
            None => word.to_owned(),
            Some("*") => {
                let keys: Vec<&str> = self.keys.iter().copied().filter(|key| *key != "data").collect();
                if keys.is_empty() { "unnamed".to_owned() } else { keys.join("/") }
            }
            Some(number) => {
                // Where a list stands in the place of an object there is no key.
                let at = number.trim_end_matches('_').parse().ok();
                let key = at.and_then(|at: usize| self.keys.get(at)).copied().unwrap_or_default();
                let cut = if number.ends_with('_') { key.split('_').next() } else { None };
                cut.unwrap_or(key).to_owned()
            }
        };
        if text.is_empty() {
            return Ok(None);
        }
        Name::new(text).map(Some).at_node(result)
    }

    fn required(&self, result: &'j Json<'a>, word: &'static str) -> Result<Name, Misfit> {
        let missing = FileProblem::Missing { field: word.trim_start_matches('@') };
        self.word(result, word)?.ok_or_else(|| result.misfit(missing))
    }

    /// Which values are the better ones, as github-action-benchmark says it of what it cannot know.
    fn direction(&self, result: &'j Json<'a>) -> Option<BetterWhen> {
        match self.field(result, "tool")?.text().ok()? {
            "customBiggerIsBetter" => Some(BetterWhen::Higher),
            "customSmallerIsBetter" => Some(BetterWhen::Lower),
            _ => None,
        }
    }
}

/// What a step leads to, with the keys that it takes.
fn steps<'j, 'a>(node: &'j Json<'a>, step: &'static str) -> Vec<(Option<&'j str>, &'j Json<'a>)> {
    match (node, step) {
        (Json::List(elements), "*" | "+" | "**") => elements.iter().map(|element| (None, element)).collect(),
        (Json::Object(_), "*" | "**") => node.members().map(|(key, member)| (Some(key), member)).collect(),
        (Json::List(elements), _) if step.starts_with("tag=") => {
            let tag = step.trim_start_matches("tag=");
            elements.iter().filter(|element| is_tagged(element, tag)).map(|element| (None, element)).collect()
        }
        _ => step.split('|').filter_map(|key| Some((Some(key), node.get(key)?))).collect(),
    }
}

fn is_tagged(element: &Json<'_>, tag: &str) -> bool {
    matches!(element.get("tag"), Some(Json::Text(found)) if found.replace('/', ".") == tag)
}

/// The unit that a tool's word means, and the power of ten to it. What is for one iteration or operation has the unit of that; Bencher's
/// measures have the units that their names imply.
fn unit_of(word: &Name, metric: &Name) -> (SeriesUnit, i32) {
    let text = word.as_str();
    let text = match text.strip_suffix("/iter").or_else(|| text.strip_suffix("/op")).unwrap_or(text) {
        "latency" => "ns",
        "build-time" => "s",
        "file-size" => "B",
        "throughput" => "ops/s",
        _ if word == metric => "",
        text => text,
    };
    SeriesUnit::of_word(&Name::beginning(text))
}
