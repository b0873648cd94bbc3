//! The examples of Kalibera 2012: Tables III to V, §6.1, §6.2 and §8.5.

use super::{Finding, Recomputed};
use crate::tables::{dimension, table_iii, table_v};
use speedup_statistics::inference::{ConfidenceLevel, Critical};
use speedup_statistics::levels::{EffectSize, RandomEffects, Reshaped};
use speedup_statistics::planning::{Costs, RepetitionPlan, VarianceComponents};

const UNKNOWN: &str = "this program does not know the number";

pub(super) fn recompute(section: &str, quantity: &str) -> Recomputed {
    let number = match section {
        "Table III" => three_levels(quantity),
        "Table IV" => two_levels(quantity),
        "6.1" => match quantity.strip_prefix("two-level ") {
            Some(quantity) => two_levels(quantity),
            None if quantity == "optimal n1" => Some(optimal_measurements()),
            None => three_levels(quantity),
        },
        "6.2" => old_and_new(quantity),
        "8.5" => fft_in_six_hours(quantity),
        _ => None,
    };
    number.map(Finding::Number).ok_or(UNKNOWN)
}

/// "S2_i" or "T2_i": the square, and the level's position from 0.
fn square(quantity: &str) -> Option<(&str, usize)> {
    let (square, level) = quantity.split_once('_')?;
    Some((square, level.parse::<usize>().ok()?.checked_sub(1)?))
}

fn three_levels(quantity: &str) -> Option<f64> {
    let (square, position) = square(quantity)?;
    let effects = RandomEffects::new(&table_iii());
    let level = effects.levels().get(position)?;
    match square {
        "S2" => level.biased,
        "T2" => level.unbiased,
        _ => None,
    }
}

/// After executions were dropped.
fn two_levels(quantity: &str) -> Option<f64> {
    let (square, position) = square(quantity)?;
    let reshaped = Reshaped::new(&table_iii());
    let level = reshaped.kept.get(position)?;
    match square {
        "S2" => level.biased,
        "T2" => level.unbiased,
        _ => None,
    }
}

fn optimal_measurements() -> f64 {
    let levels = table_iii();
    let components = VarianceComponents::from_pilot(&RandomEffects::new(&levels), &Reshaped::new(&levels));
    let costs = Costs::new(vec![10.0, 0.0]).expect("costs");
    RepetitionPlan::new(components, costs).expect("a plan").repetitions()[0] as f64
}

fn old_and_new(quantity: &str) -> Option<f64> {
    let (old, new) = table_v();
    let [old, new] = [old, new].map(|levels| RandomEffects::new(&levels));
    let of_old = old.interval(ConfidenceLevel::USUAL, Critical::Student).expect("an interval");
    let mean = old.mean();
    let effect = EffectSize::new(old, new).expect("an effect size");
    let ratio = effect.interval(ConfidenceLevel::USUAL, Critical::Student);
    let ratio = ratio.bounded().expect("a bounded interval");
    match quantity {
        "old mean" => Some(mean),
        "old half-width" => Some((of_old.upper - of_old.lower) / 2.0),
        "ratio low" => Some(ratio.lower),
        "ratio high" => Some(ratio.upper),
        _ => None,
    }
}

fn fft_in_six_hours(quantity: &str) -> Option<f64> {
    let plan = dimension(4.1, 6.7, 4.6, 6.0);
    match quantity {
        "FFT n1" => Some(plan.repetitions[0] as f64),
        "FFT n2" => Some(plan.repetitions[1] as f64),
        "FFT binaries in 6h" => Some(plan.repetitions[2] as f64),
        "FFT half-width %" => Some(100.0 * plan.relative_half_width),
        "FFT default half-width %" => Some(100.0 * plan.one_level?.relative_half_width),
        _ => None,
    }
}
