//! What a program writes is what is reported.

use speedup_agent::launch::{End, LaunchCommand, Sink};

use super::{command, run, sh, stderr, stdout};

#[test]
fn binary_output_is_hashed_whole_and_kept_in_part() {
    let whole: Vec<u8> = (0..300_000_u32).flat_map(|i| i.wrapping_mul(2_654_435_761).to_be_bytes()).collect();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("data"), &whole).unwrap();
    let sink = Sink::Capture { limit: 10 << 20, keep: 1000 };
    let directory = folder.path().to_owned();
    let execution = run(&LaunchCommand { directory, stdout: sink, ..command(&["cat", "data"]) });
    let output = execution.stdout.unwrap();
    assert_eq!((output.bytes, output.over_limit), (1_200_000, false));
    assert_eq!(output.blake3, blake3::hash(&whole));
    assert_eq!(output.head, &whole[..1000]);
    assert_eq!(execution.stderr.unwrap().blake3, blake3::hash(b""));
}

#[test]
fn the_streams_are_kept_apart() {
    let execution = sh("echo out; echo err >&2");
    assert_eq!(stdout(&execution), b"out\n");
    assert_eq!(stderr(&execution), b"err\n");
    let nowhere =
        run(&LaunchCommand { stdout: Sink::Null, stderr: Sink::Null, ..command(&["ls", "/", "/nowhere"]) });
    assert_eq!((nowhere.stdout, nowhere.stderr, nowhere.end), (None, None, End::Exited(2)));
}

#[test]
fn the_streams_can_be_opened_anew() {
    assert_eq!(stdout(&sh("echo all > /dev/stdout")), b"all\n");
    assert_eq!(stdout(&sh("echo a; echo bcd >> /dev/stdout; echo e")), b"a\nbcd\ne\n");
    assert_eq!(
        stdout(&sh("echo in; cat /etc/hostname > /dev/null; echo out > /proc/self/fd/1; echo on")),
        b"out\non\n"
    );
    let tee = sh("echo both | tee /dev/stderr");
    assert_eq!((stdout(&tee), stderr(&tee)), (&b"both\n"[..], &b"both\n"[..]));
    assert_eq!(stdout(&sh("echo 1 | dd of=/dev/stdout 2>/dev/null")), b"1\n");
    assert_eq!(stdout(&sh("(echo from a child > /dev/stdout) & wait")), b"from a child\n");
    assert_eq!(stderr(&sh("echo all > /dev/stderr; echo more >&2")), b"all\nmore\n");
}

#[test]
fn a_flood_of_output_is_stopped() {
    for program in [&["yes"][..], &["sh", "-c", "yes > /dev/stdout"], &["sh", "-c", "yes >> /dev/stdout"]] {
        let execution = run(&command(program));
        assert_ne!(execution.end, End::Exited(0));
        let output = execution.stdout.unwrap();
        assert!(output.over_limit);
        assert_eq!(output.bytes, 1 << 20);
        assert_eq!(output.blake3, blake3::hash(&b"y\n".repeat(1 << 19)));
    }
}

#[test]
fn output_of_just_the_limit_is_not_over_it() {
    let sink = Sink::Capture { limit: 100_000, keep: 0 };
    let of = |bytes| {
        let execution = run(&LaunchCommand { stdout: sink, ..command(&["head", "-c", bytes, "/dev/zero"]) });
        execution.stdout.unwrap()
    };
    let full = of("100000");
    assert_eq!((full.bytes, full.over_limit), (100_000, false));
    let over = of("100001");
    assert_eq!((over.bytes, over.over_limit), (100_000, true));
    assert_eq!(full.blake3, over.blake3);
    assert_eq!((of("0").bytes, of("0").over_limit), (0, false));
}

#[test]
fn a_program_may_close_its_streams() {
    assert_eq!(sh("exec <&- >&- 2>&-; exit 3").end, End::Exited(3));
}
