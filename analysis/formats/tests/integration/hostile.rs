//! Files that nobody wrote: any bytes, and golden files with damage. Reading them ends with series or with a named error.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]
#![expect(clippy::disallowed_methods, reason = "the golden files are read from the disk")]

use proptest::{collection::vec, prelude::*, sample::Index};
use speedup_formats::*;
use std::{path::Path, sync::LazyLock};

/// Every golden file, packed ones included; the examples of plain numbers and of tables; and lines of JSON.
static GOLDEN: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["tests/golden", "../../examples/compare"].map(|folder| here.join(folder));
    let of = |folder| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = folders.iter().flat_map(of).collect();
    paths.retain(|path| path.extension().is_none_or(|ending| ending != "md"));
    paths.sort();
    let mut files: Vec<Vec<u8>> = paths.iter().map(|path| std::fs::read(path).unwrap()).collect();
    let line =
        |at: u32| format!("{{\"benchmark\": \"sort\", \"run\": {}, \"value\": {}.5e-3}}\n", at / 3, at + 1);
    files.push((0..9).map(line).collect::<String>().into_bytes());
    files
});

#[test]
fn every_format_has_a_file_to_damage() {
    let known: Vec<_> = GOLDEN.iter().filter_map(|bytes| detect(bytes).ok()).collect();
    for format in Format::ALL {
        assert!(known.contains(&format), "{format}");
    }
}

/// Pieces that mean something to one of the formats.
const PIECES: [&str; 34] = [
    "NaN", INFINITY, "1e999", "1e-999", "-0", HUGE, "null", "{}", "[]", "[[[[", "\"", "\\u", "\\ud83d", "\n",
    "\t", ",", ":", BENCHMARK, "PASS\n", "#", CLEAR, "<script>", "\u{202e}", "\0", "true", "total", "ns",
    "\u{feff}", ";", "|", TEST, TIME, TITLE, SIZES,
];
const HUGE: &str = "99999999999999999999999999";
const INFINITY: &str = "-Infinity";
const BENCHMARK: &str = "Benchmark";
const TEST: &str = "test x ... ";
const TIME: &str = "time:   [1 ns 2 ns 3 ns]\n";
const TITLE: &str = "# OSU MPI Latency Test v5.3\n";
const SIZES: &str = "\n# Size  Latency (us)\n";
const CLEAR: &str = "\u{1b}[2J";

#[derive(Clone, Debug)]
enum Damage {
    Cut(Index),
    Flip(Index, u8),
    Insert(Index, usize),
    Remove(Index, usize),
    Repeat(Index, usize),
    Splice(Index, Index, Index),
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = any::<Index>;
    prop_oneof![
        at().prop_map(Damage::Cut),
        (at(), any::<u8>()).prop_map(|(at, byte)| Damage::Flip(at, byte)),
        (at(), 0..PIECES.len()).prop_map(|(at, piece)| Damage::Insert(at, piece)),
        (at(), 1..80_usize).prop_map(|(at, length)| Damage::Remove(at, length)),
        (at(), 1..400_usize).prop_map(|(at, length)| Damage::Repeat(at, length)),
        (at(), at(), at()).prop_map(|(at, file, from)| Damage::Splice(at, file, from)),
    ]
}

fn damaged(mut bytes: Vec<u8>, damages: &[Damage]) -> Vec<u8> {
    for damage in damages {
        let length = bytes.len();
        let place = |at: &Index| at.index(length + 1);
        match damage {
            Damage::Cut(at) => bytes.truncate(place(at)),
            Damage::Flip(at, byte) if length > 0 => bytes[at.index(length)] = *byte,
            Damage::Flip(..) => {}
            Damage::Insert(at, piece) => {
                let at = place(at);
                bytes.splice(at..at, PIECES[*piece].bytes());
            }
            Damage::Remove(at, count) => {
                let at = place(at);
                bytes.drain(at..(at + count).min(length));
            }
            Damage::Repeat(at, count) => {
                let at = place(at);
                let piece = bytes[at..(at + count).min(length)].to_vec();
                bytes.splice(at..at, piece);
            }
            Damage::Splice(at, file, from) => {
                let other = &GOLDEN[file.index(GOLDEN.len())];
                bytes.truncate(place(at));
                bytes.extend_from_slice(&other[from.index(other.len())..]);
            }
        }
    }
    bytes
}

