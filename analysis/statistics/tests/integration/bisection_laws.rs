//! Laws of bisections, for any runs: order, unit, hosts and direction of the history change nothing; what does not build is not told apart.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use speedup_statistics::bisection::{
    CommitLine, CommitLineError, FailureRate, OutcomeBisection, RunOutcome, StepBisection, StepRule,
    StepVerdict,
};
use speedup_statistics::inference::{ConfidenceLevel, Threshold};

const LAST: usize = 12;
const RULE: StepRule = StepRule { confidence: ConfidenceLevel::USUAL, margin: Threshold::NONE };

type Run = (u64, usize, f64);

fn searched(line: CommitLine, runs: &[Run]) -> StepBisection {
    let mut bisection = StepBisection::new(line, RULE);
    for &(block, commit, value) in runs {
        bisection.observe(block, commit, value).unwrap();
    }
    bisection
}

fn line() -> CommitLine {
    CommitLine::new(LAST + 1).unwrap()
}

/// Blocks with both ends and two probes, a step of some size somewhere, and noise.
fn histories() -> impl Strategy<Value = Vec<Run>> {
    let block = (0.5..2.0_f64, prop::collection::vec((1..LAST, -1.0..1.0_f64), 4));
    (1..=LAST, 0.0..0.2_f64, prop::collection::vec(block, 2..10)).prop_map(|(step, size, blocks)| {
        let mut runs = Vec::new();
        for (block, (host, probes)) in (0..).zip(blocks) {
            for (position, (commit, noise)) in probes.into_iter().enumerate() {
                let commit = [0, LAST, commit, commit][position];
                let size = if commit >= step { size } else { 0.0 };
                runs.push((block, commit, host * (1.0 + size) * (1.0 + 0.05 * noise)));
            }
        }
        runs
    })
}

