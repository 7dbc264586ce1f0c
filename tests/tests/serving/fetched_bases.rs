//! Bases from a web server: signed by GnuPG, interrupted, over HTTPS, and on a full disk.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use acceptance::bases::coreos_iso;
use acceptance::gpg::Gpg;
use acceptance::nginx::Nginx;
use acceptance::peers::{run, run_text};
use acceptance::server::{Server, dayone, free_address};
use imagelib::compression::Compression;
use imagelib::digest::Digest;
use serde_json::Value;
use tempfile::TempDir;

/// A file that takes a while.
const LARGE: usize = 8 << 20;

fn large() -> Vec<u8> {
    (0..LARGE).map(|at| (at.wrapping_mul(2_654_435_761) >> 13).to_le_bytes()[0]).collect()
}

/// `dayone base fetch`, and what it says.
struct Fetched {
    code: Option<i32>,
    said: String,
    path: PathBuf,
}

impl Fetched {
    fn of(output: &Output, path: PathBuf) -> Self {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Self { code: output.status.code(), said, path }
    }

    fn refused(self, why: &str) {
        assert_eq!(self.code, Some(1), "{}", self.said);
        assert!(self.said.contains(why), "{why:?} is not in {}", self.said);
        assert!(!self.path.exists(), "a file that was refused is there");
    }

    fn succeeded(self, bytes: &[u8]) {
        assert_eq!(self.code, Some(0), "{}", self.said);
        assert!(fs::read(&self.path).unwrap() == bytes, "other bytes");
    }
}

fn fetch(directory: &TempDir, url: &str, more: &[&str]) -> Fetched {
    let path = directory.path().join("fetched.iso");
    let output = dayone().args(["base", "fetch", url, "-o"]).arg(&path).args(more).output().unwrap();
    Fetched::of(&output, path)
}

/// Publishers' keys: good, expired, revoked, unknown, with a subkey that signs, and with one that does not.
fn publishers() -> Gpg {
    let gpg = Gpg::new();
    gpg.key("good", "rsa3072", "sign", "never");
    gpg.key("curve", "ed25519", "sign", "never");
    gpg.key("revoked", "ed25519", "sign", "never");
    gpg.key("unknown", "ed25519", "sign", "never");
    gpg.key("subkey", "ed25519", "cert", "never");
    let fingerprint = gpg.fingerprint("subkey");
    run(&mut gpg.command(&["--quick-add-key", &fingerprint, "ed25519", "sign", "never"]));
    // Made in 2020, for a year.
    let mut old = gpg.command(&["--faked-system-time", "20200101T000000"]);
    run(old.args(["--quick-generate-key", "expired", "ed25519", "sign", "1y"]));
    gpg
}

#[test]
fn a_signed_and_a_forged_base() {
    let gpg = publishers();
    let nginx = Nginx::start(None);
    let directory = tempfile::tempdir().unwrap();
    let iso = nginx.root().join("live.iso");
    fs::copy(coreos_iso(&[]), &iso).unwrap();
    let bytes = fs::read(&iso).unwrap();
    let (url, name) = (nginx.url("live.iso"), |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned());
    let sign = |user: &str, more: &[&str]| nginx.url(&name(&gpg.sign(user, &iso, more)));
    let good = sign("good", &[]);
    let armored = {
        let signature = gpg.sign("curve", &iso, &["--armor"]);
        assert!(fs::read_to_string(&signature).unwrap().starts_with("-----BEGIN PGP SIGNATURE-----"));
        nginx.url(&name(&signature))
    };
    let by_subkey = sign("subkey", &[]);
    let revoked = sign("revoked", &[]);
    gpg.revoke("revoked");
    let expired = sign("expired", &["--faked-system-time", "20200601T000000"]);
    let unknown = sign("unknown", &[]);
    let weak = {
        let signature = gpg.sign("good", &iso, &["--digest-algo", "SHA1"]);
        let path = nginx.root().join("weak.sig");
        fs::rename(&signature, &path).unwrap();
        sign("good", &[]);
        nginx.url("weak.sig")
    };
    let known = gpg.export(&["good", "curve", "revoked", "expired", "subkey"], true);
    let binary = gpg.export(&["good"], false);
    let with = |keys: &Path, signature: &str| {
        let keys = keys.display().to_string();
        fs::remove_file(directory.path().join("fetched.iso")).ok();
        fetch(&directory, &url, &["--keys", &keys, "--signature", signature])
    };

    // GnuPG itself agrees about the good one.
    run_text(gpg.command(&["--verify"]).arg(iso.with_extension("good.sig")).arg(&iso));
    for signature in [&good, &armored, &by_subkey] {
        with(&known, signature).succeeded(&bytes);
    }
    with(&binary, &good).succeeded(&bytes);
    with(&known, &revoked).refused("was revoked");
    with(&known, &expired).refused("has expired");
    with(&known, &unknown).refused(&format!("{}, is none of the trusted keys", gpg.fingerprint("unknown")));
    with(&known, &weak).refused("SHA1");
    with(&known, &url).refused("not an OpenPGP signature");
    with(&known, &nginx.url("missing.sig")).refused("404");
    // dayone's own keys are those of Fedora.
    fetch(&directory, &url, &["--signature", &good]).refused("Fedora");

    // The same signature, and one byte of the file.
    let mut forged = bytes.clone();
    let middle = forged.len() / 2;
    forged[middle] ^= 1;
    fs::write(&iso, &forged).unwrap();
    with(&known, &good).refused("does not fit the file");
    let sum = Digest::of(&bytes).to_string();
    fetch(&directory, &url, &["--sha256", &sum]).refused(&format!("should be {sum}"));
    // Both must be right.
    fs::write(&iso, &bytes).unwrap();
    let keys = known.display().to_string();
    let (wrong, right) = (Digest::of(&forged).to_string(), Digest::of(&bytes).to_string());
    fetch(&directory, &url, &["--keys", &keys, "--signature", &good, "--sha256", &wrong]).refused("SHA-256");
    fetch(&directory, &url, &["--keys", &keys, "--signature", &good, "--sha256", &right]).succeeded(&bytes);
}

