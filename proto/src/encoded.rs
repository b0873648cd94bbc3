//! Messages with a part that stays encoded: records, work orders and attempts are most of what is sent for each run. A record
//! is read without its message, a work order is encoded once for all runs of a cell, and an attempt is sent as it is stored.
//! On the wire they are the messages of the .proto files, because a nested message is its bytes.

use bytes::Bytes;
use prost::Message;

/// `speedup.v1.Report`.
#[derive(Clone, PartialEq, Message)]
pub struct SentReport {
    #[prost(uint64, tag = "1")]
    pub lease: u64,
    /// The number of the agent's start that executed it.
    #[prost(uint64, tag = "2")]
    pub executed_by: u64,
    /// A `speedup.v1.Record`.
    #[prost(bytes = "bytes", optional, tag = "3")]
    pub record: Option<Bytes>,
}

/// `speedup.v1.Grant`.
#[derive(Clone, PartialEq, Message)]
pub struct SentGrant {
    #[prost(uint64, tag = "1")]
    pub lease: u64,
    /// The start of the agent to which it is given.
    #[prost(uint64, tag = "2")]
    pub agent_epoch: u64,
    /// The experiment: the 16 bytes of its UUID.
    #[prost(bytes = "vec", tag = "3")]
    pub experiment: Vec<u8>,
    /// The number of the run in the plan's order, from 0.
    #[prost(uint32, tag = "4")]
    pub run: u32,
    /// The number of the attempt at it, from 1.
    #[prost(uint32, tag = "5")]
    pub attempt: u32,
    /// A `speedup.v1.WorkOrder`.
    #[prost(bytes = "bytes", optional, tag = "6")]
    pub order: Option<Bytes>,
}

/// The message `speedup.v1.ExportAttempts`, its attempts as they are stored.
#[derive(Clone, PartialEq, Message)]
pub struct ExportAttempts {
    /// Attempts, each an encoded `speedup.v1.EndedAttempt`.
    #[prost(bytes = "bytes", repeated, tag = "1")]
    pub attempts: Vec<Bytes>,
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::{ExportAttempts, SentGrant, SentReport};
    use crate::v1;

    /// The messages as they stand in the .proto file.
    #[derive(Clone, PartialEq, prost::Message)]
    struct DescribedReport {
        #[prost(uint64, tag = "1")]
        lease: u64,
        #[prost(uint64, tag = "2")]
        executed_by: u64,
        #[prost(message, optional, tag = "3")]
        record: Option<v1::Record>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    struct DescribedGrant {
        #[prost(uint64, tag = "1")]
        lease: u64,
        #[prost(uint64, tag = "2")]
        agent_epoch: u64,
        #[prost(bytes = "vec", tag = "3")]
        experiment: Vec<u8>,
        #[prost(uint32, tag = "4")]
        run: u32,
        #[prost(uint32, tag = "5")]
        attempt: u32,
        #[prost(message, optional, tag = "6")]
        order: Option<v1::WorkOrder>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    struct DescribedAttempts {
        #[prost(message, repeated, tag = "1")]
        attempts: Vec<v1::EndedAttempt>,
    }

    #[test]
    fn on_the_wire_they_are_the_described_messages() {
        let record = v1::Record { survivors: 3, ..v1::Record::default() };
        let order = v1::WorkOrder { warmup: 5, ..v1::WorkOrder::default() };
        for (record, order) in [(None, None), (Some(record), Some(order))] {
            let encoded = record.as_ref().map(|record| record.encode_to_vec().into());
            let report = SentReport { lease: 1, executed_by: 2, record: encoded };
            let described = DescribedReport { lease: 1, executed_by: 2, record };
            assert_eq!(report.encode_to_vec(), described.encode_to_vec());
            assert_eq!(SentReport::decode(described.encode_to_vec().as_slice()), Ok(report));
            let (lease, agent_epoch, experiment, run, attempt) = (1, 2, vec![3; 16], 4, 5);
            let encoded = order.as_ref().map(|order| order.encode_to_vec().into());
            let grant = SentGrant {
                lease,
                agent_epoch,
                experiment: experiment.clone(),
                run,
                attempt,
                order: encoded,
            };
            let described = DescribedGrant { lease, agent_epoch, experiment, run, attempt, order };
            assert_eq!(grant.encode_to_vec(), described.encode_to_vec());
            assert_eq!(SentGrant::decode(described.encode_to_vec().as_slice()), Ok(grant));
        }
        let attempt = |run| v1::EndedAttempt {
            lease: Some(v1::Lease { run, ..v1::Lease::default() }),
            ..v1::EndedAttempt::default()
        };
        let attempts: Vec<v1::EndedAttempt> = (0..3).map(attempt).collect();
        let encoded = attempts.iter().map(|attempt| attempt.encode_to_vec().into()).collect();
        let stored = ExportAttempts { attempts: encoded };
        let described = DescribedAttempts { attempts };
        assert_eq!(stored.encode_to_vec(), described.encode_to_vec());
        assert_eq!(ExportAttempts::decode(described.encode_to_vec().as_slice()), Ok(stored));
    }
}