fn near(one: &[f64], other: &[f64]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| (one - other).abs() < 1e-6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn probabilities_are_of_the_commits_after_the_good_end(runs in histories()) {
        let bisection = searched(line(), &runs);
        let probabilities = bisection.probabilities();
        prop_assert!(probabilities[0] == 0.0 && probabilities.iter().all(|p| (0.0..=1.0).contains(p)));
        prop_assert!((probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        let answer = bisection.answer();
        prop_assert!(answer.commits.probability >= 0.95 && (0.0..=1.0).contains(&answer.no_step));
        let size = answer.size.unwrap();
        prop_assert!(size.lower <= size.ratio && size.ratio <= size.upper);
    }

    /// Weights that are all equal are none, to the last bit where they are 1.
    #[test]
    fn equal_weights_are_no_prior(runs in histories(), weight in 0.1..10.0_f64) {
        let ones = line().with_prior(&[1.0; LAST]).unwrap();
        prop_assert_eq!(&ones, &line());
        let equal = line().with_prior(&[weight; LAST]).unwrap();
        let (mut one, mut other) = (searched(line(), &runs), searched(equal, &runs));
        prop_assert!(near(&one.probabilities(), &other.probabilities()));
        prop_assert_eq!(one.next_block(5), other.next_block(5));
    }

    /// Bayes' rule: what the runs say of a commit is multiplied with its weight.
    #[test]
    fn the_posterior_is_weights_times_likelihoods(runs in histories(), weights in prop::collection::vec(0.01..100.0_f64, LAST)) {
        let plain = searched(line(), &runs).probabilities();
        let products: Vec<f64> = plain[1..].iter().zip(&weights).map(|(of, weight)| of * weight).collect();
        let sum: f64 = products.iter().sum();
        let expected: Vec<f64> = products.iter().map(|product| product / sum).collect();
        let weighted = searched(line().with_prior(&weights).unwrap(), &runs);
        prop_assert!(near(&weighted.probabilities()[1..], &expected));
        let answer = weighted.answer();
        prop_assert!(answer.commits.probability >= 0.95 && (0.0..=1.0).contains(&answer.no_step));
    }

    #[test]
    fn the_order_of_runs_changes_nothing(runs in histories()) {
        let backwards: Vec<Run> = runs.iter().rev().copied().collect();
        let (mut one, mut other) = (searched(line(), &runs), searched(line(), &backwards));
        prop_assert_eq!(one.next_block(5), other.next_block(5));
        prop_assert_eq!(one.answer(), other.answer());
    }

    /// What was asked before changes no answer either: what is kept of it only saves time.
    #[test]
    fn looking_changes_nothing(runs in histories()) {
        let mut looked = StepBisection::new(line(), RULE);
        for &(block, commit, value) in &runs {
            looked.next_block(4);
            looked.observe(block, commit, value).unwrap();
            looked.answer();
        }
        let mut plain = searched(line(), &runs);
        prop_assert_eq!(looked.next_block(4), plain.next_block(4));
        prop_assert_eq!(looked.answer(), plain.answer());
    }

    #[test]
    fn units_and_hosts_cancel(runs in histories(), unit in 1e-3..1e3_f64) {
        let moved: Vec<Run> = runs.iter().map(|&(block, commit, value)| (block, commit, value * unit * (1 + block) as f64)).collect();
        let (one, other) = (searched(line(), &runs), searched(line(), &moved));
        prop_assert!(near(&one.probabilities(), &other.probabilities()));
        let (one, other) = (one.answer(), other.answer());
        prop_assert!(near(&[one.no_step], &[other.no_step]));
        prop_assert!(near(&[one.size.unwrap().ratio], &[other.size.unwrap().ratio]));
    }

    /// Read from the bad end to the good one, the boundary is the same and the size its inverse.
    #[test]
    fn a_history_read_backwards_has_the_same_boundary(runs in histories()) {
        let turned: Vec<Run> = runs.iter().map(|&(block, commit, value)| (block, LAST - commit, value)).collect();
        let (one, other) = (searched(line(), &runs), searched(line(), &turned));
        let backwards: Vec<f64> = other.probabilities()[1..].iter().rev().copied().collect();
        // The nodes lie on the good end's side of the lattice, so that sums differ by what the trapezoid rule leaves.
        let close = |a: f64, b: f64| (a - b).abs() < 0.01;
        let pairs = one.probabilities()[1..].to_vec().into_iter().zip(backwards);
        for (there, back) in pairs {
            prop_assert!(close(there, back), "{there} {back}");
        }
        let (there, back) = (one.answer(), other.answer());
        prop_assert!(close(there.no_step, back.no_step));
        prop_assert!(close(there.size.unwrap().ratio * back.size.unwrap().ratio, 1.0));
    }

    #[test]
    fn what_does_not_build_is_neither_probed_nor_told_apart(runs in histories(), broken in prop::collection::btree_set(1..LAST, 1..5)) {
        let runs: Vec<Run> = runs.into_iter().filter(|run| !broken.contains(&run.1)).collect();
        let mut bisection = searched(line(), &runs);
        for commit in &broken {
            bisection.cannot_build(*commit).unwrap();
        }
        let block = bisection.next_block(6);
        prop_assert!(block.iter().all(|commit| !broken.contains(commit)), "{block:?} {broken:?}");
        let set = bisection.answer().commits.commits;
        for commit in broken {
            prop_assert_eq!(set.contains(&commit), set.contains(&(commit + 1)), "{:?}", set);
        }
    }

    #[test]
    fn outcomes_and_rates_can_be_exchanged(runs in prop::collection::vec((0..=LAST, prop::bool::ANY), 0..40)) {
        let rates = [FailureRate::USUAL_OLD, FailureRate::USUAL_NEW];
        let exchanged = rates.map(|rate| FailureRate { failed: rate.passed, passed: rate.failed });
        let mut one = OutcomeBisection::new(line(), rates);
        let mut other = OutcomeBisection::new(line(), exchanged);
        for (commit, failed) in runs {
            let (there, back) = if failed { (RunOutcome::Failed, RunOutcome::Passed) } else { (RunOutcome::Passed, RunOutcome::Failed) };
            one.observe(commit, there).unwrap();
            other.observe(commit, back).unwrap();
        }
        prop_assert!(near(&one.probabilities(), &other.probabilities()));
    }
}

#[test]
fn before_any_run_everything_is_as_likely_as_beforehand() {
    let line = CommitLine::new(5).unwrap().with_prior(&[1.0, 0.0, 2.0, 1.0]).unwrap();
    let mut bisection = StepBisection::new(line, RULE);
    assert_eq!(bisection.probabilities(), [0.0, 0.25, 0.0, 0.5, 0.25]);
    let answer = bisection.answer();
    assert_eq!((answer.verdict, answer.no_step, answer.size), (StepVerdict::Undecided, 0.5, None));
    assert_eq!(bisection.next_block(4), [0, 1, 3, 4]);
}

/// Where nothing lies between the ends there is one place for a step, and the question is whether there is one.
#[test]
fn neighbours_have_one_place_for_a_step() {
    let mut bisection = StepBisection::new(CommitLine::new(2).unwrap(), RULE);
    assert_eq!(bisection.next_block(4), [0, 1]);
    for (block, noise) in (0..10).zip([3, 1, 4, 1, 5, 9, 2, 6, 5, 3]) {
        bisection.observe(block, 0, 1.0 + 0.001 * f64::from(noise)).unwrap();
        bisection.observe(block, 1, 1.1 + 0.001 * f64::from(9 - noise)).unwrap();
    }
    let answer = bisection.answer();
    assert_eq!((answer.verdict, answer.commits.commits), (StepVerdict::Step, vec![1]));
    assert_eq!(answer.several, None);
}

#[test]
fn what_is_no_line_and_no_run_is_refused() {
    assert_eq!(CommitLine::new(1), Err(CommitLineError::Length(1)));
    for weights in [vec![1.0; 3], vec![0.0; 12], vec![-1.0; 12], vec![f64::NAN; 12], vec![f64::INFINITY; 12]]
    {
        assert_eq!(line().with_prior(&weights), Err(CommitLineError::Prior { candidates: 12 }));
    }
    let mut bisection = StepBisection::new(line(), RULE);
    assert_eq!(bisection.cannot_build(LAST), Err(CommitLineError::EndUnbuildable(LAST)));
    assert_eq!(bisection.observe(0, 13, 1.0), Err(CommitLineError::Unknown { commit: 13, commits: 13 }));
    for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(
            bisection.observe(0, 3, value),
            Err(CommitLineError::NotPositive { commit: 3, .. })
        ));
    }
}

