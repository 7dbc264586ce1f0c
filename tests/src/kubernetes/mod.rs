//! A real API server of Kubernetes (1.20) over a real etcd: the one control plane that a controller needs. Nothing
//! schedules, no garbage is collected and no namespace ends, since those are controllers too. Unlike later versions, 1.20
//! drops unknown fields without a word, and lets a status have two conditions of one type.
//!
//! A server costs 8 s of a processor and 370 MB, so most tests share one ([`ApiServer::shared`]), each with a namespace of its
//! own ([`Client::new_namespace`]). A test that stops the server, or counts its requests, starts its own
//! ([`ApiServer::start`]).

mod audit;
mod client;
mod credentials;
pub mod metal3;
mod processes;
mod shared;
mod watch;
pub mod webhook;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use base64::prelude::*;
use reqwest::Certificate;
use serde_json::json;
use tempfile::TempDir;

pub use self::audit::Request;
pub use self::client::{Answer, Client};
pub use self::credentials::{ADMIN, STRANGER};
use self::processes::{Guard, Process};
use self::shared::{Address, Use};
use crate::server::free_address;

const READY_WITHIN: Duration = Duration::from_secs(90);

/// kube-apiserver and etcd on loopback, with RBAC.
pub struct ApiServer {
    owner: Owner,
    /// The origin of the API server, such as `https://127.0.0.1:34567`.
    pub origin: String,
    authority: String,
    admin: Client,
    directory: PathBuf,
    /// The admission plugins that run in addition to the default ones.
    plugins: Vec<String>,
}

/// Who stops the server.
enum Owner {
    /// This process, when it drops the server or exits.
    This(Processes),
    /// Nobody, as long as a test uses it.
    Users(#[expect(dead_code, reason = "is held")] Use),
}

struct Processes {
    // Dropped first: it would kill what is dropped after it.
    guard: Guard,
    api_server: Mutex<Option<Process>>,
    etcd: Process,
    directory: TempDir,
}

impl ApiServer {
    /// Starts a server with an empty etcd.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a server with additional admission plugins, as distributions of Kubernetes have them.
    pub fn start_with(plugins: &[&str]) -> Self {
        let plugins = plugins.iter().map(ToString::to_string).collect();
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path();
        let authority = credentials::write(path);
        fs::write(path.join("audit-policy.json"), audit::POLICY).expect("a file");
        let etcd = Process::start("etcd", &etcd_arguments(), path, None);
        let guard = Guard::of(&etcd, path);
        let origin = format!("https://{}", free_address());
        let admin = Client::new(&origin, &authority, &credentials::static_token(ADMIN));
        let path = path.to_owned();
        let owner = Owner::This(Processes { guard, api_server: Mutex::new(None), etcd, directory });
        let server = Self { owner, origin, authority, admin, directory: path, plugins };
        server.start_api_server();
        server
    }

    /// Returns the server that the tests share.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<ApiServer> = OnceLock::new();
        SHARED.get_or_init(|| shared::join().unwrap_or_else(Self::start))
    }

    /// Returns the server that another process has started, if it still runs.
    fn of_others(address: Address) -> Option<Self> {
        let owner = Owner::Users(shared::joined(&address)?);
        let Address { origin, authority, directory } = address;
        let admin = Client::new(&origin, &authority, &credentials::static_token(ADMIN));
        let server = Self { owner, origin, authority, admin, directory, plugins: Vec::new() };
        server.answers().then_some(server)
    }

    /// Leaves the server running for other processes. `reaper` starts the process that stops the server later, before this process ends
    /// its own guard.
    fn outlive(self, reaper: impl FnOnce(&Process, &Path)) -> Address {
        let Owner::This(Processes { guard, api_server, etcd, directory }) = self.owner else {
            panic!("the server is of others already");
        };
        reaper(&etcd, directory.path());
        drop(guard);
        std::mem::forget((api_server, etcd));
        Address { origin: self.origin, authority: self.authority, directory: directory.keep() }
    }

    /// Returns the client of the user who may do everything.
    pub fn admin(&self) -> &Client {
        &self.admin
    }

    /// Returns a client with the token of a user; see [`Self::token`].
    pub fn client(&self, user: &str) -> Client {
        Client::new(&self.origin, &self.authority, &self.token(user))
    }

    /// Returns a token of a user: [`ADMIN`], [`STRANGER`] or any `system:serviceaccount:NAMESPACE:NAME`. Creates the service account and
    /// its namespace if they do not exist.
    pub fn token(&self, user: &str) -> String {
        let Some((namespace, name)) = credentials::service_account(user) else {
            return credentials::static_token(user);
        };
        self.admin.ensure("/api/v1/namespaces", &json!({"metadata": {"name": namespace}}));
        let accounts = format!("/api/v1/namespaces/{namespace}/serviceaccounts");
        self.admin.ensure(&accounts, &json!({"metadata": {"name": name}}));
        let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": {"expirationSeconds": 86400}});
        let answer = self.admin.create(&format!("{accounts}/{name}/token"), &request);
        answer["status"]["token"].as_str().expect("a token").to_owned()
    }

