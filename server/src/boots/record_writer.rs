//! Writes the records of boots, those of many boots together: hundreds that run at the same time write at the same time, and would
//! otherwise wait for the disk one after the other, each on a thread of its own.

use std::io;
use std::sync::Arc;

use tokio::sync::{OwnedMutexGuard, mpsc, oneshot};
use tracing::error;

use super::id::BootId;
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
    id: BootId,
    json: Vec<u8>,
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
        id: BootId,
        json: Vec<u8>,
        lock: OwnedMutexGuard<()>,
    ) -> io::Result<OwnedMutexGuard<()>> {
        let (done, written) = oneshot::channel();
        let ended = || io::Error::other("the writer of records has ended");
        self.waiting.send(Write { store: Arc::clone(&self.store), id, json, lock, done }).map_err(|_| ended())?;
        let (written, lock) = written.await.map_err(|_| ended())?;
        written.map(|()| lock)
    }
}

fn write(group: Vec<Write>) {
    let records: Vec<(&str, &[u8])> = group.iter().map(|write| (write.id.as_str(), write.json.as_slice())).collect();
    let results = group.first().map(|first| first.store.write_boots(&records)).unwrap_or_default();
    // A caller may close the store as soon as its record is written, so drop the store before answering.
    let waiting: Vec<_> = group.into_iter().map(|Write { lock, done, .. }| (lock, done)).collect();
    for ((lock, done), result) in waiting.into_iter().zip(results) {
        // If the caller has stopped waiting, this releases its lock.
        let _ = done.send((result, lock));
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use futures_util::future::join_all;
    use tokio::sync::Mutex;

    use super::*;

    fn store(data: &std::path::Path) -> Arc<Store> {
        Arc::new(Store::open(data, Vec::new(), "http://192.0.2.1:8081".parse().unwrap()).unwrap())
    }

    #[tokio::test]
    async fn a_record_that_the_disk_refuses_is_the_only_one_of_its_group_that_fails() {
        let data = tempfile::tempdir().unwrap();
        let writer = &RecordWriter::start(store(data.path()));
        let ids: Vec<BootId> = (0..200).map(|_| BootId::after(None).unwrap()).collect();
        let path = |id: &BootId| data.path().join(format!("boots/{id}.json"));
        // A file cannot take the place of a directory.
        fs::create_dir(path(&ids[70])).unwrap();
        for round in 0..2 {
            let written = join_all(ids.iter().map(|id| async move {
                let lock = Arc::new(Mutex::new(())).lock_owned().await;
                writer.write(*id, format!("{round} {id}").into_bytes(), lock).await.is_ok()
            }));
            for (id, is_written) in ids.iter().zip(written.await) {
                assert_eq!(is_written, *id != ids[70]);
                assert!(!is_written || fs::read_to_string(path(id)).unwrap() == format!("{round} {id}"));
            }
        }
    }

    #[tokio::test]
    async fn a_lock_is_held_until_its_record_is_written_even_if_the_caller_stops_waiting() {
        let data = tempfile::tempdir().unwrap();
        let writer = RecordWriter::start(store(data.path()));
        let (id, mutex) = (BootId::after(None).unwrap(), Arc::new(Mutex::new(())));
        let lock = Arc::clone(&mutex).lock_owned().await;
        tokio::select! {
            biased;
            _ = writer.write(id, b"{}".to_vec(), lock) => panic!("it was not interrupted"),
            () = std::future::ready(()) => {}
        }
        let _lock = mutex.lock().await;
        assert_eq!(fs::read(data.path().join(format!("boots/{id}.json"))).unwrap(), b"{}");
    }

    #[tokio::test]
    async fn a_writer_keeps_the_store_no_longer_than_it_writes() {
        let data = tempfile::tempdir().unwrap();
        let store = store(data.path());
        let held = Arc::downgrade(&store);
        let writer = RecordWriter::start(store);
        let lock = Arc::new(Mutex::new(())).lock_owned().await;
        writer.write(BootId::after(None).unwrap(), b"{}".to_vec(), lock).await.unwrap();
        drop(writer);
        assert!(held.upgrade().is_none(), "the data directory stays locked");
    }
}
