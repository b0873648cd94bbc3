//! The stream of experiments that await a decision of their rule.

use std::{collections::BTreeMap, time::Duration};

use speedup_core::{machine::Machine, machine::Phase, value::id::ExperimentId};
use speedup_proto::{convert::id_text, v1};
use tokio::sync::mpsc;
use tonic::Status;

use crate::handle::Handle;

/// How often the machine is asked at most: a decision takes longer than that.
const PAUSE: Duration = Duration::from_millis(100);

pub(super) type Listener = mpsc::Sender<Result<v1::Undecided, Status>>;

/// Tells of each experiment that awaits a decision, once for each number of runs, until nobody listens.
pub(super) async fn tell(handle: Handle, listener: Listener) {
    let mut durable = handle.progress.durable.clone();
    let mut told: BTreeMap<ExperimentId, u32> = BTreeMap::new();
    loop {
        let Ok(undecided) = handle.query(undecided).await else { return };
        // Forgotten when decided, so that this never grows beyond what is active.
        told.retain(|id, _| undecided.contains_key(id));
        for (id, runs) in undecided {
            if told.insert(id, runs) == Some(runs) {
                continue;
            }
            let message = v1::Undecided { experiment: id_text(id.0), runs };
            if listener.send(Ok(message)).await.is_err() {
                return;
            }
        }
        tokio::select! {
            changed = durable.changed() => if changed.is_err() { return },
            () = listener.closed() => return,
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn undecided(machine: &Machine) -> BTreeMap<ExperimentId, u32> {
    let awaits = |id| {
        let active = machine.experiment(id)?;
        (*active.phase() == Phase::Deciding).then(|| (id, active.plan().runs()))
    };
    machine.active().filter_map(awaits).collect()
}
