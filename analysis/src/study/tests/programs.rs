//! What the runs of one version executed: one program, or several.

use super::{codes, synthetic::Synthetic, synthetic::Times};
use crate::study::{ControlKind, Report};
use speedup_core::{experiment::files::ContentHash, run::program::Program, run::program::ProgramContent};

const CODE: &str = "program_changed";

/// The report where the program of each run has the content of this number, by its cell and host.
fn report_of(synthetic: &Synthetic, content: impl Fn(u32, &str) -> Option<u8>) -> Report {
    synthetic.changed_report(|cell, lease, record| {
        record.program = Some(Box::new(Program {
            path: "/usr/bin/sort".to_owned(),
            content: match content(cell, lease.host.as_str()) {
                Some(number) => ProgramContent::Blake3(ContentHash([number; 32])),
                None => ProgramContent::Unknown { reason: "Permission denied".to_owned() },
            },
        }));
    })
}

#[test]
fn a_host_with_another_program_under_the_same_name_is_told() {
    let synthetic = Synthetic::new(2, 2, 12, "").hosts(6);
    let report = report_of(&synthetic, |cell, host| Some(u8::from(cell == 1 && host == "host-3")));
    let warning = report.warnings.iter().find(|warning| warning.code.as_str() == CODE).expect("it is told");
    assert_eq!(warning.concerns, ["b0"], "of the other benchmark it was one program");
    for part in ["b0 of v1", "2 different files", "12 runs", "[files]", "program_blake3"] {
        assert!(warning.sentence.contains(part), "{part}: {}", warning.sentence);
    }
}

#[test]
fn versions_may_be_other_programs_and_what_is_unknown_is_no_other_program() {
    let synthetic = Synthetic::new(2, 2, 12, "").hosts(6);
    let one_a_cell = report_of(&synthetic, |cell, _| Some(cell as u8));
    assert!(!codes(&one_a_cell).contains(&CODE));
    let not_everywhere = report_of(&synthetic, |_, host| (host != "host-3").then_some(1));
    assert!(!codes(&not_everywhere).contains(&CODE));
}

/// The same program executed in the same way differs in nothing: it is a control.
#[test]
fn a_candidate_that_is_the_same_program_is_a_control() {
    let slower = Times::normal(120_000_000.0, 1_000_000.0);
    let synthetic = Synthetic::new(2, 2, 12, "").alike().times(0, 1, slower);
    let one = report_of(&synthetic, |_, _| Some(1));
    let controls = one.controls.as_ref().expect("both benchmarks are controls");
    assert_eq!((controls.controls, controls.alarms, &controls.baseline_again), (2, 1, &None));
    assert!(controls.rows.iter().all(|row| row.kind == ControlKind::SameProgram && row.version == "v1"));
    let other = report_of(&synthetic, |cell, _| Some((cell % 2) as u8));
    assert_eq!(other.controls, None);
    let unknown = report_of(&synthetic, |cell, _| (cell % 2 == 0).then_some(1));
    assert_eq!(unknown.controls, None);
    let other_arguments = report_of(&Synthetic::new(2, 2, 12, ""), |_, _| Some(1));
    assert_eq!(other_arguments.controls, None);
}

/// Each build is a program of its own, and compared as such.
#[test]
fn builds_are_to_be_different_programs() {
    let synthetic = Synthetic::new(1, 2, 12, "").built(3).hosts(6);
    let of_host = |host: &str| host.as_bytes().last().map(|digit| digit % 3);
    let built = report_of(&synthetic, |cell, host| if cell == 1 { of_host(host) } else { Some(9) });
    assert!(!codes(&built).contains(&CODE));
    let also_the_other = report_of(&synthetic, |_, host| of_host(host));
    assert!(codes(&also_the_other).contains(&CODE), "the version that is not built is one program");
}
