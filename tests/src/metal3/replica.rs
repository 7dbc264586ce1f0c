//! `dayone controller` as a Deployment runs it: flags, environment, a kubeconfig, its probes and its signals.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use reqwest::blocking::{Client, Response};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::AgentBases;
use crate::server::dayone;

/// The beginning of all URLs: the address of a Service in front of all replicas. Nothing listens there; see [`Replica::get`].
pub const PUBLISHED: &str = "http://images.example.test:8084";

const READY_WITHIN: Duration = Duration::from_secs(60);

/// The settings of a replica. All replicas of a Deployment have the same ones.
#[derive(Clone)]
pub struct ReplicaSettings {
    arguments: Vec<String>,
    environment: BTreeMap<String, String>,
}

impl ReplicaSettings {
    /// Returns the settings of the cluster-baremetal-operator, for the PreprovisioningImages of one namespace.
    pub fn new(kubeconfig: &Path, namespace: &str, bases: &AgentBases) -> Self {
        let environment = [
            ("KUBECONFIG", kubeconfig.display().to_string()),
            ("WATCH_NAMESPACE", namespace.to_owned()),
            ("POD_NAMESPACE", namespace.to_owned()),
            ("IRONIC_BASE_URL", "https://192.0.2.1:6385,https://[2001:db8::1]:6385".to_owned()),
            ("IRONIC_INSPECTOR_BASE_URL", "https://192.0.2.1:5050".to_owned()),
            ("IRONIC_AGENT_IMAGE", "registry.example.test/ironic-agent:1".to_owned()),
            // {"auths":{}}
            ("IRONIC_AGENT_PULL_SECRET", "eyJhdXRocyI6e319".to_owned()),
            ("IRONIC_ROOTFS_URL", "http://192.0.2.1:6180/images/ironic-python-agent.rootfs".to_owned()),
            ("IP_OPTIONS", "ip=dhcp".to_owned()),
            ("HTTP_PROXY", String::new()),
            ("HTTPS_PROXY", String::new()),
            ("NO_PROXY", String::new()),
        ];
        let settings = Self {
            arguments: ["controller", "--images-bind-addr", "127.0.0.1:0", "--metrics-addr", "127.0.0.1:0"]
                .map(str::to_owned)
                .to_vec(),
            environment: environment.into_iter().chain(bases.environment()).map(owned).collect(),
        };
        settings.with_argument("--images-publish-addr", PUBLISHED).with_argument("--shutdown-delay-seconds", "0")
    }

    /// Sets an option.
    pub fn with_argument(mut self, option: &str, value: &str) -> Self {
        if let Some(at) = self.arguments.iter().position(|argument| argument == option) {
            self.arguments.drain(at..at + 2);
        }
        self.arguments.extend([option.to_owned(), value.to_owned()]);
        self
    }

    /// Sets an environment variable.
    pub fn with_variable(mut self, name: &str, value: impl Into<String>) -> Self {
        self.environment.insert(name.to_owned(), value.into());
        self
    }

    /// Starts a replica in a Pod of this name, and does not wait until it is ready.
    pub fn start(&self, pod: &str) -> Replica {
        let directory = tempfile::tempdir().expect("a directory");
        let log = File::create(directory.path().join("log")).expect("a log");
        let mut command = dayone();
        command.args(&self.arguments).envs(&self.environment).env("POD_NAME", pod).env("DAYONE_LOG_FORMAT", "json");
        // Lower case has the same meaning, and is the test's.
        for name in ["http_proxy", "https_proxy", "no_proxy", "all_proxy", "ALL_PROXY"] {
            command.env_remove(name);
        }
        command.stdin(Stdio::null()).stdout(log.try_clone().expect("a log")).stderr(log);
        let process = command.spawn().expect("dayone starts");
        // A BMC waits longer than this test.
        let client = Client::builder().no_proxy().timeout(Duration::from_secs(60)).build().expect("a client");
        let mut replica =
            Replica { pod: pod.to_owned(), process, directory, client, images: String::new(), observed: String::new() };
        replica.observed = replica.wait_for_address("metrics and health");
        replica.images = replica.wait_for_address("listening for image requests");
        replica
    }

    /// Starts a replica, and waits until it is ready.
    pub fn start_ready(&self, pod: &str) -> Replica {
        let replica = self.start(pod);
        replica.wait_until_ready();
        replica
    }
}

fn owned((name, value): (&str, String)) -> (String, String) {
    (name.to_owned(), value)
}

/// A running replica. Dropping it kills it.
pub struct Replica {
    /// The name of the Pod.
    pub pod: String,
    process: Child,
    directory: TempDir,
    client: Client,
    /// The address from which the replica serves images, such as `127.0.0.1:34567`.
    pub images: String,
    observed: String,
}

