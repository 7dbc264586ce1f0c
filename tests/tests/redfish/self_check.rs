//! `dayone doctor --self` against servers with real faults: certificates, ports, proxies, permissions, limits.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use acceptance::peers::peer;
use acceptance::server::{Server as Dayone, dayone, free_address, wait_for};
use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use serde_json::Value;

use super::doctor::server::{Server, right};
use super::doctor::{Running, certificate, image, running};

/// The probe's path.
const PROBE: &str = "/i/probe/probe.img";

/// What only this machine or loopback makes doubtful, and no test can change.
const HERE: [&str; 7] = [
    "plain-http",
    "url-loopback",
    "doubtful",
    "clock-unknown",
    "clock-not-synchronized",
    "base-closed",
    "certificate-not-trusted",
];

struct Diagnosis {
    code: Option<i32>,
    said: Value,
}

impl Diagnosis {
    /// `EXAMINATION: CODE` of every finding that is not one of [`HERE`].
    fn findings(&self) -> Vec<String> {
        let examinations = self.said["examinations"].as_array().expect("examinations").iter();
        let all = examinations.flat_map(|examination| {
            let name = examination["name"].as_str().expect("a name");
            let findings = examination["findings"].as_array().expect("findings").iter();
            findings.map(move |finding| (name, finding["code"].as_str().expect("a code")))
        });
        all.filter(|(_, code)| !HERE.contains(code)).map(|(name, code)| format!("{name}: {code}")).collect()
    }

    fn message(&self, code: &str) -> &str {
        let examinations = self.said["examinations"].as_array().expect("examinations").iter();
        let mut findings = examinations.flat_map(|examination| examination["findings"].as_array().expect("findings"));
        let found = findings.find(|finding| finding["code"] == code);
        found.and_then(|finding| finding["message"].as_str()).unwrap_or_else(|| panic!("no {code}: {}", self.said))
    }
}

/// Examines the server that was started with these options, of which `changed` replaces some.
fn examine(options: &[String], changed: &[(&str, &str)], more: &[&str]) -> Diagnosis {
    let mut options = options.to_vec();
    for (name, value) in changed {
        let at = options.iter().position(|option| option == name).expect("an option of the server");
        options[at + 1] = (*value).to_owned();
    }
    let mut command = dayone();
    command.args(["doctor", "--self", "--format", "json", "--slow", "1"]).args(more).env("DAYONE_CONFIG", "");
    let output = command.arg("--").args(&options).output().expect("dayone runs");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let said = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    Diagnosis { code: output.status.code(), said }
}

/// The server's probe.
fn probe(server: &Dayone) -> Vec<u8> {
    let options = server.options();
    let at = options.iter().position(|option| option == "--media-listen").expect("an address");
    let answer = reqwest::blocking::get(format!("http://{}{PROBE}", options[at + 1])).expect("an answer");
    answer.bytes().expect("bytes").to_vec()
}

#[test]
fn nothing_is_wrong_with_a_good_server_and_what_is_unknown_is_said() {
    let server = Dayone::start("coreos", &image());
    let diagnosis = examine(server.options(), &[], &[]);
    assert_eq!(diagnosis.findings(), [""; 0], "{}", diagnosis.said);
    // Whether a time service runs depends on the machine.
    let is_known = diagnosis.said["examinations"].as_array().unwrap().iter().all(|each| each["outcome"] != "unknown");
    assert_eq!(diagnosis.code, Some(if is_known { 0 } else { 3 }), "{}", diagnosis.said);
    let names: Vec<&str> =
        diagnosis.said["examinations"].as_array().unwrap().iter().map(|each| each["name"].as_str().unwrap()).collect();
    for name in [
        "settings",
        "ports",
        "open-files",
        "storage",
        "clock",
        "server",
        "identity",
        "calls",
        "media-clock",
        "nbdkit",
        "qemu",
    ] {
        assert!(names.contains(&name), "{name} is not in {names:?}");
    }

    let text = dayone().args(["doctor", "--self", "--slow", "1", "--"]).args(server.options()).output().unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("\nok       which server answers\n"), "{text}");
}

