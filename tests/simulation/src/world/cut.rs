//! In which states of a gang the network fails its hosts.

use speedup_core::{agent::message::AgentMessage, agent::message::CoordinatorMessage, value::id::LeaseEpoch};

use super::{Execution, Message, World};

impl World {
    /// What a host does for a gang whose connection breaks now.
    pub(super) fn cut_off(&self, at: usize) -> Option<&'static str> {
        let agent = &self.agents[at];
        let of_gang = |lease: &LeaseEpoch| self.gangs.contains_key(lease);
        let lease = |of: &Option<Execution>| of.as_ref().map(|execution| execution.lease).filter(of_gang);
        if lease(&agent.preparing).is_some() {
            return Some("cut off while it prepared its part");
        }
        if let Some(lease) = lease(&agent.held) {
            let first = self.gangs[&lease][0];
            let has_begun = self.executions.iter().any(|execution| execution.lease == first);
            return Some(if has_begun {
                "cut off while the program of a gang was executed"
            } else {
                "cut off while it waited for the others"
            });
        }
        if lease(&agent.executing).is_some() {
            return Some("cut off while the program of a gang was executed");
        }
        let is_unheard = agent.outbox_on_disk.keys().any(of_gang);
        is_unheard.then_some("cut off before the end of its part was heard")
    }

    /// What a gang misses by a message that is lost now.
    pub(super) fn missed(&self, at: usize) -> Option<&'static str> {
        match &self.bag[at].message {
            Message::Up(AgentMessage::Ready { .. })
            | Message::Down(CoordinatorMessage::Begin { .. } | CoordinatorMessage::End { .. }) => {
                Some("lost a word about a gang")
            }
            Message::Up(_) | Message::Down(_) | Message::Over => None,
        }
    }
}
