//! The client of BMCs against what others have made: sushy-tools with users and TLS, and OpenSSL with certificates and
//! versions of TLS as old BMCs have them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use acceptance::peers::run;
use acceptance::server::free_address;
use acceptance::sushy::{Emulator, Options};
use redfish::{Certificates, Client, ClientOptions, Credentials, RedfishError, Target, Verification};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::runtime::Runtime;

const LIMIT: Duration = Duration::from_secs(30);

fn target(address: &str, password: &str, verification: Verification) -> Target {
    let credentials = Credentials::new("admin".to_owned(), password.to_owned().into()).unwrap();
    Target { address: address.parse().unwrap(), credentials: Some(credentials), verification }
}

/// A self-signed certificate and its key, made by OpenSSL.
fn certificate(directory: &Path, name: &str, options: &[&str]) -> (PathBuf, PathBuf) {
    let (certificate, key) = (directory.join(format!("{name}.crt")), directory.join(format!("{name}.key")));
    let mut command = Command::new("openssl");
    command.args(["req", "-x509", "-nodes", "-keyout"]).arg(&key).arg("-out").arg(&certificate);
    run(command.args(["-subj", "/CN=idrac-7XK2M3/O=Maker"]).args(options));
    (certificate, key)
}

/// One that was valid in 2020.
fn expired(directory: &Path) -> (PathBuf, PathBuf) {
    let (certificate, key) = (directory.join("expired.crt"), directory.join("expired.key"));
    let pair = rcgen::KeyPair::generate().unwrap();
    let mut parameters = rcgen::CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    parameters.not_before = rcgen::date_time_ymd(2020, 1, 1);
    parameters.not_after = rcgen::date_time_ymd(2021, 1, 1);
    fs::write(&certificate, parameters.self_signed(&pair).unwrap().pem()).unwrap();
    fs::write(&key, pair.serialize_pem()).unwrap();
    (certificate, key)
}

/// One without extensions, as old BMCs have it: X.509 version 1.
fn version_1(directory: &Path) -> (PathBuf, PathBuf) {
    let path = |name: &str| directory.join(name);
    let (certificate, key, request) = (path("v1.crt"), path("v1.key"), path("v1.csr"));
    let mut command = Command::new("openssl");
    command.args(["req", "-new", "-nodes", "-newkey", "rsa:2048", "-subj", "/CN=bmc", "-keyout"]).arg(&key);
    run(command.arg("-out").arg(&request));
    let mut command = Command::new("openssl");
    command.args(["x509", "-req", "-days", "30", "-in"]).arg(&request).arg("-signkey").arg(&key);
    run(command.arg("-out").arg(&certificate));
    (certificate, key)
}

fn listed(certificate: &Path) -> Verification {
    Verification::CaFile(Certificates::from_file(certificate).unwrap())
}

#[test]
fn sushy_tools_with_users_and_tls_is_logged_in_to_read_and_changed() {
    let directory = tempfile::tempdir().unwrap();
    // As BMCs have it: the name of the machine in the subject, and none of its addresses.
    let (certificate, key) = certificate(directory.path(), "bmc", &["-newkey", "rsa:2048", "-days", "30"]);
    let options =
        Options { credentials: Some(("admin", "pass:word")), tls: Some((&certificate, &key)), ..Options::default() };
    let emulator = Emulator::start_with(&directory.path().join("bmc"), &options);
    let address = emulator.origin.replace("https://", "redfish-virtualmedia://") + &emulator.system;
    // The emulator's own client blocks, and must not do so inside a runtime.
    let runtime = Runtime::new().unwrap();
    let connect = |target: &Target| runtime.block_on(Client::connect(target, &ClientOptions::default()));

    let error = connect(&target(&address, "pass:word", Verification::System)).err().unwrap();
    assert!(matches!(error, RedfishError::Tls { .. }), "{error}");

    let client = connect(&target(&address, "wrong-one", listed(&certificate))).unwrap();
    let error = runtime.block_on(client.get(&emulator.system)).unwrap_err();
    assert!(matches!(error, RedfishError::NotAuthorized { .. }), "{error}");
    assert!(!format!("{error:?}").contains("wrong-one"));

    for (verification, device) in [(listed(&certificate), "Cd"), (Verification::Disabled, "Hdd")] {
        let right = target(&address, "pass:word", verification);
        let client = connect(&right).unwrap();
        let system = runtime.block_on(client.get(right.address.system().unwrap())).unwrap();
        assert_eq!(system.body["@odata.id"], emulator.system);
        let boot = json!({"Boot": {"BootSourceOverrideTarget": device, "BootSourceOverrideEnabled": "Once"}});
        runtime.block_on(client.update(&system.path, &boot, system.etag.as_deref(), LIMIT)).unwrap();
        assert_eq!(emulator.system_state()["Boot"]["BootSourceOverrideTarget"], device);
        let reset = format!("{}/Actions/ComputerSystem.Reset", system.path);
        let error = runtime.block_on(client.post(&reset, &json!({"ResetType": "Sideways"}), LIMIT)).unwrap_err();
        assert!(error.failure().is_some_and(|failure| !failure.messages.is_empty()), "{error}");
        runtime.block_on(client.post(&reset, &json!({"ResetType": "On"}), LIMIT)).unwrap();
        assert!(client.requests().iter().all(|request| request.status.is_some()));
        runtime.block_on(client.close());
    }
}

/// `openssl s_server`, ended when dropped. It answers every request with a page about the connection, which is no
/// Redfish: seeing that means that the handshake was good.
struct TlsServer {
    process: Child,
    address: String,
}

