//! The judgement of an execution: whether the benchmark did what the plan expects, and whether its time is known.

use speedup_core::{run::record::Failure, run::work::WorkOrder};

use super::NotExecuted;
use crate::launch::{End, Execution};

/// How the benchmark failed, if it did.
pub(super) fn judge(order: &WorkOrder, execution: &Execution) -> Option<Failure> {
    let streams = [&execution.stdout, &execution.stderr];
    if streams.into_iter().flatten().any(|output| output.over_limit) {
        return Some(Failure::TooMuchOutput { limit: order.output.limit });
    }
    match execution.end {
        End::TimedOut { .. } => return Some(Failure::TimedOut { limit: order.timeout }),
        End::Signaled { signal, core_dumped } => {
            return Some(Failure::Signal { signal: u8::try_from(signal).unwrap_or(u8::MAX), core_dumped });
        }
        End::Exited(code) => {
            let code = u8::try_from(code & 0xFF).unwrap_or(u8::MAX);
            if !order.expect.accepts(code) {
                return Some(Failure::Exit { code, expected: order.expect.exit });
            }
        }
        End::Interrupted { .. } => {}
    }
    let blake3 = execution.stdout.as_ref().map(|output| *output.blake3.as_bytes())?;
    let expected = order.expect.stdout_blake3?;
    (blake3 != expected).then_some(Failure::WrongOutput { blake3, expected })
}

/// Why the time of an execution is not known, if so. It is another attempt's to measure it.
pub(super) fn unmeasured(execution: &Execution) -> Option<NotExecuted> {
    let unseen = execution.standstill.end_unseen.as_ref()?;
    Some(NotExecuted::new(format!("it is not known when the program ended: {unseen}")))
}
