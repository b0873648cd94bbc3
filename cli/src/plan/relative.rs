//! Programs that a plan names by a relative path: a run would not find them.

use speedup_core::experiment::{CommandLine, Experiment};

use crate::console::Console;

/// Warns of benchmarks whose program is a relative path.
pub(crate) fn warn(experiment: &Experiment, console: &Console) {
    if let Some((name, program)) = first(experiment) {
        console.warn(format_args!(
            "the program {program} of benchmark {name} is a relative path, and runs start in an empty directory of \
             the agent: write an absolute path, or {{input}} for what the setup makes"
        ));
    }
}

/// The first such benchmark, and its program; one is enough to learn it.
fn first(experiment: &Experiment) -> Option<(&str, &str)> {
    let in_new_directory = experiment.benchmarks.iter().filter(|benchmark| benchmark.directory.is_none());
    in_new_directory.into_iter().find_map(|benchmark| {
        let program = match &benchmark.command {
            CommandLine::Exact(words) => words.first()?.as_str(),
            CommandLine::Shell(line) => line.split_whitespace().next()?,
        };
        let relative = program.contains('/') && !program.starts_with(['/', '{', '$', '"', '\'', '~', '(']);
        relative.then_some((benchmark.name.as_str(), program))
    })
}

#[cfg(test)]
mod tests {
    use speedup_core::plan;
    use speedup_core::value::seed::Seed;

    use super::*;
    use crate::plan::source::tests::PLAN;

    #[test]
    fn a_relative_program_is_found_and_an_absolute_one_is_fine() {
        let with = |program: &str| {
            let plan = PLAN.replace("\"sort\", ", &format!("\"{program}\", "));
            first(&plan::file::parse(&plan, Seed(1)).unwrap()).map(|(_, program)| program.to_owned())
        };
        assert_eq!(with("./prog"), Some("./prog".to_owned()));
        assert_eq!(with("bin/prog"), Some("bin/prog".to_owned()));
        assert_eq!((with("sort"), with("/bin/sort"), with("{input}/prog")), (None, None, None));
    }
}
