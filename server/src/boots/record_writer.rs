//! Writes the records of boots, those of many boots together: hundreds that run at the same time write at the same time, and would
//! otherwise wait for the disk one after the other, each on a thread of its own.

use std::io;
use std::sync::Arc;

use tokio::sync::{OwnedMutexGuard, mpsc, oneshot};
use tracing::error;

use super::record::BootRecord;
use crate::store::Store;

/// How many records are written together at most. As many files are open meanwhile.
const MAX_GROUP: usize = 64;

/// The only writer of records of boots that run.
pub(super) struct RecordWriter {
    store: Arc<Store>,
    waiting: mpsc::UnboundedSender<Write>,
}

struct Write {
    /// Each has the store, so that a writer that has nothing to do does not keep the data directory.
    store: Arc<Store>,
    /// The writer makes the JSON: thousands of records may wait, and a record shares most of its memory with the one that its boot shows.
    record: Arc<BootRecord>,
    lock: OwnedMutexGuard<()>,
    done: oneshot::Sender<(io::Result<()>, OwnedMutexGuard<()>)>,
}

impl RecordWriter {
    pub(super) fn start(store: Arc<Store>) -> Self {
        let (waiting, mut writes) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let mut group = Vec::new();
            while writes.recv_many(&mut group, MAX_GROUP).await > 0 {
                let group = std::mem::take(&mut group);
                if let Err(error) = tokio::task::spawn_blocking(move || write(group)).await {
                    error!(%error, "writing the records of boots ended badly");
                }
            }
        });
        Self { store, waiting }
    }

    /// Writes or replaces a record. When this returns, it survives a power failure.
    ///
    /// The lock is held until the write is done, even if the caller stops waiting.
    pub(super) async fn write(
        &self,
        record: Arc<BootRecord>,
        lock: OwnedMutexGuard<()>,
    ) -> io::Result<OwnedMutexGuard<()>> {
        let (done, written) = oneshot::channel();
        let ended = || io::Error::other("the writer of records has ended");
        self.waiting.send(Write { store: Arc::clone(&self.store), record, lock, done }).map_err(|_| ended())?;
        let (written, lock) = written.await.map_err(|_| ended())?;
        written.map(|()| lock)
    }
}

fn write(group: Vec<Write>) {
    let json: Vec<_> = group.iter().map(|write| write.record.to_json()).collect();
    let records: Vec<(&str, &[u8])> = group
        .iter()
        .zip(&json)
        .filter_map(|(write, json)| Some((write.record.id.as_str(), json.as_deref().ok()?)))
        .collect();
    let results = group.first().map(|first| first.store.write_boots(&records)).unwrap_or_default();
    // A caller may close the store as soon as its record is written, so drop the store before answering.
    let waiting: Vec<_> = group.into_iter().map(|Write { lock, done, .. }| (lock, done)).collect();
    let mut results = results.into_iter();
    for ((lock, done), json) in waiting.into_iter().zip(json) {
        let result = match json {
            Ok(_) => results.next(),
            Err(error) => Some(Err(error.into())),
        };
        if let Some(result) = result {
            // If the caller has stopped waiting, this releases its lock.
            let _ = done.send((result, lock));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use futures_util::future::join_all;
    use tokio::sync::Mutex;

    use super::*;
    use crate::boots::credentials::CredentialsSource;
    use crate::boots::id::BootId;
    use crate::boots::samples::new_boot;

    fn store(data: &std::path::Path) -> Arc<Store> {
        Arc::new(Store::open(data, Vec::new(), "http://192.0.2.1:8081".parse().unwrap()).unwrap())
    }

    fn record() -> BootRecord {
        BootRecord::new(BootId::after(None).unwrap(), new_boot(None, "192.0.2.1"), CredentialsSource::None)
    }

    #[tokio::test]
    async fn a_record_that_the_disk_refuses_is_the_only_one_of_its_group_that_fails() {
        let data = tempfile::tempdir().unwrap();
        let writer = &RecordWriter::start(store(data.path()));
        let first: Vec<BootRecord> = (0..200).map(|_| record()).collect();
        let path = |record: &BootRecord| data.path().join(format!("boots/{}.json", record.id));
        // A file cannot take the place of a directory.
        let refused = first[70].id;
        fs::create_dir(path(&first[70])).unwrap();
        let renamed = |record: &BootRecord| BootRecord { host: Some("renamed".to_owned()), ..record.clone() };
        for round in [first.iter().map(renamed).collect(), first] {
            let written = join_all(round.iter().map(|record| async move {
                let lock = Arc::new(Mutex::new(())).lock_owned().await;
                writer.write(Arc::new(record.clone()), lock).await.is_ok()
            }));
            for (record, is_written) in round.iter().zip(written.await) {
                assert_eq!(is_written, record.id != refused);
                assert!(!is_written || fs::read(path(record)).unwrap() == record.to_json().unwrap());
            }
        }
    }

    #[tokio::test]
    async fn a_lock_is_held_until_its_record_is_written_even_if_the_caller_stops_waiting() {
        let data = tempfile::tempdir().unwrap();
        let writer = RecordWriter::start(store(data.path()));
        let (record, mutex) = (Arc::new(record()), Arc::new(Mutex::new(())));
        let lock = Arc::clone(&mutex).lock_owned().await;
        tokio::select! {
            biased;
            _ = writer.write(Arc::clone(&record), lock) => panic!("it was not interrupted"),
            () = std::future::ready(()) => {}
        }
        let _lock = mutex.lock().await;
        let written = fs::read(data.path().join(format!("boots/{}.json", record.id))).unwrap();
        assert_eq!(written, record.to_json().unwrap());
    }

    #[tokio::test]
    async fn a_writer_keeps_the_store_no_longer_than_it_writes() {
        let data = tempfile::tempdir().unwrap();
        let store = store(data.path());
        let held = Arc::downgrade(&store);
        let writer = RecordWriter::start(store);
        let lock = Arc::new(Mutex::new(())).lock_owned().await;
        writer.write(Arc::new(record()), lock).await.unwrap();
        drop(writer);
        assert!(held.upgrade().is_none(), "the data directory stays locked");
    }
}
