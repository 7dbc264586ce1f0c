//! Threads that serve connections, each with a runtime of its own.
//!
//! A connection stays on its thread. On a runtime that moves tasks between its threads, each request of a client that reads
//! small ranges costs the handing over, too.

use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tokio::net::TcpStream;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// The threads. They end when this is dropped, and their connections with them.
#[derive(Debug)]
pub(super) struct Workers(Vec<Worker>);

#[derive(Debug)]
struct Worker {
    runtime: Handle,
    /// How many connections it has.
    connections: Arc<AtomicUsize>,
    /// The thread ends when this is dropped.
    _running: oneshot::Sender<()>,
}

/// Counts a connection until it is dropped.
struct Counted(Arc<AtomicUsize>);

impl Workers {
    /// Starts `count` threads.
    pub(super) fn start(count: NonZeroUsize) -> io::Result<Self> {
        let workers = (0..count.get()).map(|number| {
            let runtime = Builder::new_current_thread().enable_all().build()?;
            let handle = runtime.handle().clone();
            let (running, ended) = oneshot::channel::<()>();
            thread::Builder::new().name(format!("media-{number}")).spawn(move || {
                // An error is the sender's end, which is all that is waited for.
                let _ = runtime.block_on(ended);
                // A read from a file system that hangs must not hold up the end.
                runtime.shutdown_background();
            })?;
            Ok(Worker { runtime: handle, connections: Arc::default(), _running: running })
        });
        workers.collect::<io::Result<_>>().map(Self)
    }

    /// Serves a connection on the thread that has the fewest.
    pub(super) fn serve<F>(&self, stream: TcpStream, serve: impl FnOnce(TcpStream) -> F + Send + 'static)
    where
        F: Future<Output = ()> + Send,
    {
        let fewest = |worker: &&Worker| worker.connections.load(Ordering::Relaxed);
        let Some(worker) = self.0.iter().min_by_key(fewest) else { return };
        worker.connections.fetch_add(1, Ordering::Relaxed);
        let counted = Counted(Arc::clone(&worker.connections));
        let stream = stream.into_std();
        worker.runtime.spawn(async move {
            let _counted = counted;
            // Its events are to come to this thread.
            match stream.and_then(TcpStream::from_std) {
                Ok(stream) => serve(stream).await,
                Err(error) => tracing::warn!(%error, "cannot serve a connection"),
            }
        });
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
