//! Whether the measured runs of a cell had one software and executed one program, as a version
//! has on all hosts; and that what the start of a container takes is part of each time.

use crate::study::{Study, sampled::BenchmarkSamples};
use crate::{conclusion::WarningCode, conclusion::Warnings, count::counted, count::grouped};
use speedup_core::run::software::ImageIdentity;
use std::collections::BTreeSet;

/// Raises that hosts had different software for one cell, and that containers are within the clock.
pub(crate) fn warn(study: &Study, sampled: &[BenchmarkSamples<'_>], warnings: &mut Warnings) {
    let versions = &study.plan.experiment.versions;
    for sampled in sampled {
        for (version, cell) in versions.iter().zip(sampled.records) {
            let seen = &cell.software;
            let kinds = [
                (
                    WarningCode::EnvironmentDiffers,
                    "environment variables",
                    seen.variables.values().collect::<Vec<_>>(),
                ),
                (WarningCode::ImageDiffers, "images of the container", seen.images.values().collect()),
            ];
            for (code, what, by) in kinds.into_iter().filter(|(_, _, by)| by.len() > 1) {
                warnings.concern(code, sampled.name, || differs(what, sampled.name, &version.name, &by));
            }
        }
        let unknown = sampled.records.iter().flat_map(|cell| cell.software.images.keys());
        if unknown.into_iter().any(|image| matches!(image, ImageIdentity::Unknown { .. })) {
            warnings.concern(WarningCode::ImageUnknown, sampled.name, || {
                "Nothing identifies the image of the container, so its content may differ between hosts and over time: name a file, \
                 or a `digest` command in the plan's container."
                    .to_owned()
            });
        }
    }
    let all = || sampled.iter().flat_map(|sampled| sampled.records).map(|cell| &cell.software);
    let start = all().filter_map(|seen| seen.start).max();
    for concerned in sampled.iter().filter(|one| one.records.iter().any(|cell| cell.software.contained > 0)) {
        warnings.concern(WarningCode::ContainerTimed, concerned.name, || {
            let runs = all().map(|seen| seen.contained).sum();
            let took = start.map_or(String::new(), |start| {
                format!(" A program that does nothing took up to {start} in it.")
            });
            format!(
                "{} were executed in a container, and each time contains the start and the end of its launcher.{took} Such a \
                 constant part draws ratios towards 1: compare programs that take much longer.",
                counted(runs, "measured run")
            )
        });
    }
}

fn differs(what: &str, benchmark: &str, version: &str, by: &[&BTreeSet<u32>]) -> String {
    let hosts: BTreeSet<&u32> = by.iter().copied().flatten().collect();
    format!(
        "Runs of one version did not have the same software: {benchmark} of {version} had {} different {what} on {} hosts. The \
         export's columns environment_blake3 and image say which run had which, and environment has the variables; blake3 in \
         [environment] refuses hosts with others.",
        grouped(by.len() as u64),
        grouped(hosts.len() as u64),
    )
}

/// Raises that what is compared as one version was not one program. A version that is built has a program a build, of which
/// the comparison by builds takes care.
pub(crate) fn warn_programs(study: &Study, sampled: &[BenchmarkSamples<'_>], warnings: &mut Warnings) {
    let versions = &study.plan.experiment.versions;
    for sampled in sampled {
        let cells = versions.iter().zip(sampled.records).filter(|(version, _)| version.build.is_none());
        for (version, programs) in cells.map(|(version, cell)| (version, &cell.programs)) {
            if programs.hosts.len() < 2 {
                continue;
            }
            warnings.concern(WarningCode::ProgramChanged, sampled.name, || {
                let hosts: BTreeSet<&u32> = programs.hosts.values().flatten().collect();
                format!(
                    "Runs of one version did not execute one program: {} of {} was {} different files in {} runs on {} hosts, and \
                     times of different programs are no sample of one. The export's columns program and program_blake3 say which \
                     run executed which: install the same file on all hosts, let it travel with the plan ([files]), or let the \
                     plan build it.",
                    sampled.name,
                    version.name,
                    grouped(programs.hosts.len() as u64),
                    grouped(programs.runs),
                    grouped(hosts.len() as u64),
                )
            });
        }
    }
}
