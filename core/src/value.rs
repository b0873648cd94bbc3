//! Values that everything is named, dated, counted and drawn by.

pub mod bounded;
pub mod causes;
pub mod count;
pub mod cpu_set;
pub mod excerpt;
pub mod foreign;
pub mod hint;
pub mod id;
pub mod seed;
pub mod time;
mod words;
