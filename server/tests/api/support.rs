//! A server of this process on ports of its own, over small bases in a directory of its own.

use std::fs;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use dayone::arguments::Settings;
use dayone::services::{Config, Server, StartError};
use dayone::store::{DirectoryError, OpenError};
use imagelib::compression::Compression;
use imagelib::cpio::Archive;
use redfish::Verification;
use reqwest::{Client, RequestBuilder, StatusCode};
use serde_json::Value;
use tempfile::TempDir;

pub(crate) use super::one_host::{NMSTATE, nmstate_of};

pub(crate) const TOKEN: &str = "a-token-of-some-length";

/// A BareMetalHost called `name` with its Secret.
pub(crate) fn bare_metal_host(name: &str) -> String {
    let nmstate = nmstate_of(name).replace('\n', "\n    ");
    format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}-network}}\nstringData:\n  nmstate: |\n    {nmstate}\n---\n\
         apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {{name: {name}}}\n\
         spec: {{preprovisioningNetworkDataName: {name}-network}}\n"
    )
}

/// Removes dayone's settings from the environment of a command.
pub(crate) fn without_settings(command: &mut Command) {
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("DAYONE_")) {
        command.env_remove(name);
    }
}

/// A client that reads the system's certificate authorities only if it needs them, as few tests do.
fn client() -> Client {
    let tls = redfish::client_config(&Verification::System).unwrap();
    Client::builder().tls_backend_preconfigured(tls).build().unwrap()
}

/// Where a server's files are. They outlive the server.
pub(crate) struct Place(TempDir);

impl Place {
    /// With the bases `coreos` (an ISO), `ipa` (a kernel and an initramfs) and `plain` (an ISO of something else).
    pub(crate) fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        for (name, fixture) in [("coreos.iso", "coreos.iso.xz"), ("plain.iso", "tree.iso.xz")] {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/bases").join(fixture);
            let iso = Compression::Xz.decompress(&fs::read(path).unwrap(), 64 << 20).unwrap();
            fs::write(place.path(name), iso).unwrap();
        }
        let mut initrd = Archive::new();
        initrd.file("usr/sbin/NetworkManager".parse().unwrap(), 0o755, "").unwrap();
        let plugin = "usr/lib64/NetworkManager/1.52.1-1/libnm-device-plugin-bond.so";
        initrd.file(plugin.parse().unwrap(), 0o755, "").unwrap();
        initrd.add_parents(0o755).unwrap();
        fs::write(place.path("initrd"), initrd.to_bytes()).unwrap();
        fs::write(place.path("kernel"), b"the kernel").unwrap();
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Adds the base `packed`, an ISO of which a minimal ISO can be made.
    pub(crate) fn add_packed(&self, config: &mut Config) {
        let packed = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/bases/coreos-packed.iso.xz");
        let packed = Compression::Xz.decompress(&fs::read(packed).unwrap(), 64 << 20).unwrap();
        fs::write(self.path("packed.iso"), packed).unwrap();
        config.bases.push(format!("packed={}", self.path("packed.iso").display()).parse().unwrap());
    }

    pub(crate) fn config(&self) -> Config {
        let path = |name| self.path(name).display().to_string();
        let bases = [
            format!("coreos={}", path("coreos.iso")),
            format!("ipa=kernel:{},initrd:{}", path("kernel"), path("initrd")),
            format!("plain={}", path("plain.iso")),
        ];
        let any: SocketAddr = ([127, 0, 0, 1], 0).into();
        let settings = Settings {
            data_dir: Some(self.path("data")),
            base: bases.iter().map(|base| base.parse().unwrap()).collect(),
            api_listen: Some(any),
            media_listen: Some(any),
            ..Settings::default()
        };
        Config {
            media_idle: Duration::from_secs(10),
            drain: Duration::from_secs(5),
            recheck: Duration::from_millis(100),
            ..Config::new(settings, None).unwrap()
        }
    }

