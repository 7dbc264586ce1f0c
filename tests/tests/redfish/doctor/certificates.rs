//! Certificates that clients judge in different ways.

use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use acceptance::server::{Server as Dayone, dayone, free_address};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

use super::{diagnosed, doctor, image, order, run, running, served};

const FIRMWARE: &str = "uefi-http: uefi-tls";

/// The certificate of an authority, which is also for a server at this address.
fn authority(name: &str) -> CertificateParams {
    let mut params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

/// A server with this certificate, and the URL of an image there.
fn serving(certificate: &str, key: &KeyPair, directory: &Path) -> (Dayone, String) {
    let [certificate_file, key_file] = ["tls.crt", "tls.key"].map(|file| directory.join(file).display().to_string());
    fs::write(&certificate_file, certificate).unwrap();
    fs::write(&key_file, key.serialize_pem()).unwrap();
    let tls = ["--media-tls-cert", &certificate_file, "--media-tls-key", &key_file];
    let server = Dayone::start_at(&free_address(), &free_address(), "coreos", &image(), &tls);
    let url = order(&server);
    (server, url)
}

/// What the doctor says on a machine that trusts the authorities in this file, and whether curl and Python, as Ironic, take the
/// certificate there.
fn judged(url: &str, trusted: &Path) -> (Vec<String>, bool, bool) {
    let arguments = ["doctor", url, "--format", "json", "--slow", "1"];
    let findings = diagnosed(dayone().args(arguments).env("SSL_CERT_FILE", trusted)).findings();
    let takes = |command: &mut Command| command.output().unwrap().status.success();
    let curl = takes(Command::new("curl").args(["--silent", "--fail", "--range", "0-1", url, "--cacert"]).arg(trusted));
    let program = "import ssl, sys, urllib.request as http\n\
                   http.urlopen(sys.argv[1], context=ssl.create_default_context(cafile=sys.argv[2]))";
    let python = takes(Command::new("python3").args(["-c", program, url]).arg(trusted));
    (findings, curl, python)
}

/// OpenSSL accepts a certificate that is in its store, even one of an authority.
#[test]
fn a_certificate_of_a_trusted_authority_is_accepted_by_openssl() {
    let directory = tempfile::tempdir().unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = authority("own").self_signed(&key).unwrap().pem();
    let (_server, url) = serving(&certificate, &key, directory.path());
    let expected = ["tls: certificate-of-authority", FIRMWARE].map(str::to_owned).to_vec();
    assert_eq!(judged(&url, &directory.path().join("tls.crt")), (expected, true, true));
    assert_eq!(doctor(&url, &["--slow", "1"]).findings(), ["tls: certificate-not-trusted", FIRMWARE]);
}

/// If another authority has signed it, a store with that one is enough for all, and one with the certificate alone for curl.
#[test]
fn a_certificate_of_an_authority_below_another_one_is_judged_by_who_is_trusted() {
    let directory = tempfile::tempdir().unwrap();
    let root = CertifiedIssuer::self_signed(authority("root"), KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = authority("below").signed_by(&key, &root).unwrap().pem();
    let (_server, url) = serving(&certificate, &key, directory.path());
    let root_file = directory.path().join("root.crt");
    fs::write(&root_file, root.pem()).unwrap();
    let expected = ["tls: certificate-of-authority", FIRMWARE].map(str::to_owned).to_vec();
    assert_eq!(judged(&url, &root_file), (expected.clone(), true, true));
    assert_eq!(judged(&url, &directory.path().join("tls.crt")), (expected, true, false));
}

/// A server of files whose TLS allows what OpenSSL itself thinks too weak today.
const WEAK_SERVER: &str = "import http.server, ssl, sys
server = http.server.ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), http.server.SimpleHTTPRequestHandler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.set_ciphers('ALL:@SECLEVEL=0')
context.load_cert_chain('tls.crt', 'tls.key')
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
server.serve_forever()";

/// rustls can use neither X.509 version 1 nor RSA keys of 1024 bits, even if it trusts the certificate.
#[test]
fn a_certificate_that_rustls_cannot_use_is_a_finding_and_hides_no_other() {
    for (bits, is_version_1, says) in [("rsa:2048", true, "X.509 version 3"), ("rsa:1024", false, "1024 bits")] {
        let directory = served(&image());
        let openssl = |arguments: &[&str]| run(Command::new("openssl").args(arguments).current_dir(directory.path()));
        let request = ["req", "-nodes", "-newkey", bits, "-subj", "/CN=127.0.0.1", "-keyout", "tls.key"];
        if is_version_1 {
            openssl(&[&request[..], &["-new", "-out", "tls.csr"]].concat());
            openssl(&["x509", "-req", "-days", "30", "-in", "tls.csr", "-signkey", "tls.key", "-out", "tls.crt"]);
        } else {
            let name = ["-x509", "-days", "30", "-addext", "subjectAltName=IP:127.0.0.1", "-out", "tls.crt"];
            openssl(&[&request[..], &name].concat());
        }
        let mut check = dayone();
        check.args(["config", "check", "--", "--media-tls-cert", "tls.crt", "--media-tls-key", "tls.key"]);
        let checked = check.env("DAYONE_CONFIG", "").current_dir(directory.path()).output().unwrap();
        let checked = String::from_utf8(checked.stdout).unwrap();
        assert!(checked.contains(says) && checked.contains("[tls-unusable]"), "{bits}: {checked}");
        assert!(!checked.contains("OtherError") && !checked.contains("parse private key"), "{bits}: {checked}");

        let address = free_address();
        let port = address.rsplit(':').next().unwrap();
        let mut python = Command::new("python3");
        let _python = running(python.args(["-c", WEAK_SERVER, port]).current_dir(directory.path()));
        let deadline = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect(&address).is_err() {
            assert!(Instant::now() < deadline, "the server does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        let url = format!("https://{address}/i/boot.iso");
        let certificate = directory.path().join("tls.crt").display().to_string();
        for (trust, is_verified) in [(&["--insecure"][..], false), (&[], true), (&["--ca", &certificate], true)] {
            let diagnosis = doctor(&url, &[&["--slow", "1"][..], trust].concat());
            let findings = diagnosis.findings();
            let found = |finding: &str| findings.iter().any(|found| found == finding);
            assert_eq!(found("tls: certificate-not-trusted"), is_verified, "{bits} {trust:?}: {findings:?}");
            assert_eq!(diagnosis.said.to_string().contains(says), is_verified, "{bits} {trust:?}: {}", diagnosis.said);
            assert!(found("nbdkit: accept-ranges-missing"), "{bits} {trust:?}: {findings:?}");
            assert!(!diagnosis.said.to_string().contains("OtherError"), "{}", diagnosis.said);
        }
    }
}
