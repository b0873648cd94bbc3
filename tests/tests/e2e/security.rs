//! Who may do what, and what an attacker gets: refusals with a reason.

pub(crate) mod access;
mod attacks;
mod flood;
mod fuzz;
mod hostile_coordinator;
mod hostile_plan;
mod owner_limits;
pub(crate) mod page;
mod renewal;
mod shares;
mod siege;
mod stranger;
