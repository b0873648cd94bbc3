//! Where hosts come from, and which experiment gets them.

mod batch;
mod gangs;
mod hosts;
mod local;
mod no_fresh_host;
mod pausing;
mod sharing;
