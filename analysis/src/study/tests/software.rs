//! With which software the runs of one version were executed: one, or several.

use super::{codes, synthetic::Synthetic};
use crate::study::Report;
use speedup_core::run::conditions::Conditions;
use speedup_core::run::software::{ImageIdentity, UsedContainer, UsedSoftware, UsedVariables};
use speedup_core::{experiment::files::ContentHash, value::time::Span};

/// The report where each run had this software, by its cell and host.
fn report_of(software: impl Fn(u32, &str) -> UsedSoftware) -> Report {
    Synthetic::new(2, 2, 12, "").hosts(6).changed_report(|cell, lease, record| {
        let software = Some(software(cell, lease.host.as_str()));
        record.conditions = Some(Box::new(Conditions { software, ..Conditions::default() }));
    })
}

fn variables(number: u8) -> UsedSoftware {
    let variables = UsedVariables { blake3: ContentHash([number; 32]), made: None };
    UsedSoftware { variables: Some(variables), container: None }
}

fn container(identity: ImageIdentity) -> UsedSoftware {
    let container = UsedContainer { image: "image".to_owned(), identity, start: Some(Span(7_000_000)) };
    UsedSoftware { variables: None, container: Some(container) }
}

#[test]
fn a_host_with_other_variables_is_told() {
    let report = report_of(|cell, host| variables(cell as u8 + 8 * u8::from(cell == 1 && host == "host-3")));
    let warning =
        report.warnings.iter().find(|warning| warning.code.as_str() == "environment_differs").expect("told");
    assert_eq!(warning.concerns, ["b0"], "of the other benchmark all hosts had the same");
    for part in ["b0 of v1", "2 different", "environment_blake3"] {
        assert!(warning.sentence.contains(part), "{part}: {}", warning.sentence);
    }
    let one_a_version = report_of(|cell, _| variables(cell as u8));
    assert!(!codes(&one_a_version).contains(&"environment_differs"));
}

#[test]
fn a_container_is_within_the_clock_and_its_image_is_one() {
    let hash = |number| ImageIdentity::Blake3(ContentHash([number; 32]));
    let same = report_of(|_, _| container(hash(1)));
    let told =
        same.warnings.iter().find(|warning| warning.code.as_str() == "container_timed").expect("it is told");
    assert!(told.sentence.contains("48 measured runs"), "{}", told.sentence);
    assert!(told.sentence.contains("7 ms"), "{}", told.sentence);
    assert_eq!(told.concerns, ["b0", "b1"]);
    assert!(!codes(&same).contains(&"image_differs") && !codes(&same).contains(&"image_unknown"));
    let other = report_of(|_, host| container(hash(u8::from(host == "host-3"))));
    assert!(codes(&other).contains(&"image_differs"));
    let unknown = report_of(|_, _| container(ImageIdentity::Unknown { reason: "no file".to_owned() }));
    assert!(codes(&unknown).contains(&"image_unknown"));
    assert!(!codes(&report_of(|_, _| UsedSoftware::default())).contains(&"container_timed"));
}
