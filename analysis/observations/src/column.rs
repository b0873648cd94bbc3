//! The columns of an export, in their order. Names are stable; a unit is the last word of its name.

use std::{borrow::Cow, fmt::Display, fmt::Write as _};

use arrayvec::ArrayString;
use speedup_core::run::disturbance::Disturbance;
use speedup_core::run::lease::{Lease, Member};
use speedup_core::run::record::{Failure, Outcome, Output, RankEnd, Record, RestReading};
use speedup_core::run::software::{ImageIdentity, MadeVariables, UsedContainer, UsedVariables};
use speedup_core::run::{AfterLoss, LossReason, conditions::Conditions, program::Program, reading::Reading};
use speedup_core::value::{id::ExperimentId, id::RunIndex, time::Timestamp};
use speedup_core::{experiment::metric::Metric, machine::event::AttemptEnd, machine::event::EndedAttempt};

use super::row::{Row, RunEnd};

speedup_core::words! {
    /// The type of a column, of which each form has its own words.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum ColumnKind {
        Truth = "true or false",
        Count = "count",
        Signed = "signed",
        Moment = "moment",
        Text = "text",
        Series = "list of numbers",
    }
    /// Its name in the reference.
    fn words;
}

/// What stands in a column of a row.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value<'a> {
    Truth(bool),
    Count(u64),
    Signed(i64),
    Moment(Timestamp),
    Text(Cow<'a, str>),
    Id(IdText),
    Series(&'a [f64]),
}

/// An id or a hash as text.
pub(super) type IdText = ArrayString<{ 2 * blake3::OUT_LEN }>;

/// How a column is read off a row: all that stands in it is of one type.
#[derive(Clone, Copy)]
pub(super) enum Reader {
    Truth(fn(&Row<'_>) -> Option<bool>),
    Count(fn(&Row<'_>) -> Option<u64>),
    Signed(fn(&Row<'_>) -> Option<i64>),
    Moment(fn(&Row<'_>) -> Option<Timestamp>),
    Text(for<'a> fn(&Row<'a>) -> Option<Cow<'a, str>>),
    /// A text too, but one that nobody has to look through: no form has other words for its letters and digits.
    Id(fn(&Row<'_>) -> Option<IdText>),
}

impl Reader {
    /// The type of all that stands there.
    pub(super) const fn kind(self) -> ColumnKind {
        match self {
            Self::Truth(_) => ColumnKind::Truth,
            Self::Count(_) => ColumnKind::Count,
            Self::Signed(_) => ColumnKind::Signed,
            Self::Moment(_) => ColumnKind::Moment,
            Self::Text(_) | Self::Id(_) => ColumnKind::Text,
        }
    }

    /// What stands there; nothing where it is not known or does not apply.
    pub(super) fn value<'a>(self, row: &Row<'a>) -> Option<Value<'a>> {
        match self {
            Self::Truth(read) => read(row).map(Value::Truth),
            Self::Count(read) => read(row).map(Value::Count),
            Self::Signed(read) => read(row).map(Value::Signed),
            Self::Moment(read) => read(row).map(Value::Moment),
            Self::Text(read) => read(row).map(Value::Text),
            Self::Id(read) => read(row).map(Value::Id),
        }
    }
}

/// A column: its name, and what stands in it.
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) read: Reader,
    pub(super) meaning: &'static str,
}

macro_rules! columns {
    ($($(#[doc = $meaning:literal])* $name:ident: $kind:ident, $row:ident => $value:expr;)*) => {
        [$(Column {
            name: stringify!($name),
            read: Reader::$kind(|$row| $value.map(Into::into)),
            meaning: concat!($($meaning),*),
        }),*]
    };
}

/// The columns before the metrics.
pub(super) const COLUMNS: [Column; 88] = columns! {
    /// The experiment's id.
    experiment: Text, row => Some(row.planned.experiment);
    /// The experiment's name in the plan.
    name: Text, row => Some(row.planned.name);
    /// The benchmark.
    benchmark: Text, row => Some(row.planned.benchmark);
    /// The code version.
    version: Text, row => Some(row.planned.version);
    /// The run's number in the plan's order, from 0.
    run: Count, row => Some(row.run().0);
    /// The how-manieth run of its benchmark in its version, from 1.
    repetition: Count, row => Some(row.planned.repetition);
    /// What became of the run, on exactly one row of each: `measured`, `failed`, `abandoned`, `cancelled` or `open`.
    run_state: Text, row => row.run_end().map(RunEnd::name);
    /// Whether the row is an observation of the sample.
    counts: Truth, row => Some(row.counts());
    /// Why it is none: `failed`, `lost`, `superseded`, `cancelled` or `not_executed_yet`; of another host of a run `part`, of a rank `rank`.
    why_not: Text, row => row.why_not();
    /// Which try at the run it is, from 1.
    attempt: Count, row => lease(row).map(|lease| lease.attempt.0);
    /// How the attempt ended: `measured`, `failed`, `not_executed` or `lost`.
    outcome: Text, row => row.outcome();
    /// Why the benchmark failed, as a code.
    failure: Text, row => failure(row).map(Failure::code);
    /// The same in words.
    failure_words: Text, row => failure(row).map(Failure::words);
    /// Why the attempt was lost, as a code.
    loss: Text, row => loss(row).map(|(reason, _)| reason.code());
    /// What the agent said of an attempt that it could not execute, or the engine of a job that it ended.
    loss_words: Text, row => loss(row).and_then(|(reason, _)| loss_words(reason));
    /// What followed the loss: the run `again`, or it was `abandoned` or `cancelled`.
    after: Text, row => loss(row).map(|(_, after)| after_name(after));
    /// The host.
    host: Text, row => lease(row).map(|lease| lease.host.as_str());
    /// What people called the host then: its node's name, or its own.
    host_name: Text, row => lease(row).and_then(|lease| Some(lease.evidence.host_name.as_ref()?.as_str()));
    /// The boot of the host, as its kernel names it.
    boot: Text, row => lease(row).map(|lease| lease.evidence.boot.as_str());
    /// The host's allocation (job, pod, container), where it has one.
    allocation: Text, row => lease(row).and_then(|lease| Some(lease.evidence.allocation.as_ref()?.as_str()));
    /// Which start of its agent it was.
    agent_epoch: Count, row => lease(row).map(|lease| lease.agent_epoch.0);
    /// The number of the lease, never given twice.
    lease_epoch: Count, row => lease(row).map(|lease| lease.epoch.0);
    /// When the lease was given, by the coordinator's time.
    granted: Moment, row => granted(row);
    /// The same in nanoseconds since the Unix epoch.
    granted_ns: Count, row => granted(row).map(|at| at.0);
    /// When the coordinator heard that the run began.
    started: Moment, row => started(row);
    /// The same in nanoseconds since the Unix epoch.
    started_ns: Count, row => started(row).map(|at| at.0);
    /// When the attempt ended for the coordinator: reported, or given up.
    ended: Moment, row => ended(row);
    /// The same in nanoseconds since the Unix epoch.
    ended_ns: Count, row => ended(row).map(|at| at.0);
    /// Evidence: visits that the host made in the policy's scope before this one.
    served_in_scope: Count, row => lease(row).map(|lease| lease.evidence.served_in_scope);
    /// Evidence: attempts that the host was given before this one, in all.
    served_in_all: Count, row => lease(row).map(|lease| lease.evidence.served_in_all);
    /// Evidence: of which experiment the last of them was.
    previous_experiment: Id, row => previous(row).map(|(experiment, _)| spelled(experiment));
    /// Evidence: and which run.
    previous_run: Count, row => previous(row).map(|(_, run)| run.0);
    /// Processes that outlived the run and were ended.
    survivors: Count, row => row.record().map(|record| record.survivors);
    /// Context switches of the agent itself while the run was timed.
    agent_switches: Count, row => row.record().map(|record| record.agent_switches);
    /// The bias of the timer that measured it, where that was tested.
    timer_bias_ns: Signed, row => row.record().and_then(|record| Some(record.timer?.bias_ns));
    /// The spread of that timer.
    timer_spread_ns: Count, row => row.record().and_then(|record| Some(record.timer?.spread_ns));
    /// The length of the whole standard output.
    stdout_bytes: Count, row => row.record().map(|record| record.stdout.bytes);
    /// The BLAKE3 hash of the whole standard output.
    stdout_blake3: Id, row => row.record().map(|record| hash(&record.stdout));
    /// The length of the whole standard error.
    stderr_bytes: Count, row => row.record().map(|record| record.stderr.bytes);
    /// The BLAKE3 hash of the whole standard error.
    stderr_blake3: Id, row => row.record().map(|record| hash(&record.stderr));
    /// Whether something else is known to have touched the run. It stays in the sample.
    disturbed: Truth, row => conditions(row).map(|is| !is.disturbances.is_empty());
    /// The codes of what disturbed it, with spaces between.
    disturbances: Text, row => conditions(row).map(disturbances);
    /// The settings of the plan's environment that the host had not, with spaces between.
    unmet: Text, row => conditions(row).map(unmet);
    /// The CPUs that the program was confined to.
    cpus: Text, row => conditions(row).and_then(|is| Some(is.cpus.as_ref()?.to_string()));
    /// The size of its environment variables, as `execve` counts them.
    env_bytes: Count, row => conditions(row).and_then(|is| is.env_bytes);
    /// The length of the path of the directory that it stood in.
    directory_bytes: Count, row => conditions(row).and_then(|is| is.directory_bytes);
    /// Time that the hypervisor took from the run's CPUs while it ran.
    steal_ns: Count, row => growth(row, |reading| Some(reading.cpu_time?.stolen_ns));
    /// How often its cores and packages were throttled while it ran.
    throttled: Count, row => growth(row, throttled);
    /// Time in which some task of the host stalled for want of a CPU while it ran, microseconds.
    pressure_cpu_us: Count, row => growth(row, |reading| Some(reading.pressure_cpu?.total_us));
    /// The one-minute load average before the run; 100 is one task.
    load_before_percent: Count, row => before(row).and_then(|reading| Some(reading.load?.one_percent));
    /// The same after it.
    load_after_percent: Count, row => after(row).and_then(|reading| Some(reading.load?.one_percent));
    /// The mean frequency of the run's CPUs before it.
    frequency_before_khz: Count, row => before(row).and_then(|reading| Some(reading.frequency?.mean_khz));
    /// The same after it.
    frequency_after_khz: Count, row => after(row).and_then(|reading| Some(reading.frequency?.mean_khz));
    /// The highest temperature of the processor before the run, thousandths of a degree Celsius.
    temperature_before_mc: Signed, row => before(row).and_then(|reading| reading.temperature_mc);
    /// The same after it.
    temperature_after_mc: Signed, row => after(row).and_then(|reading| reading.temperature_mc);
    /// Policy `rested`: how long the agent waited until the host was within the plan's bounds.
    rest_waited_ns: Count, row => rest(row).map(|rest| rest.waited.0);
    /// Policy `rested`: the one-minute load average when the run began.
    rest_load_percent: Count, row => rest(row).and_then(|rest| rest.load_percent);
    /// Policy `rested`: the highest temperature of the processor then.
    rest_temperature_mc: Signed, row => rest(row).and_then(|rest| rest.temperature_mc);
    /// Policy `rested`: the mean frequency of its CPUs then, in percent of the highest that they offer.
    rest_frequency_percent: Count, row => rest(row).and_then(|rest| rest.frequency_percent);
    /// How long the canary took after the run.
    canary_ns: Count, row => row.record().and_then(|record| Some(record.canary?.0));
    /// Why the canary has no time.
    canary_failed: Text, row => row.record().and_then(|record| record.canary_failed.as_deref());
    /// Metrics without a value, as pairs `metric:reason`, with spaces between.
    absent: Text, row => row.record().and_then(absent);
    /// Metrics whose values lack what happened in the kernel, with spaces between.
    user_only: Text, row => row.record().and_then(user_only);
    /// The group of runs that one host serves in one visit.
    group: Count, row => Some(row.planned.place.group.0);
    /// Which boot of the visit the run belongs to.
    group_boot: Count, row => Some(row.planned.place.boot);
    /// Evidence: how long the host is known to have been idle; not beyond its latest connection.
    idle_ns: Count, row => lease(row).and_then(|lease| Some(lease.evidence.idle?.0));
    /// Evidence: the host's boot at its last run in the policy's scope.
    boot_before: Text, row => lease(row).and_then(|lease| Some(lease.evidence.boot_before.as_ref()?.as_str()));
    /// Evidence: its allocation at that run.
    allocation_before: Text, row => {
        lease(row).and_then(|lease| Some(lease.evidence.allocation_before.as_ref()?.as_str()))
    };
    /// The class of the host: those with the same fingerprint share it.
    class: Id, row => lease(row).and_then(|lease| Some(spelled(lease.evidence.class?)));
    /// The run that built the version which this run executed.
    build: Count, row => lease(row).and_then(|lease| Some(lease.evidence.build.as_ref()?.run.0));
    /// The file that was executed. Of a script it is the script, not its interpreter.
    program: Text, row => program(row).map(|program| program.path.as_str());
    /// The BLAKE3 hash of that file. The same name on two hosts is not the same program; the same hash is.
    program_blake3: Id, row => program(row).and_then(|program| Some(spelled(program.blake3()?)));
    /// Why that hash is not known.
    program_unknown: Text, row => program(row).and_then(Program::unknown);
    /// When the run began by the wall clock of its host, which may step: information, and no evidence.
    host_clock_ns: Count, row => row.record().map(|record| record.started_unix_ns);
    /// Evidence: the machine of the host, by what makers give to no other one. Hosts with the same, or in one boot, are one.
    machine: Id, row => lease(row).and_then(|lease| Some(spelled(lease.evidence.machine?)));
    /// The kind of the file system of the directory that the program stood in, as `/proc/mounts` names it.
    file_system: Text, row => conditions(row).and_then(|is| Some(is.file_system.as_ref()?.kind.as_str()));
    /// The BLAKE3 hash of the environment variables that modules, Spack and prologue made: equal where those are, but for the
    /// directories of run and host.
    environment_blake3: Id, row => variables(row).map(|variables| spelled(variables.blake3));
    /// How long a shell took to make them, before the clock started; with the first run that had them on the host.
    environment_ns: Count, row => made(row).map(|made| made.took.0);
    /// When it had made them, by the wall clock of the host (nanoseconds since the Unix epoch); likewise.
    environment_clock_ns: Count, row => made(row).map(|made| made.ended_unix_ns);
    /// What identifies the image of the container: the BLAKE3 hash of its file, or what the plan's command told.
    image: Text, row => container(row).map(image);
    /// How long launcher and container took for a program that does nothing, before the first run on the host.
    container_ns: Count, row => container(row).and_then(|container| Some(container.start?.0));
    /// The full id of the commit that the version was built from, where it was built from Git.
    commit: Text, row => row.planned.commit;
    /// How many hosts served the run together, where the plan says.
    hosts: Count, row => row.planned.hosts;
    /// Which, by their ids, the one that started the program first, with spaces between; of a lost attempt they are not told.
    gang: Text, row => gang(row, |member| member.host.as_str());
    /// What their launcher called them, likewise.
    gang_names: Text, row => gang(row, Member::called);
    /// The switches of the network above the host, from the top to its own, where Slurm tells.
    switches: Text, row => lease(row).and_then(|lease| Some(lease.evidence.switches.as_ref()?.as_str()));
    /// Evidence: whether the hosts of the run had served in the policy's scope together before; of the policy `distinct_sets` alone.
    set_served: Truth, row => lease(row).and_then(|lease| lease.evidence.set_served);
    /// Over how many leaf switches the hosts of the run were spread, where Slurm tells the switches above all of
    /// them; of further hosts it is not told.
    leaf_switches: Count, row => lease(row).and_then(Lease::leaf_switches);
};

/// Of rows for each host.
pub(super) const SEAT: [Column; 1] = columns! {
    /// The place of the host in the run, from 0: that of the host that started the program. The rows of other hosts do not count,
    /// and their metrics are empty.
    seat: Count, row => lease(row).map(|lease| lease.seat.as_ref().map_or(0, |seat| seat.number));
};

/// Of rows for each rank.
pub(super) const RANK: [Column; 8] = columns! {
    /// The number of the rank among those of all hosts. Rows of ranks do not count; what else is in them is that of the attempt on
    /// their host.
    rank: Count, row => row.rank.map(|time| time.rank);
    /// When the rank was started, by the wall clock of its host (nanoseconds since the Unix epoch): information, and no evidence.
    rank_started_ns: Count, row => row.rank.map(|time| time.started_unix_ns);
    /// From the start of the rank to its end, by the clock of its host.
    rank_wall_ns: Count, row => row.rank.map(|time| time.wall.0);
    /// Its processor time in user mode.
    rank_user_ns: Count, row => row.rank.map(|time| time.user.0);
    /// Its processor time in the kernel.
    rank_system_ns: Count, row => row.rank.map(|time| time.system.0);
    /// The peak of its resident memory.
    rank_max_rss_bytes: Count, row => row.rank.map(|time| time.max_rss_bytes);
    /// The code that it ended with, if it ended by itself.
    rank_exit: Count, row => row.rank.and_then(|time| match time.end {
        RankEnd::Exited(code) => Some(u64::from(code)),
        RankEnd::Signalled(_) => None,
    });
    /// The signal that ended it, if one did.
    rank_signal: Count, row => row.rank.and_then(|time| match time.end {
        RankEnd::Signalled(signal) => Some(u64::from(signal)),
        RankEnd::Exited(_) => None,
    });
};

/// The output that was kept, not in CSV: it may be anything, of any length. What is not UTF-8 is replaced; the hash is that
/// of the bytes.
pub(super) const KEPT: [Column; 3] = columns! {
    /// What was kept of standard output; what is not UTF-8 is replaced.
    stdout_kept: Text, row => row.record().and_then(|record| kept(&record.stdout));
    /// What was kept of standard error.
    stderr_kept: Text, row => row.record().and_then(|record| kept(&record.stderr));
    /// The environment variables that modules, Spack and prologue made, as lines `NAME=VALUE`; with the first run that had
    /// them on the host. `{work}`, `{input}` and `{scratch}` stand for directories.
    environment: Text, row => made(row).map(environment);
};

/// What a metric's column holds.
pub(super) fn metric(row: &Row<'_>, metric: Metric) -> Option<u64> {
    row.record().and_then(|record| record.metrics.get(&metric).copied())
}

/// What an own metric's column holds: the values of the iterations.
pub(super) fn own<'a>(row: &Row<'a>, metric: &str) -> Option<&'a [f64]> {
    row.record().and_then(|record| record.series.get(metric)).map(Vec::as_slice)
}

fn variables<'a>(row: &Row<'a>) -> Option<&'a UsedVariables> {
    conditions(row)?.software.as_ref()?.variables.as_ref()
}

fn made<'a>(row: &Row<'a>) -> Option<&'a MadeVariables> {
    variables(row)?.made.as_ref()
}

fn container<'a>(row: &Row<'a>) -> Option<&'a UsedContainer> {
    conditions(row)?.software.as_ref()?.container.as_ref()
}

fn image(container: &UsedContainer) -> String {
    match &container.identity {
        ImageIdentity::Blake3(hash) => format!("blake3:{hash}"),
        ImageIdentity::Told(digest) => digest.clone(),
        ImageIdentity::Unknown { .. } => String::new(),
    }
}

fn environment(made: &MadeVariables) -> String {
    made.variables.iter().map(|(name, value)| format!("{name}={value}\n")).collect()
}

fn conditions<'a>(row: &Row<'a>) -> Option<&'a Conditions> {
    row.record()?.conditions.as_deref()
}

