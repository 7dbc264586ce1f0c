//! The doctor against servers that do things wrong: the cases of the acceptance tests, which also run real clients against them.

#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::match_bool,
    clippy::format_push_string,
    clippy::duration_suboptimal_units,
    reason = "a panic is how a test fails; the acceptance crate has the shared files, too"
)]

#[path = "../../../tests/tests/redfish/doctor/cases.rs"]
mod cases;
#[path = "../../../tests/tests/redfish/doctor/server.rs"]
mod server;

use std::fs;
use std::io::{BufReader, Read as _};
use std::path::Path;
use std::time::Duration;

use doctor::{Diagnosis, Finding, Options, Trust, examine};
use imagelib::compression::{Compression, Decoder};
use tempfile::TempDir;

use self::cases::cases;
use self::server::{Reply, Request, Server, right};

/// Longer than any test: nothing is closed for being idle.
const NEVER: Duration = Duration::from_secs(300);

/// What plain HTTP on a loopback address is warned of, whatever the server.
const HERE: [&str; 2] = ["plain-http", "url-loopback"];

/// A directory with the image `boot.iso`.
fn directory() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/bases/coreos.iso.xz");
    let mut image = Vec::new();
    let packed = BufReader::new(fs::File::open(packed).unwrap());
    Decoder::new(Compression::Xz, packed).unwrap().read_to_end(&mut image).unwrap();
    fs::write(directory.path().join("boot.iso"), image).unwrap();
    directory
}

fn diagnose(url: &str) -> Diagnosis {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(examine(url, &Options { trust: Trust::System, slow: Duration::from_secs(1) })).unwrap()
}

/// `EXAMINATION: CODE` of every finding that is not one of [`HERE`], and the finding.
fn findings(diagnosis: &Diagnosis) -> Vec<(String, &Finding)> {
    let examinations = diagnosis.examinations.iter();
    let all = examinations.flat_map(|examined| examined.findings.iter().map(|finding| (examined.name, finding)));
    let told = all.filter(|(_, finding)| !HERE.contains(&finding.code));
    told.map(|(name, finding)| (format!("{name}: {}", finding.code), finding)).collect()
}

fn codes(diagnosis: &Diagnosis) -> Vec<String> {
    findings(diagnosis).into_iter().map(|(code, _)| code).collect()
}

#[test]
fn every_way_to_be_wrong_is_found() {
    let directory = directory();
    let image = directory.path().join("boot.iso");
    std::thread::scope(|scope| {
        for (name, behaviour, expected) in cases() {
            let image = &image;
            scope.spawn(move || {
                let server = Server::start(image, NEVER, behaviour);
                assert_eq!(codes(&diagnose(&server.url())), expected, "{name}");
            });
        }
    });
}

#[test]
fn a_redirect_of_get_alone_is_followed() {
    let directory = directory();
    let image = directory.path().join("boot.iso");
    let target = Server::start(&image, NEVER, right);
    let location = target.url();
    let server = Server::start(&image, NEVER, move |request: &Request, image: &[u8]| match &*request.method {
        "HEAD" => right(request, image),
        _ => Reply { status: 302, ..right(request, &image[..0]) }.with("Location", &location),
    });
    assert_eq!(codes(&diagnose(&server.url())), ["server: redirect"]);
}

#[test]
fn a_file_that_the_server_may_not_read_needs_no_credentials() {
    let directory = directory();
    let image = directory.path().join("boot.iso");
    for (status, expected) in
        [(401, "the server asks for credentials (401)"), (403, "the server refuses to serve the file (403)")]
    {
        let server = Server::start(&image, NEVER, move |request: &Request, image: &[u8]| Reply {
            status,
            ..right(request, &image[..9])
        });
        let diagnosis = diagnose(&server.url());
        let [(code, finding)] = findings(&diagnosis).try_into().unwrap();
        assert_eq!((code.as_str(), finding.message.as_str()), ("server: not-served", expected));
        assert_eq!(finding.advice.contains("permissions"), status == 403, "{}", finding.advice);
    }
}

#[test]
fn the_content_is_looked_at() {
    let directory = tempfile::tempdir().unwrap();
    let image = directory.path().join("image");
    let found = |bytes: &[u8]| {
        fs::write(&image, bytes).unwrap();
        let server = Server::start(&image, NEVER, right);
        codes(&diagnose(&server.url().replace(".iso", ".img")))
    };
    let zeros = vec![0; 256 << 10];
    assert_eq!(found(&zeros), ["content: not-bootable"]);
    // The probe of a dayone server.
    assert_eq!(found(&[b"dayone probe\ninstance: one\n", &zeros[27..]].concat()), [""; 0]);
    // A disk that was cut off: its only partition, of 1 MiB, lies behind the end.
    let mut disk = zeros;
    disk[446 + 4] = 0xEF;
    disk[446 + 8..446 + 16].copy_from_slice(&[64, 0, 0, 0, 0, 8, 0, 0]);
    disk[510..512].copy_from_slice(&[0x55, 0xAA]);
    assert_eq!(found(&disk), ["content: image-incomplete"]);
    disk[446 + 8..446 + 16].copy_from_slice(&[64, 0, 0, 0, 192, 1, 0, 0]);
    assert_eq!(found(&disk), [""; 0]);
}
