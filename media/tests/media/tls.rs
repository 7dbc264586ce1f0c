//! The same over TLS.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use media::listen::{Options, Tls};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use rustls_pki_types::{CertificateDer, ServerName};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::client::Client;
use super::server::{ISO, Server, start_with};

fn write_certificate(directory: &Path) -> CertificateDer<'static> {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["bmc.example".to_owned()]).unwrap();
    fs::write(directory.join("tls.crt"), cert.pem()).unwrap();
    fs::write(directory.join("tls.key"), signing_key.serialize_pem()).unwrap();
    cert.der().clone()
}

fn tls(directory: &Path) -> Tls {
    Tls::from_files(&directory.join("tls.crt"), &directory.join("tls.key")).unwrap()
}

async fn connect(
    server: &Server,
    root: &CertificateDer<'static>,
    versions: &[&'static SupportedProtocolVersion],
    suite: &str,
) -> std::io::Result<Client<TlsStream<TcpStream>>> {
    let mut roots = RootCertStore::empty();
    roots.add(root.clone()).unwrap();
    let mut provider = rustls::crypto::aws_lc_rs::default_provider();
    provider.cipher_suites.retain(|known| format!("{:?}", known.suite()).contains(suite));
    let config = ClientConfig::builder_with_provider(Arc::new(provider)).with_protocol_versions(versions).unwrap();
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    let stream = TcpStream::connect(server.address).await?;
    let name = ServerName::try_from("bmc.example").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, stream).await.map(Client::new)
}

#[tokio::test]
async fn both_versions_with_the_suites_that_openbmc_insists_on() {
    let directory = TempDir::new().unwrap();
    let root = write_certificate(directory.path());
    let server = start_with(Options { tls: Some(tls(directory.path())), ..Options::default() }).await;
    for (version, suite) in [(&TLS12, "ECDSA_WITH_AES_256_GCM_SHA384"), (&TLS13, "TLS13_AES_256_GCM_SHA384")] {
        let mut client = connect(&server, &root, &[version], suite).await.unwrap();
        assert_eq!(client.stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
        assert!(client.ask("GET", ISO, &[]).await.body == server.image);
        let answer = client.ask("GET", ISO, &["Range: bytes=99990-100010"]).await;
        assert!(answer.body == server.image[99_990..=100_010]);
    }
}

#[tokio::test]
async fn an_unfinished_handshake_is_closed_and_others_are_served() {
    let directory = TempDir::new().unwrap();
    let root = write_certificate(directory.path());
    let handshake_timeout = Duration::from_millis(300);
    let options =
        Options { tls: Some(tls(directory.path())), handshake_timeout, max_connections: 2, ..Options::default() };
    let server = start_with(options).await;
    let mut silent = server.connect().await;
    let mut plain = server.connect().await;
    plain.send("GET / HTTP/1.1\r\nHost: bmc\r\n\r\n").await;
    timeout(Duration::from_secs(10), plain.rest()).await.unwrap();
    assert!(timeout(Duration::from_secs(10), silent.ended()).await.unwrap());
    let mut client = connect(&server, &root, &[&TLS13], "").await.unwrap();
    assert_eq!(client.ask("HEAD", ISO, &[]).await.status, 200);
}

#[tokio::test]
async fn a_base_that_changes_aborts_the_transfer() {
    let directory = TempDir::new().unwrap();
    let root = write_certificate(directory.path());
    let server = start_with(Options { tls: Some(tls(directory.path())), ..Options::default() }).await;
    let mut client = connect(&server, &root, &[&TLS13], "").await.unwrap();
    client.send(&format!("GET {ISO} HTTP/1.1\r\nHost: bmc\r\n\r\n")).await;
    client.head().await.unwrap();
    fs::OpenOptions::new().write(true).open(&server.base).unwrap().set_len(0).unwrap();
    let body = timeout(Duration::from_secs(20), client.rest()).await.unwrap();
    assert!(body.len() < server.image.len() && body == server.image[..body.len()]);
}

#[tokio::test]
async fn unusable_certificate_files_are_named() {
    let directory = TempDir::new().unwrap();
    let (certificate, key) = (directory.path().join("tls.crt"), directory.path().join("tls.key"));
    let fails = || Tls::from_files(&certificate, &key).unwrap_err().to_string();
    assert!(fails().contains("tls.crt"));
    write_certificate(directory.path());
    fs::write(&key, "no key").unwrap();
    assert!(fails().contains("tls.key"));
    let other = generate_simple_self_signed(["other".to_owned()]).unwrap();
    fs::write(&key, other.signing_key.serialize_pem()).unwrap();
    assert!(fails().contains("tls.crt") && fails().contains("tls.key"), "{}", fails());
    fs::write(&certificate, "").unwrap();
    assert!(fails().contains("tls.crt"), "{}", fails());
}