fn before<'a>(row: &Row<'a>) -> Option<&'a Reading> {
    conditions(row).map(|is| &is.before)
}

fn after<'a>(row: &Row<'a>) -> Option<&'a Reading> {
    conditions(row).map(|is| &is.after)
}

/// How far a count went up from before the run to after it.
fn growth(row: &Row<'_>, count: fn(&Reading) -> Option<u64>) -> Option<u64> {
    Some(count(after(row)?)?.saturating_sub(count(before(row)?)?))
}

fn throttled(reading: &Reading) -> Option<u64> {
    reading.throttled.map(|throttled| throttled.core.saturating_add(throttled.package))
}

fn rest(row: &Row<'_>) -> Option<RestReading> {
    row.record()?.rest
}

fn gang(row: &Row<'_>, called: impl Fn(&Member) -> &str) -> Option<String> {
    let members = &lease(row)?.seat.as_ref()?.members;
    let called: Vec<&str> = members.iter().map(called).collect();
    (!called.is_empty()).then(|| called.join(" "))
}

fn program<'a>(row: &Row<'a>) -> Option<&'a Program> {
    row.record()?.program.as_deref()
}

/// The codes of what disturbed the run, separated by spaces; empty when nothing did.
fn disturbances(conditions: &Conditions) -> String {
    let codes: Vec<&str> = conditions.disturbances.iter().map(Disturbance::code).collect();
    codes.join(" ")
}

