//! The variance that the bootstrap's replicates of the mean have, exactly: that of infinitely many draws, in the unit of the
//! observations squared. It is written apart from the bootstrap, which draws.

use speedup_statistics::levels::{LevelTree, Resampling};

/// The variance of the replicates of the mean of an experiment.
///
/// Drawing k members with replacement from a unit u, each with a mean of its own variance V_c, gives the unit's mean the variance
/// V_u = (Σ(Ȳ_c − Ȳ_u)²/k + Σ V_c/k)/k; for balanced levels all drawn this is Σᵢ S²ᵢ(nᵢ − 1)/nᵢ / Πₖ₌ᵢ nₖ (compare Kalibera
/// 2012 eq. 10, and Davison and Hinkley 1997, §3.8).
pub(crate) fn exact_variance(resampling: Resampling, levels: &LevelTree) -> f64 {
    let flat = || LevelTree::balanced(levels.values().to_vec(), &[levels.values().len()]).expect("one level");
    match resampling {
        Resampling::Flat => of_unit(Resampling::EveryLevel, &flat(), 1, 0).1,
        Resampling::EveryLevel | Resampling::AboveLowest | Resampling::HighestOnly => {
            of_unit(resampling, levels, levels.depth(), 0).1
        }
    }
}

/// The mean of a unit above `level`, and the variance of the replicates of that.
fn of_unit(resampling: Resampling, levels: &LevelTree, level: usize, unit: usize) -> (f64, f64) {
    let member = |member| match level {
        1 => (levels.values()[member], 0.0),
        _ => of_unit(resampling, levels, level - 1, member),
    };
    let members: Vec<(f64, f64)> = levels.members_of(level, unit).map(member).collect();
    let count = members.len() as f64;
    let mean = members.iter().map(|(mean, _)| mean).sum::<f64>() / count;
    let within = members.iter().map(|(_, variance)| variance).sum::<f64>() / count;
    let squares = members.iter().map(|(of_member, _)| (of_member - mean).powi(2)).sum::<f64>();
    let is_drawn = match resampling {
        Resampling::EveryLevel | Resampling::Flat => true,
        Resampling::AboveLowest => level > 1 || levels.depth() == 1,
        Resampling::HighestOnly => level == levels.depth(),
    };
    (mean, if is_drawn { squares / count + within } else { within } / count)
}
