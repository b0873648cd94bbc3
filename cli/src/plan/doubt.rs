//! What in a plan is most likely a mistake, though it can be carried out: said before anything runs.

use std::path::Path;

use speedup_core::experiment::{CommandLine, Experiment, Version};

use crate::console::Console;

/// Warns of what a plan most likely does not mean.
pub(crate) fn warn(experiment: &Experiment, console: &Console) {
    let is_file = |word: &str| Path::new(word).is_file();
    let doubts = [
        relative_program(experiment),
        file_of_here(experiment, is_file),
        same_versions(experiment),
        one_run(experiment),
    ];
    doubts.into_iter().flatten().for_each(|doubt| console.warn(doubt));
}

/// The first benchmark whose program is a relative path; one is enough to learn it.
fn relative_program(experiment: &Experiment) -> Option<String> {
    in_new_directories(experiment).find_map(|(benchmark, words)| {
        let program = words.first()?;
        let is_relative = program.contains('/') && !program.starts_with(['/', '{', '$', '"', '\'', '~', '(']);
        is_relative.then(|| {
            format!(
                "the program {program} of benchmark {benchmark} is a relative path, and runs start in an empty \
                    directory of the agent: write an absolute path, or {{input}} for files from the setup"
            )
        })
    })
}

/// The first benchmark that names a file of the working directory, which its runs do not have.
fn file_of_here(experiment: &Experiment, is_file: impl Fn(&str) -> bool) -> Option<String> {
    in_new_directories(experiment).find_map(|(benchmark, words)| {
        let file = words.iter().skip(1).find(|word| !word.starts_with(['/', '-', '{']) && is_file(word))?;
        Some(format!(
            "benchmark {benchmark} names {file}, which is a file here, and runs start in an empty directory of the agent: write its \
             absolute path, or have it travel with the plan ([files], then {{input}}/{file})"
        ))
    })
}

/// The benchmarks whose runs start in a new directory, with the words of their commands.
fn in_new_directories(experiment: &Experiment) -> impl Iterator<Item = (&str, Vec<&str>)> {
    let benchmarks = experiment.benchmarks.iter().filter(|benchmark| benchmark.directory.is_none());
    benchmarks.map(|benchmark| {
        let words = match &benchmark.command {
            CommandLine::Exact(words) => words.iter().map(String::as_str).collect(),
            CommandLine::Shell(line) => line.split_whitespace().collect(),
        };
        (benchmark.name.as_str(), words)
    })
}

fn same_versions(experiment: &Experiment) -> Option<String> {
    let (baseline, others) = experiment.compared().split_first()?;
    let what_they_are = |version: &Version| {
        let Version { name: _, env, vars, command, build, software, commit } = version.clone();
        let commit = commit.map(|commit| commit.id);
        (env, vars, command, build, software, commit)
    };
    let other = others.iter().find(|version| what_they_are(version) == what_they_are(baseline))?;
    let says = |line: &CommandLine| match line {
        CommandLine::Exact(words) => words.iter().any(|word| word.contains("{version}")),
        CommandLine::Shell(line) => line.contains("{version}"),
    };
    if experiment.benchmarks.iter().any(|benchmark| says(&benchmark.command)) {
        return None;
    }
    Some(format!(
        "versions {} and {} are the same in all that the plan says of them: their comparison shows noise; \
            [controls] baseline_again = true shows it besides a comparison",
        baseline.name, other.name
    ))
}

fn one_run(experiment: &Experiment) -> Option<String> {
    if experiment.units_of_a_cell() != 1 || experiment.bisection().is_some() {
        return None;
    }
    Some(
        "with one run of each version there is no spread, so no interval and no verdict: use 6 or more, such as \
            runs = 10 in [repetitions] or -r 10"
            .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use speedup_core::{plan, value::seed::Seed};

    use super::*;
    use crate::plan::source::tests::PLAN;

    fn experiment(plan: &str) -> Experiment {
        plan::file::parse(plan, Seed(1)).unwrap()
    }

    #[test]
    fn a_relative_program_is_found_and_an_absolute_one_is_fine() {
        let doubt = |program: &str| {
            relative_program(&experiment(&PLAN.replace("\"sort\", ", &format!("\"{program}\", "))))
        };
        assert!(doubt("./prog").unwrap().contains("./prog of benchmark sort"));
        assert!(doubt("bin/prog").is_some());
        assert_eq!((doubt("sort"), doubt("/bin/sort"), doubt("{input}/prog")), (None, None, None));
    }

    #[test]
    fn a_file_of_here_is_not_where_runs_start() {
        let named = |word: &str| {
            let plan = PLAN.replace("\"/etc/services\"", &format!("\"{word}\""));
            file_of_here(&experiment(&plan), |word| word == "words.txt")
        };
        assert!(named("words.txt").unwrap().contains("sort names words.txt"));
        assert_eq!((named("other.txt"), named("/words.txt"), named("{input}/words.txt")), (None, None, None));
    }

    #[test]
    fn versions_that_are_one_are_told_and_a_version_in_the_command_is_none() {
        let same = PLAN.replace("env = { LC_ALL = \"C\" }\n", "");
        assert_eq!(same_versions(&experiment(PLAN)), None);
        assert!(same_versions(&experiment(&same)).unwrap().contains("utf8 and c"));
        let named = same.replace("/etc/services", "/etc/{version}");
        assert_eq!(same_versions(&experiment(&named)), None);
    }

    #[test]
    fn one_run_is_told() {
        assert_eq!(one_run(&experiment(PLAN)), None);
        assert!(one_run(&experiment(&PLAN.replace("runs = 3", "runs = 1"))).is_some());
    }
}
