//! The run times of Worms 2016, appendix A, example 1.
//!
//! The printed list of clusters lost two of the 31 values; 93.41 and 94.22 are the ones with which every printed parameter
//! comes out. The other examples of the appendix are of files that were not printed.

use speedup_statistics::sample::Sample;

/// The times of ammp, cluster by cluster.
pub(crate) fn ammp() -> Sample {
    let clusters = [
        vec![92.41, 92.01, 92.22],
        vec![93.22, 93.21, 93.21, 93.02, 93.21],
        vec![
            93.61, 93.62, 94.01, 93.42, 93.82, 93.41, 93.61, 93.42, 93.42, 93.61, 93.62, 93.42, 93.81, 93.41,
        ],
        vec![94.22, 94.22, 94.22, 94.21, 94.22],
        vec![95.61, 95.02, 94.62, 94.81],
    ];
    Sample::new(clusters.concat()).expect("finite numbers")
}
