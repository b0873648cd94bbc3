//! The deterministic simulation: machines of coordinator and agents under every fault, from one seed.
//!
//! `SPEEDUP_SIM_SEEDS=n` sets how many seeds are tried, `SPEEDUP_SIM_SEED=s` replays one and prints each step;
//! `SPEEDUP_SIM_LARGE=n` sets how many worlds of 2 000 hosts, where the normal run tries one of 200: of fifteen each policy has each order of runs;
//! `SPEEDUP_SIM_GANGS=n` sets how many worlds of 4 096 hosts with gangs, and `SPEEDUP_SIM_GANG=s` replays one.

mod broken_hosts;
mod gangs;
mod large;
mod seeds;
mod short_histories;
mod unfit_events;
