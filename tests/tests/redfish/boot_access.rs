//! Boots by way of `/v1/boots` at a BMC (sushy-tools) with users and a certificate of its own.

use std::fs;
use std::path::PathBuf;

use acceptance::bases::coreos_iso;
use acceptance::boots::{begin, delete, documents, nothing_shows, step, until};
use acceptance::server::{Server, free_address};
use acceptance::sushy::{Emulator, Options};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use serde_json::{Value, json};

const PASSWORD: &str = "correct-horse";
const QUERY: &str = "?base=coreos&wait_for=reading";

/// A BMC with users that speaks TLS, and its certificate, which nobody but itself has signed.
struct Bmc {
    sushy: Emulator,
    certificate: PathBuf,
    _directory: tempfile::TempDir,
}

impl Bmc {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        let (certificate, key) = (directory.path().join("bmc.pem"), directory.path().join("bmc.key"));
        fs::write(&certificate, cert.pem()).unwrap();
        fs::write(&key, signing_key.serialize_pem()).unwrap();
        let credentials = Some(("admin", PASSWORD));
        let options = Options { credentials, tls: Some((&certificate, &key)), ..Options::default() };
        let sushy = Emulator::start_with(&directory.path().join("bmc"), &options);
        Self { sushy, certificate, _directory: directory }
    }

    /// Begins a boot and waits until it stays as it is.
    fn boot(&self, server: &Server, query: &str, password: &str) -> Value {
        let id = begin(server, query, &documents("worker-0", &self.sushy.origin, &self.sushy.system, password));
        let boot = until(server, &id, "over", |boot| boot["state"] == "unknown" || boot["ended"] == true);
        for secret in [PASSWORD, "wrong-horse", "YWRtaW46"] {
            nothing_shows(server, secret);
        }
        boot
    }

    /// Boots, and ends the boot. The emulator starts no machine, and hides what one would read.
    fn boots(&self, server: &Server, query: &str) {
        let boot = self.boot(server, query, PASSWORD);
        assert_eq!(boot["state"], "unknown", "{boot:#}");
        assert_eq!(self.sushy.media()["Inserted"], json!(true));
        let id = boot["id"].as_str().unwrap();
        delete(server, id);
        until(server, id, "ended", |boot| boot["ended"] == true);
        assert_eq!(self.sushy.media()["Inserted"], json!(false));
    }

    /// Tries to boot, and returns what is said about it.
    fn error(&self, server: &Server, query: &str, password: &str) -> String {
        let boot = self.boot(server, query, password);
        let failed = (&boot["state"], &boot["inserted"], &boot["ended"]);
        assert_eq!(failed, (&json!("failed"), &json!(false), &json!(true)), "{boot:#}");
        step(&boot, "insert")["error"].as_str().unwrap().to_owned()
    }
}

#[test]
fn a_bmc_is_trusted_by_its_certificate_or_not_at_all_as_it_was_said() {
    let bmc = Bmc::new();
    let base = coreos_iso(&[]);
    let knows_nobody = Server::start("coreos", &base);
    let error = bmc.error(&knows_nobody, QUERY, PASSWORD);
    assert!(error.contains(&format!("{} is not trusted", bmc.sushy.origin)), "{error}");
    assert!(error.contains("certificates for BMCs") && error.contains("disable certificate verification"), "{error}");
    bmc.boots(&knows_nobody, &format!("{QUERY}&bmc_disable_certificate_verification=true"));

    let certificate = bmc.certificate.to_str().unwrap();
    let knows_it = Server::start_at(&free_address(), &free_address(), "coreos", &base, &["--bmc-ca", certificate]);
    bmc.boots(&knows_it, QUERY);
    let error = bmc.error(&knows_it, QUERY, "wrong-horse");
    assert!(error.contains("does not accept the password of \"admin\""), "{error}");

    let other = Bmc::new();
    let error = other.error(&knows_it, QUERY, PASSWORD);
    assert!(error.contains(&format!("{} is not trusted", other.sushy.origin)), "{error}");
}
