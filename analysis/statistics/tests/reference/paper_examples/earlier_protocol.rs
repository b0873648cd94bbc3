//! The examples of Touati 2009, whose times are those of the second benchmark of Touati 2010 §6.3.

use super::{Finding, Recomputed, speedup_test::benchmark};
use speedup_statistics::{inference::ConfidenceLevel, protocol::EarlierProtocol};

pub(super) fn recompute(section: &str, quantity: &str) -> Recomputed {
    let (slow, fast) = benchmark(2);
    let slower_first = EarlierProtocol::new(&slow, &fast).expect("a protocol");
    let faster_first = EarlierProtocol::new(&fast, &slow).expect("a protocol");
    let lower = |protocol: &EarlierProtocol<'_>, level: f64| {
        protocol.at(ConfidenceLevel::new(level).expect("a level")).difference.lower
    };
    Ok(Finding::Number(match (section, quantity) {
        ("ex.2.1", "99% lower bound") => lower(&slower_first, 0.99),
        ("ex.2.1", "95% lower bound") => lower(&slower_first, 0.95),
        ("ex.2.2", "1% lower bound (Y,X)") => lower(&faster_first, 0.01),
        ("ex.2.2", "mean ratio") => faster_first.mean_speedup(),
        ("ex.2.2", "median ratio") => faster_first.median_speedup(),
        _ => return Err("this program does not know the number"),
    }))
}
