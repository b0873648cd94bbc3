//! The events of `go test -json`: each line a JSON object, of which those with the action `output` hold pieces of what a package
//! printed. A line of Go benchmark text comes in several pieces, and those of packages that run side by side are mixed. Each package
//! ends with an event of its own: a file without it was cut off, and is refused.

use super::{GoUnits, collect};
use crate::{Collection, Fault, FileProblem, Json, Misfit, json::read_lines};
use indexmap::IndexMap;

/// Lines that are put together from pieces hold no more than this: a benchmark's line is some hundred bytes.
const MAX_LINE_BYTES: usize = 1 << 20;

pub(crate) fn read(text: &str, units: GoUnits) -> Result<Collection, Fault> {
    // In the order in which they began.
    let mut packages: IndexMap<String, Package> = IndexMap::new();
    read_lines(text, |line, event| {
        let name = event.get("Package").map(Json::text).transpose()?.unwrap_or_default();
        packages.entry(name.to_owned()).or_default().take(event, line)
    })?;
    if let Some(open) = packages.values().find(|package| !package.is_ended) {
        let line = open.printed.last().map_or(1, |(line, _)| *line);
        return Err(Fault::at(line, 1, FileProblem::Truncated { expected: "the event that ends a package" }));
    }
    let printed = packages.values().flat_map(|package| &package.printed);
    let printed: Vec<(usize, &str)> = printed.map(|(line, text)| (*line, text.as_str())).collect();
    collect(&printed, units)
}

#[derive(Default)]
struct Package {
    /// What it printed: the lines, each with that of its first piece in the file.
    printed: Vec<(usize, String)>,
    /// Whether its last line goes on.
    is_open: bool,
    is_ended: bool,
}

impl Package {
    fn take(&mut self, event: &Json<'_>, line: usize) -> Result<(), Misfit> {
        match event.field("Action")?.text()? {
            "output" => self.print(event.field("Output")?, line)?,
            "pass" | "fail" | "skip" if event.get("Test").is_none() => self.is_ended = true,
            _ => {}
        }
        Ok(())
    }

    fn print(&mut self, output: &Json<'_>, line: usize) -> Result<(), Misfit> {
        for piece in output.text()?.split_inclusive('\n') {
            let ended = piece.strip_suffix('\n');
            let text = ended.unwrap_or(piece);
            match self.printed.last_mut() {
                Some((_, begun)) if self.is_open => {
                    if begun.len() + text.len() > MAX_LINE_BYTES {
                        return Err(output.misfit(FileProblem::Truncated { expected: "the end of a line" }));
                    }
                    begun.push_str(text);
                }
                _ => self.printed.push((line, text.to_owned())),
            }
            self.is_open = ended.is_none();
        }
        Ok(())
    }
}