#[test]
fn a_server_that_does_not_run_and_a_port_that_another_has_are_told_apart() {
    let (api, media) = (free_address(), free_address());
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().display().to_string();
    let url = format!("http://{media}");
    let base = format!("coreos={}", image().display());
    let options =
        ["--data-dir", &data, "--base", &base, "--api-listen", &api, "--media-listen", &media, "--media-url", &url];
    let options = options.map(str::to_owned);
    let nobody = examine(&options, &[], &[]);
    assert_eq!(nobody.code, Some(1));
    let findings = nobody.findings();
    for finding in ["ports: not-running", "media-url: media-url-not-examined", "open-files: open-files-unknown"] {
        assert!(findings.iter().any(|found| found == finding), "{finding} is not in {findings:?}");
    }

    let port = media.rsplit(':').next().unwrap();
    let _python = running(
        Command::new("/usr/bin/python3")
            .args(["-m", "http.server", port, "--bind", "127.0.0.1"])
            .current_dir(directory.path()),
    );
    wait_for(&url, Duration::from_secs(20), String::new);
    let taken = examine(&options, &[], &[]);
    assert_eq!(taken.code, Some(1));
    assert!(taken.findings().contains(&"ports: port-taken".to_owned()), "{:?}", taken.findings());
    assert!(taken.message("port-taken").starts_with("python3 (process "), "{}", taken.message("port-taken"));
}

#[test]
fn the_media_url_must_lead_to_this_server_and_no_other() {
    let (server, other) = (Dayone::start("coreos", &image()), Dayone::start("coreos", &image()));
    let url_of = |server: &Dayone| {
        let at = server.options().iter().position(|option| option == "--media-url").unwrap();
        server.options()[at + 1].clone()
    };
    let diagnosis = examine(server.options(), &[("--media-url", &url_of(&other))], &[]);
    assert_eq!((diagnosis.code, diagnosis.findings()), (Some(1), vec!["identity: another-server".to_owned()]));
    let closed = format!("http://{}", free_address());
    for (url, code) in [("http://nowhere.invalid:8081", "media-url-name"), (&closed, "media-url-not-reachable")] {
        let diagnosis = examine(server.options(), &[("--media-url", url)], &[]);
        assert_eq!((diagnosis.code, diagnosis.findings()), (Some(1), vec![format!("media-url: {code}")]));
    }
    // The bytes are this server's but for one, as a proxy that rewrites would have them.
    let mut content = probe(&server);
    content[9000] ^= 1;
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("probe"), content).unwrap();
    let rewriting = Server::start(&directory.path().join("probe"), Duration::from_secs(300), right);
    let url = rewriting.url().replace("/i/boot.iso", "");
    let diagnosis = examine(server.options(), &[("--media-url", &url)], &[]);
    assert!(diagnosis.findings().contains(&"identity: content-changed".to_owned()), "{:?}", diagnosis.findings());
    assert!(diagnosis.message("content-changed").contains("offset 9000"), "{}", diagnosis.said);
}

/// nginx in front of a server, with these directives for the way to it.
fn proxy(directory: &Path, address: &str, to: &str, rest: &str) -> Running {
    let place = directory.display();
    let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    let paths = paths.map(|name| format!("{name}_temp_path {place}/{name};\n")).concat();
    // Workers of another user could not write to the temporary directory.
    let user = if rustix::process::getuid().is_root() { "user root;\n" } else { "" };
    let file = directory.join(format!("{}.conf", address.replace(':', "-")));
    let config = format!(
        "{user}daemon off; pid {place}/{address}.pid; error_log {place}/errors;\nevents {{}}\nhttp {{ access_log off;\n{paths}\
         server {{ listen {address}; location / {{ proxy_pass http://{to}; proxy_http_version 1.1; {rest} }} }} }}\n"
    );
    fs::write(&file, config).unwrap();
    let nginx = running(peer("nginx").arg("-e").arg(directory.join("errors")).arg("-c").arg(&file));
    let log = || fs::read_to_string(directory.join("errors")).unwrap_or_default();
    wait_for(&format!("http://{address}{PROBE}"), Duration::from_secs(20), log);
    nginx
}

