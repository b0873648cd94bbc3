//! How often the intervals of scaling contain the truth, and how often a law is rejected that holds, or that does not.

use super::{LawShape, Replication, SimulationError, row::Cell, row::StudyRow, row::Unanswered};
use crate::law::draws::Draws;
use clap::Args;
use speedup_core::experiment::gang::ScalingLaw;
use speedup_statistics::{
    inference::Interval, inference::RatioInterval, sample::Sample, scaling::EfficiencyRatio,
    scaling::FEWEST_RUNS_OF_A_SHARE, scaling::ScalingCurve, scaling::ScalingPoint, scaling::SerialShare,
};

/// The study of scaling. The size of a cell is the runs at each number of hosts, and the parameter the overhead.
#[derive(Clone, Debug, PartialEq, Args)]
#[command(mut_arg("replicates", |arg| arg.default_value("2000")))]
pub struct ScalingStudy {
    /// How often, whence, at which level.
    #[command(flatten)]
    pub replication: Replication,
    /// Which kinds of scaling are simulated, in this order.
    #[arg(long = "section", value_delimiter = ',', default_values = ["strong", "weak"], value_parser = scaling_law)]
    pub sections: Vec<ScalingLaw>,
    /// The shapes of a run's noise.
    #[arg(long = "distribution", value_enum, value_delimiter = ',', default_values_t = [LawShape::Normal])]
    pub distributions: Vec<LawShape>,
    /// The numbers of hosts, the fewest first.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2, 4, 8])]
    pub hosts: Vec<u32>,
    /// The runs at each of them.
    #[arg(long, value_delimiter = ',', default_values_t = [5, 10, 30])]
    pub runs: Vec<u64>,
    /// The standard deviation of a run on the fewest hosts, as a share of its mean; each doubling of the hosts adds as much.
    #[arg(long, default_value_t = 0.01)]
    pub variation: f64,
    /// The serial share of the work.
    #[arg(long, default_value_t = 0.05)]
    pub serial_share: f64,
    /// What each doubling of the hosts adds to the time of the version that does not keep to the law, as a share of the time on the fewest.
    #[arg(long, default_value_t = 0.01)]
    pub overhead: f64,
}

const METHODS: [&str; 5] =
    ["speedups_cover", "efficiency_ratios_cover", "serial_share_covers", "law_rejected", "overhead_found"];
/// The mean time on the fewest hosts.
const MEAN: f64 = 100.0;

impl ScalingStudy {
    /// The shares of replicates in which all intervals of a kind contain the truth together, and in which the law is rejected.
    pub fn run(&self) -> Result<Vec<StudyRow>, SimulationError> {
        self.check()?;
        let cells =
            self.sections.iter().flat_map(|law| self.distributions.iter().map(|shape| (*law, *shape)));
        let of_cells = cells.flat_map(|(law, shape)| self.runs.iter().map(move |runs| (law, shape, *runs)));
        Ok(of_cells.flat_map(|(law, shape, runs)| self.cell_rows(law, shape, runs)).collect())
    }

    fn check(&self) -> Result<(), SimulationError> {
        self.replication.check()?;
        ScalingCurve::check(&self.hosts)?;
        SimulationError::check_counts("runs", FEWEST_RUNS_OF_A_SHARE as u64, &self.runs)?;
        let most = self.factors().last().unwrap_or(1.0);
        SimulationError::check_variation(self.variation)?;
        SimulationError::check_variation(self.variation_at(most))?;
        let shares = [self.serial_share, self.overhead];
        SimulationError::check_range(
            "serial share and overhead",
            [0.0_f64.next_down(), 1.0_f64.next_up()],
            &shares,
        )
    }

    /// The numbers of hosts in the fewest.
    fn factors(&self) -> impl DoubleEndedIterator<Item = f64> {
        self.hosts.iter().map(|hosts| f64::from(*hosts) / f64::from(self.hosts[0]))
    }

    fn variation_at(&self, factor: f64) -> f64 {
        self.variation * (1.0 + libm::log2(factor))
    }

