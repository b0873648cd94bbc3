//! The pure heart of Speedup: what an experiment is, how its runs are planned, and the two machines that carry them
//! out. Bytes, commands, times and seeds come in; events, effects and refusals go out.
//!
//! It is not a service: there is no file, socket, clock, thread or global randomness here, and `clippy.toml` keeps it so.
//!
//! In reading order:
//!
//! 1. [`id`], [`time`], [`seed`]: what everything is named, dated and drawn by; [`count`], [`causes`],
//!    [`bounded`]: numbers and errors in words, reading up to a bound;
//! 2. [`plan_file`] → [`experiment`] → [`plan`]: from the text a user writes to every run in its order;
//! 3. [`metric`], [`files`], [`build`], [`work`], [`record`], [`message`]: what an agent is told to do, and what it says was done;
//!    [`environment`] with [`cpu_set`]: under which circumstances; [`conditions`] with [`disturbance`]: under which it was;
//! 4. [`host`] with its [`fingerprint`], [`timer`], [`lease`], [`run`], [`event`]: the state of the world and what changes it;
//! 5. [`machine`]: the coordinator's machine, [`agent`]: the agent's;
//! 6. [`feasibility`]: whether a pool can carry a plan out; [`provision`]: what to ask of an engine that gives out hosts;
//! 7. [`journal`]: the format in which events are kept.

#![warn(clippy::wildcard_enum_match_arm)]

pub mod agent;
pub mod bounded;
pub mod build;
pub mod causes;
pub mod conditions;
pub mod count;
pub mod cpu_set;
pub mod disturbance;
pub mod environment;
pub mod event;
pub mod experiment;
pub mod feasibility;
pub mod files;
pub mod fingerprint;
pub mod host;
pub mod id;
pub mod independence;
pub mod journal;
pub mod lease;
pub mod machine;
pub mod message;
pub mod metric;
pub mod plan;
pub mod plan_file;
pub mod program;
pub mod provision;
pub mod record;
pub mod repetition;
pub mod run;
pub mod seed;
pub mod template;
pub mod time;
pub mod timer;
pub mod work;
