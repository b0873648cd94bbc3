//! The plan file: the TOML text in which a user writes an experiment. [`parse`] reads it, [`schema`] describes it.
//!
//! It is not the experiment: the file's form may change while experiments are kept. Reading goes from the text to a
//! document with positions, whose shape is compared with the schema; then to the form, which fills in defaults; then
//! to the [`Experiment`], which passes the same door as any other. Every error names line and column, shows the line,
//! and ends in a hint; all that can be found in one pass is told at once.
//!
//! Defaults: 31 runs, the fewest that the Speedup-Test calls many; metrics wall, user, system, max_rss (wall
//! always); policy distinct, scope benchmark; centre trimmed, confidence 0.95, weights equal, precision 0.05; timeout 10
//! minutes, no warm-up, exit code 0; 3 attempts; output limited to 64 MiB, of which 16 KiB are kept of failed runs; the
//! environment as the host is, nothing done before or after an execution.

mod document;
mod finding;
mod form;
mod json;
mod look;
mod lower;
mod quantity;
mod shape;
mod spelling;

#[cfg(test)]
mod tests;

use schemars::generate::SchemaSettings;
use serde::Deserialize as _;
use serde_json::Value;
use toml::{Spanned, de::DeTable, de::Deserializer};

pub(crate) use finding::Flaws;
pub use finding::{Finding, PlanFileError};
pub use json::{JsonError, toml_of_json};
pub use look::{FoundCommit, PlanLook, Unusable, WantedAt, WantedCommit, WantedFile};
pub(crate) use quantity::span;
pub use spelling::nearest;

use self::form::Form;
use crate::{experiment::Experiment, value::seed::Seed};

/// A size as plans and flags write it, in bytes.
pub fn size(text: &str) -> Result<u64, String> {
    quantity::size(text).ok_or_else(|| quantity::SIZE_HINT.to_owned())
}

/// Largest plan file: a hundred thousand benchmarks of 160 bytes each.
pub const MAX_PLAN_BYTES: usize = 16 << 20;

/// The experiment that a plan file describes, where nothing has to be looked at for it. `fallback_seed` is taken when
/// the file names none.
pub fn parse(text: &str, fallback_seed: Seed) -> Result<Experiment, PlanFileError> {
    parse_with(text, fallback_seed, &mut look::NoPlanLook)
}

/// The same; `look` is asked what the files hold that the plan names, and which commits its revisions are. The centre is written into the
/// experiment where the plan declares none, so that another default of a later release does not change what is said of it.
pub fn parse_with(
    text: &str,
    fallback_seed: Seed,
    look: &mut dyn PlanLook,
) -> Result<Experiment, PlanFileError> {
    let mut experiment = parse_of_versions(2, text, fallback_seed, look)?;
    experiment.analysis.center.get_or_insert_default();
    Ok(experiment)
}

/// The same of a plan of which one version stands for others: it need not have two, nor a baseline among one. The centre stays open where the plan
/// declares none: a track that keeps the text has one of its own.
pub fn parse_template(
    text: &str,
    fallback_seed: Seed,
    look: &mut dyn PlanLook,
) -> Result<Experiment, PlanFileError> {
    parse_of_versions(1, text, fallback_seed, look)
}

fn parse_of_versions(
    fewest: usize,
    text: &str,
    fallback_seed: Seed,
    look: &mut dyn PlanLook,
) -> Result<Experiment, PlanFileError> {
    let mut flaws = Flaws::default();
    let experiment = read(fewest, text, fallback_seed, look, &mut flaws);
    flaws.into_result(text)?;
    Ok(experiment.expect("what cannot be read has a flaw"))
}

fn refuse(error: &toml::de::Error, hint: &str, flaws: &mut Flaws) {
    flaws.note(error.span().unwrap_or(0..0), || (error.message().to_owned(), hint.to_owned()));
}

/// Reads as far as is possible; whatever stands against it is noted.
fn read(
    fewest: usize,
    text: &str,
    fallback_seed: Seed,
    look: &mut dyn PlanLook,
    flaws: &mut Flaws,
) -> Option<Experiment> {
    if text.len() > MAX_PLAN_BYTES {
        let cause = format!("the plan has {} bytes, but at most {MAX_PLAN_BYTES} are read", text.len());
        flaws.note(0..0, || (cause, "split the experiment".to_owned()));
        return None;
    }
    let document = match DeTable::parse(text) {
        Ok(document) => document,
        Err(error) => {
            refuse(&error, "the file is not valid TOML here; see https://toml.io", flaws);
            return None;
        }
    };
    let experiment = understand(fewest, &document, text, fallback_seed, look, flaws);
    flaws.locate(|at| document::keys_at(document.get_ref(), at));
    experiment
}

/// What a document says.
fn understand(
    fewest: usize,
    document: &Spanned<DeTable<'_>>,
    text: &str,
    fallback_seed: Seed,
    look: &mut dyn PlanLook,
    flaws: &mut Flaws,
) -> Option<Experiment> {
    shape::compare(document.get_ref(), &schema(), flaws);
    if flaws.any() {
        return None;
    }
    let form = match Form::deserialize(Deserializer::from(document.clone())) {
        Ok(form) => form,
        Err(error) => {
            refuse(&error, "the schema of the plan file says what is possible", flaws);
            return None;
        }
    };
    let document = document.get_ref();
    let experiment = lower::lower(fewest, form, document, fallback_seed, look, flaws);
    if let Err(error) = experiment.check_of_versions(fewest) {
        for problem in error.problems() {
            let span = document::span_of_problem(text, document, problem);
            flaws.note(span, || (format!("{}: {}", problem.place, problem.fault), problem.fault.hint()));
        }
        flaws.note_untold(error.untold());
    }
    Some(experiment)
}

/// The JSON Schema (draft 2020-12) of the plan file, made from its form, so that it cannot differ from what is read. Editors complete and check plans with it.
pub fn schema() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<Form>().to_value();
    without_null(&mut schema);
    schema
}

/// Takes out the null that schemars allows for what may be absent: TOML has none.
fn without_null(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::Array(kinds)) = members.get_mut("type") {
                kinds.retain(|kind| kind != "null");
                if let [only] = kinds.as_slice() {
                    let only = only.clone();
                    members.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(either)) = members.get_mut("anyOf") {
                either.retain(|one| one["type"] != "null");
                if let [Value::Object(only)] = either.as_mut_slice() {
                    let only = std::mem::take(only);
                    members.remove("anyOf");
                    // The field's own description stands before its type's.
                    for (key, value) in only {
                        members.entry(key).or_insert(value);
                    }
                }
            }
            if members.get("default").is_some_and(Value::is_null) {
                members.remove("default");
            }
            members.values_mut().for_each(without_null);
        }
        Value::Array(items) => items.iter_mut().for_each(without_null),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