/// Reads as every format, and holds what is promised of every outcome.
fn check(bytes: &[u8]) -> Result<(), TestCaseError> {
    let _format_or_refusal = detect(bytes);
    let with_units = Columns { units: UNITS, ..Columns::default() };
    let options = [Columns::default(), with_units].map(|columns| Options { columns, ..Options::default() });
    for (format, options) in
        Format::ALL.iter().flat_map(|format| options.iter().map(move |one| (*format, one)))
    {
        match read(bytes, format, options) {
            Ok(imported) => {
                prop_assert!(!imported.series.is_empty() || !imported.failures.is_empty());
                check_imported(&imported)?;
            }
            Err(error) => {
                let said = error.to_string();
                prop_assert!(!said.chars().any(char::is_control), "{said:?}");
                prop_assert!(said.len() < 64 << 10, "{} bytes of error", said.len());
            }
        }
    }
    Ok(())
}

fn check_imported(imported: &Imported) -> Result<(), TestCaseError> {
    let mut names: Vec<_> = imported.series.iter().map(|series| &series.name).collect();
    names.sort();
    prop_assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "no two series share a name");
    for series in &imported.series {
        prop_assert!(series.runs.count() > 0);
        prop_assert!(series.runs.iter().all(|run| !run.is_empty()));
        prop_assert!(series.runs.values().iter().all(|value| value.is_finite()));
        prop_assert!(series.name.benchmark.as_str().len() <= bounds::MAX_NAME_BYTES);
        prop_assert!(!series.name.to_string().chars().any(char::is_control));
    }
    for warning in &imported.warnings {
        prop_assert!(!warning.to_string().chars().any(char::is_control));
    }
    // The writers hold for whatever was read: they write or refuse.
    if let Ok(text) = write_go(&imported.series) {
        let back = read(text.as_bytes(), Format::Go, &Options::default());
        prop_assert!(imported.series.is_empty() || back.is_ok(), "{back:?}\n{text}");
    }
    if let Ok(text) = write_hyperfine_1(&imported.series) {
        let back = read(text.as_bytes(), Format::Hyperfine1, &Options::default());
        prop_assert!(imported.series.is_empty() || back.is_ok(), "{back:?}\n{text}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2 * ProptestConfig::default().cases, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(bytes in vec(any::<u8>(), 0..400)) {
        check(&bytes)?;
    }

    #[test]
    fn any_text_of_meaning_pieces(pieces in vec(0..PIECES.len(), 0..60)) {
        let text: String = pieces.into_iter().map(|piece| PIECES[piece]).collect();
        check(text.as_bytes())?;
    }

    #[test]
    fn damaged_files(file in any::<Index>(), damages in vec(damage(), 1..6)) {
        check(&damaged(GOLDEN[file.index(GOLDEN.len())].clone(), &damages))?;
    }
}

/// A JSON text cut anywhere is refused; it never passes as a shorter file.
#[test]
fn no_cut_json_is_read() {
    for golden in GOLDEN.iter().filter(|golden| golden.starts_with(b"{") || golden.starts_with(b"[")) {
        let format = detect(golden).unwrap();
        let end = golden.iter().rposition(|byte| matches!(byte, b'}' | b']')).unwrap();
        // Cut between its lines a file of lines is a shorter one.
        let text = String::from_utf8_lossy(golden);
        if text.lines().filter(|line| line.starts_with('{')).count() > 1 {
            continue;
        }
        for cut in (0..end).step_by(97) {
            assert!(read(&golden[..cut], format, &Options::default()).is_err(), "{format} cut at {cut}");
        }
    }
}