    /// Writes a kubeconfig with [`Self::token`]. Its namespace is that of the service account, or `default`.
    pub fn kubeconfig(&self, user: &str) -> PathBuf {
        let namespace = credentials::service_account(user).map_or("default", |(namespace, _)| namespace);
        let authority = BASE64_STANDARD.encode(&self.authority);
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test",
                "cluster": {"server": self.origin, "certificate-authority-data": authority}}],
            "users": [{"name": "test", "user": {"token": self.token(user)}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test", "namespace": namespace}}],
            "current-context": "test",
        });
        let path = self.directory().join(format!("{}.kubeconfig", user.replace(':', ".")));
        // Another test may be reading it.
        let file = tempfile::NamedTempFile::new_in(self.directory()).expect("a file");
        fs::write(file.path(), format!("{config:#}")).expect("a file");
        file.persist(&path).expect("a file");
        path
    }

    /// Returns a new client certificate of a user, and its key (PEM).
    pub fn client_certificate(&self, user: &str) -> (String, String) {
        credentials::client(&self.directory, user)
    }

    /// Returns the certificate (PEM) that verifies the server.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Returns the requests of `user` since the first start, oldest first. The server logs a request after it has told the watches of
    /// its effect, so this waits until no more requests come into the log for a moment.
    pub fn requests(&self, user: &str) -> Vec<Request> {
        let read = || audit::read(&self.directory().join("audit.log"), user);
        let mut requests = read();
        for _ in 0..10 {
            std::thread::sleep(Duration::from_millis(150));
            let before = std::mem::replace(&mut requests, read());
            if before.len() == requests.len() {
                break;
            }
        }
        requests
    }

    /// Kills the API server, and leaves etcd running. The server must not be shared.
    pub fn stop_api_server(&self) {
        *self.process() = None;
    }

    /// Starts the API server again on the same port, with the content of etcd.
    pub fn start_api_server(&self) {
        let deadline = Instant::now() + READY_WITHIN;
        let mut arguments = api_server_arguments(&self.origin);
        if !self.plugins.is_empty() {
            arguments.extend(["--enable-admission-plugins".to_owned(), self.plugins.join(",")]);
        }
        while !self.is_ready() {
            // It ends by itself if another process has got its port for a moment.
            let mut process = self.process();
            if process.as_mut().is_none_or(Process::has_ended) {
                std::thread::sleep(Duration::from_millis(200));
                let etcd = Some(&self.processes().etcd);
                *process = Some(Process::start("kube-apiserver", &arguments, &self.directory, etcd));
            }
            drop(process);
            assert!(Instant::now() < deadline, "the API server does not get ready:\n{}", self.log_tail());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Kills the API server and starts it again.
    pub fn restart(&self) {
        self.stop_api_server();
        self.start_api_server();
    }

    /// Returns the directory of the server, which is removed together with the server.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the log of the API server since the first start.
    pub fn log(&self) -> String {
        fs::read_to_string(self.directory().join("kube-apiserver.log")).unwrap_or_default()
    }

    fn is_ready(&self) -> bool {
        self.process().is_some() && self.answers()
    }

    fn answers(&self) -> bool {
        let answers = |path| self.admin.try_get(path).is_some_and(|answer| answer.status == 200);
        answers("/readyz") && answers("/api/v1/namespaces/default")
    }

    fn process(&self) -> MutexGuard<'_, Option<Process>> {
        self.processes().api_server.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn processes(&self) -> &Processes {
        match &self.owner {
            Owner::This(processes) => processes,
            Owner::Users(_) => panic!("a test that stops the server starts its own"),
        }
    }

    fn log_tail(&self) -> String {
        let log = self.log();
        let lines = log.lines().rev().take(30).collect::<Vec<_>>();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }
}

/// Returns etcd's arguments. Its sockets are files in its directory: it uses no ports, and nobody else can connect to it.
fn etcd_arguments() -> Vec<String> {
    let arguments = "--data-dir etcd --unsafe-no-fsync --listen-client-urls unix://etcd:1 \
        --advertise-client-urls unix://etcd:1 --listen-peer-urls unix://etcd:2 \
        --initial-advertise-peer-urls unix://etcd:2 --initial-cluster default=unix://etcd:2";
    arguments.split_whitespace().map(str::to_owned).collect()
}

fn api_server_arguments(origin: &str) -> Vec<String> {
    let port = origin.rsplit(':').next().expect("a port");
    let arguments = "--etcd-servers unix://etcd:1 --endpoint-reconciler-type none --authorization-mode RBAC \
        --bind-address 127.0.0.1 --advertise-address 127.0.0.1 --service-cluster-ip-range 10.0.0.0/24 \
        --tls-cert-file server.crt --tls-private-key-file server.key --client-ca-file ca.crt \
        --token-auth-file tokens.csv --service-account-issuer https://kubernetes.default.svc \
        --service-account-key-file accounts.pub --service-account-signing-key-file accounts.key \
        --disable-admission-plugins ServiceAccount \
        --audit-policy-file audit-policy.json --audit-log-path audit.log --secure-port";
    arguments.split_whitespace().chain([port]).map(str::to_owned).collect()
}

/// Parses a CA certificate for reqwest.
fn certificate(pem: &str) -> Certificate {
    Certificate::from_pem(pem.as_bytes()).expect("a certificate")
}