#[test]
fn a_proxy_that_cuts_ranges_is_found_and_one_that_does_not_is_not() {
    let media = free_address();
    let server = Dayone::start_at(&free_address(), &media, "coreos", &image(), &[]);
    let directory = tempfile::tempdir().unwrap();
    let good = free_address();
    let _good = proxy(directory.path(), &good, &media, "proxy_buffering off; proxy_set_header Host $http_host;");
    let diagnosis = examine(server.options(), &[("--media-url", &format!("http://{good}"))], &[]);
    assert!(
        !diagnosis.findings().iter().any(|found| found.starts_with("identity") || found.contains("range")),
        "{:?}",
        diagnosis.findings()
    );

    let cutting = free_address();
    let rest = "proxy_set_header Range \"\"; proxy_hide_header Accept-Ranges; max_ranges 0;";
    let _cutting = proxy(directory.path(), &cutting, &media, rest);
    let diagnosis = examine(server.options(), &[("--media-url", &format!("http://{cutting}"))], &[]);
    assert_eq!(diagnosis.code, Some(1));
    let findings = diagnosis.findings();
    for finding in ["nbdkit: accept-ranges-missing", "many-ranges: range-ignored"] {
        assert!(findings.iter().any(|found| found == finding), "{finding} is not in {findings:?}");
    }
    assert!(!findings.iter().any(|found| found.starts_with("identity")), "the bytes are right: {findings:?}");
}

#[test]
fn a_proxy_that_passes_on_only_images_loses_the_calls_of_hosts() {
    let (api, media) = (free_address(), free_address());
    let server = Dayone::start_at(&api, &media, "coreos", &image(), &[]);
    let directory = tempfile::tempdir().unwrap();
    let (losing, good) = (free_address(), free_address());
    // The API and the images under one host name.
    let images = format!("}} location /i/ {{ proxy_pass http://{media}; proxy_buffering off;");
    let _losing = proxy(directory.path(), &losing, &api, &images);
    let _good =
        proxy(directory.path(), &good, &api, &format!("{images} }} location /h/ {{ proxy_pass http://{media};"));
    let diagnosis = |address: &str| examine(server.options(), &[("--media-url", &format!("http://{address}"))], &[]);
    let lost = diagnosis(&losing);
    assert_eq!(lost.code, Some(1));
    assert!(lost.findings().contains(&"calls: calls-lost".to_owned()), "{:?}", lost.findings());
    assert!(lost.message("calls-lost").ends_with("the answer is 404 in place of 204"), "{}", lost.said);
    let findings = diagnosis(&good).findings();
    assert!(!findings.iter().any(|found| found.starts_with("calls")), "{findings:?}");
}

