//! The pure heart: experiments, plans, the coordinator's and the agent's machines.

pub mod journal;
