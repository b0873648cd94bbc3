//! What is asked of the law of each sample: quantiles, probabilities of at most a bound, and clusters, each from the
//! observations and from the mixture (Worms 2016 §6).

use super::refusal::{LARGEST_VALUE, MOST_ASKED};
use super::{
    Findings, Inquiry, InquiryError, IntervalAnswer, Preference, method::FindResult, method::MethodFindings,
    method::MethodSpec, mixture, mixture::refusal, pairing::Pairing, suite::ObservedSample,
};
use crate::conclusion::{Reason, ReasonCode, Warning};
use serde::{Deserialize, Serialize};
use speedup_statistics::inference::{ConfidenceLevel, Interval};
use speedup_statistics::mixture::{Component, FitMethod, Mixture, MixtureFit, variability::empirical};
use speedup_statistics::sample::{Sample, SampleQuantile};
use speedup_statistics::test::{Proportion, ProportionMethod, Selection};

/// What is asked of the law of each sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DistributionOptions {
    /// The probabilities of the quantiles.
    pub probabilities: Vec<f64>,
    /// How probably is a run at most each of these, in the unit of the values?
    pub bounds: Vec<f64>,
    /// Whether the cluster of each observation is told.
    pub clusters: bool,
    /// How far the likelihood of the mixture is climbed.
    pub fit: FitMethod,
}

impl Default for DistributionOptions {
    fn default() -> Self {
        Self {
            probabilities: vec![0.5, 0.9, 0.99],
            bounds: Vec::new(),
            clusters: false,
            fit: FitMethod::default(),
        }
    }
}

/// The law of one sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DistributionFinding {
    pub version: String,
    pub benchmark: String,
    /// The observations.
    pub n: usize,
    /// In the order in which they were asked.
    pub quantiles: Vec<QuantileFinding>,
    /// In the order in which they were asked.
    pub at_most: Vec<AtMostFinding>,
    /// The components of the mixture, in ascending order of their means.
    pub components: Vec<Component>,
    /// Why there is no mixture.
    pub reason: Option<Reason>,
    /// The cluster of each observation in run order, where they were asked and there is a mixture: the position of its likeliest component,
    /// from 1.
    pub clusters: Option<Vec<usize>>,
    /// The observations of each cluster, likewise.
    pub cluster_sizes: Option<Vec<usize>>,
    pub caveats: Vec<Warning>,
}

/// The value that a run exceeds with one less the probability.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QuantileFinding {
    pub probability: f64,
    /// From the observations, by type 7.
    pub observed: f64,
    /// Between order statistics, with the level achieved.
    pub interval: IntervalAnswer,
    /// From the mixture; absent where there is none.
    pub modelled: Option<f64>,
}

/// How probably a run is at most a bound.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AtMostFinding {
    /// The bound, in the unit of the values.
    pub bound: f64,
    /// The share of the observations.
    pub observed: f64,
    /// Of the probability, by Clopper and Pearson.
    pub interval: IntervalAnswer,
    /// From the mixture; absent where there is none.
    pub modelled: Option<f64>,
}

impl MethodSpec for DistributionOptions {
    fn name(&self) -> &'static str {
        "quantiles, probabilities and clusters, observed and of a Gaussian mixture"
    }

    fn sources(&self) -> &'static [&'static str] {
        &[
            mixture::SOURCE,
            "David, Nagaraja: Order Statistics, 2003",
            "Clopper, Pearson: The Use of Confidence or Fiducial Limits, 1934",
        ]
    }

    fn find(&self, _inquiry: &Inquiry, pairing: &Pairing<'_>, level: ConfidenceLevel) -> FindResult {
        let mut found = Vec::new();
        for (version, samples) in pairing.versions.iter().zip(&pairing.samples) {
            for observed in samples {
                found.push(describe(version, observed, self, level)?);
            }
        }
        Ok(Findings::Distribution(found))
    }

    fn check(&self) -> Result<(), InquiryError> {
        let asked = self.probabilities.len().max(self.bounds.len());
        if asked > MOST_ASKED {
            return Err(InquiryError::TooManyAsked(asked));
        }
        for &probability in &self.probabilities {
            if !(probability > 0.0 && probability < 1.0) {
                return Err(InquiryError::Probability(probability));
            }
        }
        for &bound in &self.bounds {
            if !bound.is_finite() || bound.abs() > LARGEST_VALUE {
                return Err(InquiryError::Bound(bound));
            }
        }
        Ok(())
    }

    fn compares(&self) -> bool {
        false
    }
}