#[test]
fn bad_certificates_are_found_in_the_settings_and_through_the_url() {
    let directory = tempfile::tempdir().unwrap();
    let start = |files: &[String; 2]| {
        fs::set_permissions(&files[1], fs::Permissions::from_mode(0o600)).unwrap();
        let tls = ["--media-tls-cert", &files[0], "--media-tls-key", &files[1]];
        Dayone::start_at(&free_address(), &free_address(), "coreos", &image(), &tls)
    };
    let good = certificate(directory.path(), "127.0.0.1");
    let server = start(&good);
    let diagnosis = examine(server.options(), &[], &["--ca", &good[0]]);
    // This TLS is not for firmware, whatever the certificate.
    let firmware = "uefi-http: uefi-tls";
    assert_eq!(diagnosis.findings(), [firmware], "{}", diagnosis.said);

    fs::create_dir(directory.path().join("wrong")).unwrap();
    let wrong = certificate(&directory.path().join("wrong"), "boot.example.com");
    let server = start(&wrong);
    let diagnosis = examine(server.options(), &[], &["--ca", &wrong[0]]);
    let expected = ["settings: certificate-wrong-name", "tls: certificate-wrong-name", firmware];
    assert_eq!((diagnosis.code, diagnosis.findings()), (Some(1), expected.map(str::to_owned).to_vec()));

    let mut expired = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    (expired.not_before, expired.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(2021, 1, 1));
    let key = KeyPair::generate().unwrap();
    let files = ["expired.crt", "expired.key"].map(|name| directory.path().join(name).display().to_string());
    fs::write(&files[0], expired.self_signed(&key).unwrap().pem()).unwrap();
    fs::write(&files[1], key.serialize_pem()).unwrap();
    let server = start(&files);
    let diagnosis = examine(server.options(), &[], &["--ca", &files[0]]);
    assert_eq!(diagnosis.code, Some(1));
    for finding in ["settings: certificate-expired", "tls: certificate-expired"] {
        assert!(diagnosis.findings().iter().any(|found| found == finding), "{finding}: {:?}", diagnosis.findings());
    }
    assert!(diagnosis.message("certificate-expired").contains("2021-01-01"), "{}", diagnosis.said);
}

#[test]
fn permissions_missing_files_and_low_limits_are_found() {
    let directory = tempfile::tempdir().unwrap();
    let tokens = directory.path().join("tokens");
    fs::write(&tokens, "0123456789abcdef\n").unwrap();
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    mode(&tokens, 0o600);
    let base = directory.path().join("live.iso");
    fs::copy(image(), &base).unwrap();
    let file = tokens.display().to_string();
    let more = ["--api-token-file", &file];
    let (api, media) = (free_address(), free_address());
    let server = Dayone::start_under(&["prlimit", "--nofile=400:400"], &api, &media, "coreos", &base, &more);
    mode(&tokens, 0o644);
    mode(&server.directory().join("data"), 0o755);
    mode(&server.directory().join("data/key"), 0o640);
    fs::remove_file(&base).unwrap();
    let diagnosis = examine(server.options(), &[], &[]);
    assert_eq!(diagnosis.code, Some(1));
    let expected = [
        "settings: token-file",
        "settings: base-file",
        "open-files: few-open-files",
        "storage: data-directory-open",
        "storage: key-open",
    ];
    assert_eq!(diagnosis.findings(), expected, "{}", diagnosis.said);
}

#[test]
fn a_limit_that_is_enough_for_some_connections_only_is_low() {
    let (api, media) = (free_address(), free_address());
    let limited = ["prlimit", "--nofile=8192:8192"];
    let server = Dayone::start_under(&limited, &api, &media, "coreos", &image(), &["--boots-at-once", "40"]);
    let diagnosis = examine(server.options(), &[], &[]);
    assert_eq!(diagnosis.findings(), ["open-files: few-open-files"], "{}", diagnosis.said);
    // As docs/commands.md counts: with a base of one file, and eight boots beyond 32.
    let needed = (10_240 + 192 + 256 + 1 + 8).to_string();
    assert!(diagnosis.message("few-open-files").contains(&needed), "{}", diagnosis.said);
}

#[test]
fn wrong_settings_are_no_diagnosis() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("dayone.yaml");
    fs::write(&file, "media-ulr: http://127.0.0.1\n").unwrap();
    let output = dayone().args(["doctor", "--self", "--config"]).arg(&file).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("dayone.yaml:1:1: ") && errors.contains("did you mean media-url?"), "{errors}");
    for arguments in [&["doctor"][..], &["doctor", "--self", "http://127.0.0.1/a/b.iso"], &["doctor", "--config", "a"]]
    {
        assert_eq!(dayone().args(arguments).output().unwrap().status.code(), Some(2), "{arguments:?}");
    }
}
