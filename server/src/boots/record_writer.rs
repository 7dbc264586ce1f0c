//! Writes the records of boots, those of many boots together: hundreds that run at the same time write at the same time, and would
//! otherwise wait for the disk one after the other, each on a thread of its own.

use std::io;
use std::sync::Arc;

use tokio::sync::{OwnedMutexGuard, mpsc, oneshot};
use tracing::error;

use super::id::BootId;
use crate::store::Store;

/// How many records are written together at most. As many files are open meanwhile.
const LARGEST_GROUP: usize = 64;

/// The only writer of records of boots that run.
pub(super) struct RecordWriter(mpsc::UnboundedSender<Write>);

struct Write {
    id: BootId,
    json: Vec<u8>,
    lock: OwnedMutexGuard<()>,
    done: oneshot::Sender<(io::Result<()>, OwnedMutexGuard<()>)>,
}

impl RecordWriter {
    pub(super) fn start(store: Arc<Store>) -> Self {
        let (sender, mut waiting) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let mut group = Vec::new();
            while waiting.recv_many(&mut group, LARGEST_GROUP).await > 0 {
                let (store, group) = (Arc::clone(&store), std::mem::take(&mut group));
                if let Err(error) = tokio::task::spawn_blocking(move || write(&store, group)).await {
                    error!(%error, "writing the records of boots ended badly");
                }
            }
        });
        Self(sender)
    }

    /// Writes or replaces a record. When this returns, it survives a power failure.
    ///
    /// The lock is held until the write is done, even if nobody waits for it any more.
    pub(super) async fn write(
        &self,
        id: BootId,
        json: Vec<u8>,
        lock: OwnedMutexGuard<()>,
    ) -> io::Result<OwnedMutexGuard<()>> {
        let (done, written) = oneshot::channel();
        let ended = || io::Error::other("the writer of records has ended");
        self.0.send(Write { id, json, lock, done }).map_err(|_| ended())?;
        let (written, lock) = written.await.map_err(|_| ended())?;
        written.map(|()| lock)
    }
}

fn write(store: &Store, group: Vec<Write>) {
    let records: Vec<(&str, &[u8])> = group.iter().map(|write| (write.id.as_str(), write.json.as_slice())).collect();
    let results = store.write_boots(&records);
    for (Write { lock, done, .. }, result) in group.into_iter().zip(results) {
        // If nobody waits any more, the lock is released here.
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
        let ids: Vec<BootId> = (0..200).map(|_| BootId::new().unwrap()).collect();
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
    async fn a_lock_is_held_until_its_record_is_written_even_if_nobody_waits() {
        let data = tempfile::tempdir().unwrap();
        let writer = RecordWriter::start(store(data.path()));
        let (id, mutex) = (BootId::new().unwrap(), Arc::new(Mutex::new(())));
        let lock = Arc::clone(&mutex).lock_owned().await;
        tokio::select! {
            biased;
            _ = writer.write(id, b"{}".to_vec(), lock) => panic!("it was not interrupted"),
            () = std::future::ready(()) => {}
        }
        let _lock = mutex.lock().await;
        assert_eq!(fs::read(data.path().join(format!("boots/{id}.json"))).unwrap(), b"{}");
    }
}
