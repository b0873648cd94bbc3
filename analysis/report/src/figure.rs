//! What is drawn: data with a title and its text alternative. The drawings are made in [`svg`]; a terminal draws what it can.

pub(crate) mod axis;
pub(crate) mod forest;
mod history;
pub(crate) mod layout;
pub(crate) mod panel;
mod proportion;
mod scaling;
pub mod svg;

pub use self::forest::{Forest, IntervalRow, Mark};
pub use self::history::{History, HistoryPoint, HistoryStep};
pub use self::panel::{Panel, PanelKind, Panels};
pub use self::proportion::ProportionFigure;
pub use self::scaling::{ScalingFigure, ScalingSeriesCurve, SpeedupPoint};

/// A drawing.
#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    /// The speedups of the benchmarks with their intervals.
    Forest(Forest),
    /// Proportions of the benchmarks with their intervals.
    Proportion(ProportionFigure),
    /// The ratios of a benchmark, commit after commit.
    History(History),
    /// The speedups of a program against its numbers of hosts.
    Scaling(ScalingFigure),
    /// The runs of a benchmark from several sides.
    Panels(Panels),
}