    fn cell_rows(&self, law: ScalingLaw, shape: LawShape, runs: u64) -> Vec<StudyRow> {
        let cell = Cell { section: law.name(), distribution: Some(shape), size: runs };
        let tallies = self.replication.tally(&cell.stream(), METHODS.len(), |draws| {
            self.replicate(law, shape, runs, draws).unwrap_or([None; METHODS.len()]).to_vec()
        });
        let coverage = self.replication.promised_coverage();
        let risk = self.replication.promised_risk();
        let expected = [coverage, coverage, coverage, risk, None];
        let rows = METHODS.iter().zip(tallies).zip(expected);
        let parameter = Some(self.overhead);
        rows.map(|((method, tally), expected)| {
            cell.row(method, tally, Unanswered::LeftOut, [parameter, expected])
        })
        .collect()
    }

    fn replicate(
        &self,
        law: ScalingLaw,
        shape: LawShape,
        runs: u64,
        draws: &mut Draws,
    ) -> Option<[Option<bool>; METHODS.len()]> {
        let truth = |overhead: f64| {
            self.factors().map(move |factor| self.mean(law, factor, overhead)).collect::<Vec<f64>>()
        };
        let kept = truth(0.0);
        let broken = truth(self.overhead);
        let [baseline, candidate] = [&kept, &broken].map(|means| self.times(shape, runs, means, draws));
        let baseline = baseline?;
        let candidate = candidate?;
        let [baseline, candidate] = [&baseline, &candidate].map(|times| self.curve(law, times));
        let baseline = baseline?;
        let candidate = candidate?;
        let level = self.replication.confidence;
        let effects = baseline.effects().zip(candidate.effects()).zip(1..);
        let speedups = effects.clone().map(|((effect, _), at)| {
            covers(
                &effect.efficiency_interval(level).ok()?,
                efficiency(law, &kept, self.factors().nth(at)?, at),
            )
        });
        let ratios = effects.map(|((below, above), at)| {
            let ratio = EfficiencyRatio::new(below, above)?;
            let truth = (broken[0] / broken[at]) / (kept[0] / kept[at]);
            covers(&ratio.interval(level).ok()?, truth)
        });
        let [share, foil] = [&baseline, &candidate].map(|curve| SerialShare::new(curve).ok());
        let rejects = |share: &Option<SerialShare>| {
            Some(share.as_ref()?.lack_of_fit()?.p_value().rejects_at(level.risk()))
        };
        let share_covers = share.as_ref().and_then(|share| covers(&share.interval(level), self.serial_share));
        Some([all(speedups), all(ratios), share_covers, rejects(&share), rejects(&foil)])
    }

    fn mean(&self, law: ScalingLaw, factor: f64, overhead: f64) -> f64 {
        let f = self.serial_share;
        let by_law = match law {
            ScalingLaw::Strong => f + (1.0 - f) / factor,
            ScalingLaw::Weak => 1.0 + f * (factor - 1.0),
        };
        MEAN * (by_law + overhead * libm::log2(factor))
    }

    fn times(&self, shape: LawShape, runs: u64, means: &[f64], draws: &mut Draws) -> Option<Vec<Sample>> {
        let of =
            |(mean, factor): (&f64, f64)| draws.times(shape, runs, *mean, mean * self.variation_at(factor));
        means.iter().zip(self.factors()).map(of).collect()
    }

    fn curve<'t>(&self, law: ScalingLaw, times: &'t [Sample]) -> Option<ScalingCurve<'t>> {
        let points = self.hosts.iter().zip(times).map(|(hosts, times)| ScalingPoint { hosts: *hosts, times });
        ScalingCurve::new(law, &points.collect::<Vec<_>>()).ok()
    }
}

fn efficiency(law: ScalingLaw, means: &[f64], factor: f64, at: usize) -> f64 {
    let ratio = means[0] / means[at];
    match law {
        ScalingLaw::Strong => ratio / factor,
        ScalingLaw::Weak => ratio,
    }
}

fn covers(interval: &RatioInterval, truth: f64) -> Option<bool> {
    let &Interval { lower, upper, .. } = interval.bounded()?;
    Some((lower..=upper).contains(&truth))
}

fn scaling_law(text: &str) -> Result<ScalingLaw, &'static str> {
    ScalingLaw::ALL.into_iter().find(|law| law.name() == text).ok_or("it is neither strong nor weak")
}

/// Whether all do; none if one has no answer.
fn all(mut answers: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    answers.try_fold(true, |all, answer| Some(all && answer?))
}
