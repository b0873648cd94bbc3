//! Trees of files of other machines, made from their texts as `tests/trees/README.md` says.

use std::{fs, os::unix::fs::symlink, path::Path, path::PathBuf};

use speedup_core::value::cpu_set::CpuSet;
use tempfile::TempDir;

/// The machines of `tests/trees`.
pub(crate) const MACHINES: [&str; 6] = ["epyc", "graviton", "hybrid", "kvm", "raspberry", "xeon"];

/// A tree of files on disk.
pub(crate) struct Tree(TempDir);

/// The file of a machine of `tests/trees`.
pub(crate) fn file_of(machine: &str, file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trees").join(machine).join(file)
}

impl Tree {
    pub(crate) fn empty() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn of(machine: &str) -> Self {
        let tree = Self::empty();
        let text = fs::read_to_string(file_of(machine, "tree")).unwrap();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if line.is_empty() || line.starts_with('#') {
            } else if let Some((path, numbers)) = line.split_once(" <<") {
                let block: Vec<&str> = lines.by_ref().take_while(|line| *line != ">>").collect();
                let block: String = block.iter().map(|line| format!("{line}\n")).collect();
                tree.append(path, &repeated(&block, numbers.trim()));
            } else if let Some((path, target)) = line.split_once(" -> ") {
                each(path).for_each(|path| symlink(target, tree.made(&path)).unwrap());
            } else if let Some((path, value)) = line.split_once(" = ") {
                let value = value.replace("\\0", "\0");
                let end = if value.ends_with('\0') { "" } else { "\n" };
                each(path).for_each(|path| tree.write(&path, format!("{value}{end}")));
            } else {
                panic!("{machine}: {line:?} is no line of a tree");
            }
        }
        tree
    }

    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.root().join(file)
    }

    pub(crate) fn write(&self, file: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.made(file), bytes).unwrap();
    }

    /// What is seen while a file holds something else.
    pub(crate) fn changed<T>(&self, file: &str, bytes: impl AsRef<[u8]>, look: impl FnOnce() -> T) -> T {
        let before = fs::read(self.path(file)).ok();
        self.write(file, bytes);
        let seen = look();
        match before {
            Some(before) => self.write(file, before),
            None => fs::remove_file(self.path(file)).unwrap(),
        }
        seen
    }

    /// The path of a file whose folders are there and which is not.
    pub(crate) fn made(&self, file: &str) -> PathBuf {
        let path = self.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if path.symlink_metadata().is_ok() {
            fs::remove_file(&path).unwrap();
        }
        path
    }

    fn append(&self, file: &str, text: &str) {
        let known = fs::read_to_string(self.path(file)).unwrap_or_default();
        self.write(file, known + text);
    }
}

/// The block once for each of the numbers, or once.
fn repeated(block: &str, numbers: &str) -> String {
    if numbers.is_empty() {
        return block.to_owned();
    }
    let numbers: CpuSet = numbers.parse().unwrap();
    numbers.iter().map(|number| block.replace("{}", &number.to_string())).collect()
}

/// The paths that a path with sets of numbers stands for.
fn each(path: &str) -> Box<dyn Iterator<Item = String>> {
    let Some((before, rest)) = path.split_once('{') else { return Box::new([path.to_owned()].into_iter()) };
    let (numbers, after) = rest.split_once('}').unwrap();
    let numbers: CpuSet = numbers.parse().unwrap();
    let numbers: Vec<u32> = numbers.iter().collect();
    let (before, after) = (before.to_owned(), after.to_owned());
    Box::new(numbers.into_iter().flat_map(move |number| each(&format!("{before}{number}{after}"))))
}