impl MethodFindings for Vec<DistributionFinding> {
    fn reasons(&self) -> Vec<Reason> {
        let mut reasons = Vec::new();
        for one in self {
            reasons.extend(one.reason.clone());
            reasons.extend(one.quantiles.iter().filter_map(|quantile| quantile.interval.reason().cloned()));
        }
        reasons
    }

    fn caveats(&self) -> Vec<Warning> {
        self.iter().flat_map(|one| one.caveats.clone()).collect()
    }
}

fn describe(
    version: &str,
    observed: &ObservedSample<'_>,
    options: &DistributionOptions,
    level: ConfidenceLevel,
) -> Result<DistributionFinding, InquiryError> {
    let sample = &observed.sample;
    let fit = MixtureFit::with_method(sample, options.fit);
    let mixture = fit.as_ref().ok().map(|fit| &fit.mixture);
    let quantiles = options.probabilities.iter().map(|p| quantile(sample, mixture, *p, level));
    let at_most = options.bounds.iter().map(|bound| at_most(sample, mixture, *bound, level));
    let mut finding = DistributionFinding {
        version: version.to_owned(),
        benchmark: observed.named.benchmark.clone(),
        n: sample.len(),
        quantiles: quantiles.collect::<Result<_, _>>()?,
        at_most: at_most.collect::<Result<_, _>>()?,
        ..DistributionFinding::default()
    };
    match fit {
        Ok(fit) => {
            finding.components = fit.mixture.components().to_vec();
            finding.caveats = fit.caveats.iter().map(Warning::from).collect();
            if options.clusters {
                finding.set_clusters(sample, &fit.mixture);
            }
        }
        // The observed numbers hold without a mixture, too.
        Err(error) => finding.reason = Some(refusal(error)),
    }
    Ok(finding)
}

impl DistributionFinding {
    fn set_clusters(&mut self, sample: &Sample, mixture: &Mixture) {
        let mut sizes = vec![0; mixture.components().len()];
        let mut clusters = Vec::with_capacity(sample.len());
        for value in sample.in_run_order() {
            let cluster = mixture.cluster(*value);
            sizes[cluster] += 1;
            clusters.push(cluster + 1);
        }
        self.clusters = Some(clusters);
        self.cluster_sizes = Some(sizes);
    }
}

fn quantile(
    sample: &Sample,
    mixture: Option<&Mixture>,
    probability: f64,
    level: ConfidenceLevel,
) -> Result<QuantileFinding, InquiryError> {
    let quantile = SampleQuantile::new(sample, probability).ok_or(InquiryError::Probability(probability))?;
    let interval = quantile.interval(level);
    let is_open = interval.lower.is_infinite() && interval.upper.is_infinite();
    Ok(QuantileFinding {
        probability,
        observed: quantile.estimate(),
        interval: if is_open {
            let sentence = "The runs are too few for either end of the interval; measure more.";
            IntervalAnswer::missing(ReasonCode::TooFewRuns, sentence)
        } else {
            IntervalAnswer::new(&interval, Preference::Lower)
        },
        modelled: mixture.and_then(|mixture| mixture.quantile(probability).ok()),
    })
}

