//! Tables of the times in files, as hyperfine writes them, so that what reads those reads these: ± is the standard deviation of
//! the runs there, and the last column how many times as long as the fastest command. Intervals stand in the report.

use anyhow::{Context as _, anyhow};

use super::timing::{TimeUnit, Timing};
use crate::exit::failure::Failure;

/// Decimals of times, by hyperfine's rule: milliseconds have one, the others as many as keep three digits.
const fn decimals(unit: TimeUnit) -> usize {
    match unit {
        TimeUnit::Microsecond | TimeUnit::Millisecond => 1,
        TimeUnit::Second => 3,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Markup {
    Markdown,
    Asciidoc,
    Orgmode,
}

/// How a command compares with the fastest.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Relative {
    ratio: f64,
    deviation: Option<f64>,
}

impl Relative {
    /// The ratio of the means, and its deviation by the propagation of uncertainty of independent times.
    fn between(timing: &Timing, fastest: &Timing) -> Self {
        let ratio = timing.wall.mean() / fastest.wall.mean();
        let share = |one: &Timing| one.wall.standard_deviation().map(|deviation| deviation / one.wall.mean());
        if std::ptr::eq(timing, fastest) {
            return Self { ratio, deviation: None };
        }
        let deviation = share(timing).zip(share(fastest));
        Self { ratio, deviation: deviation.map(|(of, by)| ratio * of.hypot(by)) }
    }

    fn shown(self) -> String {
        let Self { ratio, deviation } = self;
        deviation.map_or_else(|| format!("{ratio:.2}"), |deviation| format!("{ratio:.2} ± {deviation:.2}"))
    }
}

impl Markup {
    pub(super) fn table(self, timings: &[&Timing], unit: TimeUnit) -> String {
        let sign = unit.sign();
        let headings = [
            "Command".to_owned(),
            format!("Mean [{sign}]"),
            format!("Min [{sign}]"),
            format!("Max [{sign}]"),
        ];
        let headings: Vec<String> = headings.into_iter().chain(["Relative".to_owned()]).collect();
        let fastest = timings.iter().copied().min_by(|a, b| a.wall.mean().total_cmp(&b.wall.mean()));
        let rows = timings.iter().map(|timing| {
            let digits = decimals(unit);
            let show = |seconds: f64| format!("{:.digits$}", unit.convert_seconds(seconds));
            let mean = show(timing.wall.mean());
            let mean = timing
                .wall
                .standard_deviation()
                .map_or_else(|| mean.clone(), |one| format!("{mean} ± {}", show(one)));
            let (least, most) = (timing.wall.min(), timing.wall.max());
            let relative = Relative::between(timing, fastest.unwrap_or(timing)).shown();
            self.row(&[self.code(&timing.command), mean, show(least), show(most), relative])
        });
        let (before, between, after) = match self {
            Self::Markdown => ("", "|:---|---:|---:|---:|---:|\n", ""),
            Self::Asciidoc => ("[cols=\"<,>,>,>,>\"]\n|===", "", "|===\n"),
            Self::Orgmode => ("", "|--+--+--+--+--|\n", ""),
        };
        let rows: String = rows.collect();
        format!("{before}{}{between}{rows}{after}", self.row(&headings))
    }

    fn row(self, cells: &[String]) -> String {
        match self {
            Self::Markdown => format!("| {} |\n", cells.join(" | ")),
            Self::Asciidoc => format!("\n| {} \n", cells.join(" \n| ")),
            Self::Orgmode => format!("| {}  |  {} |\n", cells[0], cells[1..].join(" |  ")),
        }
    }

    /// A command as code, whose bars do not end the cell.
    fn code(self, command: &str) -> String {
        let command = command.replace('|', "\\|").replace('\n', " ");
        match self {
            Self::Markdown | Self::Asciidoc => format!("`{command}`"),
            Self::Orgmode => format!("={command}="),
        }
    }
}

/// The times as comma-separated values, in seconds.
pub(super) fn csv(timings: &[&Timing]) -> Result<String, Failure> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let parameters = timings.first().map(|timing| timing.parameters.keys().cloned().collect::<Vec<_>>());
    let parameters = parameters.unwrap_or_default();
    let columns = ["command", "mean", "stddev", "median", "user", "system", "min", "max"].map(str::to_owned);
    let columns = columns.into_iter().chain(parameters.iter().map(|name| format!("parameter_{name}")));
    let failed = "cannot write the times as comma-separated values";
    writer.write_record(columns).context(failed).map_err(Failure::infrastructure)?;
    for timing in timings {
        let (least, most) = (timing.wall.min(), timing.wall.max());
        let deviation = timing.wall.standard_deviation().unwrap_or(0.0);
        let (user, system) = (timing.user.unwrap_or(0.0), timing.system.unwrap_or(0.0));
        let numbers = [timing.wall.mean(), deviation, timing.wall.median(), user, system, least, most];
        let values = parameters.iter().map(|name| timing.parameters.get(name).cloned().unwrap_or_default());
        let cells =
            [timing.command.clone()].into_iter().chain(numbers.map(|one| one.to_string())).chain(values);
        writer.write_record(cells).context(failed).map_err(Failure::infrastructure)?;
    }
    let bytes = writer.into_inner().map_err(|error| Failure::infrastructure(anyhow!("{failed}: {error}")))?;
    String::from_utf8(bytes).context(failed).map_err(Failure::infrastructure)
}

#[cfg(test)]
mod tests {
    use super::{super::timing::tests::timing, *};

    #[test]
    fn markup_is_as_hyperfine_writes_it() {
        let (slow, fast) = (timing("sleep 0.2 | cat", &[0.2, 0.202]), timing("sleep 0.1", &[0.1, 0.1]));
        let timings = [&slow, &fast];
        assert_eq!(
            Markup::Markdown.table(&timings, TimeUnit::Millisecond),
            "| Command | Mean [ms] | Min [ms] | Max [ms] | Relative |\n|:---|---:|---:|---:|---:|\n\
             | `sleep 0.2 \\| cat` | 201.0 ± 1.4 | 200.0 | 202.0 | 2.01 ± 0.01 |\n\
             | `sleep 0.1` | 100.0 ± 0.0 | 100.0 | 100.0 | 1.00 |\n"
        );
        assert_eq!(
            Markup::Orgmode.table(&[&fast], TimeUnit::Second),
            "| Command  |  Mean [s] |  Min [s] |  Max [s] |  Relative |\n|--+--+--+--+--|\n\
             | =sleep 0.1=  |  0.100 ± 0.000 |  0.100 |  0.100 |  1.00 |\n"
        );
        assert_eq!(
            Markup::Asciidoc.table(&[&fast], TimeUnit::Second),
            "[cols=\"<,>,>,>,>\"]\n|===\n| Command \n| Mean [s] \n| Min [s] \n| Max [s] \n| Relative \n\
             \n| `sleep 0.1` \n| 0.100 ± 0.000 \n| 0.100 \n| 0.100 \n| 1.00 \n|===\n"
        );
    }

    #[test]
    fn comma_separated_values_are_seconds_with_all_digits() {
        let text = csv(&[&timing("a, b", &[0.25, 0.5])]).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "command,mean,stddev,median,user,system,min,max");
        assert_eq!(lines[1], "\"a, b\",0.375,0.1767766952966369,0.375,0.001,0,0.25,0.5");
    }
}