impl Replica {
    /// Whether the readiness probe succeeds.
    pub fn is_ready(&self) -> bool {
        self.probe("readyz").is_some_and(|(status, _)| status == 200)
    }

    /// Returns the answer of `/healthz`, `/readyz` or `/metrics`, or `None` if nothing listens.
    pub fn probe(&self, path: &str) -> Option<(u16, String)> {
        let answer = self.client.get(format!("http://{}/{path}", self.observed)).send().ok()?;
        Some((answer.status().as_u16(), answer.text().ok()?))
    }

    /// Waits until the readiness probe succeeds.
    pub fn wait_until_ready(&self) {
        self.wait("it is ready", READY_WITHIN, || self.is_ready());
    }

    /// Returns the value of a metric, such as `dayone_x` or `dayone_x{y="z"}`.
    pub fn metric(&self, name: &str) -> Option<f64> {
        let (_, text) = self.probe("metrics")?;
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
    }

    /// Whether the replica is the leader, which writes to objects.
    pub fn leads(&self) -> bool {
        self.metric("dayone_kubernetes_leader") == Some(1.0)
    }

    /// Returns the replica's answer to a BMC that fetches a published URL.
    pub fn get(&self, url: &str) -> Response {
        self.client.get(self.own(url)).send().unwrap_or_else(|error| panic!("{url}: {error}"))
    }

    /// Returns the status of the answer, or the error.
    pub fn status(&self, url: &str) -> Result<u16, String> {
        let answer = self.client.head(self.own(url)).send();
        answer.map(|answer| answer.status().as_u16()).map_err(|error| error.to_string())
    }

    /// Fetches the whole file at a published URL.
    pub fn fetch(&self, url: &str) -> Vec<u8> {
        let answer = self.get(url);
        assert_eq!(answer.status(), 200, "{url}\n{}", self.log());
        answer.bytes().expect("a body").to_vec()
    }

    /// Fetches a range of the file at a published URL, and returns it with its validator.
    pub fn fetch_range(&self, url: &str, start: u64, length: u64) -> (String, Vec<u8>) {
        let range = format!("bytes={start}-{}", start + length - 1);
        let answer = self.client.get(self.own(url)).header("Range", range).send().expect("an answer");
        assert_eq!(answer.status(), 206, "{url}\n{}", self.log());
        let etag = answer.headers()["etag"].to_str().expect("text").to_owned();
        (etag, answer.bytes().expect("a body").to_vec())
    }

    /// Replaces the Service's address in a published URL with the replica's own.
    pub fn own(&self, url: &str) -> String {
        let path = url.strip_prefix(PUBLISHED).unwrap_or_else(|| panic!("{url} is not below {PUBLISHED}"));
        format!("http://{}{path}", self.images)
    }

    /// Waits for a condition. Shows the replica's log if the condition is not met in time.
    pub fn wait(&self, what: &str, limit: Duration, is_so: impl Fn() -> bool) {
        let deadline = Instant::now() + limit;
        while !is_so() {
            assert!(Instant::now() < deadline, "{what}: not within {limit:?}\n{}", self.log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until the log has a line with all these words, and returns the line.
    pub fn wait_for_log(&self, words: &[&str]) -> String {
        self.wait_for_log_within(READY_WITHIN, words)
    }

    fn wait_for_log_within(&self, limit: Duration, words: &[&str]) -> String {
        let line = || {
            let log = self.log();
            log.lines().find(|line| words.iter().all(|word| line.contains(word))).map(str::to_owned)
        };
        self.wait(&words.join(", "), limit, || line().is_some());
        line().expect("it was there")
    }

    /// Returns the process id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Sends SIGTERM, as the kubelet does first.
    pub fn terminate(&self) {
        kill_process(Pid::from_child(&self.process), Signal::TERM).expect("it runs");
    }

    /// Sends SIGKILL, as the kubelet does in the end.
    pub fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Returns the exit status if the replica has ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.process.try_wait().expect("its state")
    }

    /// Waits until the replica has ended by itself, and returns its exit code.
    pub fn wait_until_ended(&mut self, limit: Duration) -> i32 {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(status) = self.ended() {
                return status.code().unwrap_or_else(|| -status.signal().unwrap_or_default());
            }
            assert!(Instant::now() < deadline, "{} does not end within {limit:?}\n{}", self.pod, self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Returns the log so far.
    pub fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }

    fn wait_for_address(&self, what: &str) -> String {
        let line = self.wait_for_log(&[what]);
        let line: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        line["address"].as_str().unwrap_or_else(|| panic!("no address in {line}")).to_owned()
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            eprintln!("--- {} ---\n{}", self.pod, self.log());
        }
    }
}
