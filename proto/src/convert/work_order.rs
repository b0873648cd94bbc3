//! A work order.

use std::collections::BTreeMap;

use speedup_core::experiment::build::MAX_PRODUCTS;
use speedup_core::experiment::files::MAX_FILES;
use speedup_core::experiment::gang::MAX_GANG;
use speedup_core::experiment::metric::MAX_OWN_METRICS;
use speedup_core::run::work::{WorkOrder, WorkSeat};

use super::build::collect_in;
use super::experiment::METRICS;
use super::wire::{AtMost, Each, OrDefault, structure};
use crate::v1;

structure!(
    WorkOrder,
    v1::WorkOrder,
    [
        command, env, vars, expect,
        timeout = timeout_ns,
        warmup, directory, setup, prepare, cleanup, rest, canary, directory_padding,
        environment => OrDefault,
        common_software, env_padding, output,
        metrics => METRICS,
        files => Each(MAX_FILES),
        seat,
        collect => (BTreeMap::clone, collect_in),
        built => Each(MAX_PRODUCTS),
        own_metrics => Each(MAX_OWN_METRICS),
    ]
);
structure!(WorkSeat, v1::WorkSeat, [number, size, hostfile, hosts => AtMost(MAX_GANG as usize)]);
