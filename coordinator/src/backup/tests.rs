//! Backups of a coordinator that runs, and what is wrong with some.

use std::{fs, os::unix::fs::PermissionsExt as _};

use speedup_core::{machine::Settings, value::hint::Hinted as _};

use super::*;
use crate::{server, server::Coordinator, server::Options, server::Security, store::StoreCache};

async fn started(data: &Path) -> Coordinator {
    let options = Options {
        data: data.to_owned(),
        bind: ([127, 0, 0, 1], 0).into(),
        security: Security::Tls { names: Vec::new() },
        settings: Settings::default(),
        store_cache: StoreCache::Serving,
        agents: None,
        metrics: None,
    };
    server::start(options, |_, routes| routes).await.expect("a coordinator")
}

/// A backup of a running coordinator, in a directory with its data.
async fn saved() -> (tempfile::TempDir, Contents) {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let coordinator = started(&data).await;
    coordinator.handle().query(|_| ()).await.unwrap();
    let contents = back_up(&data, &directory.path().join("backup")).unwrap();
    coordinator.stop().await;
    (directory, contents)
}

#[tokio::test]
async fn a_backup_is_restored_once_and_into_nothing() {
    let (directory, contents) = saved().await;
    let [backup, data, again] = ["backup", "data", "again"].map(|name| directory.path().join(name));
    assert!(contents.position > Position::START && contents.files >= 4, "{contents:?}");
    assert_eq!(fs::metadata(&backup).unwrap().permissions().mode() & 0o777, 0o700);
    assert!(matches!(back_up(&data, &backup), Err(BackupError::Exists(_))));
    assert!(matches!(restore(&backup, &data), Err(BackupError::NotEmpty { .. })));
    fs::create_dir_all(again.join("lost+found")).unwrap();
    assert_eq!(restore(&backup, &again).unwrap(), contents);
    let key = |of: &Path| fs::read(of.join("access/authority.key")).unwrap();
    assert_eq!(key(&data), key(&again));
    started(&again).await.stop().await;
}

#[tokio::test]
async fn whatever_is_changed_cut_or_missing_has_a_name_and_nothing_is_restored() {
    let (directory, _) = saved().await;
    let (backup, again) = (directory.path().join("backup"), directory.path().join("again"));
    let manifest = fs::read_to_string(backup.join(MANIFEST)).unwrap();
    let files = manifest.lines().filter_map(|line| line.strip_prefix("file ")?.splitn(3, ' ').nth(2));
    let files: Vec<&str> = files.collect();
    assert!(files.iter().any(|file| file.starts_with("journal/")), "{files:?}");
    for file in files {
        let path = backup.join(file);
        let whole = fs::read(&path).unwrap();
        let mut changed = whole.clone();
        changed[whole.len() / 2] ^= 1;
        for damaged in [Some(&changed[..]), Some(&whole[..whole.len() - 1]), None] {
            match damaged {
                Some(bytes) => fs::write(&path, bytes).unwrap(),
                None => fs::remove_file(&path).unwrap(),
            }
            let error = restore(&backup, &again).unwrap_err();
            assert!(matches!(&error, BackupError::Damaged { path: found, .. } if *found == path), "{error}");
            assert_eq!(fs::read_dir(&again).unwrap().count(), 0, "nothing stays");
        }
        fs::write(&path, &whole).unwrap();
    }
    fs::write(backup.join(MANIFEST), &manifest[..manifest.len() / 2]).unwrap();
    assert!(matches!(restore(&backup, &again), Err(BackupError::Manifest { .. })));
    fs::write(backup.join(MANIFEST), &manifest).unwrap();
    restore(&backup, &again).unwrap();
}

#[tokio::test]
async fn a_restore_that_did_not_end_keeps_the_coordinator_from_starting() {
    let data = tempfile::tempdir().unwrap();
    fs::create_dir(data.path().join(RESTORING)).unwrap();
    let options = Options {
        data: data.path().to_owned(),
        bind: ([127, 0, 0, 1], 0).into(),
        security: Security::Plain,
        settings: Settings::default(),
        store_cache: StoreCache::Serving,
        agents: None,
        metrics: None,
    };
    let error = server::start(options, |_, routes| routes).await.unwrap_err();
    assert!(error.hint().is_some_and(|hint| hint.contains("restore the backup again")), "{error}");
}
