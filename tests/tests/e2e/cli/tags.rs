//! Tags go with an experiment wherever it is shown, and find it.

use speedup_tests::pool::Pool;

use crate::{SPEEDUP, security::page::Browser};

const PLAN: &str = "[experiment]\nname = \"tagged\"\ntags = [\"night\", \"build=9\"]\n[versions.old]\nbaseline = true\n\
    [versions.new]\n[benchmarks.nothing]\ncommand = [\"true\"]\n[repetitions]\nruns = 2\n[independence]\npolicy = \"any\"\n";

#[test]
fn an_experiment_is_found_and_shown_with_its_tags() {
    let pool = Pool::start(SPEEDUP, 1);
    let tagged = pool.submit(PLAN, &["--tag", "compiler=gcc-14", "--tag", "night"]);
    let other = pool.submit(&PLAN.replace("\"night\", \"build=9\"", ""), &[]);
    let all = ["build=9", "compiler=gcc-14", "night"];
    let ids = |flags: &[&str]| {
        let listed = pool.json(&[&["list"], flags].concat()).expect("experiments");
        let ids =
            listed.as_array().expect("a list").iter().map(|one| one["experiment"].as_str().expect("an id"));
        ids.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(ids(&["--tag", "night", "--limit", "1"]), std::slice::from_ref(&tagged));
    assert_eq!(ids(&["--tag", "night", "--tag", "build=9"]), std::slice::from_ref(&tagged));
    assert!(ids(&["--tag", "build"]).is_empty(), "a tag is found as a whole");
    assert_eq!(ids(&[]), [other, tagged.clone()]);
    let table = pool.ok(&["list", "--tag", "night"]);
    assert!(table.contains("build=9 compiler=gcc-14 night"), "{table}");
    pool.wait_for(&tagged);
    let listed = pool.json(&["list", "--tag", "night"]).expect("experiments");
    assert_eq!(listed[0]["tags"], serde_json::json!(all), "finished, from the store");
    let report = pool.json(&["report", &tagged]).expect("a report");
    assert_eq!(report["head"]["tags"], serde_json::json!(all));
    let said = pool.ok(&["report", &tagged]);
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("; tags build=9 compiler=gcc-14 night"), "{said}");
    let browser = Browser::of(&pool, &pool.access_file());
    for page in ["/", &format!("/experiments/{tagged}")] {
        let shown = browser.get(page).body;
        assert!(shown.contains("compiler=gcc-14"), "{page}: {shown}");
    }
}

#[test]
fn what_is_no_tag_is_refused_with_the_rule() {
    let pool = Pool::start(SPEEDUP, 1);
    let file = pool.path().join("plan.toml");
    std::fs::write(&file, PLAN).expect("a plan");
    let long = "x".repeat(65);
    let many: Vec<String> = (0..15).map(|number| format!("--tag=t{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    for (flags, wanted) in [
        (vec!["--tag", "two words"], "\"two words\" is no tag"),
        (vec!["--tag", "=value"], "\"=value\" is no tag"),
        (vec!["--tag", long.as_str()], "is no tag"),
        (many, "17 tags"),
    ] {
        let said = pool.refused(&[&["submit", &file.display().to_string()], flags.as_slice()].concat());
        assert!(said.contains(wanted), "{said}");
    }
}
