//! `dayone doctor` against real servers, and against one that does things wrong; and real clients against the same
//! servers, which must fail where the doctor says so.

mod cases;
mod certificates;
mod peers;
pub(crate) mod server;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use acceptance::bases::{coreos_iso, fixtures};
use acceptance::peers::{peer, run};
use acceptance::server::{Server as Dayone, dayone, free_address, wait_for};
use serde_json::Value;
use tempfile::TempDir;

use self::cases::cases;
use self::peers::{Client, is_read_by};
use self::server::{Reply, Request, Server, right};

/// Longer than any test: nothing is closed for being idle.
const NEVER: Duration = Duration::from_secs(300);

/// What plain HTTP on a loopback address is warned of, whatever the server.
const HERE: [&str; 2] = ["plain-http", "url-loopback"];

/// What the doctor said: its exit code, and its words.
#[derive(Debug)]
struct Diagnosis {
    code: Option<i32>,
    said: Value,
}

impl Diagnosis {
    /// `EXAMINATION: CODE` of every finding that is not one of [`HERE`].
    fn findings(&self) -> Vec<String> {
        let mut found = Vec::new();
        for examination in self.said["examinations"].as_array().expect("examinations") {
            for finding in examination["findings"].as_array().expect("findings") {
                let code = finding["code"].as_str().expect("a code");
                if !HERE.contains(&code) {
                    found.push(format!("{}: {code}", examination["name"].as_str().expect("a name")));
                }
            }
        }
        found
    }

    fn outcome(&self, name: &str) -> &str {
        let examinations = self.said["examinations"].as_array().expect("examinations");
        let examination = examinations.iter().find(|examination| examination["name"] == name);
        examination.and_then(|examination| examination["outcome"].as_str()).unwrap_or("not examined")
    }
}

fn doctor(url: &str, arguments: &[&str]) -> Diagnosis {
    diagnosed(dayone().args(["doctor", url, "--format", "json"]).args(arguments))
}

