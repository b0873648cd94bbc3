//! What Worms 2016, appendix A, says of its example 1 beside the numbers of `tests/reference/paper_examples.json`.

#[path = "worms_2016/ammp.rs"]
mod ammp;

use speedup_statistics::mixture::{FitMethod, MixtureFit};

#[test]
fn appendix_a_example_1_the_clusters_of_ammp() {
    let sample = ammp::ammp();
    let fit = MixtureFit::with_method(&sample, FitMethod::Mclust).unwrap();
    assert_eq!(fit.model.letter(), 'V');
    let mut sizes = [0; 5];
    for cluster in fit.clusters(&sample) {
        sizes[cluster] += 1;
    }
    assert_eq!(sizes, [3, 5, 14, 5, 4]);
}
