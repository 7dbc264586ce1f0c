//! The limits of a listener.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use tokio::time::sleep;

use super::metrics::ListenMetrics;
use super::tls::Tls;

/// The limits of a listener, and its certificate. The defaults are those of the API of `dayone serve`.
#[derive(Debug, Clone)]
pub struct Options {
    /// Certificate and key. `None` means plain HTTP.
    pub tls: Option<Tls>,
    /// Maximum number of connections. For a further one, the listener closes the oldest connection that waits for a
    /// request and never had a successful answer, apart from [answers that anybody gets](super::NeedsNoSecret). If there is
    /// none, the new connection waits in the kernel's queue until another ends. It is not refused, because firmware that is
    /// refused gives up, and firmware that waits goes on. Default: 10,240.
    pub max_connections: u32,
    /// Maximum number of connections from one client address, or from one IPv6 network with a prefix of 64 bits. For a further
    /// one, the listener closes the oldest connection from there that waits for a request and never had such an answer. If no
    /// connection can be closed, the listener closes the new one. Default: 5120.
    pub max_per_address: u32,
    /// How long a connection may be idle, without a byte in either direction. While the service has a request and no answer yet,
    /// there is no limit: a service that reads the body of a request must itself limit the time for that. A transfer may take any
    /// time, because some BMCs read at 50 KB/s. Default: 5 minutes.
    pub idle_timeout: Duration,
    /// How long a client may take to send the head of its first request, from the connection or the end of the TLS
    /// handshake. A shorter [`idle_timeout`](Self::idle_timeout) or [`header_timeout`](Self::header_timeout) limits it, too. Default:
    /// 30 seconds.
    pub first_request_timeout: Duration,
    /// How long a client may take to send the head of a further request, from the end of the previous answer. Default:
    /// 30 seconds.
    pub header_timeout: Duration,
    /// How long the TLS handshake may take. Default: 30 seconds.
    pub handshake_timeout: Duration,
    /// How long transfers may continue after a shutdown has begun. Default: 30 seconds.
    pub drain: Duration,
    /// How many threads serve the connections, each with a runtime of its own. `None`: the runtime that calls
    /// [`serve`](super::Listener::serve). Default: `None`.
    pub threads: Option<NonZeroUsize>,
    /// Whether private bases go from the page cache to connections without TLS by `sendfile(2)`. Default: yes.
    pub sendfile: bool,
    /// Whether the service answers requests that have a [`Fault`](super::Fault), which is then among the extensions of the request. The
    /// answer must close the connection, because it is uncertain where the next request begins. By default, the listener answers in
    /// plain text.
    pub service_answers_faults: bool,
    /// The counters of connections.
    pub metrics: ListenMetrics,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            tls: None,
            max_connections: 10_240,
            max_per_address: 5120,
            idle_timeout: Duration::from_mins(5),
            first_request_timeout: Duration::from_secs(30),
            header_timeout: Duration::from_secs(30),
            handshake_timeout: Duration::from_secs(30),
            drain: Duration::from_secs(30),
            threads: None,
            sendfile: true,
            service_answers_faults: false,
            metrics: ListenMetrics::default(),
        }
    }
}

/// The options of a listener that serves. A change applies to connections that begin later; [`Options::drain`] is read when the
/// listener stops, and [`Options::max_connections`] only when it starts. Clones share the options.
#[derive(Debug, Clone)]
pub struct LiveOptions(Arc<RwLock<Arc<Options>>>);

impl LiveOptions {
    pub(super) fn new(options: Options) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(options))))
    }

    pub(super) fn get(&self) -> Arc<Options> {
        Arc::clone(&self.0.read())
    }

    /// Keeps the listener's certificate current, also while no client connects.
    pub(super) async fn keep_certificate_current(&self, every: Duration) {
        loop {
            sleep(every).await;
            if let Some(tls) = &self.get().tls {
                tls.renew().await;
            }
        }
    }

    /// Changes the options.
    pub fn change(&self, change: impl FnOnce(&mut Options)) {
        let mut options = self.0.write();
        let before = options.tls.clone();
        change(Arc::make_mut(&mut options));
        if let (Some(before), Some(after)) = (before, &options.tls) {
            before.replace_by(after);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[tokio::test]
    async fn a_listener_that_nobody_uses_gets_a_renewed_certificate() {
        let directory = tempfile::tempdir().unwrap();
        let (certificate, key) = (directory.path().join("tls.crt"), directory.path().join("tls.key"));
        let write = |path: &Path, text: String| fs::write(path, text).unwrap();
        let issue = |name: &str| {
            let issued = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
            write(&certificate, issued.cert.pem());
            write(&key, issued.signing_key.serialize_pem());
        };
        issue("first.example");
        let tls = Tls::from_files(&certificate, &key).unwrap();
        let first = Arc::clone(tls.acceptor().config());
        let options = LiveOptions::new(Options { tls: Some(tls.clone()), ..Options::default() });
        std::thread::sleep(Duration::from_millis(20));
        issue("second.example");
        let kept = tokio::spawn(async move { options.keep_certificate_current(Duration::from_millis(1)).await });
        while Arc::ptr_eq(&first, tls.acceptor().config()) {
            sleep(Duration::from_millis(10)).await;
        }
        kept.abort();
    }
}
