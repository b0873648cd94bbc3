//! Endpoints: what gets a verdict beside the centre of the wall times. A plan declares them before there are data, so that none is
//! picked by its result.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::metric::{MAX_OWN_METRICS, Metric, OwnMetric};
use super::problem::Problems;
use super::{Experiment, Fault};

/// Most quantiles of the wall times with verdicts of their own.
pub const MAX_QUANTILES: usize = 16;
/// Most metrics with verdicts: all that can be measured.
pub const MAX_METRIC_VERDICTS: usize = Metric::ALL.len() + MAX_OWN_METRICS;

/// A verdict on a metric other than the wall time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricVerdict {
    /// Its name, as in the metrics of the experiment.
    pub metric: String,
    /// Within what two versions count as the same in it; without it none are.
    pub margin: Option<f64>,
    /// With which verdicts it shares the risk.
    pub family: Family,
}

/// With which verdicts those on an endpoint share the risk of a wrong one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// With the headlines and all other endpoints of this kind: one risk for all.
    #[default]
    Common,
    /// With those on the other benchmarks alone: a risk of its own, as for a claim of its own.
    Own,
}

/// What gets a verdict beside the centre of the wall times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Endpoint<'e> {
    pub subject: EndpointSubject<'e>,
    /// Within what two versions count as the same.
    pub margin: Option<f64>,
    /// With which verdicts it shares the risk.
    pub family: Family,
}

/// What a verdict is on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EndpointSubject<'e> {
    /// A quantile of the wall times.
    Quantile(f64),
    /// The centre of a metric that every agent knows.
    Metric(Metric),
    /// The centre of a metric that the plan adds, at its place.
    Own(usize, &'e OwnMetric),
}

impl Experiment {
    /// What gets a verdict beside the centre of the wall times, in the plan's order: quantiles, then metrics.
    pub fn endpoints(&self) -> Vec<Endpoint<'_>> {
        let analysis = &self.analysis;
        let quantiles = analysis.quantiles.iter().map(|probability| Endpoint {
            subject: EndpointSubject::Quantile(*probability),
            margin: analysis.margin,
            family: Family::Common,
        });
        let metrics = analysis.verdicts.iter().filter_map(|verdict| {
            let subject = self.subject(&verdict.metric)?;
            Some(Endpoint { subject, margin: verdict.margin, family: verdict.family })
        });
        quantiles.chain(metrics).collect()
    }

    fn subject(&self, name: &str) -> Option<EndpointSubject<'_>> {
        if let Some(place) = self.own_metrics.iter().position(|own| own.name == name) {
            return Some(EndpointSubject::Own(place, &self.own_metrics[place]));
        }
        let known = self.metrics.iter().find(|metric| metric.name() == name)?;
        Some(EndpointSubject::Metric(*known))
    }

    pub(super) fn check_endpoints(&self, problems: &mut Problems) {
        let place = ["analysis", "quantiles"];
        let quantiles = &self.analysis.quantiles;
        let count = quantiles.len();
        if count > MAX_QUANTILES {
            problems.refuse(place, Fault::TooMany { what: "quantiles", count, most: MAX_QUANTILES });
        }
        let mut seen = BTreeSet::new();
        // Beyond the limit one refusal says enough.
        for quantile in quantiles.iter().take(MAX_QUANTILES) {
            if !(*quantile > 0.0 && *quantile < 1.0) {
                problems.refuse(place, Fault::outside_unit(*quantile));
            } else if !seen.insert(quantile.to_bits()) {
                problems.refuse(place, Fault::SameName(quantile.to_string()));
            }
        }
        let count = self.analysis.verdicts.len();
        let most = MAX_METRIC_VERDICTS;
        if count > most {
            problems.refuse(["analysis", "verdicts"], Fault::TooMany { what: "verdicts", count, most });
        }
        let mut seen = BTreeSet::new();
        for MetricVerdict { metric, margin, family: _ } in self.analysis.verdicts.iter().take(most) {
            let place = ["analysis", "verdicts", metric];
            match self.subject(metric) {
                None => problems.refuse(place, Fault::VerdictOnUnmeasured(metric.clone())),
                Some(EndpointSubject::Metric(Metric::Wall)) => problems.refuse(place, Fault::VerdictOnWall),
                Some(_) if !seen.insert(metric) => problems.refuse(place, Fault::SameName(metric.clone())),
                Some(_) => {}
            }
            if let Some(margin) = margin.filter(|margin| !(*margin > 0.0 && *margin < 1.0)) {
                problems.refuse(["analysis", "verdicts", metric, "margin"], Fault::outside_unit(margin));
            }
        }
    }
}
