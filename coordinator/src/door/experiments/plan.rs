//! A plan as it is handed in becomes one with every run, or all that stands against it is told at once: in words, and field by
//! field as `google.rpc.BadRequest` in the details of the status.

use speedup_core::{
    experiment::Experiment, experiment::ExperimentError, experiment::files::FileSource,
    journal::MAX_RECORD_BYTES, plan::Plan, plan::file::FoundCommit, plan::file::PlanFileError,
    plan::file::PlanLook, plan::file::Unusable, plan::file::WantedAt, plan::file::WantedCommit,
    plan::file::WantedFile, plan::file::parse_with, plan::file::toml_of_json, value::hint::with_hint,
    value::seed::Seed,
};
use speedup_proto::{convert::Proposal, v1};
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, FieldViolation, StatusExt as _};
use uuid::Uuid;

use crate::door::blocking;

/// What a plan may take of a record of the journal; the rest is for the event around it.
const MAX_PLAN_BYTES: usize = MAX_RECORD_BYTES - (1 << 16);
/// Most bytes of the words of a refusal, and of its fields: both are headers of HTTP, of which clients of gRPC take 8 KiB in all. The
/// words are there twice, once with escapes, and the other time with the fields in Base64.
const MAX_WORDS_BYTES: usize = 1 << 10;
const MAX_DETAILS_BYTES: usize = 2 << 10;

/// The plan with every run.
pub(super) async fn draw(proposal: Proposal) -> Result<Plan, Status> {
    blocking(move || {
        let plan = Plan::draw(experiment(proposal)?);
        let bytes = prost::Message::encoded_len(&v1::Plan::from(&plan));
        if bytes > MAX_PLAN_BYTES {
            return Err(Status::invalid_argument(with_hint(
                format_args!("the plan takes {bytes} bytes, more than the {MAX_PLAN_BYTES} that can be kept"),
                Some("split it into several experiments"),
            )));
        }
        Ok(plan)
    })
    .await
}

/// The experiment, with every default filled in.
fn experiment(proposal: Proposal) -> Result<Experiment, Status> {
    match proposal {
        Proposal::Experiment(experiment) => {
            experiment.check().map_err(|error| problems_status(&error))?;
            Ok(*experiment)
        }
        Proposal::Toml(text) => parsed(&text).map_err(|error| findings_status("toml", &error)),
        Proposal::Json(text) => {
            let toml = toml_of_json(&text).map_err(|error| {
                refusal(error.to_string(), [("json".to_owned(), error.to_string())].into_iter(), 0)
            })?;
            parsed(&toml).map_err(|error| findings_status("json", &error))
        }
    }
}

fn parsed(text: &str) -> Result<Experiment, PlanFileError> {
    let (_, random) = Uuid::new_v4().as_u64_pair();
    parse_with(text, Seed::drawn(random), &mut UnreachableFiles)
}

/// Files and repositories beside a plan are on its author's machine.
struct UnreachableFiles;

impl PlanLook for UnreachableFiles {
    fn file(&mut self, wanted: &WantedFile) -> Result<FileSource, Unusable> {
        let (WantedAt::Here { path, .. } | WantedAt::Shared { path }) = &wanted.at;
        let cause = format!(
            "the coordinator sees no files of yours, so a plan sent as text cannot name {path} without its hash"
        );
        let hint = "put it where all hosts have it and say `shared` with its hash as `blake3`, or use `speedup submit`, which \
                    sends files"
            .to_owned();
        Err(Unusable { cause, hint })
    }

    fn commit(&mut self, wanted: &WantedCommit) -> Result<FoundCommit, Unusable> {
        let revision = &wanted.revision;
        let cause = format!(
            "the coordinator sees no repository of yours, so a plan sent as text cannot name the revision {revision:?}"
        );
        let hint = "use `speedup submit`, which sends the source of the commit, or have the version built from a file that all \
                    hosts have, named by `shared` and its hash"
            .to_owned();
        Err(Unusable { cause, hint })
    }
}

fn problems_status(error: &ExperimentError) -> Status {
    let fields = error.problems().iter().map(|problem| {
        let field = format!("experiment.{}", problem.place);
        (field, with_hint(&problem.fault, Some(&problem.fault.hint())))
    });
    refusal(error.to_string(), fields, error.untold())
}

/// The status for a plan file with errors. Of a plan as JSON, lines and columns say nothing: it was written anew as TOML.
fn findings_status(form: &str, error: &PlanFileError) -> Status {
    let is_toml = form == "toml";
    let fields = error.findings().iter().map(|one| {
        let field = if one.path.0.is_empty() { form.to_owned() } else { format!("{form}.{}", one.path) };
        let place =
            if is_toml { format!("line {}, column {}: ", one.line, one.column) } else { String::new() };
        (field, with_hint(format_args!("{place}{}", one.message), Some(&one.hint)))
    });
    let words = match is_toml {
        true => error.to_string(),
        false => {
            let each = error.findings().iter().map(|one| with_hint(&one.message, Some(&one.hint)));
            each.collect::<Vec<_>>().join("\n")
        }
    };
    refusal(words, fields, error.untold())
}

