//! Bisections of simulated histories, seeded: how often the set covers the step, and how often one is claimed where there is none. The bounds are
//! four standard errors of the simulation.
//!
//! `SPEEDUP_CALIBRATION_SCALE` multiplies the number of simulations. How often the commit is named, for more histories and laws, is
//! `speedup-studies bisection`.
#![expect(clippy::print_stdout, reason = "the figures found are printed, for --nocapture")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use speedup_studies::{BisectionSection, BisectionStudy, HistoryLaw, LawShape, StudyRow};

use crate::simulation::replication;

const SIMULATIONS: u32 = 50;

fn rows(sections: &[BisectionSection], runs: u64) -> Vec<StudyRow> {
    let study = BisectionStudy {
        replication: replication(SIMULATIONS, 11),
        sections: sections.to_vec(),
        distributions: vec![LawShape::Normal, LawShape::Bimodal, LawShape::Pareto],
        history: HistoryLaw { step: 0.08, variation: 0.05, hosts: 0.05, stalled: 0.03 },
        commits: vec![16],
        runs: vec![runs],
        block_runs: 4,
        failures: [0.05, 0.9],
        prior_weight: 10.0,
    };
    study.run().unwrap()
}

/// How many standard errors the share of `method` is from `probability`, for each law.
fn off(rows: &[StudyRow], section: BisectionSection, method: &str, probability: f64) -> Vec<f64> {
    let found = rows.iter().filter(|row| row.section == section.code() && row.method == method);
    let off = |row: &StudyRow| {
        println!("{row:?}");
        let given = (row.replicates.unwrap() - row.unanswered) as f64;
        (row.share - probability) / (probability * (1.0 - probability) / given).sqrt()
    };
    found.map(off).collect()
}

#[test]
fn sets_cover_the_step_and_no_step_is_seldom_claimed_to_be_one() {
    use BisectionSection::{NoStep, OneStep, Prior, Unbuildable};
    let rows = rows(&[OneStep, NoStep, Unbuildable, Prior], 48);
    for section in [OneStep, Unbuildable, Prior] {
        for method in ["set_covers", "size_covers"] {
            let off = off(&rows, section, method, 0.95);
            assert!(off.len() == 3 && off.iter().all(|off| *off > -4.0), "{method}: {off:?}");
        }
    }
    let of_none = off(&rows, NoStep, "step_claimed", 0.05);
    assert!(of_none.len() == 3 && of_none.iter().all(|off| *off < 4.0), "{of_none:?}");
    let claimed = off(&rows, OneStep, "step_claimed", 0.5);
    assert!(claimed.iter().all(|off| *off > 0.0), "steps of 1.6 standard deviations are found: {claimed:?}");
}

#[test]
fn sets_of_outcomes_cover_the_step() {
    let rows = rows(&[BisectionSection::Outcomes], 60);
    assert!(off(&rows, BisectionSection::Outcomes, "set_covers", 0.95)[0] > -4.0);
    assert!(off(&rows, BisectionSection::Outcomes, "likeliest_is_right", 0.8)[0] > 0.0);
}