/// The settings that the plan wanted and the host had not, separated by spaces; empty when it had all.
fn unmet(conditions: &Conditions) -> String {
    let names: Vec<&str> = conditions.unmet.iter().map(|unmet| unmet.setting.name()).collect();
    names.join(" ")
}

/// Pairs `metric:code` of the metrics that have no value.
fn absent(record: &Record) -> Option<String> {
    let pairs = record.absent.iter().map(|(metric, absence)| format!("{}:{}", metric.name(), absence.code()));
    joined(pairs)
}

/// The metrics whose values lack what happened in the kernel.
fn user_only(record: &Record) -> Option<String> {
    joined(record.user_only.iter().map(|metric| metric.name().to_owned()))
}

fn joined(words: impl Iterator<Item = String>) -> Option<String> {
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| words.join(" "))
}

fn lease<'a>(row: &Row<'a>) -> Option<&'a Lease> {
    row.ended().map(|ended| &ended.lease)
}

fn granted(row: &Row<'_>) -> Option<Timestamp> {
    lease(row).map(|lease| lease.granted)
}

fn started(row: &Row<'_>) -> Option<Timestamp> {
    lease(row).and_then(|lease| lease.started)
}

fn ended(row: &Row<'_>) -> Option<Timestamp> {
    row.ended().map(|ended| ended.ended)
}

