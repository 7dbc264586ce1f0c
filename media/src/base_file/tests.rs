use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;

use tempfile::TempDir;

use super::*;

const CONTENT: &[u8] = b"0123456789abcdef";

fn base() -> (TempDir, PathBuf, BaseFile) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("base.iso");
    fs::write(&path, CONTENT).unwrap();
    let base = BaseFile::open(&path).unwrap();
    (directory, path, base)
}

fn change(error: &BaseError) -> Change {
    match error {
        BaseError::Changed { change, .. } => *change,
        other => panic!("{other}"),
    }
}

/// What a read fails with: the change, from within the `io::Error`.
fn read_fails_with(base: &BaseFile) -> Change {
    let error = base.read_at(0, &mut [0; 4]).unwrap_err();
    let cached = base.read_cached(0, &mut [0; 4]).unwrap_err();
    assert_eq!(error.to_string(), cached.to_string());
    change(error.get_ref().unwrap().downcast_ref().unwrap())
}

#[test]
fn reading_is_positional_and_ends_where_the_file_ended_when_it_was_opened() {
    let (_directory, _path, base) = base();
    assert_eq!(base.size(), 16);
    let mut buffer = [0; 6];
    for (offset, expected) in [(0, &b"012345"[..]), (12, b"cdef"), (16, b""), (u64::MAX, b"")] {
        let count = base.read_at(offset, &mut buffer).unwrap();
        assert_eq!(&buffer[..count], expected);
        match base.read_cached(offset, &mut buffer).unwrap() {
            CachedRead::Read(count) => assert_eq!(&buffer[..count], expected),
            CachedRead::WouldBlock => assert!(!expected.is_empty()),
        }
    }
    base.check().unwrap();
}

#[test]
fn every_change_is_seen_by_the_next_read_and_by_the_check() {
    type Act = fn(&Path);
    let resized = |now| Change::Resized { was: 16, now };
    let append: Act = |path| File::options().append(true).open(path).unwrap().write_all(b"!").unwrap();
    let cases: [(&str, Act, Change); 9] = [
        ("truncated", |path| File::options().write(true).open(path).unwrap().set_len(5).unwrap(), resized(5)),
        ("grown", append, resized(17)),
        (
            "overwritten",
            |path| File::options().write(true).open(path).unwrap().write_all(b"X").unwrap(),
            Change::Modified,
        ),
        (
            "overwritten, and its mtime set back",
            |path| {
                let before = fs::metadata(path).unwrap().modified().unwrap();
                let mut file = File::options().write(true).open(path).unwrap();
                file.write_all(b"X").unwrap();
                file.set_modified(before).unwrap();
            },
            Change::Touched,
        ),
        ("deleted", |path| fs::remove_file(path).unwrap(), Change::Vanished),
        ("moved away", |path| fs::rename(path, path.with_extension("aside")).unwrap(), Change::Vanished),
        (
            "replaced by a file of the same content",
            |path| {
                fs::write(path.with_extension("new"), CONTENT).unwrap();
                fs::rename(path.with_extension("new"), path).unwrap();
            },
            Change::Replaced,
        ),
        (
            "given up for another with a second link",
            |path| fs::hard_link(path, path.with_extension("link")).unwrap(),
            Change::Touched,
        ),
        ("given other permissions", chmod, Change::Touched),
    ];
    for (name, act, expected) in cases {
        let (_directory, path, base) = base();
        // So that the change falls into another tick of the clock, as it does for a file that has settled.
        std::thread::sleep(Duration::from_millis(20));
        act(&path);
        assert_eq!(read_fails_with(&base), expected, "{name}");
        assert_eq!(change(&base.check().unwrap_err()), expected, "{name}");
    }
}

fn chmod(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o640)).unwrap();
}

#[test]
fn attributes_of_the_file_do_not_matter_if_the_bytes_come_from_a_copy() {
    let copied = || {
        let (directory, path, base) = base();
        let copy = directory.path().join("copy");
        fs::copy(&path, &copy).unwrap();
        std::thread::sleep(Duration::from_millis(20));
        (directory, path, BaseFile { shared_copy: Some(File::open(copy).unwrap()), ..base })
    };
    let (_directory, path, base) = copied();
    chmod(&path);
    fs::hard_link(&path, path.with_extension("link")).unwrap();
    assert_eq!(base.read_at(0, &mut [0; 4]).unwrap(), 4);
    base.check().unwrap();

    fs::remove_file(&path).unwrap();
    assert_eq!(change(&base.check().unwrap_err()), Change::Vanished, "the other link is no base");
    let (_directory, path, base) = copied();
    fs::write(&path, CONTENT).unwrap();
    assert_eq!(read_fails_with(&base), Change::Modified);
    let (_directory, path, base) = copied();
    fs::remove_file(&path).unwrap();
    assert_eq!(read_fails_with(&base), Change::Vanished);
}

#[test]
fn another_file_at_the_path_is_seen_by_the_check() {
    let (_directory, path, base) = base();
    // Moving away and back changes no link count, and on some file systems no ctime either.
    let aside = path.with_extension("aside");
    fs::rename(&path, &aside).unwrap();
    fs::write(&path, CONTENT).unwrap();
    base.check().unwrap_err();
    fs::rename(&aside, &path).unwrap();
    base.check().unwrap_err();
}

#[test]
fn a_changed_base_stays_changed() {
    let (_directory, path, base) = base();
    fs::remove_file(&path).unwrap();
    assert_eq!(change(&base.check().unwrap_err()), Change::Vanished);
    fs::write(&path, CONTENT).unwrap();
    assert_eq!(read_fails_with(&base), Change::Vanished);
    BaseFile::open(&path).unwrap().check().unwrap();
}

#[test]
fn only_files_and_block_devices_are_bases() {
    let directory = TempDir::new().unwrap();
    assert!(matches!(BaseFile::open(directory.path()), Err(BaseError::NotAFile(_))));
    assert!(matches!(BaseFile::open(Path::new("/dev/null")), Err(BaseError::NotAFile(_))));
    assert!(matches!(BaseFile::open(&directory.path().join("none")), Err(BaseError::Inaccessible { .. })));
    let fifo = directory.path().join("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    assert!(matches!(BaseFile::open(&fifo), Err(BaseError::NotAFile(_))), "and it does not wait for a writer");
}

#[test]
fn a_file_that_was_just_written_settles_within_two_seconds() {
    let (_directory, path, base) = base();
    assert!(base.settling().is_some_and(|rest| rest <= settling::TICK));
    std::thread::sleep(base.settling().unwrap_or_default());
    assert_eq!(base.settling(), None);
    assert_eq!(BaseFile::open(&path).unwrap().settling(), None);
    base.check().unwrap();
}

#[test]
fn a_file_in_memory_is_read_inline() {
    let Ok(mut file) = tempfile::NamedTempFile::new_in("/dev/shm") else { return };
    file.write_all(CONTENT).unwrap();
    let base = BaseFile::open(file.path()).unwrap();
    assert_eq!(base.read_cached(10, &mut [0; 16]).unwrap(), CachedRead::Read(6));
}

#[test]
fn errors_name_the_file_and_say_what_to_do() {
    let (_directory, path, base) = base();
    fs::remove_file(&path).unwrap();
    let error = base.read_at(0, &mut [0; 4]).unwrap_err().to_string();
    assert!(error.contains(path.to_str().unwrap()) && error.contains("register it again"), "{error}");
    assert!(error.contains("no chmod, link, rename or label") && error.contains("dayone base add"), "{error}");
}