/// A counter that reads the same in every run has no noise to estimate.
#[test]
fn values_without_noise_are_told_apart() {
    let mut bisection = StepBisection::new(line(), RULE);
    for block in 0..8 {
        for commit in bisection.next_block(4) {
            bisection.observe(block, commit, if commit >= 5 { 1_000_010.0 } else { 1_000_000.0 }).unwrap();
        }
    }
    let answer = bisection.answer();
    assert_eq!((answer.verdict, answer.commits.commits), (StepVerdict::Step, vec![5]));
}

/// Two steps of ten times the noise: some commits are like neither end.
#[test]
fn two_large_steps_are_several() {
    let mut bisection = StepBisection::new(CommitLine::new(33).unwrap(), RULE);
    let mut noise = 1_u64;
    for block in 0..40 {
        for commit in bisection.next_block(4) {
            noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let noise = (noise >> 40) as f64 / (1_u64 << 24) as f64 - 0.5;
            let level = [1.0, 1.1, 1.21][usize::from(commit >= 9) + usize::from(commit >= 22)];
            bisection.observe(block, commit, level * (1.0 + 0.03 * noise)).unwrap();
        }
    }
    let answer = bisection.answer();
    assert_eq!(answer.verdict, StepVerdict::Several);
    let several = answer.several.unwrap();
    assert!(several.first.commits.contains(&9) && several.second.commits.contains(&22), "{several:?}");
}