fn diagnosed(doctor: &mut Command) -> Diagnosis {
    let output = doctor.output().expect("dayone runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    let said = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    assert_eq!(errors, "");
    Diagnosis { code: output.status.code(), said }
}

pub(crate) fn image() -> PathBuf {
    coreos_iso(&[])
}

/// A program that is ended with the test.
pub(crate) struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn running(command: &mut Command) -> Running {
    Running(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts"))
}

/// A directory with the image below `i`.
fn served(image: &Path) -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    fs::create_dir(directory.path().join("i")).expect("a directory");
    fs::copy(image, directory.path().join("i/boot.iso")).expect("a copy");
    directory
}

/// A certificate for `name`, its own authority, and its key: `tls.crt` and `tls.key`.
pub(crate) fn certificate(directory: &Path, name: &str) -> [String; 2] {
    let issued = rcgen::generate_simple_self_signed([name.to_owned()]).expect("a certificate");
    let files = ["tls.crt", "tls.key"].map(|file| directory.join(file));
    fs::write(&files[0], issued.cert.pem()).expect("the certificate");
    fs::write(&files[1], issued.signing_key.serialize_pem()).expect("the key");
    files.map(|path| path.display().to_string())
}

/// The URL of an image that dayone serves.
fn order(server: &Dayone) -> String {
    let host = fs::read_to_string(fixtures("inputs/bare-metal-host/same-data.yaml")).expect("a host");
    let answer = reqwest::blocking::Client::new()
        .post(format!("{}/v1/images?base=coreos&format=iso", server.api))
        .header("content-type", "application/yaml")
        .body(host)
        .send()
        .expect("an answer");
    let text = answer.text().expect("text");
    let said: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let url = said["urls"].as_object().and_then(|urls| urls.values().next()).or(said.get("url"));
    url.and_then(Value::as_str).unwrap_or_else(|| panic!("{said}")).to_owned()
}

#[test]
fn nothing_is_wrong_with_dayone() {
    let server = Dayone::start("coreos", &image());
    let url = order(&server);
    let diagnosis = doctor(&url, &["--slow", "3"]);
    assert_eq!((diagnosis.code, diagnosis.findings()), (Some(0), vec![]), "{:?}", diagnosis.findings());
    assert_eq!(diagnosis.said["outcome"], "warning");
    assert!(diagnosis.said["bytes"].as_u64() < Some(8 << 20), "{:?}", diagnosis.findings());
    let (origin, _) = url.split_once("/i/").unwrap();
    let diagnosis = doctor(&format!("{origin}/i/probe/probe.img"), &["--slow", "1"]);
    assert_eq!((diagnosis.code, diagnosis.findings()), (Some(0), vec![]), "{:?}", diagnosis.findings());

    let directory = tempfile::tempdir().unwrap();
    let [certificate, key] = certificate(directory.path(), "127.0.0.1");
    let tls = ["--media-tls-cert", &certificate, "--media-tls-key", &key];
    let server = Dayone::start_at(&free_address(), &free_address(), "coreos", &image(), &tls);
    let url = order(&server);
    let diagnosis = doctor(&url, &["--slow", "3", "--ca", &certificate]);
    // rustls has none of the suites that firmware offers.
    let firmware = "uefi-http: uefi-tls";
    assert_eq!((diagnosis.code, diagnosis.findings()), (Some(0), vec![firmware.to_owned()]));
    assert_eq!(doctor(&url, &["--slow", "1"]).findings(), ["tls: certificate-not-trusted", firmware]);
    assert_eq!(doctor(&url, &["--slow", "1", "--insecure"]).findings(), [firmware]);
}

#[test]
fn a_certificate_of_another_server_is_refused_by_who_looks() {
    let directory = tempfile::tempdir().unwrap();
    let [certificate, key] = certificate(directory.path(), "boot.example.com");
    let tls = ["--media-tls-cert", &certificate, "--media-tls-key", &key];
    let server = Dayone::start_at(&free_address(), &free_address(), "coreos", &image(), &tls);
    let url = order(&server);
    let diagnosis = doctor(&url, &["--slow", "1", "--ca", &certificate]);
    assert_eq!(diagnosis.code, Some(1));
    assert_eq!(diagnosis.findings(), ["tls: certificate-wrong-name", "uefi-http: uefi-tls"]);
    assert!(!is_read_by(&Client::Curl(vec!["--cacert".to_owned(), certificate]), &url, &image()));
}

#[test]
fn nginx_serves_as_well_and_its_suites_are_seen() {
    let directory = served(&image());
    let [certificate, key] = certificate(directory.path(), "127.0.0.1");
    let [plain, new, weak, front] = [(); 4].map(|()| free_address());
    let place = directory.path().display();
    let server = |address: &str, rest: &str| format!("server {{ listen {address}; root {place}; {rest} }}\n");
    let tls = |address: &str, rest: &str| {
        server(&format!("{address} ssl"), &format!("ssl_certificate {certificate}; ssl_certificate_key {key}; {rest}"))
    };
    let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    let paths = paths.map(|name| format!("{name}_temp_path {place}/{name};\n")).concat();
    let servers = server(&plain, "")
        + &tls(&new, "ssl_protocols TLSv1.3;")
        + &tls(&weak, "ssl_protocols TLSv1.2; ssl_ciphers ECDHE-ECDSA-AES128-GCM-SHA256;")
        + &server(&format!("{front} ssl"), &front_for_firmware(directory.path()));
    // Workers of another user could not read the temporary directory.
    let user = if rustix::process::getuid().is_root() { "user root;\n" } else { "" };
    let config = format!(
        "{user}daemon off; pid {place}/pid; error_log {place}/errors;\nevents {{}}\nhttp {{ access_log off;\n{paths}{servers}}}\n"
    );
    let file = directory.path().join("nginx.conf");
    fs::write(&file, config).unwrap();
    let _nginx = running(peer("nginx").arg("-e").arg(directory.path().join("errors")).arg("-c").arg(&file));
    let url = format!("http://{plain}/i/boot.iso");
    wait_for(&url, Duration::from_secs(20), || fs::read_to_string(directory.path().join("errors")).unwrap_or_default());

    let diagnosis = doctor(&url, &["--slow", "2"]);
    assert_eq!((diagnosis.code, diagnosis.findings()), (Some(0), vec![]), "{:?}", diagnosis.findings());
    let url = format!("https://{new}/i/boot.iso");
    let diagnosis = doctor(&url, &["--slow", "1", "--insecure"]);
    assert_eq!((diagnosis.code, diagnosis.outcome("tls")), (Some(0), "warning"));
    assert_eq!(diagnosis.findings(), ["tls: tls-1-2-suites", "uefi-http: uefi-tls"]);
    let url = format!("https://{weak}/i/boot.iso");
    let diagnosis = doctor(&url, &["--slow", "1", "--insecure"]);
    assert_eq!((diagnosis.code, diagnosis.outcome("tls")), (Some(1), "fails"));
    assert_eq!(diagnosis.findings(), ["tls: tls-suites", "uefi-http: uefi-tls"]);
    let diagnosis = doctor(&format!("https://{front}/i/boot.iso"), &["--slow", "1", "--insecure"]);
    assert_eq!((diagnosis.code, diagnosis.findings()), (Some(0), vec![]), "{:?}", diagnosis.findings());
    let suites = ["-k", "--tls-max", "1.2", "--ciphers", "ECDHE-ECDSA-AES256-GCM-SHA384"].map(str::to_owned);
    assert!(!is_read_by(&Client::Curl(suites.to_vec()), &url, &image()));
    assert!(is_read_by(&Client::Curl(vec!["-k".to_owned()]), &url, &image()));
}

/// What nginx needs so that firmware accepts its TLS: an RSA certificate and the suites without elliptic curves.
fn front_for_firmware(directory: &Path) -> String {
    let [certificate, key] = ["rsa.crt", "rsa.key"].map(|name| directory.join(name).display().to_string());
    run(Command::new("openssl")
        .args(
            "req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=front -addext subjectAltName=IP:127.0.0.1".split(' '),
        )
        .args(["-keyout", &key, "-out", &certificate]));
    format!(
        "ssl_certificate {certificate}; ssl_certificate_key {key}; ssl_protocols TLSv1.2 TLSv1.3; \
         ssl_ciphers HIGH:AES256-GCM-SHA384:AES128-SHA;"
    )
}

#[test]
fn a_file_must_look_like_an_image_to_firmware() {
    let found = |media_type: &'static str, name: &str| {
        let server = Server::start(&image(), NEVER, move |request, image| {
            right(request, image).with("Content-Type", media_type)
        });
        let url = server.url().replace("boot.iso", name);
        doctor(&url, &["--slow", "1"]).findings()
    };
    assert_eq!(found("application/octet-stream", "boot"), ["url: url-suffix", "uefi-http: uefi-media-type"]);
    assert_eq!(found("application/vnd.efi-iso", "boot"), ["url: url-suffix"]);
    assert_eq!(found("text/plain", "boot.iso"), [""; 0]);
}

