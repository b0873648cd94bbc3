//! Advice: numbers that R gives, and refusals.

use serde_json::Value;
use speedup_proto::v1::advise_request::{Benchmarks, Levels, Question, Repetitions, repetitions::Goal};
use speedup_proto::v1::{self, AdviseRequest};
use tonic::{Code, Status};

use crate::coordinator::serve;

async fn ask(question: Question) -> Result<Value, Status> {
    let mut served = serve(Vec::new(), None).await;
    let request = AdviseRequest { confidence: None, question: Some(question) };
    let answer = served.client.advise(request).await?;
    Ok(serde_json::from_str(&answer.into_inner().json).unwrap())
}

#[tokio::test]
async fn benchmarks_for_a_proportion() {
    let question = Benchmarks { proportion: 0.5, precision: 0.05, population: 0 };
    let answer = ask(Question::Benchmarks(question)).await.unwrap();
    // 1.96² · 0.25/0.05².
    assert_eq!((&answer["kind"], answer["wald"].as_u64()), (&Value::from("benchmarks"), Some(385)));
    assert!(answer["wilson"].as_u64().unwrap() <= 385);
}

#[tokio::test]
async fn runs_to_find_a_speedup_are_those_of_power_t_test() {
    // Mean 100 and deviation 5, so that 4 % is 0.8 of it: R's power.t.test(delta = 0.8, power = 0.8)
    // says 25.52, for equal deviations; the candidate's is smaller by 1/1.0417 here.
    let deviation = 5.0 * (9.0_f64 / 10.0).sqrt();
    let baseline: Vec<f64> =
        (0..10).map(|k| 100.0 + deviation * if k % 2 == 0 { 1.0 } else { -1.0 }).collect();
    let goal = Some(Goal::Speedup(1.0 / 0.96));
    let question = Repetitions { baseline, goal, ..Repetitions::default() };
    let answer = ask(Question::Repetitions(question)).await.unwrap();
    let needed = |place: usize| answer["required"][place]["reach"]["needed"].as_u64().unwrap();
    assert!((24..=26).contains(&needed(1)), "{answer}");
    // The usual report's test is first, and is planned with more than the pilot's spread.
    assert!(needed(0) > needed(1), "{answer}");
    assert_eq!(answer["required"].as_array().unwrap().len(), 3, "{answer}");
}

#[tokio::test]
async fn repetitions_of_levels() {
    // Three executions of four measurements that vary more between executions than within.
    let values = vec![10.0, 10.1, 10.2, 9.9, 12.0, 12.1, 11.9, 12.2, 8.0, 8.1, 7.9, 8.2];
    let question = Levels { values, counts: vec![4, 3], costs: vec![1.0], budget: Some(100.0) };
    let answer = ask(Question::Levels(question)).await.unwrap();
    assert_eq!(answer["highest"].as_u64(), Some(2), "{answer}");
    assert_eq!(answer["repetitions"][0].as_u64(), Some(1), "{answer}");
    // A measurement and a start cost 2 of the 100.
    assert_eq!(answer["within"]["repetitions"], Value::from(vec![1, 50]));
}

#[tokio::test]
async fn what_cannot_be_planned_is_refused() {
    let code = async |question| ask(question).await.unwrap_err().code();
    let nothing = Repetitions { baseline: vec![1.0, 2.0], ..Repetitions::default() };
    assert_eq!(code(Question::Repetitions(nothing.clone())).await, Code::InvalidArgument);
    let no_speedup = Repetitions { goal: Some(Goal::Speedup(1.0)), ..nothing };
    assert_eq!(code(Question::Repetitions(no_speedup)).await, Code::InvalidArgument);
    let counts = Levels { values: vec![1.0; 6], counts: vec![u32::MAX, u32::MAX], ..Levels::default() };
    assert_eq!(code(Question::Levels(counts)).await, Code::InvalidArgument);
    let mut served = serve(Vec::new(), None).await;
    let empty = served.client.advise(v1::AdviseRequest::default()).await.unwrap_err();
    assert_eq!(empty.code(), Code::InvalidArgument);
}
