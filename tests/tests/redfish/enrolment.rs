//! `dayone bmc enrol`. No emulator of others has databases of Secure Boot that take certificates, so our own BMCs get them here, as HPE and
//! Dell document them (`fixtures/redfish/secure-boot/`). sushy-tools has none, and is what a BMC without them is like.

use std::path::Path;
use std::process::Output;

use acceptance::bmc::{EmulatedBmc, Failure, Fault, Options, PASSWORD, USERNAME, Vendor};
use acceptance::secure_boot::SiteKey;
use acceptance::server::dayone;
use acceptance::sushy::{self, Emulator};
use serde_json::{Value, json};

const DATABASES: &str = "/redfish/v1/Systems/1/SecureBoot/SecureBootDatabases";

async fn bmc() -> EmulatedBmc {
    let (vendor, _) = Vendor::named("hpe-ilo6").with_secure_boot("hpe");
    EmulatedBmc::start(&vendor.with(json!({"certificates": {"owner": true}})), Options::default()).await
}

async fn enrol(origin: &str, certificate: &Path) -> Output {
    let mut command = dayone();
    command.args(["bmc", "enrol", origin, "--format", "json", "--certificate"]).arg(certificate);
    command.env("DAYONE_BMC_USERNAME", USERNAME).env("DAYONE_BMC_PASSWORD", PASSWORD);
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

fn said(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

#[tokio::test]
async fn a_certificate_is_enrolled_once() {
    let directory = tempfile::tempdir().unwrap();
    let key = SiteKey::new(directory.path());
    let bmc = bmc().await;
    let first = said(&enrol(&bmc.origin(), &key.certificate).await);
    assert_eq!((&first["enrolment"], &first["secure_boot"]), (&json!("enrolled"), &json!(true)), "{first:#}");
    let writes = bmc.writes();
    assert_eq!(writes.len(), 1, "{writes:#?}");
    let held = format!("{DATABASES}/db/Certificates/1");
    let pem = std::fs::read_to_string(&key.certificate).unwrap();
    assert_eq!(bmc.member(&held, "/CertificateString"), json!(pem));
    assert_eq!(bmc.member(&held, "/UefiSignatureOwner").as_str().map(str::len), Some(36));
    assert_eq!(bmc.member(&format!("{DATABASES}/PK/Certificates"), "/Members"), json!([]));

    let again = said(&enrol(&bmc.origin(), &key.certificate).await);
    assert_eq!(again["enrolment"], "already-there", "{again:#}");
    assert_eq!(bmc.writes().len(), 1);
    assert_eq!(bmc.sessions(), 0, "a session was left behind");
}

#[tokio::test]
async fn vendors_take_a_certificate_as_they_document_it() {
    for (bmc, secure_boot) in [("hpe-ilo6", "hpe"), ("dell-idrac10", "dell"), ("dell-idrac9-systems", "dell")] {
        let directory = tempfile::tempdir().unwrap();
        let key = SiteKey::new(directory.path());
        let (vendor, expected) = Vendor::named(bmc).with_secure_boot(secure_boot);
        let bmc = EmulatedBmc::start(&vendor, Options::default()).await;
        let said = said(&enrol(&bmc.origin(), &key.certificate).await);
        assert_eq!((&said["enrolment"], &said["secure_boot"]), (&expected, &json!(true)), "{said:#}");
        // With an owner first, which neither knows.
        let database = format!("{}/SecureBoot/SecureBootDatabases/db/Certificates", bmc.system());
        let writes = bmc.writes();
        assert_eq!(writes.len(), 2, "{writes:#?}");
        let members = bmc.member(&database, "/Members").as_array().map(Vec::len);
        assert_eq!(members, Some(usize::from(expected == "enrolled")));
        if expected == "enrolled" {
            assert_eq!(bmc.member(&format!("{database}/1"), "/UefiSignatureOwner"), Value::Null);
        }
        assert_eq!(bmc.sessions(), 0, "a session was left behind");
    }
}

#[tokio::test]
async fn what_the_bmc_does_not_offer_or_refuses_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let key = SiteKey::new(directory.path());
    let refused = |output: &Output, text: &str| {
        let error = String::from_utf8(output.stderr.clone()).unwrap();
        assert!(output.status.code() == Some(1) && error.contains(text), "{text}: {error}");
        assert!(!error.contains("BEGIN CERTIFICATE"), "{error}");
    };
    let without = EmulatedBmc::start(&Vendor::named("supermicro-x11"), Options::default()).await;
    refused(&enrol(&without.origin(), &key.certificate).await, "does not offer to change what the machine trusts");

    let other = bmc().await;
    other.set(&format!("{DATABASES}/db"), "/DatabaseId", json!("other"));
    refused(&enrol(&other.origin(), &key.certificate).await, "dbrDefault, PK, KEK, other, dbx, dbt, dbr");
    assert_eq!(other.writes().len(), 0);

    let failing = bmc().await;
    let certificates = format!("{DATABASES}/db/Certificates");
    failing.inject(Fault::new("POST", &certificates, 2, Failure::Status(403)));
    refused(&enrol(&failing.origin(), &key.certificate).await, "403");

    let not_a_certificate = directory.path().join("key.pem");
    std::fs::copy(&key.key, &not_a_certificate).unwrap();
    let output = enrol(&failing.origin(), &not_a_certificate).await;
    let error = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(output.status.code() == Some(2) && error.contains("key.pem: it has no certificate in PEM"), "{error}");
    let shown = format!("{output:?}");
    assert!(!shown.contains("PRIVATE KEY"), "{shown}");
}

#[tokio::test]
async fn sushy_tools_has_no_databases() {
    let directory = tempfile::tempdir().unwrap();
    let key = SiteKey::new(directory.path());
    let path = directory.path().join("bmc");
    let emulator = tokio::task::spawn_blocking(move || {
        Emulator::start_with(
            &path,
            &sushy::Options { credentials: Some((USERNAME, PASSWORD)), ..sushy::Options::default() },
        )
    });
    let emulator = emulator.await.unwrap();
    let address = format!("redfish-virtualmedia+{}{}", emulator.origin, emulator.system);
    let output = enrol(&address, &key.certificate).await;
    let error = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(output.status.code() == Some(1) && error.contains("does not offer"), "{error}");
}