#[test]
fn a_server_takes_only_what_a_trusted_key_has_signed() {
    let gpg = publishers();
    let nginx = Nginx::start(None);
    let iso = nginx.root().join("live.iso");
    fs::copy(coreos_iso(&[]), &iso).unwrap();
    gpg.sign("good", &iso, &[]);
    gpg.sign("unknown", &iso, &[]);
    let keys = gpg.export(&["good"], true).display().to_string();
    let source = nginx.url("");
    let more = ["--base-source", &source, "--base-keys", &keys];
    let server = Server::start_at(&free_address(), &free_address(), "coreos", &coreos_iso(&[]), &more);
    let base = |arguments: &[&str]| {
        let output = dayone().arg("base").args(arguments).args(["--server", &server.api]).output().unwrap();
        let said = [output.stdout.as_slice(), &output.stderr].map(String::from_utf8_lossy).concat();
        (output.status.code(), said)
    };
    let url = nginx.url("live.iso");

    let (code, said) = base(&["add", "fcos", &url, "--signature", &nginx.url("live.unknown.sig")]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("none of the trusted keys"), "{said}");
    let (code, said) = base(&["add", "fcos", &url, "--signature", &nginx.url("live.good.sig")]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("the base 'fcos' is available"), "{said}");
    let (_, listed) = base(&["list"]);
    let line = listed.lines().find(|line| line.starts_with("fcos")).unwrap_or_else(|| panic!("{listed}"));
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words[..3], ["fcos", "available", "coreos-iso"], "{listed}");
    let (_, json) = base(&["list", "--format", "json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json[1]["sources"]["iso"]["signature"], nginx.url("live.good.sig"));

    // Elsewhere, and what is in use.
    let (code, said) =
        base(&["add", "other", "http://127.0.0.1:1/live.iso", "--signature", &nginx.url("live.good.sig")]);
    assert!(code == Some(1) && said.contains("--base-source"), "{said}");
    let document = acceptance::bases::fixtures("inputs/bare-metal-host/same-data.yaml");
    let image = server.image("fcos", &document);
    let (code, said) = base(&["rm", "fcos"]);
    assert!(code == Some(1) && said.contains("1 published image(s)"), "{said}");
    server.release(image["id"].as_str().unwrap());
    assert_eq!(base(&["rm", "fcos"]), (Some(0), "the base 'fcos' is removed\n".to_owned()));
    assert_eq!(base(&["rm", "fcos"]).0, Some(1));
}

#[test]
fn a_download_survives_the_death_of_the_server_and_of_dayone() {
    let mut nginx = Nginx::start(None);
    let directory = tempfile::tempdir().unwrap();
    let bytes = large();
    fs::write(nginx.root().join("large"), &bytes).unwrap();
    let sum = Digest::of(&bytes).to_string();
    nginx.kill();
    nginx.start_again("limit_rate 1m;");
    let path = directory.path().join("fetched.iso");
    let partial = directory.path().join("fetched.iso.partial");
    let mut command = dayone();
    command.args(["base", "fetch", &nginx.url("large"), "--sha256", &sum, "-o"]).arg(&path);
    let mut first = command.spawn().unwrap();
    let until = |bytes: u64| {
        let start = Instant::now();
        while fs::metadata(&partial).map_or(0, |metadata| metadata.len()) < bytes {
            assert!(start.elapsed() < Duration::from_secs(60), "nothing arrives");
            thread::sleep(Duration::from_millis(20));
        }
    };

    // The server dies, comes back, and the same process continues.
    until(1 << 20);
    nginx.kill();
    thread::sleep(Duration::from_millis(500));
    nginx.start_again("limit_rate 1m;");
    until(3 << 20);
    // dayone dies, and another process continues.
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(!path.exists());
    let there = fs::metadata(&partial).unwrap().len();
    assert!(there >= 3 << 20);
    nginx.kill();
    nginx.start_again("");
    let output = command.output().unwrap();
    Fetched::of(&output, path.clone()).succeeded(&bytes);
    let requests = nginx.requests("large");
    let [.., last] = requests.as_slice() else { panic!("no request") };
    assert_eq!(*last, format!("206 {} bytes={there}-", bytes.len() as u64 - there), "{requests:?}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing else is left");

    // It is there, so nothing is fetched.
    let count = nginx.requests("large").len();
    let again = command.output().unwrap();
    assert!(String::from_utf8_lossy(&again.stderr).contains("is there already"), "{again:?}");
    assert_eq!(nginx.requests("large").len(), count);
    // Another file in its place stays.
    fs::write(&path, "mine").unwrap();
    let refused = command.output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(fs::read(&path).unwrap(), b"mine");
    Fetched::of(&command.arg("--force").output().unwrap(), path).succeeded(&bytes);
}

#[test]
fn a_web_page_in_place_of_the_rest_takes_nothing_away() {
    let mut nginx = Nginx::start(None);
    let directory = tempfile::tempdir().unwrap();
    let bytes = large();
    fs::write(nginx.root().join("large"), &bytes).unwrap();
    nginx.kill();
    nginx.start_again("limit_rate 1m;");
    let path = directory.path().join("fetched.iso");
    let partial = directory.path().join("fetched.iso.partial");
    let mut command = dayone();
    command.args(["base", "fetch", &nginx.url("large"), "--sha256", &Digest::of(&bytes).to_string(), "-o"]).arg(&path);
    let until = |is: &dyn Fn() -> bool| {
        let start = Instant::now();
        while !is() {
            assert!(start.elapsed() < Duration::from_secs(60), "nothing arrives");
            thread::sleep(Duration::from_millis(20));
        }
    };
    let mut first = command.spawn().unwrap();
    until(&|| fs::metadata(&partial).map_or(0, |metadata| metadata.len()) >= 1 << 20);
    first.kill().unwrap();
    first.wait().unwrap();
    let there = fs::metadata(&partial).unwrap().len();

    // A network where one has to log in first.
    nginx.kill();
    nginx.start_again("location = /large { default_type text/html; return 200 '<html>Log in</html>'; }");
    let second = command.stderr(Stdio::piped()).spawn().unwrap();
    until(&|| nginx.requests("large").iter().any(|request| request.starts_with("200 19 ")));
    nginx.kill();
    nginx.start_again("");
    Fetched::of(&second.wait_with_output().unwrap(), path).succeeded(&bytes);
    let rest = format!("206 {} bytes={there}-", bytes.len() as u64 - there);
    assert_eq!(nginx.requests("large").last(), Some(&rest));
}

#[test]
fn a_compressed_file_is_what_the_publisher_has_digested_whatever_the_server_calls_it() {
    let mut nginx = Nginx::start(None);
    // As Apache with `AddEncoding x-gzip .gz`: the file as it is, under the name of an encoding.
    let encoded = "location ~ \\.gz$ { add_header Content-Encoding x-gzip;";
    nginx.kill();
    nginx.start_again(&format!("{encoded} limit_rate 1m; }}"));
    let directory = tempfile::tempdir().unwrap();
    let initrd = large();
    fs::write(nginx.root().join("initrd.gz"), &initrd).unwrap();
    let (url, sum) = (nginx.url("initrd.gz"), Digest::of(&initrd).to_string());
    let path = directory.path().join("fetched.iso");
    let mut command = dayone();
    command.args(["base", "fetch", &url, "--sha256", &sum.to_uppercase(), "-o"]).arg(&path);
    let mut first = command.spawn().unwrap();
    let partial = directory.path().join("fetched.iso.partial");
    let start = Instant::now();
    while fs::metadata(&partial).map_or(0, |metadata| metadata.len()) < 1 << 20 {
        assert!(start.elapsed() < Duration::from_secs(60), "nothing arrives");
        thread::sleep(Duration::from_millis(20));
    }
    first.kill().unwrap();
    first.wait().unwrap();
    nginx.kill();
    nginx.start_again(&format!("{encoded} }}"));
    Fetched::of(&command.output().unwrap(), path.clone()).succeeded(&initrd);
    assert!(nginx.requests("initrd.gz").last().unwrap().starts_with("206 "), "{:?}", nginx.requests("initrd.gz"));

    // A server that compresses by itself sends other bytes.
    fs::remove_file(path).unwrap();
    fs::write(nginx.root().join("initrd-list.gz"), Compression::Gzip.compress(b"published").unwrap()).unwrap();
    let published = Digest::of(b"published").to_string();
    fetch(&directory, &nginx.url("initrd-list.gz"), &["--sha256", &published])
        .refused("the server sent it with x-gzip");
}

#[test]
fn https_is_verified_by_the_given_authority() {
    let directory = tempfile::tempdir().unwrap();
    let issued = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let files = ["tls.crt", "tls.key"].map(|file| directory.path().join(file));
    fs::write(&files[0], issued.cert.pem()).unwrap();
    fs::write(&files[1], issued.signing_key.serialize_pem()).unwrap();
    let [certificate, key] = files.map(|path| path.display().to_string());
    let nginx = Nginx::start(Some([certificate.clone(), key]));
    fs::write(nginx.root().join("small"), b"small").unwrap();
    let sum = Digest::of(b"small").to_string();
    fetch(&directory, &nginx.url("small"), &["--sha256", &sum, "--ca", &certificate]).succeeded(b"small");

    // Metadata of a stream leads to the file.
    let stream = format!(
        r#"{{"architectures":{{"x86_64":{{"artifacts":{{"metal":{{"release":"1","formats":{{"iso":{{"disk":{{"location":"{}","sha256":"{sum}"}}}}}}}}}}}}}}}}"#,
        nginx.url("small")
    );
    fs::write(nginx.root().join("stream.json"), stream).unwrap();
    let path = directory.path().join("of-stream.iso");
    let mut command = dayone();
    command
        .args(["base", "fetch", "--stream-metadata", &nginx.url("stream.json"), "--ca", &certificate, "-o"])
        .arg(&path);
    Fetched::of(&command.output().unwrap(), path).succeeded(b"small");
}

#[test]
fn a_disk_of_a_virtual_machine_is_refused_by_its_name_and_by_its_first_bytes() {
    let nginx = Nginx::start(None);
    let directory = tempfile::tempdir().unwrap();
    let disk = [b"QFI\xfb".to_vec(), vec![0; 100_000]].concat();
    let sum = Digest::of(&disk).to_string();
    for name in ["cloud.qcow2", "cloud.img"] {
        fs::write(nginx.root().join(name), &disk).unwrap();
    }
    let by_name = fetch(&directory, &nginx.url("cloud.qcow2"), &["--sha256", &sum]);
    assert_eq!(by_name.code, Some(2), "{}", by_name.said);
    assert!(by_name.said.contains("qemu-img convert -O raw"), "{}", by_name.said);
    assert!(nginx.requests("cloud.qcow2").is_empty(), "the name alone decides");
    fetch(&directory, &nginx.url("cloud.img"), &["--sha256", &sum]).refused("qemu-img convert -O raw");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "nothing is left of it");
}