#[test]
fn a_server_without_ranges_fails_block_devices() {
    let directory = served(&image());
    let address = free_address();
    let port = address.rsplit(':').next().unwrap();
    let _python = running(
        Command::new("/usr/bin/python3")
            .args(["-m", "http.server", port, "--bind", "127.0.0.1"])
            .current_dir(directory.path()),
    );
    let url = format!("http://{address}/i/boot.iso");
    wait_for(&url, Duration::from_secs(20), String::new);
    let diagnosis = doctor(&url, &["--slow", "1"]);
    assert_eq!(diagnosis.code, Some(1));
    let expected = [
        "nbdkit: accept-ranges-missing",
        "qemu: accept-ranges-missing",
        "many-ranges: range-ignored",
        "range-forms: range-ignored",
        "content: content-not-read",
    ];
    assert_eq!(diagnosis.findings(), expected, "{:?}", diagnosis.findings());
    for (client, name) in [(Client::Nbdkit, "nbdkit"), (Client::Qemu, "qemu"), (Client::Curl(vec![]), "sushy-tools")] {
        let read = is_read_by(&client, &url, &image());
        assert_eq!(read, diagnosis.outcome(name) == "ok", "{client:?} {:?}", diagnosis.findings());
    }
    let output = dayone().args(["doctor", &url, "--slow", "1"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("\nfails    nbdkit's curl plugin, as in OpenBMC\n"), "{text}");
    assert!(text.contains("[accept-ranges-missing]\n           affects  nbdkit, OpenBMC\n"), "{text}");
    assert!(text.ends_with(" s\n") && text.contains("4 failures, 3 warnings; "), "{text}");
}

#[test]
fn what_is_not_there_is_told_from_what_does_not_answer() {
    let server = Server::start(&image(), NEVER, |request, image| Reply { status: 404, ..right(request, &image[..9]) });
    let diagnosis = doctor(&server.url(), &[]);
    assert_eq!((diagnosis.code, diagnosis.findings()), (Some(1), vec!["server: not-served".to_owned()]));
    let closed = free_address();
    for url in [format!("http://{closed}/i/boot.iso"), "boot.iso".to_owned(), server.url().replace("http:", "https:")] {
        let output = dayone().args(["doctor", &url]).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(output.stdout.is_empty() && errors.lines().count() == 1 && errors.starts_with("dayone: "), "{errors}");
    }
}

#[test]
fn every_way_to_be_wrong_is_found_and_real_clients_agree() {
    let image = image();
    std::thread::scope(|scope| {
        for (name, behaviour, findings) in cases() {
            let image = &image;
            scope.spawn(move || {
                let server = Server::start(image, NEVER, behaviour);
                let diagnosis = doctor(&server.url(), &["--slow", "1"]);
                assert_eq!(diagnosis.findings(), findings, "{name}");
                let failing = diagnosis.said["outcome"] == "fails";
                assert_eq!(diagnosis.code, Some(i32::from(failing)), "{name}");
                for (client, reader) in [(Client::Nbdkit, "nbdkit"), (Client::Qemu, "qemu")] {
                    let read = is_read_by(&client, &server.url(), image);
                    assert_eq!(
                        read,
                        diagnosis.outcome(reader) != "fails",
                        "{name}: {client:?} {:?}",
                        diagnosis.findings()
                    );
                }
            });
        }
    });
}

#[test]
fn redirects_are_followed_and_named() {
    let image = image();
    let target = Server::start(&image, NEVER, right);
    let location = target.url();
    let server = Server::start(&image, NEVER, move |request, image| {
        Reply { status: 302, ..right(request, &image[..0]) }.with("Location", &location)
    });
    let diagnosis = doctor(&server.url(), &["--slow", "1"]);
    assert_eq!(
        (diagnosis.code, diagnosis.findings()),
        (Some(1), vec!["server: redirect".to_owned()]),
        "{:?}",
        diagnosis.findings()
    );
    assert!(is_read_by(&Client::Nbdkit, &server.url(), &image));
    assert!(!is_read_by(&Client::NbdkitOfOpenBmc, &server.url(), &image));
    let location = target.url();
    let server = Server::start(&image, NEVER, move |request, image| match &*request.method {
        "HEAD" => right(request, image),
        _ => Reply { status: 302, ..right(request, &image[..0]) }.with("Location", &location),
    });
    let diagnosis = doctor(&server.url(), &["--slow", "1"]);
    assert_eq!((diagnosis.code, diagnosis.findings()), (Some(1), vec!["server: redirect".to_owned()]));
    assert!(is_read_by(&Client::Nbdkit, &server.url(), &image) && is_read_by(&Client::Qemu, &server.url(), &image));
    let server = Server::start(&image, NEVER, |request, image| {
        Reply { status: 302, ..right(request, &image[..0]) }.with("Location", "/i/boot.iso")
    });
    let diagnosis = doctor(&server.url(), &["--slow", "1"]);
    assert_eq!(diagnosis.findings().last().map(String::as_str), Some("server: too-many-redirects"));
}

#[test]
fn bytes_that_change_are_noticed() {
    let server = Server::start(&image(), NEVER, |request, image| {
        let mut reply = right(request, image);
        let byte = u8::try_from(request.number % 251).unwrap();
        reply.body.fill(byte);
        reply
    });
    let diagnosis = doctor(&server.url(), &["--slow", "1"]);
    assert_eq!(diagnosis.code, Some(1));
    assert!(diagnosis.findings().contains(&"concurrent: bytes-differ".to_owned()), "{:?}", diagnosis.findings());
    assert!(!is_read_by(&Client::Qemu, &server.url(), &image()));
}

#[test]
fn impatient_servers_are_noticed() {
    let impatient = |request: &Request, image: &[u8]| {
        let reply = right(request, image);
        // As a limit for the whole transfer does.
        Reply { limit: Some(Duration::from_millis(800)), ..reply }
    };
    let server = Server::start(&image(), NEVER, impatient);
    let diagnosis = doctor(&server.url(), &["--slow", "6"]);
    assert_eq!(diagnosis.findings(), ["slow-reader: slow-reader-cut-off"], "{:?}", diagnosis.findings());
    let server = Server::start(&image(), Duration::from_millis(900), right);
    let diagnosis = doctor(&server.url(), &["--slow", "4"]);
    assert_eq!(diagnosis.findings(), ["idle-connection: idle-connection-closed"], "{:?}", diagnosis.findings());
    assert_eq!(diagnosis.code, Some(0));
}

#[test]
fn the_content_is_looked_at() {
    let whole = fs::read(image()).unwrap();
    let mut plain = whole.clone();
    plain[..32 << 10].fill(0);
    let mut unused = plain.clone();
    unused[510..512].copy_from_slice(&[0x55, 0xaa]);
    let mut without_boot_record = whole.clone();
    without_boot_record[17 * 2048 + 7] = b'X';
    let cases = [
        (whole[..whole.len() / 2].to_vec(), "content: image-incomplete"),
        ([whole.as_slice(), &[0; 100]].concat(), "content: partial-last-block"),
        (vec![0; 98_304], "content: not-bootable"),
        (plain, "content: not-hybrid"),
        (unused, "content: not-hybrid"),
        (without_boot_record, "content: not-bootable"),
    ];
    let directory = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for (number, (bytes, expected)) in cases.iter().enumerate() {
            let file = directory.path().join(number.to_string());
            scope.spawn(move || {
                fs::write(&file, bytes).unwrap();
                let server = Server::start(&file, NEVER, right);
                let diagnosis = doctor(&server.url(), &["--slow", "1"]);
                assert_eq!(diagnosis.findings(), [*expected], "{number}");
            });
        }
    });
}
