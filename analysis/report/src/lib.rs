//! Tells what the analysis concludes, in every form that people read. A report becomes one [`Document`], and each form is a
//! rendering of it.
//!
//! In reading order:
//! * [`document`]: sections of paragraphs, tables and figures;
//! * [`names`]: names where there is little room for them;
//! * `section`: what each section says, from the data of the report;
//! * [`figure`]: what is drawn;
//! * [`track`]: what a track says;
//! * [`facts`]: rows of facts, for tables and CSV; [`answer`]: what any method found on plain samples;
//! * [`paper`]: the files of the published Speedup-Test;
//! * [`terminal`], [`html`], [`markdown`], [`latex`] and [`sheet`]: the forms that people read;
//! * [`junit`], [`openmetrics`], [`bencher`] and [`github_benchmark`]: those that continuous integration takes; [`github`]: what
//!   a step of a workflow there prints.
//!
//! There is no clock, file or socket here, and nothing is concluded: numbers come from the analysis.

pub mod answer;
pub mod bencher;
pub mod document;
mod duration;
pub mod facts;
pub mod figure;
pub mod github;
pub mod github_benchmark;
pub mod html;
pub mod junit;
pub mod latex;
pub mod markdown;
pub mod names;
pub mod openmetrics;
pub mod paper;
mod section;
mod share;
pub mod sheet;
pub mod terminal;
pub mod track;
mod tracked;

pub use self::{document::Document, duration::roughly};
