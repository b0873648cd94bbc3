//! Every number of the reference files, against the crate.
//!
//! `cargo test -p speedup-statistics --test reference` reads the JSON files of `tests/reference`, or of the
//! folder that the environment variable `SPEEDUP_REFERENCE` names. It prints, file by file, how many cases
//! and fields agree, and which fields are not compared and why. It fails if a field disagrees; if a file, function,
//! number or field is not known or not read, or no number of ours stands where the reference has one; if a file
//! has no case, or a case nothing to compare; and if a file has fewer cases, or fewer values of a field, than
//! `reference_minima.json` says. Of the project's own files none may be missing. In another folder, whose cases are others, half
//! of what is pinned is enough, and a file that is not there asks nothing. Schema and tolerances are those of the folder's
//! README. `SPEEDUP_UPDATE_GOLDEN=1` writes the minima anew.
#![expect(clippy::print_stdout, reason = "the account of what was checked is the purpose of this program")]

#[path = "integration/worms_2016/ammp.rs"]
mod ammp;
#[path = "reference/bisections.rs"]
mod bisections;
#[path = "reference/case.rs"]
mod case;
#[path = "reference/conclusions.rs"]
mod conclusions;
#[path = "reference/distributions.rs"]
mod distributions;
#[path = "reference/exact_variance.rs"]
mod exact_variance;
#[path = "reference/levels.rs"]
mod levels;
#[path = "reference/minima.rs"]
mod minima;
#[path = "reference/mixtures.rs"]
mod mixtures;
#[path = "reference/multiplicity.rs"]
mod multiplicity;
#[path = "reference/paper_examples.rs"]
mod paper_examples;
#[path = "reference/performance_test.rs"]
mod performance_test;
#[path = "reference/planning.rs"]
mod planning;
#[path = "reference/proportions.rs"]
mod proportions;
#[path = "reference/protocol.rs"]
mod protocol;
#[path = "reference/scalings.rs"]
mod scalings;
#[path = "reference/signed_rank.rs"]
mod signed_rank;
#[path = "reference/single_sample.rs"]
mod single_sample;
#[path = "integration/kalibera_2012/tables.rs"]
mod tables;
#[path = "reference/tracks.rs"]
mod tracks;
#[path = "reference/trimmed.rs"]
mod trimmed;
#[path = "reference/two_samples.rs"]
mod two_samples;

use case::{Case, Ledger};
use minima::{Account, Folder, Minima};
use std::{path::PathBuf, process::ExitCode};

const MINIMA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference_minima.json");

#[expect(clippy::disallowed_methods, reason = "a test program may read its files and its environment")]
fn main() -> ExitCode {
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference");
    let (path, folder) = match std::env::var("SPEEDUP_REFERENCE") {
        Ok(other) => (PathBuf::from(other), Folder::Other),
        Err(_) => (PathBuf::from(own), Folder::Own),
    };
    println!("reference files of {}", path.display());
    let entries = std::fs::read_dir(&path).expect("the reference folder can be listed");
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "json"));
    files.sort();
    let mut failures = 0;
    let mut found = Minima::default();
    for path in &files {
        let stem = path.file_stem().and_then(|s| s.to_str()).expect("a file name in UTF-8");
        match checker(stem) {
            Ok(check) => {
                let text = std::fs::read_to_string(path).expect("a reference file can be read");
                let (failed, account) = check_file(stem, &text, check);
                failures += failed;
                found.0.insert(stem.to_owned(), account);
            }
            Err(reason) => {
                println!("\n{stem}: FAILS, {reason}");
                failures += 1;
            }
        }
    }
    if folder == Folder::Own && std::env::var_os("SPEEDUP_UPDATE_GOLDEN").is_some() {
        let text = serde_json::to_string_pretty(&found).expect("minima are JSON");
        std::fs::write(MINIMA, text + "\n").expect("the minima can be written");
    }
    let minima = std::fs::read_to_string(MINIMA).expect("the minima can be read");
    failures += lacking(&serde_json::from_str(&minima).expect("the minima are JSON"), &found, folder);
    println!("\n{} files, {failures} failures", files.len());
    if failures == 0 && !files.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints what is missing of the pinned files, cases and values, and returns how much that is.
fn lacking(minima: &Minima, found: &Minima, folder: Folder) -> usize {
    let mut failures = 0;
    for (stem, account) in &found.0 {
        for lacking in minima.lacking(stem, account, folder) {
            println!("\n{stem}: FAILS, {lacking}");
            failures += 1;
        }
    }
    let names: Vec<String> = found.0.keys().cloned().collect();
    for stem in minima.missing(&names).filter(|_| folder == Folder::Own) {
        println!("\n{stem}: FAILS, the file is not there");
        failures += 1;
    }
    failures
}

type Check = fn(&mut Case<'_>, &mut Ledger);

fn checker(stem: &str) -> Result<Check, &'static str> {
    match stem {
        "describe" => Ok(single_sample::describe),
        "shapiro_wilk" => Ok(single_sample::shapiro_wilk),
        "f_test" => Ok(two_samples::f_test),
        "t_test" => Ok(two_samples::t_test),
        "wilcoxon_rank_sum" => Ok(two_samples::rank_sum),
        "ks_two_sample" => Ok(two_samples::kolmogorov_smirnov),
        "proportion_ci" => Ok(proportions::proportion),
        "power" => Ok(planning::power),
        "distributions" => Ok(distributions::distribution),
        "speedup_protocol" => Ok(protocol::speedup_test),
        "paper_examples" => Ok(paper_examples::printed_number),
        "wilcoxon_signed_rank" => Ok(signed_rank::signed_rank),
        "hpt" => Ok(performance_test::performance_test),
        "p_adjust" => Ok(multiplicity::adjustments),
        "kalibera" => Ok(levels::kalibera),
        "kalibera_bootstrap" => Ok(levels::bootstrap),
        "gmm_fit" => Ok(mixtures::gmm_fit),
        "gm_metrics" => Ok(mixtures::gm_metrics),
        "ksfit_bootstrap" => Ok(mixtures::ksfit_bootstrap),
        "finite_population" => Ok(conclusions::finite_population),
        "signed_rank_ties" => Ok(conclusions::signed_rank_ties),
        "brunner_munzel" => Ok(conclusions::brunner_munzel),
        "equivalence" => Ok(conclusions::equivalence),
        "random_effects_mean" => Ok(conclusions::random_effects_mean),
        "outcome_bisection" => Ok(bisections::outcomes),
        "step_bisection" | "weighted_bisection" => Ok(bisections::steps),
        "scaling" => Ok(scalings::scaling),
        "track" => Ok(tracks::track),
        "trimmed" => Ok(trimmed::ratio),
        "true_share" => Ok(conclusions::true_share),
        "typical_speedup" => Ok(conclusions::typical_speedup),
        _ => Err("this program does not know it"),
    }
}

/// How many failures the file has, and what was compared of it.
fn check_file(stem: &str, text: &str, check: Check) -> (usize, Account) {
    let json: serde_json::Value = serde_json::from_str(text).expect("a reference file is JSON");
    let cases = json["cases"].as_array().expect("a reference file has cases");
    let mut ledger = Ledger::default();
    for json in cases {
        let mut case = Case::new(json);
        check(&mut case, &mut ledger);
        ledger.close(&case);
    }
    (ledger.print(stem), Account { cases: cases.len(), values: ledger.compared() })
}
