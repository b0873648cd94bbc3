//! The coordinator's web page: HTML that is rendered here, a style sheet, and one small script that keeps it up to date.
//!
//! It is a client of the coordinator and of the analysis like the command line, over connections that do not leave the
//! process and that carry the identity of the person at the browser. So what a role may do is decided by the same table
//! of methods, and what is done stands under the same name in the event log: there is no second way in. Nothing is loaded
//! from elsewhere, and all of it works without the script.
//!
//! In reading order: [`Site`] (what is started), `entry` (links and sessions), `server` (connections and their bounds),
//! `context` (what all requests have in common, and who asks), `shield` (what holds for every request), `client` (what is asked
//! of the coordinator), `routes` (which page is where, and the door that gives links), `page` (the pages), `live` (what changes
//! while one looks), `page_error` (what can fail).

mod client;
mod context;
mod entry;
mod live;
mod page;
mod page_error;
mod routes;
mod server;
mod shield;
mod site;

pub use entry::{Entrance, Holders};
pub use site::{Options, Running, Site, SiteError};
