//! Speedups against numbers of hosts.

use super::{BOTTOM, LEFT, RIGHT, TOP, colour, escaped, frame, line, panel::keys, points, stroke};
use crate::{figure::ScalingFigure, figure::axis::Labels};

pub(super) fn drawn(figure: &ScalingFigure) -> String {
    let (x, y) = figure.axes();
    let (x, y) = (x.across(LEFT, RIGHT), y.across(BOTTOM, TOP));
    let place = |(hosts, speedup): (f64, f64)| (x.at(hosts), y.at(speedup));
    let mut drawn = line("quiet", figure.ideal().into_iter().map(place));
    for (version, curve) in figure.curves.iter().enumerate() {
        let colour = colour(version);
        drawn += &line(&format!("{colour},dotted"), curve.fitted.iter().copied().map(place));
        let at = curve.points.iter().map(|point| place((point.hosts, point.speedup)));
        drawn += &line(&format!("{colour},{}", stroke(version)), at.clone());
        for point in &curve.points {
            if let Some((lower, upper)) = point.ends {
                let ends = [lower, upper].map(|end| place((point.hosts, end)));
                drawn += &line(&format!("{colour},|-|"), ends.into_iter());
            }
        }
        drawn += &points(version, at);
    }
    let versions: Vec<&str> = figure.curves.iter().map(|curve| curve.version.as_str()).collect();
    let picture = frame(&figure.title, &figure.labels(&x), &Labels::round(&y, "speedup"), &drawn);
    format!(
        "{}\\par\\nopagebreak\n{picture}\\par\n{{\\footnotesize {}\\par}}\n",
        keys(&versions),
        escaped(&figure.description)
    )
}