impl TlsServer {
    fn start(directory: &Path, (certificate, key): &(PathBuf, PathBuf), options: &[&str]) -> Self {
        let address = free_address();
        let log = File::create(directory.join("s_server.log")).unwrap();
        let mut command = Command::new("openssl");
        command.args(["s_server", "-www", "-accept", &address, "-cert"]).arg(certificate).arg("-key").arg(key);
        // Level 0 allows what OpenSSL itself thinks too weak today.
        command.args(["-cipher", "ALL:@SECLEVEL=0"]).args(options);
        let process = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        let server = Self { process, address };
        let deadline = Instant::now() + Duration::from_secs(20);
        while std::net::TcpStream::connect(&server.address).is_err() {
            assert!(Instant::now() < deadline, "s_server does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        server
    }

    async fn try_to_connect(&self, verification: Verification) -> RedfishError {
        let options = ClientOptions { retries: 0, ..ClientOptions::default() };
        let target = target(&format!("redfish://{}", self.address), "x", verification);
        Client::connect(&target, &options).await.err().unwrap()
    }
}

impl Drop for TlsServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test]
async fn certificates_as_bmcs_have_them_are_trusted_when_listed_or_it_is_said_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let make = |name: &str, options: &[&str]| certificate(directory.path(), name, options);
    let shook_hands = |error: &RedfishError| matches!(error, RedfishError::NotJson { .. });
    // Made by OpenSSL as it is by default: an authority's certificate, without a subject alternative name.
    let plain = make("plain", &["-newkey", "rsa:2048", "-days", "30"]);
    let elliptic = make("ec", &["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-384", "-days", "30"]);
    let old = expired(directory.path());
    let named = make("named", &["-newkey", "rsa:2048", "-days", "30", "-addext", "subjectAltName=DNS:idrac.example"]);
    for pair in [&plain, &elliptic, &old, &named] {
        let server = TlsServer::start(directory.path(), pair, &[]);
        for (verification, good) in
            [(Verification::System, false), (listed(&pair.0), true), (Verification::Disabled, true)]
        {
            let error = server.try_to_connect(verification.clone()).await;
            assert_eq!(shook_hands(&error), good, "{} {verification:?}: {error}", pair.0.display());
            if !good {
                assert!(error.to_string().contains("disable certificate verification"), "{error}");
            }
        }
    }
    let version_1 = version_1(directory.path());
    let server = TlsServer::start(directory.path(), &version_1, &[]);
    assert!(shook_hands(&server.try_to_connect(Verification::Disabled).await));
    for verification in [Verification::System, listed(&version_1.0)] {
        let error = server.try_to_connect(verification).await.to_string();
        assert!(error.contains("X.509 version 1") && error.contains("disable certificate verification"), "{error}");
    }
    // A key of 1024 bits is too short to verify anything with.
    let short = make("short", &["-newkey", "rsa:1024", "-days", "30"]);
    let server = TlsServer::start(directory.path(), &short, &[]);
    assert!(shook_hands(&server.try_to_connect(Verification::Disabled).await));
    for verification in [Verification::System, listed(&short.0)] {
        let error = server.try_to_connect(verification).await;
        assert!(matches!(error, RedfishError::Tls { .. }), "{error}");
        let error = error.to_string();
        assert!(error.contains("1024 bits") && !error.contains("add the BMC's certificate"), "{error}");
    }
}

#[tokio::test]
async fn old_versions_of_tls_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let pair = certificate(directory.path(), "old", &["-newkey", "rsa:2048", "-days", "30"]);
    for (version, good) in [("-tls1_1", false), ("-tls1_2", true), ("-tls1_3", true)] {
        let server = TlsServer::start(directory.path(), &pair, &[version]);
        let error = server.try_to_connect(Verification::Disabled).await;
        assert_eq!(matches!(error, RedfishError::NotJson { .. }), good, "{version}: {error}");
        assert!(good || matches!(error, RedfishError::Handshake { .. }), "{version}: {error}");
        assert!(good || error.to_string().contains("TLS 1.2 or 1.3"), "{error}");
    }
}

#[tokio::test]
async fn a_demand_for_a_client_certificate_is_told_from_an_old_version_of_tls() {
    let directory = tempfile::tempdir().unwrap();
    let pair = certificate(directory.path(), "strict", &["-newkey", "rsa:2048", "-days", "30"]);
    for (version, mentions_versions) in [("-tls1_2", true), ("-tls1_3", false)] {
        let server = TlsServer::start(directory.path(), &pair, &[version, "-Verify", "1"]);
        let error = server.try_to_connect(Verification::Disabled).await;
        assert!(matches!(error, RedfishError::Handshake { .. }), "{version}: {error}");
        let error = error.to_string();
        assert!(error.contains("demands a client certificate") && !error.contains("is not trusted"), "{error}");
        assert_eq!(error.contains("TLS 1.2 or 1.3"), mentions_versions, "{version}: {error}");
    }
}

#[tokio::test]
async fn a_port_without_tls_is_not_called_untrusted() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n").await;
        }
    });
    let options = ClientOptions { retries: 0, ..ClientOptions::default() };
    let target = target(&format!("redfish://{address}"), "x", Verification::Disabled);
    let error = Client::connect(&target, &options).await.err().unwrap();
    assert!(matches!(error, RedfishError::Handshake { .. }), "{error}");
    let error = error.to_string();
    assert!(error.contains("does not use TLS") && !error.contains("is not trusted"), "{error}");
}