    /// The names of the stored records.
    pub(crate) fn records(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("data/images")).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

/// A running server and a client of it.
pub(crate) struct Dayone {
    pub(crate) place: Place,
    pub(crate) server: Server,
    pub(crate) client: Client,
}

impl Dayone {
    pub(crate) async fn start() -> Self {
        let place = Place::new();
        let config = place.config();
        Self::start_with(place, config).await
    }

    pub(crate) async fn start_with(place: Place, config: Config) -> Self {
        let server = Server::start(config).await.unwrap();
        Self { place, server, client: client() }
    }

    /// Stops the server and starts it anew over the same files.
    pub(crate) async fn restart(self) -> Self {
        self.restart_with(|_| {}).await
    }

    /// Stops the server and starts it anew with other settings.
    pub(crate) async fn restart_with(self, change: impl Fn(&mut Config)) -> Self {
        let Self { place, server, .. } = self;
        // The same addresses, as after any restart.
        let (api, media) = (server.api_address(), server.media_address());
        server.stop().await;
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let mut config = Config { api_listen: api, media_listen: Some(media), ..place.config() };
            change(&mut config);
            match Server::start(config).await {
                Ok(server) => return Self { place, server, client: client() },
                // A test beside this one was given the port meanwhile, or the last check of the bases still has the directory.
                Err(StartError::Listen { .. } | StartError::Store(OpenError::Directory(DirectoryError::InUse(_))))
                    if Instant::now() < deadline =>
                {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                Err(error) => panic!("{error}"),
            }
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.server.api_address())
    }

    pub(crate) fn get(&self, path: &str) -> RequestBuilder {
        self.client.get(self.url(path))
    }

    /// A request with documents as they are.
    pub(crate) fn post(&self, path: &str, documents: impl Into<Vec<u8>>) -> RequestBuilder {
        self.client.post(self.url(path)).header("content-type", "application/yaml").body(documents.into())
    }

    /// A request in JSON.
    pub(crate) fn post_json(&self, path: &str, body: &Value) -> RequestBuilder {
        self.client.post(self.url(path)).json(body)
    }
}

/// An answer, whole.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) async fn of(request: RequestBuilder) -> Self {
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        Self { status, headers, body: response.bytes().await.unwrap().to_vec() }
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The body of a success.
    pub(crate) fn ok(&self) -> Value {
        assert!(self.status.is_success(), "{} {}", self.status, String::from_utf8_lossy(&self.body));
        self.json()
    }

    /// The body of a problem of this kind, well-formed.
    pub(crate) fn problem(&self, kind: &str) -> Value {
        let problem = self.json();
        assert_eq!(problem["type"], format!("/v1/problems/{kind}"), "{problem}");
        assert_eq!(problem["status"], self.status.as_u16());
        assert_eq!(self.header("content-type"), "application/problem+json");
        assert!(!self.header("x-request-id").is_empty());
        assert!(problem["title"].is_string() && problem["detail"].as_str().is_some_and(|detail| !detail.is_empty()));
        problem
    }
}

/// Checks that clients which have the content of a path are told so, by the comparison of RFC 9110 §13.1.2, and learn no wrong length.
pub(crate) async fn assert_validated(dayone: &Dayone, path: &str, etag: &str) {
    for (known, status) in [
        (etag.to_owned(), 304),
        (format!("W/{etag}"), 304),
        (format!("\"a,b\" , W/{etag}"), 304),
        ("*".to_owned(), 304),
        ("\"another\"".to_owned(), 200),
        (format!("W/W/{etag}"), 200),
        (etag.trim_matches('"').to_owned(), 200),
    ] {
        for request in [dayone.get(path), dayone.client.head(dayone.url(path))] {
            let answer = Answer::of(request.header("if-none-match", &known)).await;
            assert_eq!((answer.status.as_u16(), answer.header("etag")), (status, etag), "{path} {known}");
            let (length, is_empty) = (answer.header("content-length"), answer.body.is_empty());
            assert!(
                if status == 304 { length.is_empty() && is_empty } else { length != "0" },
                "{path} {known}: {length}"
            );
        }
    }
}

/// Appends to a file, so that it is no longer what it was.
pub(crate) fn tamper(path: &Path) {
    fs::File::options().append(true).open(path).unwrap().write_all(b"more").unwrap();
}
