//! A server that can be killed, and a host that calls home.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use acceptance::bmc::target::{impatient, limits};
use acceptance::bmc::{EmulatedBmc, PASSWORD, USERNAME};
use acceptance::boots::{call_homes, documents};
use acceptance::server::free_address;
use dayone::boots::BootSettings;
use dayone::services::{Config, Server};
use redfish::ClientOptions;
use redfish::bmc::Limits;
use reqwest::Client;
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use crate::own_server;

/// How long to wait for something that must happen.
const PATIENCE: Duration = Duration::from_mins(2);

/// A server with a runtime of its own, so that it can die without ending anything in order.
pub(super) struct Site {
    directory: TempDir,
    running: Option<Runtime>,
    addresses: (SocketAddr, SocketAddr),
    client: Client,
}

impl Site {
    pub(super) async fn start() -> Self {
        let client = Client::builder().no_proxy().timeout(Duration::from_secs(20)).build().expect("a client");
        // While the server is dead, no other test must be given its ports.
        let address = || free_address().parse().expect("an address");
        let addresses = (address(), address());
        let mut site = Self { directory: tempfile::tempdir().expect("a directory"), running: None, addresses, client };
        site.start_server().await;
        site
    }

    /// Starts the server, at the addresses that it had before.
    async fn start_server(&mut self) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let config = config(self.directory.path(), self.addresses);
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
            let runtime = runtime.expect("a runtime");
            let (sender, receiver) = tokio::sync::oneshot::channel();
            runtime.spawn(async move {
                match Server::start(config).await {
                    Ok(server) => {
                        let _ = sender.send(Ok(()));
                        // It lives until its runtime ends.
                        std::future::pending::<()>().await;
                        drop(server);
                    }
                    Err(error) => drop(sender.send(Err(error.to_string()))),
                }
            });
            match receiver.await.expect("the server starts or says why not") {
                Ok(()) => {
                    self.running = Some(runtime);
                    return;
                }
                // Threads of the server that was killed still end.
                Err(error) => {
                    runtime.shutdown_background();
                    assert!(Instant::now() < deadline, "{error}");
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
        }
    }

    /// Ends the server at once, wherever it is.
    pub(super) fn kill(&mut self) {
        if let Some(running) = self.running.take() {
            running.shutdown_background();
        }
    }

    /// The records of boots, as they are on disk.
    pub(super) fn records(&self) -> Vec<Value> {
        let entries = std::fs::read_dir(self.directory.path().join("data/boots")).expect("a directory");
        let paths = entries.map(|entry| entry.expect("one").path()).filter(|path| path.extension().is_some());
        paths.map(|path| serde_json::from_slice(&std::fs::read(path).expect("a record")).expect("JSON")).collect()
    }

    pub(super) async fn restart(&mut self) {
        self.start_server().await;
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}/v1/boots{path}", self.addresses.0)
    }

    /// Begins a boot of the host behind this BMC, and returns its id.
    pub(super) async fn begin(&self, bmc: &EmulatedBmc, query: &str) -> String {
        let documents = documents("worker-0", &bmc.origin(), "", PASSWORD)
            .replace("username: admin", &format!("username: {USERNAME}"));
        let request = self.client.post(self.url(query)).header("content-type", "application/yaml").body(documents);
        let answer = request.send().await.expect("an answer");
        let (status, text) = (answer.status(), answer.text().await.expect("text"));
        assert_eq!(status, 201, "{text}");
        let body: Value = serde_json::from_str(&text).expect("JSON");
        body["boots"][0]["id"].as_str().expect("an id").to_owned()
    }

    pub(super) async fn delete(&self, id: &str) {
        let answer = self.client.delete(self.url(&format!("/{id}"))).send().await.expect("an answer");
        assert_eq!(answer.status(), 202);
    }

    /// Waits until the boot is as it should be.
    pub(super) async fn until(&self, id: &str, is: impl Fn(&Value) -> bool) -> Result<Value, String> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            // Where the server is killed, that may be in the middle of this answer.
            let boot = match self.client.get(self.url(&format!("/{id}"))).send().await {
                Ok(answer) => answer.json().await.map_err(|error| error.to_string()),
                Err(error) => Err(error.to_string()),
            };
            match boot {
                Ok(boot) if is(&boot) => return Ok(boot),
                boot if Instant::now() >= deadline => return Err(format!("it does not end: {boot:#?}")),
                _ => {}
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// The system of the host: once it runs from its medium, it calls home until it gets an answer, as the script in its image does.
    pub(super) fn host(&self, bmc: &Arc<EmulatedBmc>) -> Host {
        let (bmc, client, directory) = (Arc::clone(bmc), self.client.clone(), self.directory.path().to_owned());
        let has_called = Arc::new(AtomicBool::new(false));
        let called = Arc::clone(&has_called);
        let task = tokio::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_millis(100)).await;
                let runs = bmc.boots().last().is_some_and(|boot| boot.image.is_some() && boot.end == Some(Ok(())));
                if !runs || called.load(Ordering::Relaxed) {
                    continue;
                }
                for url in call_homes(&directory.join("data")) {
                    let answer = client.get(url).send().await;
                    if answer.is_ok_and(|answer| answer.status().as_u16() == 204) {
                        called.store(true, Ordering::Relaxed);
                    }
                }
            }
        });
        Host { has_called, task }
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The system of the host.
pub(super) struct Host {
    has_called: Arc<AtomicBool>,
    task: JoinHandle<()>,
}

impl Host {
    /// Whether dayone has answered its call.
    pub(super) async fn has_called(&self) -> bool {
        // dayone may know of the call before its answer is here.
        for _ in 0..30 {
            if self.has_called.load(Ordering::Relaxed) {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        false
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn config(directory: &Path, addresses: (SocketAddr, SocketAddr)) -> Config {
    let client = ClientOptions { request_timeout: Duration::from_secs(3), ..impatient() };
    let limits = Limits { pause: Duration::from_millis(20), insert: Duration::from_secs(3), ..limits() };
    let boots = BootSettings { client, limits, ..BootSettings::default() };
    Config { boots, ..own_server::config(directory, Some(addresses)) }
}
