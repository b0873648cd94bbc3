//! A folder with a configuration and samples, and the command in it.

use std::{fs, path::Path, path::PathBuf, process::Command, process::Output};

use tempfile::TempDir;

pub(crate) const HEADING: &str = "Name,Sample1,Sample2,ConfLevel,Coef\n";
/// Times without ties, of a baseline and of a candidate that is faster.
pub(crate) const SLOW: &str = "2.799\n2.046\n1.259\n1.877\n2.244\n";
pub(crate) const FAST: &str = "1.046\n0.259\n0.877\n1.244\n1.799\n";

pub(crate) struct Folder(TempDir);

pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// A line of the results file.
#[derive(Debug)]
pub(crate) struct Row(Vec<String>);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    /// One with the samples `slow` and `fast` and this configuration `c.csv` of them.
    pub(crate) fn with_configuration(rows: &str) -> Self {
        let folder = Self::new();
        folder.write("slow", SLOW).write("fast", FAST).write("c.csv", format!("{HEADING}{rows}"));
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> &Self {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
        self
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Runs `speedup test` with these arguments in the folder.
    pub(crate) fn test(&self, arguments: &[&str]) -> Said {
        self.test_in("", arguments)
    }

    /// The same in a folder below it.
    pub(crate) fn test_in(&self, below: impl AsRef<Path>, arguments: &[&str]) -> Said {
        let mut command = Command::new(env!("CARGO_BIN_EXE_speedup"));
        command.arg("test").args(arguments).current_dir(self.0.path().join(below));
        command.output().expect("the command").into()
    }

    /// Runs it and expects success.
    pub(crate) fn tested(&self, arguments: &[&str]) -> Said {
        let said = self.test(arguments);
        assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
        said
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> serde_json::Value {
        let said = self.tested(&[arguments, &["--format", "json"]].concat());
        serde_json::from_str(&said.out).expect("one JSON value")
    }

    /// The lines of a results file.
    pub(crate) fn rows(&self, name: &str) -> Vec<Row> {
        let text = self.read(name);
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let headings = reader.headers().expect("a heading").clone();
        let names = [
            "Name",
            "SpeedupMin",
            "SpeedupMean",
            "IsMeanSignificant",
            "MeanConfLevel",
            "SpeedupMedian",
            "IsMedianSignificant",
            "MedianConfLevel",
            "CoefMin",
            "CoefMean",
            "CoefMedian",
        ];
        assert_eq!(headings, names[..]);
        let row = |record: csv::Result<csv::StringRecord>| {
            Row(record.expect("a line").iter().map(str::to_owned).collect())
        };
        reader.records().map(row).collect()
    }

    /// The names of all files in the folder, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).expect("a folder").flatten();
        let mut names: Vec<_> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

impl Row {
    pub(crate) fn fields(&self) -> Vec<&str> {
        self.0.iter().map(String::as_str).collect()
    }

    /// Whether the mean's speedup is significant, and at what level.
    pub(crate) fn mean(&self) -> (&str, &str) {
        (&self.0[3], &self.0[4])
    }

    /// The same of the median.
    pub(crate) fn median(&self) -> (&str, &str) {
        (&self.0[6], &self.0[7])
    }

    pub(crate) fn coefficients(&self) -> [&str; 3] {
        [&self.0[8], &self.0[9], &self.0[10]]
    }
}