#[test]
fn a_service_of_another_user_can_read_a_fetched_base() {
    let nginx = Nginx::start(None);
    fs::write(nginx.root().join("small"), "small").unwrap();
    let sum = Digest::of(b"small").to_string();
    let directory = tempfile::tempdir().unwrap();
    for (umask, expected) in [("022", 0o644), ("027", 0o640), ("077", 0o600)] {
        let path = directory.path().join(umask);
        let mut command = Command::new("sh");
        command.args(["-c", "umask \"$0\"; exec \"$@\"", umask]).arg(dayone().get_program());
        command.args(["base", "fetch", &nginx.url("small"), "--sha256", &sum, "-o"]).arg(&path);
        Fetched::of(&command.output().unwrap(), path.clone()).succeeded(b"small");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, expected, "umask {umask}");
    }
}

#[test]
fn a_full_disk_is_an_error_before_the_file_arrives() {
    let nginx = Nginx::start(None);
    fs::write(nginx.root().join("large"), large()).unwrap();
    let sum = Digest::of(&large()).to_string();
    let directory = tempfile::tempdir().unwrap();
    let binary = dayone();
    // A file system of its own, in a mount namespace of its own.
    let script = r#"mount -t tmpfs -o size="$1" small "$2" && shift 2 && exec "$@""#;
    let fetch = |size: &str| {
        let place = directory.path().display().to_string();
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--mount", "sh", "-c", script, "sh", size, &place]);
        command.arg(binary.get_program()).args(["base", "fetch", &nginx.url("large"), "--sha256", &sum, "-o"]);
        command.arg(directory.path().join("large"));
        command.env("NO_COLOR", "1").output().unwrap()
    };
    let output = fetch("68m");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("there is no room for the file: it needs 8388608 more bytes"), "{said}");
    let output = fetch("80m");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}