fn previous(row: &Row<'_>) -> Option<(ExperimentId, RunIndex)> {
    lease(row)?.evidence.previous
}

fn failure<'a>(row: &Row<'a>) -> Option<&'a Failure> {
    match row.record() {
        Some(Record { outcome: Outcome::Failed(failure), .. }) => Some(failure),
        Some(Record { outcome: Outcome::Measured | Outcome::NotExecuted { .. }, .. }) | None => None,
    }
}

/// Of a late report too: it says what its attempt was given up for.
fn loss<'a>(row: &Row<'a>) -> Option<(&'a LossReason, AfterLoss)> {
    match row.ended() {
        Some(EndedAttempt { end: AttemptEnd::Lost { reason, after, .. }, .. }) => Some((reason, *after)),
        Some(EndedAttempt { end: AttemptEnd::Reported(_), .. }) | None => None,
    }
}

fn loss_words(reason: &LossReason) -> Option<&str> {
    match reason {
        LossReason::NotExecuted { reason: words, .. } | LossReason::JobEnded { words, .. } => Some(words),
        LossReason::Expired | LossReason::HostLost | LossReason::AgentRestarted => None,
    }
}

fn after_name(after: AfterLoss) -> &'static str {
    match after {
        AfterLoss::Again(_) => "again",
        AfterLoss::Abandoned => "abandoned",
        AfterLoss::Cancelled => "cancelled",
    }
}

fn hash(output: &Output) -> IdText {
    blake3::Hash::from_bytes(output.blake3).to_hex()
}

/// An id or a hash, which are no longer than there is room.
fn spelled(id: impl Display) -> IdText {
    let mut text = IdText::new();
    write!(text, "{id}").map_or_else(|_| IdText::new(), |()| text)
}

/// Nothing was kept of most runs, which is another thing than an empty output.
fn kept(output: &Output) -> Option<Cow<'_, str>> {
    (!output.kept.is_empty() || output.bytes == 0).then(|| String::from_utf8_lossy(&output.kept))
}
