//! Concludes: the statistics of program speed.
