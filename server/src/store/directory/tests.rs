use std::sync::atomic::AtomicUsize;
use std::thread;

use super::super::running::WAITING;
use super::*;

fn open(root: &Path) -> Result<DataDirectory, DirectoryError> {
    DataDirectory::open(root, DataKeys::default())
}

#[test]
fn a_directory_in_place_of_the_opened_one_is_not_used() {
    let parent = tempfile::tempdir().unwrap();
    let (root, away) = (parent.path().join("data"), parent.path().join("away"));
    let directory = open(&root).unwrap();
    let path = directory.images().join("a.json");
    directory.write(&path, b"1").unwrap();
    assert_eq!(directory.trouble(), None);

    fs::rename(&root, &away).unwrap();
    let removed = Some(StorageTrouble::Lost(Lost::Removed));
    assert!(directory.write(&path, b"2").is_err());
    assert_eq!(directory.trouble(), removed);
    for missing in ["", "images", "boots", "bases"] {
        fs::create_dir(root.join(missing)).unwrap();
    }
    let replaced = Some(StorageTrouble::Lost(Lost::Replaced));
    assert!(directory.write(&path, b"2").is_err() && directory.remove(&path).is_err());
    assert!(directory.read(&path).is_err());
    directory.try_out();
    assert_eq!(directory.trouble(), replaced);
    assert_eq!(fs::read_dir(root.join("images")).unwrap().count(), 0);

    fs::remove_dir_all(&root).unwrap();
    fs::rename(&away, &root).unwrap();
    // A successful read does not show that records can be written.
    assert_eq!(directory.read(&path).unwrap().unwrap(), b"1");
    assert_eq!(directory.trouble(), replaced);
    directory.try_out();
    assert_eq!(directory.trouble(), None);
    assert_eq!(fs::read_dir(directory.images()).unwrap().count(), 1, "the trial leaves nothing");

    fs::remove_file(root.join("lock")).unwrap();
    assert!(directory.remove(&path).is_err());
    assert_eq!(directory.trouble(), Some(StorageTrouble::Lost(Lost::Lock)));
}

#[test]
fn a_directory_belongs_to_one_server_at_a_time() {
    let parent = tempfile::tempdir().unwrap();
    let root = parent.path().join("data");
    let first = open(&root).unwrap();
    let error = open(&root).unwrap_err();
    assert!(matches!(error, DirectoryError::InUse(_)));
    assert!(error.to_string().contains("another dayone uses"), "{error}");
    drop(first);
    open(&root).unwrap();
}

/// A directory on NFS, whose lock the file server gave to another process after the lease time, and that process.
fn given_away(root: &Path) -> (DataDirectory, DataDirectory) {
    let mut directory = open(root).unwrap();
    directory.held = HeldLock::on_nfs();
    let path = directory.images().join("a.json");
    directory.write(&path, b"1").unwrap();
    flock(&directory.lock.file, FlockOperation::Unlock).unwrap();
    // Nobody had it meanwhile.
    directory.write(&path, b"2").unwrap();
    flock(&directory.lock.file, FlockOperation::Unlock).unwrap();
    let other = open(root).unwrap();
    HeldLock::on_nfs().sign(&other.lock.file).unwrap();
    (directory, other)
}

#[test]
fn a_lock_that_the_file_server_gave_to_another_is_lost_for_good() {
    let parent = tempfile::tempdir().unwrap();
    let root = parent.path().join("data");
    let (directory, other) = given_away(&root);
    let path = directory.images().join("a.json");
    assert!(directory.write(&path, b"3").is_err() && directory.remove(&path).is_err());
    let taken_over = Some(StorageTrouble::Lost(Lost::TakenOver));
    assert_eq!(directory.trouble(), taken_over);
    other.write(&path, b"4").unwrap();
    drop(other);
    // What the other one has changed is unknown here.
    directory.try_out();
    assert_eq!(directory.trouble(), taken_over);
    assert!(directory.write(&path, b"5").is_err());
    assert_eq!(fs::read(&path).unwrap(), b"4");
    drop(directory);
    open(&root).unwrap();
}

#[test]
fn a_lock_that_another_has_had_and_given_back_is_lost_for_good() {
    let parent = tempfile::tempdir().unwrap();
    let (directory, other) = given_away(&parent.path().join("data"));
    drop(other);
    assert!(directory.write(&directory.images().join("a.json"), b"3").is_err());
    assert_eq!(directory.trouble(), Some(StorageTrouble::Lost(Lost::TakenOver)));
}

#[test]
fn a_file_system_that_does_not_answer_is_trouble_and_holds_few_threads() {
    let root = tempfile::tempdir().unwrap();
    let mut directory = open(root.path()).unwrap();
    directory.changes = Running::with_patience(Duration::from_millis(50));
    let path = directory.images().join("a.json");
    let (directory, hangs, begun) = (&directory, Mutex::new(()), AtomicUsize::new(0));
    thread::scope(|scope| {
        let hanging = hangs.lock();
        let waiting: Vec<_> = (0..WAITING)
            .map(|_| {
                scope.spawn(|| {
                    directory.change(|| {
                        begun.fetch_add(1, Ordering::Relaxed);
                        drop(hangs.lock());
                        Ok(())
                    })
                })
            })
            .collect();
        while begun.load(Ordering::Relaxed) < WAITING {
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(Duration::from_millis(60));
        // A frozen file system still answers what the kernel remembers.
        assert_eq!(directory.read(&path).unwrap(), None);
        directory.try_out();
        assert_eq!(directory.trouble(), Some(StorageTrouble::Hung));
        for refused in [directory.write(&path, b"1"), directory.write_together((path.clone(), b"1".to_vec()))] {
            assert_eq!(StorageTrouble::of(&refused.unwrap_err()), StorageTrouble::Hung);
        }
        drop(hanging);
        for waiting in waiting {
            waiting.join().unwrap().unwrap();
        }
    });
    directory.try_out();
    assert_eq!(directory.trouble(), None);
    directory.write_together((path, b"1".to_vec())).unwrap();
}

#[test]
fn a_missing_parent_is_an_error_that_names_the_directory() {
    let parent = tempfile::tempdir().unwrap();
    let error = open(&parent.path().join("not/mounted")).unwrap_err();
    assert!(error.to_string().contains("not/mounted"), "{error}");
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);

    let file = parent.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(open(&file).is_err());
}

#[test]
fn only_unfinished_files_of_a_crash_are_removed() {
    let root = tempfile::tempdir().unwrap();
    drop(open(root.path()).unwrap());
    for name in ["images/.unfinished-a1", ".unfinished-b2", "images/other", "key"] {
        fs::write(root.path().join(name), "x").unwrap();
    }
    drop(open(root.path()).unwrap());
    let exists = |name| root.path().join(name).exists();
    assert!(!exists("images/.unfinished-a1") && !exists(".unfinished-b2"));
    assert!(exists("images/other") && exists("key"));
}
