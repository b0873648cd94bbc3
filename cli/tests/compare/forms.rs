//! The forms of an answer, and the documentation.

use std::fs;

use crate::{compare, examples, json, stderr};

#[test]
fn the_same_seed_gives_the_same_bytes_and_the_seed_is_printed() {
    let files = ["compare/before.csv", "compare/after.csv", "--method", "effect", "--bootstrap", "100"];
    let seeded = [&files[..], &["--seed", "3"]].concat();
    for form in ["table", "json", "csv"] {
        let arguments = [&seeded[..], &["--output", form]].concat();
        let [first, second] = [compare(&examples(), &arguments), compare(&examples(), &arguments)];
        assert!(first.status.success() && first.stdout == second.stdout, "{form}");
        let printed = String::from_utf8_lossy(&first.stdout).into_owned() + &stderr(&first);
        assert!(printed.contains("seed 3") || printed.contains("\"seed\": 3"), "{printed}");
    }
    let drawn = json(&examples(), &files);
    assert!(drawn["seed"].is_u64());
    let csv = compare(&examples(), &[&seeded[..], &["--output", "csv"]].concat()).stdout;
    let csv = String::from_utf8(csv).expect("UTF-8");
    assert!(csv.starts_with("verdict,candidate,benchmark,speedup,lower,upper,"), "{csv}");
    assert_eq!(csv.lines().count(), 7);
}

/// Every command of the documentation says what stands under it.
#[test]
fn the_documented_commands_say_what_is_documented() {
    let root = examples().join("..");
    let text = fs::read_to_string(root.join("docs/compare.md")).expect("the documentation");
    let mut checked = 0;
    let mut blocks = text.split("```").skip(1).step_by(2).peekable();
    while let Some(block) = blocks.next() {
        let Some(command) = block.strip_prefix("sh\n") else { continue };
        let words = shlex::split(command).expect("a command line");
        let [program, verb, rest @ ..] = words.as_slice() else { panic!("no command: {command}") };
        assert_eq!((program.as_str(), verb.as_str()), ("speedup", "compare"));
        let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
        let output = compare(&root, &rest);
        assert!(output.status.success(), "{command}: {}", stderr(&output));
        if let Some(shown) = blocks.next_if(|next| next.starts_with("text\n")) {
            let printed = String::from_utf8(output.stdout).expect("UTF-8");
            let shown = shown.trim_start_matches("text\n");
            // A documented answer may end early, with a line of its own.
            let shown = shown.trim_end().strip_suffix("…").unwrap_or(shown);
            assert!(printed.starts_with(shown), "{command}\nis documented as\n{shown}\nand says\n{printed}");
            checked += 1;
        }
    }
    assert_eq!(checked, 8, "one example a method");
}
