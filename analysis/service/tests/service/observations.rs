//! Tables of what a coordinator exports.

use speedup_proto::{convert::id_text, v1, v1::observations_request::Form};
use tonic::{Code, Status};

use crate::coordinator::{experiment, pieces, serve};

async fn table(pieces: Vec<v1::ExportChunk>, form: i32) -> Result<Vec<u8>, Status> {
    let mut served = serve(pieces, None).await;
    let request = v1::ObservationsRequest { experiment: id_text(experiment().0), form };
    let mut chunks = served.client.observations(request).await?.into_inner();
    let mut bytes = Vec::new();
    while let Some(chunk) = chunks.message().await? {
        assert!(!chunk.content.is_empty() && chunk.content.len() <= 1 << 20);
        bytes.extend(chunk.content);
    }
    Ok(bytes)
}

#[tokio::test]
async fn every_run_has_its_row_in_each_form() {
    let csv = String::from_utf8(table(pieces(), Form::Csv.into()).await.unwrap()).unwrap();
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(rows.len(), 41, "a heading and 40 runs");
    assert!(rows[0].starts_with("experiment,name,benchmark,version,run,"), "{}", rows[0]);
    let json = String::from_utf8(table(pieces(), Form::JsonLines.into()).await.unwrap()).unwrap();
    let counted = json.lines().filter(|line| {
        serde_json::from_str::<serde_json::Value>(line).unwrap()["counts"] == serde_json::Value::Bool(true)
    });
    assert_eq!(counted.count(), 40);
    let parquet = table(pieces(), Form::Parquet.into()).await.unwrap();
    assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
    let arrow = table(pieces(), Form::Arrow.into()).await.unwrap();
    assert!(arrow.starts_with(&[0xff; 4]), "a stream begins with a message");
    assert_eq!(table(pieces(), Form::Unspecified.into()).await.unwrap(), arrow);
}

#[tokio::test]
async fn a_table_without_attempts_has_the_planned_runs() {
    let planned = pieces().into_iter().take(3).collect();
    let csv = String::from_utf8(table(planned, Form::Csv.into()).await.unwrap()).unwrap();
    assert_eq!(csv.lines().count(), 41);
}

#[tokio::test]
async fn what_cannot_be_asked_is_refused_before_a_chunk_comes() {
    let form = table(pieces(), 99).await.unwrap_err();
    assert_eq!(form.code(), Code::InvalidArgument);
    assert!(form.message().contains("form"), "{form}");
    let mut served = serve(pieces(), None).await;
    let mut asked = async |experiment: &str| {
        let request = v1::ObservationsRequest { experiment: experiment.to_owned(), form: 0 };
        served.client.observations(request).await.unwrap_err().code()
    };
    assert_eq!(asked("last").await, Code::InvalidArgument);
    assert_eq!(asked("07070707-0707-0707-0707-070707070707").await, Code::NotFound);
}

#[tokio::test]
async fn a_broken_export_ends_the_table_with_an_error() {
    let mut headless = pieces();
    headless.remove(0);
    assert_eq!(table(headless, 0).await.unwrap_err().code(), Code::DataLoss);
    let mut out_of_order = pieces();
    let order = out_of_order[1].clone();
    out_of_order.push(order);
    assert_eq!(table(out_of_order, 0).await.unwrap_err().code(), Code::DataLoss);
}

/// Places of readers who went away are free again: more than there are places come one after the other.
#[tokio::test]
async fn a_reader_who_goes_away_leaves_his_place() {
    let mut served = serve(pieces(), None).await;
    let request = v1::ObservationsRequest { experiment: id_text(experiment().0), form: Form::Csv.into() };
    let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(60);
    let mut begun = 0;
    while begun < 24 {
        match served.client.observations(request.clone()).await {
            Ok(chunks) => {
                begun += 1;
                drop(chunks);
            }
            Err(status) => {
                assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
                assert!(tokio::time::Instant::now() < deadline, "no place was left: {status}");
                tokio::task::yield_now().await;
            }
        }
    }
}
