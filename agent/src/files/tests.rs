//! The cache and shared files on a disk, without a coordinator.

use std::{collections::BTreeMap, collections::BTreeSet, fs, os::unix::fs::PermissionsExt as _};

use speedup_core::experiment::files::Content;

use super::{cache::Rejected, *};

static GO: AtomicBool = AtomicBool::new(false);

fn content(of: &[u8]) -> Content {
    Content { blake3: ContentHash(blake3::hash(of).into()), bytes: of.len() as u64, executable: false }
}

fn cache(state: &Path, bound: u64) -> Cache {
    Cache::open(state, bound).unwrap()
}

fn take_in(cache: &mut Cache, bytes: &[u8]) -> PathBuf {
    let mut draft = cache.draft(content(bytes), &GO).unwrap();
    draft.write(bytes).map_err(|rejected| format!("{rejected:?}")).unwrap();
    cache.keep(draft).map_err(|rejected| format!("{rejected:?}")).unwrap()
}

fn names(state: &Path) -> BTreeSet<String> {
    fs::read_dir(state).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_content_is_kept_read_only_and_found_again_also_by_the_next_start() {
    let state = tempfile::tempdir().unwrap();
    let mut first = cache(state.path(), 100);
    assert_eq!(first.find(content(b"words"), &GO).unwrap(), None);
    let path = take_in(&mut first, b"words");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o444);
    assert_eq!(first.find(content(b"words"), &GO).unwrap().as_ref(), Some(&path));
    let executable = Content { executable: true, ..content(b"words") };
    assert_eq!(first.find(executable, &GO).unwrap(), None, "another form is another file");
    assert_eq!(cache(state.path(), 100).find(content(b"words"), &GO).unwrap(), Some(path));
}

#[test]
fn an_executable_content_may_be_executed() {
    let state = tempfile::tempdir().unwrap();
    let mut cache = cache(state.path(), 100);
    let tool = Content { executable: true, ..content(b"#!/bin/sh\n") };
    let mut draft = cache.draft(tool, &GO).unwrap();
    assert!(draft.write(b"#!/bin/sh\n").is_ok());
    let path = cache.keep(draft).map_err(|rejected| format!("{rejected:?}")).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o555);
    assert!(std::process::Command::new(path).status().unwrap().success());
}

#[test]
fn a_content_that_was_touched_is_noticed_and_removed() {
    let damage = |path: &Path| {
        fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
        fs::write(path, b"wordz").unwrap();
    };
    for again in [false, true] {
        let state = tempfile::tempdir().unwrap();
        let mut cache = cache(state.path(), 100);
        let path = take_in(&mut cache, b"words");
        damage(&path);
        if again {
            cache = self::cache(state.path(), 100);
        }
        assert_eq!(cache.find(content(b"words"), &GO).unwrap(), None);
        assert!(!path.exists());
        take_in(&mut cache, b"words");
        // Only looked at: its stamp differs, its content does not.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o440)).unwrap();
        assert!(cache.find(content(b"words"), &GO).unwrap().is_some());
        fs::remove_file(&path).unwrap();
        assert_eq!(cache.find(content(b"words"), &GO).unwrap(), None);
    }
}

#[test]
fn a_content_that_was_interrupted_goes_on_where_it_was() {
    let state = tempfile::tempdir().unwrap();
    let mut first = cache(state.path(), 100);
    let mut draft = first.draft(content(b"words"), &GO).unwrap();
    assert!(draft.write(b"wor").is_ok() && !draft.is_resumed());
    drop(draft);
    let part = state.path().join(format!("{}.part", content(b"words").blake3));
    fs::set_permissions(part, fs::Permissions::from_mode(0o444)).unwrap();
    let mut second = cache(state.path(), 100);
    let mut draft = second.draft(content(b"words"), &GO).unwrap();
    assert_eq!((draft.had(), draft.is_resumed(), draft.is_complete()), (3, true, false));
    assert!(draft.write(b"ds").is_ok() && draft.is_complete());
    let path = second.keep(draft).map_err(|rejected| format!("{rejected:?}")).unwrap();
    assert_eq!(fs::read(path).unwrap(), b"words");
    assert_eq!(names(state.path()).len(), 1, "nothing else is left");
}

#[test]
fn what_is_wrong_truncated_or_endless_is_not_kept() {
    let state = tempfile::tempdir().unwrap();
    let mut cache = cache(state.path(), 100);
    for (bytes, told) in [(&b"wordz"[..], "hash is"), (b"word", "ends after 4 of 5")] {
        let mut draft = cache.draft(content(b"words"), &GO).unwrap();
        assert!(draft.write(bytes).is_ok());
        let Err(Rejected::Wrong(what)) = cache.keep(draft) else { panic!("kept") };
        assert!(what.contains(told), "{what}");
        assert_eq!(names(state.path()).len(), 0);
    }
    let mut draft = cache.draft(content(b"words"), &GO).unwrap();
    let Err(Rejected::Wrong(what)) = draft.write(b"words and more") else { panic!("taken") };
    assert!(what.contains("goes on after its 5 bytes"), "{what}");
    assert_eq!(draft.had(), 0);
}

