//! Certificates that clients judge in different ways.

use std::fs;
use std::process::Command;

use acceptance::peers::run;
use acceptance::server::{Server as Dayone, dayone, free_address};

use super::{diagnosed, doctor, image, order};

/// OpenSSL accepts a certificate that is in its store, even one of an authority.
#[test]
fn a_certificate_of_a_trusted_authority_is_accepted_by_openssl() {
    let directory = tempfile::tempdir().unwrap();
    let mut params = rcgen::CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let key_pair = rcgen::KeyPair::generate().unwrap();
    let [certificate, key] = ["tls.crt", "tls.key"].map(|file| directory.path().join(file).display().to_string());
    fs::write(&certificate, params.self_signed(&key_pair).unwrap().pem()).unwrap();
    fs::write(&key, key_pair.serialize_pem()).unwrap();
    let tls = ["--media-tls-cert", &certificate, "--media-tls-key", &key];
    let server = Dayone::start_at(&free_address(), &free_address(), "coreos", &image(), &tls);
    let url = order(&server);
    let firmware = "uefi-http: uefi-tls";
    let arguments = ["doctor", &url, "--format", "json", "--slow", "1"];
    let trusting = diagnosed(dayone().args(arguments).env("SSL_CERT_FILE", &certificate));
    assert_eq!(trusting.findings(), ["tls: certificate-of-authority", firmware]);
    assert_eq!(doctor(&url, &["--slow", "1"]).findings(), ["tls: certificate-not-trusted", firmware]);
    run(Command::new("curl").args(["--silent", "--fail", "--range", "0-1", "--cacert", &certificate, &url]));
}
