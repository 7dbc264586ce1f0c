//! Certificates that clients judge in different ways.

use std::fs;
use std::path::Path;
use std::process::Command;

use acceptance::server::{Server as Dayone, dayone, free_address};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

use super::{diagnosed, doctor, image, order};

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