/// A refusal with its fields, as many as clients take; how many are left out is told as the last one.
fn refusal(words: String, fields: impl Iterator<Item = (String, String)>, untold: usize) -> Status {
    let mut untold = untold;
    let mut bytes = 0;
    let mut violations = Vec::new();
    for (field, description) in fields {
        bytes += field.len() + description.len();
        if bytes <= MAX_DETAILS_BYTES || violations.is_empty() {
            violations.push(FieldViolation::new(field, cut(description, MAX_DETAILS_BYTES)));
        } else {
            untold += 1;
        }
    }
    if untold > 0 {
        violations.push(FieldViolation::new("", format!("and {untold} more")));
    }
    let details = ErrorDetails::with_bad_request(violations);
    Status::with_error_details(Code::InvalidArgument, cut(words, MAX_WORDS_BYTES), details)
}

fn cut(mut text: String, most: usize) -> String {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "[experiment]\nname = \"sort\"\n[versions.a]\nbaseline = true\n[versions.b]\n\
        [benchmarks.true]\ncommand = [\"true\"]\n[repetitions]\nruns = 2\n";

    fn told(proposal: Proposal) -> (String, Vec<(String, String)>) {
        let status = experiment(proposal).unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
        let fields = status.get_details_bad_request().expect("fields").field_violations;
        (status.message().to_owned(), fields.into_iter().map(|one| (one.field, one.description)).collect())
    }

    #[test]
    fn a_plan_in_text_is_the_same_in_both_forms() {
        let seeded = PLAN.replace("name", "seed = 7\nname");
        let json = r#"{"experiment": {"name": "sort", "seed": 7}, "versions": {"a": {"baseline": true}, "b": {}},
            "benchmarks": {"true": {"command": ["true"]}}, "repetitions": {"runs": 2}}"#;
        let of_json = experiment(Proposal::Json(json.to_owned())).unwrap();
        assert_eq!(experiment(Proposal::Toml(seeded)).unwrap(), of_json);
        assert_eq!((of_json.seed, of_json.limits.attempts), (Seed(7), 3), "defaults are filled in");
        let drawn = || experiment(Proposal::Toml(PLAN.to_owned())).unwrap().seed;
        assert_ne!(drawn(), drawn(), "a seed that nobody names is drawn");
    }

    #[test]
    fn all_that_is_wrong_is_told_at_once_by_its_field() {
        let wrong = PLAN.replace("[\"true\"]", "\"true\"").replace("runs = 2", "runs = \"2\"");
        let (words, fields) = told(Proposal::Toml(wrong));
        let names: Vec<&str> = fields.iter().map(|(field, _)| field.as_str()).collect();
        assert_eq!(names, ["toml.benchmarks.true.command", "toml.repetitions.runs"]);
        let (_, description) = &fields[0];
        assert!(description.starts_with("line 7, column 11: "), "{description}");
        assert!(description.contains("\nhint: "), "{description}");
        assert!(words.contains("line 7") && words.contains("line 9"), "{words}");
        let (_, fields) = told(Proposal::Json(r#"{"experiment": {"name": 7}}"#.to_owned()));
        assert!(fields.iter().any(|(field, _)| field == "json.experiment.name"), "{fields:?}");
        let (_, fields) = told(Proposal::Json("[]".to_owned()));
        assert_eq!(fields[0].0, "json");
        let (_, fields) = told(Proposal::Toml("=".to_owned()));
        assert_eq!(fields[0].0, "toml");
    }

    #[test]
    fn files_of_the_author_are_refused_with_the_way_out() {
        let (_, fields) = told(Proposal::Toml(format!("{PLAN}[files.words]\npath = \"words\"\n")));
        assert_eq!(fields[0].0, "toml.files.words.path");
        assert!(fields[0].1.contains("blake3"), "{fields:?}");
        let built = "baseline = true\ngit = \"HEAD\"\nbuild = [\"make\"]\nproducts = { prog = \"prog\" }";
        let (words, fields) = told(Proposal::Toml(PLAN.replace("baseline = true", built)));
        assert_eq!(fields[0].0, "toml.versions.a.git");
        assert!(words.contains("repository") && words.contains("line 5, column 7"), "{words}");
        let json = r#"{"experiment": {"name": "sort"}, "versions": {"a": {"baseline": true, "git": "HEAD", "build": ["make"],
            "products": {"prog": "prog"}}, "b": {}}, "benchmarks": {"true": {"command": ["true"]}}}"#;
        let (_, fields) = told(Proposal::Json(json.to_owned()));
        assert_eq!(fields[0].0, "json.versions.a.git");
        assert!(fields[0].1.contains("speedup submit"), "{fields:?}");
    }

    #[test]
    fn however_much_is_wrong_the_answer_stays_small() {
        let many: String =
            (0..1_000).map(|n| format!("[benchmarks.b{n}]\ncommand = \"{}\"\n", "x".repeat(90))).collect();
        let (words, fields) = told(Proposal::Toml(PLAN.to_owned() + &many));
        assert!(words.len() <= MAX_WORDS_BYTES + 4, "{}", words.len());
        let bytes: usize = fields.iter().map(|(field, description)| field.len() + description.len()).sum();
        assert!(bytes <= MAX_DETAILS_BYTES + 100 && fields.len() > 2, "{bytes}");
        assert!(fields.last().unwrap().1.starts_with("and 9"), "{:?}", fields.last());
    }
}
