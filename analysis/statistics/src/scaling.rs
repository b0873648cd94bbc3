//! How the time of a program changes with the number of hosts that it runs on.
//!
//! * [`ScalingCurve`]: run times at each number of hosts, by a [`ScalingLaw`] of the plan;
//! * [`ScalingEffect`]: speedup, efficiency and experimental serial fraction at one number of hosts, beside the fewest;
//! * [`SerialShare`]: the share of the work that one host does at a time, from all numbers of hosts, with a [`LackOfFit`] test;
//! * [`EfficiencyRatio`]: whether a version scales better than another.
//!
//! All numbers are relative to the fewest hosts measured, k₁: with p = k/k₁, the efficiency E is `T₁/(p·T)` where the problem stays (strong
//! scaling) and `T₁/T` where it grows with the hosts (weak scaling), T the mean time; the speedup is p·E. If a share f of the work is serial, then
//! 1/E = 1 + f·(p − 1) for both laws: what Amdahl has for a fixed problem (Validity of the single processor approach, 1967), and
//! for a problem of which every share grows. A serial part that does *not* grow with the problem, as Gustafson has it (Reevaluating Amdahl's law,
//! 1988), leaves the times of weak scaling as they are: no series of them shows how large it is.

mod curve;
mod effect;
mod efficiency_ratio;
mod serial_share;

pub use curve::{ScalingCurve, ScalingError, ScalingPoint};
pub use effect::ScalingEffect;
pub use efficiency_ratio::EfficiencyRatio;
pub use serial_share::{FEWEST_RUNS_OF_A_SHARE, LackOfFit, SerialShare, SerialShareError};

use speedup_core::experiment::gang::ScalingLaw;

/// The time on `factor` times as many hosts, in that on the fewest, if each host is as fast there as here.
fn ideal(law: ScalingLaw, factor: f64) -> f64 {
    match law {
        ScalingLaw::Strong => 1.0 / factor,
        ScalingLaw::Weak => 1.0,
    }
}