#[test]
fn what_was_used_longest_ago_goes_first_and_never_what_is_wanted() {
    let state = tempfile::tempdir().unwrap();
    let mut cache = cache(state.path(), 10);
    for bytes in [b"aaaa", b"bbbb"] {
        take_in(&mut cache, bytes);
    }
    cache.find(content(b"aaaa"), &GO).unwrap();
    cache.make_room(content(b"cccc"), &BTreeSet::from([content(b"cccc")])).unwrap();
    take_in(&mut cache, b"cccc");
    assert!(cache.find(content(b"bbbb"), &GO).unwrap().is_none(), "used longest ago");
    let wanted = BTreeSet::from([content(b"aaaa"), content(b"dddd")]);
    cache.make_room(content(b"dddd"), &wanted).unwrap();
    take_in(&mut cache, b"dddd");
    assert!(cache.find(content(b"aaaa"), &GO).unwrap().is_some(), "wanted now");
    assert!(cache.find(content(b"cccc"), &GO).unwrap().is_none());
    let large = content(b"more than ten");
    let refused = cache.make_room(large, &BTreeSet::from([large])).unwrap_err();
    assert!(matches!(refused, StagingError::TooLarge { wanted: 13, bound: 10 }), "{refused}");
    assert_eq!(names(state.path()).len(), 2, "nothing goes for what will not fit");
    self::cache(state.path(), 7);
    assert_eq!(names(state.path()).len(), 1, "a lower bound is kept from the start");
}

#[test]
fn what_was_left_half_fetched_makes_room_too() {
    let state = tempfile::tempdir().unwrap();
    let mut first = cache(state.path(), 10);
    let mut draft = first.draft(content(b"12345678"), &GO).unwrap();
    assert!(draft.write(b"1234567").is_ok());
    drop(draft);
    let mut second = cache(state.path(), 10);
    second.make_room(content(b"words"), &BTreeSet::from([content(b"words")])).unwrap();
    take_in(&mut second, b"words");
    assert_eq!(names(state.path()), BTreeSet::from([content(b"words").blake3.to_string()]));
}

/// Whatever an order says, and whoever sent it.
#[test]
fn nothing_outside_of_the_working_directory_is_collected() {
    let state = tempfile::tempdir().unwrap();
    let mut files = Files::open(state.path(), 100).unwrap();
    let work = state.path().join("work/deep");
    fs::create_dir_all(&work).unwrap();
    fs::write(state.path().join("key"), b"secret").unwrap();
    fs::write(work.join("prog"), b"made").unwrap();
    let mut collect = |path: &str| {
        let paths = BTreeMap::from([("one".to_owned(), path.to_owned())]);
        files.collect(&work, &paths, &GO)
    };
    let key = state.path().join("key").display().to_string();
    for path in ["../../key", "../deep/../../key", "./../../key", "prog/../../../key", &key, "", ".", ".."] {
        let refused = collect(path).unwrap_err();
        let NotCollected::NotMade { name, reason } = &refused else { panic!("{refused:?}") };
        assert_eq!(name, "one");
        assert!(reason.contains("no path within its working directory"), "{path}: {reason}");
    }
    assert_eq!(collect("prog").unwrap()[0].content, content(b"made"));
}

#[test]
fn a_shared_file_is_verified_once_and_again_when_it_was_touched() {
    let state = tempfile::tempdir().unwrap();
    let mut files = Files::open(state.path(), 100).unwrap();
    let path = state.path().join("shared");
    fs::write(&path, b"words").unwrap();
    let at = path.to_str().unwrap();
    let hash = content(b"words").blake3;
    let source = FileSource::Shared { path: at.to_owned(), blake3: hash, bytes: None };
    let file = StagedFile { name: "list".to_owned(), source };
    let mut verify = |bytes| files.verify_shared(&file, at, hash, bytes, &GO);
    verify(None).unwrap();
    verify(Some(5)).unwrap();
    fs::write(&path, b"wordz").unwrap();
    let refused = verify(None).unwrap_err().to_string();
    assert!(refused.contains("list") && refused.contains("instead of"), "{refused}");
    let refused = verify(Some(7)).unwrap_err().to_string();
    assert!(refused.contains("5 bytes instead of 7"), "{refused}");
    fs::write(&path, b"words").unwrap();
    verify(None).unwrap();
    fs::remove_file(&path).unwrap();
    assert!(verify(None).unwrap_err().to_string().contains("No such file"));
    fs::create_dir(&path).unwrap();
    assert!(verify(None).unwrap_err().to_string().contains("not a regular file"));
}
