//! Scaling of simulated programs, seeded: how often intervals cover, and how often a law is rejected that holds. The bounds are four standard errors of the simulation.
//!
//! `SPEEDUP_CALIBRATION_SCALE` multiplies the number of simulations. More laws are in `speedup-studies scaling`.
#![expect(clippy::print_stdout, reason = "the figures found are printed, for --nocapture")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use speedup_core::experiment::gang::ScalingLaw;
use speedup_studies::{LawShape, ScalingStudy, StudyRow};

use crate::simulation::{replication, standard_error};

const SIMULATIONS: u32 = 2000;

fn rows(hosts: &[u32], runs: &[u64]) -> Vec<StudyRow> {
    let study = ScalingStudy {
        replication: replication(SIMULATIONS, 1967),
        sections: ScalingLaw::ALL.to_vec(),
        distributions: vec![LawShape::Normal],
        hosts: hosts.to_vec(),
        runs: runs.to_vec(),
        variation: 0.01,
        serial_share: 0.05,
        overhead: 0.02,
    };
    let rows = study.run().unwrap();
    rows.iter().for_each(|row| println!("{row:?}"));
    rows
}

/// How far a share is from what is promised, in standard errors of the simulation.
fn off(row: &StudyRow) -> f64 {
    let promised = row.expected.unwrap();
    (row.share - promised) / standard_error(promised, SIMULATIONS)
}

#[test]
fn shares_and_laws_keep_their_level() {
    for hosts in [&[1, 2, 4][..], &[2, 4, 8, 16, 32, 64]] {
        for row in rows(hosts, &[10, 30]) {
            assert_eq!(row.unanswered, 0, "{row:?}");
            match row.method {
                // Bonferroni covers at least as often, and little more: the times on the fewest hosts are in all.
                "speedups_cover" | "efficiency_ratios_cover" => assert!(off(&row) > -4.0, "{row:?}"),
                // Approximate: within a hundredth, besides the simulation.
                "serial_share_covers" | "law_rejected" => {
                    assert!(off(&row).abs() < 4.0 + 0.01 / row.standard_error, "{row:?}");
                }
                // The level is not kept by never rejecting.
                "overhead_found" => assert!(row.share > 0.1, "{row:?}"),
                method => panic!("nobody knows what {method} promises"),
            }
        }
    }
}