fn at_most(
    sample: &Sample,
    mixture: Option<&Mixture>,
    bound: f64,
    level: ConfidenceLevel,
) -> Result<AtMostFinding, InquiryError> {
    let observed = empirical::probability_at_most(sample, bound);
    let count = sample.sorted().partition_point(|value| *value <= bound) as u64;
    let proportion = Proportion::new(count, sample.len() as u64, Selection::Drawn)?;
    let interval = proportion.interval(ProportionMethod::ClopperPearson, level);
    // Its caveat is of approximations, and this one is exact.
    let interval = Interval { caveats: Vec::new(), ..interval };
    Ok(AtMostFinding {
        bound,
        observed,
        interval: IntervalAnswer::new(&interval, Preference::Lower),
        modelled: mixture.map(|mixture| mixture.cdf(bound)),
    })
}

#[cfg(test)]
mod tests {
    use super::{super::Findings, super::Inquiry, super::Method, super::Suite, *};

    fn asked(values: Vec<f64>, options: DistributionOptions) -> Result<DistributionFinding, InquiryError> {
        let suites = vec![Suite::single("before", "sort", values)];
        match Inquiry::new(suites, Method::Distribution(options)).answer()?.findings {
            Findings::Distribution(mut of) => Ok(of.remove(0)),
            _ => panic!("another method answered"),
        }
    }

    /// Two clusters that are well apart: a third of the runs near 2, the others near 1.
    fn clustered() -> Vec<f64> {
        (0..60).map(|i| if i % 3 == 0 { 2.0 } else { 1.0 } + 0.001 * f64::from(i * 7 % 11)).collect()
    }

    #[test]
    fn what_is_observed_and_what_is_modelled_agree_on_clusters_that_are_apart() {
        let options =
            DistributionOptions { bounds: vec![0.5, 1.5, 3.0], clusters: true, ..Default::default() };
        let found = asked(clustered(), options).unwrap();
        let observed: Vec<f64> = found.at_most.iter().map(|one| one.observed).collect();
        assert_eq!(observed, [0.0, 40.0 / 60.0, 1.0]);
        for one in &found.at_most {
            let (lower, upper) = one.interval.ends().unwrap();
            assert!(lower <= one.observed && one.observed <= upper, "{one:?}");
            assert!((one.modelled.unwrap() - one.observed).abs() < 1e-3, "{one:?}");
        }
        // R: binom.test(40, 60)$conf.int
        let (lower, upper) = found.at_most[1].interval.ends().unwrap();
        assert!((lower - 0.533_127_325).abs() < 1e-9, "{lower} {upper}");
        assert!((upper - 0.783_130_555).abs() < 1e-9, "{lower} {upper}");
        for one in &found.quantiles {
            assert!((one.modelled.unwrap() - one.observed).abs() < 0.01, "{one:?}");
        }
        let clusters = found.clusters.unwrap();
        assert!(
            clusters
                .iter()
                .enumerate()
                .all(|(run, cluster)| (*cluster == found.components.len()) == (run % 3 == 0))
        );
        assert_eq!(found.cluster_sizes.unwrap().iter().sum::<usize>(), 60);
    }

    #[test]
    fn samples_without_a_mixture_have_what_is_observed() {
        let found =
            asked(vec![1.0; 40], DistributionOptions { clusters: true, ..Default::default() }).unwrap();
        assert_eq!(found.reason.unwrap().code, ReasonCode::Constant);
        assert_eq!(found.clusters, None);
        assert_eq!(found.quantiles[0].observed, 1.0);
        assert_eq!(found.quantiles[0].modelled, None);
        let one = asked(vec![1.0], DistributionOptions::default()).unwrap();
        assert_eq!(one.quantiles[0].interval.reason().unwrap().code, ReasonCode::TooFewRuns);
    }

    #[test]
    fn what_cannot_be_asked_is_refused_by_name() {
        let code = |options| asked(vec![1.0, 2.0], options).unwrap_err().code();
        let usual = DistributionOptions::default;
        assert_eq!(code(DistributionOptions { probabilities: vec![0.5, 1.0], ..usual() }), "probability");
        assert_eq!(code(DistributionOptions { bounds: vec![f64::NAN], ..usual() }), "bound");
        assert_eq!(code(DistributionOptions { bounds: vec![1.0; 1_001], ..usual() }), "too_many_asked");
    }
}
