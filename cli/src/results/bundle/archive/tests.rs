//! Bundles are read back as they were, and nothing else is.

use speedup_core::value::id::ExperimentId;

use super::*;
use crate::results::bundle::manifest::Asked;

fn manifest(files: &[(&str, Vec<u8>)]) -> Manifest {
    Manifest {
        schema_version: SCHEMA_VERSION,
        release: "0.0.1".to_owned(),
        experiment: ExperimentId(uuid::Uuid::from_u128(7)),
        name: "locale".to_owned(),
        seed: 42,
        report: Asked::default(),
        files: files.iter().map(|(name, content)| Listed::new(name, content)).collect(),
    }
}

fn files() -> Vec<(&'static str, Vec<u8>)> {
    let bytes: Vec<u8> =
        (0..5000_u32).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    vec![("report.json", b"{}".to_vec()), ("empty", Vec::new()), ("observations.pb", bytes)]
}

fn packed(manifest: &Manifest, files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(manifest, files, &mut bytes).unwrap();
    bytes
}

fn archive(entries: &[(&str, tar::EntryType, &[u8])]) -> Vec<u8> {
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    for (name, kind, content) in entries {
        let mut header = tar::Header::new_ustar();
        // As a hostile writer does, not as the library allows.
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        header.set_size(content.len() as u64);
        header.set_entry_type(*kind);
        header.set_cksum();
        archive.append(&header, *content).unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap()
}

#[test]
fn what_is_written_is_read() {
    let (manifest, files) = (manifest(&files()), files());
    let bytes = packed(&manifest, &files);
    assert_eq!(bytes, packed(&manifest, &files), "the same bundle is the same bytes");
    let (read_manifest, read_files) = read(bytes.as_slice()).unwrap();
    assert_eq!(read_manifest, manifest);
    assert_eq!(read_files.len(), files.len());
    for (name, content) in &files {
        assert_eq!(read_files[*name], *content, "{name}");
    }
}

#[test]
fn no_cut_and_no_flipped_bit_passes() {
    let bytes = packed(&manifest(&files()), &files());
    for length in (0..bytes.len()).step_by(61) {
        assert!(read(&bytes[..length]).is_err(), "cut at {length}");
    }
    // The first ten bytes are gzip's own header, of which time and system say nothing.
    for at in (10..bytes.len()).step_by(37) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 4;
        assert!(read(damaged.as_slice()).is_err(), "bit at {at}");
    }
    let error = read(&bytes[..bytes.len() / 2]).unwrap_err();
    assert!(error.to_string().contains("truncated"), "{error}");
}

#[test]
fn entries_that_the_manifest_does_not_list_are_refused_by_name() {
    let own = manifest(&files()[..1]);
    let text = serde_json::to_vec(&own).unwrap();
    let regular = tar::EntryType::Regular;
    let refused = |entries: &[(&str, tar::EntryType, &[u8])]| read(archive(entries).as_slice()).unwrap_err();
    let begins = (MANIFEST, regular, text.as_slice());
    let error = refused(&[("report.json", regular, b"{}")]);
    assert!(matches!(error, ArchiveError::NoManifest(_)), "{error}");
    let error = refused(&[begins, ("../../etc/passwd", regular, b"{}")]);
    assert!(
        matches!(&error, ArchiveError::Entry { at: 2, found, .. } if found.contains("passwd")),
        "{error}"
    );
    let error = refused(&[begins, ("report.json", regular, b"{}"), ("more", regular, b"")]);
    assert!(matches!(&error, ArchiveError::Entry { at: 3, .. }), "{error}");
    let error = refused(&[begins, ("report.json", tar::EntryType::Symlink, b"")]);
    assert!(matches!(&error, ArchiveError::NoFile(_)), "{error}");
    let error = refused(&[begins, ("report.json", regular, b"[]")]);
    assert!(matches!(&error, ArchiveError::Content { .. }), "{error}");
    let error = refused(&[begins, ("report.json", regular, b"{ }")]);
    assert!(matches!(&error, ArchiveError::Size { .. }), "{error}");
    let error = refused(&[begins]);
    assert!(matches!(&error, ArchiveError::Missing(name) if name == "report.json"), "{error}");
}

