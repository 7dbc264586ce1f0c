//! Group commit: records that threads want to write at the same time are written together, so that they wait for the disk
//! together.

use std::collections::BTreeMap;
use std::io;
use std::iter;
use std::path::PathBuf;

use parking_lot::{Condvar, Mutex, MutexGuard};

/// How many records are written together at most. As many files are open meanwhile.
const MAX_GROUP: usize = 64;

/// A file with its content.
pub(super) type NewFile = (PathBuf, Vec<u8>);

/// Files that wait until they may be written.
#[derive(Debug, Default)]
pub(super) struct GroupCommit {
    state: Mutex<State>,
    /// A group was written.
    written: Condvar,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    /// The files that are not being written yet, each with the number of its caller.
    waiting: Vec<(u64, NewFile)>,
    /// The results that their callers have not taken yet.
    results: BTreeMap<u64, io::Result<()>>,
    /// Whether a caller is writing a group.
    is_writing: bool,
}

impl GroupCommit {
    /// Writes a new file, and returns when it is on disk. `write_all` writes several new files: all of them or none. The first caller
    /// writes its file at once. Callers that arrive meanwhile wait, and then one of them writes the files of all.
    pub(super) fn write(&self, file: NewFile, write_all: impl Fn(&[NewFile]) -> io::Result<()>) -> io::Result<()> {
        let mut state = self.state.lock();
        let number = state.next;
        state.next += 1;
        state.waiting.push((number, file));
        loop {
            if let Some(result) = state.results.remove(&number) {
                return result;
            }
            if state.is_writing {
                self.written.wait(&mut state);
                continue;
            }
            state.is_writing = true;
            let size = state.waiting.len().min(MAX_GROUP);
            let (numbers, files): (Vec<u64>, Vec<NewFile>) = state.waiting.drain(..size).unzip();
            MutexGuard::unlocked(&mut state, || {
                let mut turn = Turn { commit: self, numbers, results: Vec::new() };
                turn.results = write_group(&files, &write_all);
            });
        }
    }
}

/// The turn of a caller who writes a group. It also ends if that panics, with an error for all of the group.
struct Turn<'a> {
    commit: &'a GroupCommit,
    numbers: Vec<u64>,
    /// As many as there are numbers, once the group is written.
    results: Vec<io::Result<()>>,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.commit.state.lock();
        let failed = || Err(io::Error::other("writing the records of a group ended badly"));
        let results = self.results.drain(..).chain(iter::repeat_with(failed));
        state.results.extend(self.numbers.drain(..).zip(results));
        state.is_writing = false;
        self.commit.written.notify_all();
    }
}

/// Writes the files of a group. If the disk cannot take all of them, it may still take some.
fn write_group(files: &[NewFile], write_all: impl Fn(&[NewFile]) -> io::Result<()>) -> Vec<io::Result<()>> {
    match write_all(files) {
        Ok(()) => files.iter().map(|_| Ok(())).collect(),
        Err(error) if files.len() == 1 => vec![Err(error)],
        Err(_) => files.chunks(1).map(write_all).collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::thread;
    use std::time::Duration;

    use super::*;

    fn file(number: usize) -> NewFile {
        (PathBuf::from(number.to_string()), Vec::new())
    }

    /// A disk that takes its time, and what was written to it.
    #[derive(Default)]
    struct Disk {
        groups: Mutex<Vec<Vec<PathBuf>>>,
    }

    impl Disk {
        fn write(&self, files: &[NewFile], refused: &str) -> io::Result<()> {
            thread::sleep(Duration::from_millis(20));
            if files.iter().any(|(path, _)| path.as_os_str() == refused) {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.groups.lock().push(files.iter().map(|(path, _)| path.clone()).collect());
            Ok(())
        }
    }

    #[test]
    fn callers_that_come_meanwhile_are_written_together_and_each_once() {
        let (commit, disk) = (GroupCommit::default(), Disk::default());
        thread::scope(|scope| {
            for number in 0..200 {
                let (commit, disk) = (&commit, &disk);
                scope.spawn(move || {
                    commit.write(file(number), |files| disk.write(files, "")).unwrap();
                    let path = PathBuf::from(number.to_string());
                    assert!(disk.groups.lock().iter().flatten().any(|written| *written == path), "{number}");
                });
            }
        });
        let groups = disk.groups.into_inner();
        let written: Vec<&PathBuf> = groups.iter().flatten().collect();
        assert_eq!((written.len(), written.iter().collect::<BTreeSet<_>>().len()), (200, 200));
        assert!(groups.len() < 50 && groups.iter().all(|group| group.len() <= MAX_GROUP), "{}", groups.len());
        let state = commit.state.into_inner();
        assert!(state.waiting.is_empty() && state.results.is_empty() && !state.is_writing);
    }

    #[test]
    fn a_file_that_the_disk_does_not_take_is_an_error_for_its_caller_alone() {
        let (commit, disk) = (GroupCommit::default(), Disk::default());
        thread::scope(|scope| {
            for number in 0..20 {
                let (commit, disk) = (&commit, &disk);
                scope.spawn(move || {
                    let result = commit.write(file(number), |files| disk.write(files, "7"));
                    assert_eq!(result.is_err(), number == 7, "{number}");
                });
            }
        });
        assert_eq!(disk.groups.into_inner().iter().flatten().count(), 19);
    }

    #[test]
    fn a_panic_leaves_nobody_waiting() {
        let commit = GroupCommit::default();
        let results: Vec<_> = thread::scope(|scope| {
            let commit = &commit;
            let write = move |number| {
                let panics = |files: &[NewFile]| {
                    thread::sleep(Duration::from_millis(20));
                    assert!(files.iter().all(|(path, _)| path.as_os_str() != "3"), "a defect");
                    Ok(())
                };
                catch_unwind(AssertUnwindSafe(|| commit.write(file(number), panics)))
            };
            let callers: Vec<_> = (0..10).map(|number| scope.spawn(move || write(number))).collect();
            callers.into_iter().map(|caller| caller.join().unwrap()).collect()
        });
        assert_eq!(results.iter().filter(|result| result.is_err()).count(), 1, "{results:?}");
        commit.write(file(11), |_| Ok(())).unwrap();
    }
}
