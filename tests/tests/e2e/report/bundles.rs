//! A report in a bundle, computed again by whoever has the bundle.

use std::process::Command;

use serde_json::Value;
use speedup_tests::{desk::Desk, output::stderr, output::stdout};

use crate::SPEEDUP;

/// What `verify` ended with, and what it printed and said.
fn verified(desk: &Desk, bundle: &str) -> (Option<i32>, String, String) {
    let output = desk.speedup(&["verify", bundle]);
    (output.status.code(), stdout(&output), stderr(&output))
}

fn tar(desk: &Desk, arguments: &[&str]) {
    let status = Command::new("tar").args(arguments).current_dir(desk.path()).status().expect("tar");
    assert!(status.success(), "{arguments:?}");
}

const FILES: [&str; 6] =
    ["manifest.json", "README.txt", "report.json", "hosts.json", "observations.pb", "observations.csv"];

/// Packs what was unpacked, with the manifest as `change` leaves it: whoever forges a file forges its hash as well.
fn repack(desk: &Desk, bundle: &str, change: impl Fn(&mut Value)) {
    let mut manifest: Value = serde_json::from_str(&desk.read("manifest.json")).expect("JSON");
    for listed in manifest["files"].as_array_mut().expect("files") {
        let content =
            std::fs::read(desk.path().join(listed["name"].as_str().expect("a name"))).expect("a file");
        listed["bytes"] = content.len().into();
        listed["blake3"] = blake3::hash(&content).to_hex().as_str().into();
    }
    change(&mut manifest);
    desk.write("manifest.json", manifest.to_string());
    tar(desk, &[&["--format=ustar", "-czf", bundle][..], &FILES].concat());
}

#[test]
fn a_report_is_computed_again_by_whoever_has_its_bundle() {
    let desk = &Desk::new(SPEEDUP);
    desk.ok(&["bench", "-N", "-r", "8", "--seed", "1", "sleep 0.001", "sleep 0.01"]);
    let data = desk.path().join("state/speedup/local").display().to_string();
    desk.ok(&["bundle", "last", "--data", &data, "--mixtures", "--confidence", "99%", "-o", "b.tar.gz"]);
    let answered = desk.json(&["report", "last", "--data", &data, "--mixtures", "--confidence", "0.99"]);
    let table = desk.ok(&["export", "last", "--data", &data]);
    // From here on there is only the bundle.
    std::fs::remove_dir_all(desk.path().join("state")).expect("the data");

    let (code, printed, said) = verified(desk, "b.tar.gz");
    assert_eq!(code, Some(0), "{said}");
    assert!(printed.ends_with("byte for byte\n"), "{printed}");
    tar(desk, &["-xzf", "b.tar.gz"]);
    let report = desk.read("report.json");
    assert_eq!(serde_json::from_str::<Value>(&report).expect("JSON"), answered, "it is the analysis's own");
    assert_eq!(desk.read("observations.csv"), table);
    let hosts: Value = serde_json::from_str(&desk.read("hosts.json")).expect("JSON");
    assert_eq!(hosts.as_array().map(Vec::len), Some(1));

    // A bundle of another release is verified as well.
    repack(desk, "other.tar.gz", |manifest| manifest["release"] = "0.0.0-other".into());
    let (code, printed, said) = verified(desk, "other.tar.gz");
    assert_eq!(code, Some(0), "{printed}{said}");
    assert!(said.contains("the bundle is of release 0.0.0-other"), "{said}");

    // Whoever changes the report and its hash is told apart by the observations.
    let forged = report.replacen("\"verdict\":\"slower\"", "\"verdict\":\"faster\"", 1);
    assert_ne!(forged, report);
    desk.write("report.json", forged);
    repack(desk, "forged.tar.gz", |_| ());
    let (code, printed, said) = verified(desk, "forged.tar.gz");
    assert_eq!(code, Some(1), "{printed}{said}");
    assert!(printed.contains("/verdict: \"faster\" "), "{printed}");

    // Other options of the report make another report.
    desk.write("report.json", &report);
    repack(desk, "asked.tar.gz", |manifest| manifest["report"]["confidence"] = 0.9.into());
    let (code, printed, _) = verified(desk, "asked.tar.gz");
    assert_eq!(code, Some(1), "{printed}");
    assert!(printed.contains("/confidence: 0.99 "), "{printed}");
}

#[test]
fn what_is_no_bundle_is_refused_by_name() {
    let desk = &Desk::new(SPEEDUP);
    desk.ok(&["bench", "-N", "-r", "2", "--seed", "1", "true", "false", "-i"]);
    let data = desk.path().join("state/speedup/local").display().to_string();
    desk.ok(&["bundle", "last", "--data", &data, "-o", "b.tar.gz"]);
    let whole = std::fs::read(desk.path().join("b.tar.gz")).expect("a bundle");
    desk.write("cut.tar.gz", &whole[..whole.len() / 2]);
    desk.write("text", "no bundle");
    tar(desk, &["-xzf", "b.tar.gz"]);
    desk.write("observations.pb", b"\x05junk!");
    repack(desk, "junk.tar.gz", |_| ());
    repack(desk, "newer.tar.gz", |manifest| manifest["schema_version"] = 2.into());
    repack(desk, "listed.tar.gz", |manifest| {
        manifest["schema_version"] = 1.into();
        manifest["files"][0]["name"] = "../README.txt".into();
    });
    for (bundle, said_of) in [
        ("cut.tar.gz", "truncated after"),
        ("text", "after 0 unpacked"),
        ("junk.tar.gz", "the observations"),
        ("newer.tar.gz", "version 2, made by"),
        ("listed.tar.gz", "\"../README.txt\""),
        ("none", "No such file"),
    ] {
        let (code, printed, said) = verified(desk, bundle);
        assert_eq!((code, printed.as_str()), (Some(2), ""), "{bundle}: {said}");
        assert!(said.contains(said_of), "{bundle}: {said}");
    }
}
