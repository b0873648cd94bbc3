//! The methods as their callers use them: laws, numbers of the papers, and how often they err.

mod bisection_laws;
mod calibration;
mod calibration_bisection;
mod calibration_levels;
mod calibration_mixture;
mod calibration_performance_test;
mod calibration_planning;
mod calibration_scaling;
mod calibration_track;
#[expect(
    dead_code,
    clippy::print_stdout,
    reason = "the program `reference` uses the whole account, and prints it"
)]
#[path = "../reference/case.rs"]
mod case;
mod data;
mod diagnostics;
mod gangs;
mod kalibera_2012;
mod laws;
mod levels_laws;
mod mixture_laws;
mod performance_test_laws;
mod planning_laws;
mod reference_account;
mod scaling_laws;
mod simulation;
mod ties_laws;
mod touati_2009;
mod track_laws;
mod worms_2016;