#[test]
fn nothing_stands_behind_the_end_where_other_programs_would_find_it() {
    let whole = packed(&manifest(&files()), &files());
    let more = archive(&[("more", tar::EntryType::Regular, b"more")]);
    let refused = |bytes: &[u8]| matches!(read(bytes), Err(ArchiveError::Behind { .. }));
    assert!(refused(&[whole.as_slice(), &more].concat()), "a second member, which gzip unpacks as well");
    assert!(refused(&[whole.as_slice(), b"\0"].concat()), "a byte");
    let mut unpacked = Vec::new();
    GzDecoder::new(whole.as_slice()).read_to_end(&mut unpacked).unwrap();
    let packed_again = |unpacked: &[u8]| {
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        packed.write_all(unpacked).unwrap();
        packed.finish().unwrap()
    };
    let zeros = [unpacked.as_slice(), &[0; 9216]].concat();
    assert!(read(packed_again(&zeros).as_slice()).is_ok(), "archives are filled up with zeros");
    let mut inner = Vec::new();
    GzDecoder::new(more.as_slice()).read_to_end(&mut inner).unwrap();
    assert!(refused(&packed_again(&[zeros.as_slice(), &inner].concat())), "an archive behind the archive");
}

#[test]
fn names_that_others_read_otherwise_are_refused() {
    let regular = tar::EntryType::Regular;
    let mut twice = manifest(&files()[..1]);
    twice.files.push(Listed::new("report.json", b"[]"));
    let text = serde_json::to_vec(&twice).unwrap();
    let entries = [
        (MANIFEST, regular, text.as_slice()),
        ("report.json", regular, b"{}"),
        ("report.json", regular, b"[]"),
    ];
    let error = read(archive(&entries).as_slice()).unwrap_err();
    assert!(matches!(&error, ArchiveError::ListedTwice(name) if name == "report.json"), "{error}");
    let text = serde_json::to_vec(&manifest(&files()[..1])).unwrap();
    let error = read(archive(&[(MANIFEST, tar::EntryType::Link, &text)]).as_slice()).unwrap_err();
    assert!(matches!(&error, ArchiveError::NoFile(name) if name == MANIFEST), "{error}");
    // An extension says another name and size than the header does.
    let mut extended = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    let mut header = tar::Header::new_ustar();
    header.set_path(MANIFEST).unwrap();
    header.set_size(text.len() as u64);
    header.set_cksum();
    extended.append(&header, text.as_slice()).unwrap();
    extended.append_pax_extensions([("path", b"../../report.json".as_slice())]).unwrap();
    header.set_path("report.json").unwrap();
    header.set_size(2);
    header.set_cksum();
    extended.append(&header, b"{}".as_slice()).unwrap();
    let bytes = extended.into_inner().unwrap().finish().unwrap();
    let error = read(bytes.as_slice()).unwrap_err();
    assert!(matches!(&error, ArchiveError::Entry { found, .. } if found.starts_with("../")), "{error}");
}

#[test]
fn a_newer_version_is_refused_with_its_release() {
    let text = br#"{"schema_version": 2, "release": "9.1.0", "news": {}}"#;
    let error = read(archive(&[(MANIFEST, tar::EntryType::Regular, text)]).as_slice()).unwrap_err();
    assert!(error.to_string().contains("release 9.1.0"), "{error}");
}

#[test]
fn a_bomb_is_stopped_where_its_size_is_said_or_counted() {
    let large = vec![b' '; MAX_MANIFEST_BYTES as usize + 1];
    let error = read(archive(&[(MANIFEST, tar::EntryType::Regular, &large)]).as_slice()).unwrap_err();
    assert!(matches!(error, ArchiveError::ManifestTooLarge), "{error}");
    let mut many = manifest(&[]);
    many.files = (0..=MAX_FILES).map(|number| Listed::new(&number.to_string(), b"")).collect();
    let text = serde_json::to_vec(&many).unwrap();
    let error = read(archive(&[(MANIFEST, tar::EntryType::Regular, &text)]).as_slice()).unwrap_err();
    assert!(matches!(error, ArchiveError::TooManyFiles(_)), "{error}");
    let mut huge = manifest(&files()[..1]);
    huge.files[0].bytes = MAX_UNPACKED_BYTES + 1;
    let text = serde_json::to_vec(&huge).unwrap();
    let error = read(archive(&[(MANIFEST, tar::EntryType::Regular, &text)]).as_slice()).unwrap_err();
    assert!(matches!(error, ArchiveError::TooLarge), "{error}");
    // Reading stops at the bound, whatever is still to come.
    let mut endless = BoundedReader { from: io::repeat(0), read: MAX_UNPACKED_BYTES + MAX_HEADER_BYTES };
    let error = endless.read(&mut [0; 16]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
}
