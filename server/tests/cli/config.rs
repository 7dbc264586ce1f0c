//! `dayone config check`, and that a server takes its settings from the file, the environment and the command line.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use rcgen::{CertificateParams, CertifiedKey, KeyPair, date_time_ymd, generate_simple_self_signed};
use serde_json::Value;
use tempfile::TempDir;

use super::{Ended, dayone, ended, fixture, run};
use crate::images::unpack;

/// A directory with everything that good settings name.
struct Site(TempDir);

impl Site {
    fn new() -> Self {
        let site = Self(tempfile::tempdir().unwrap());
        unpack("coreos.iso", &site.path("live.iso"));
        site.token("tokens", 0o600);
        site.certificate("tls", "192.0.2.10");
        site
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn token(&self, name: &str, mode: u32) {
        fs::write(self.path(name), "0123456789abcdef\n").unwrap();
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    fn certificate(&self, name: &str, host: &str) {
        let CertifiedKey { cert, signing_key } = generate_simple_self_signed([host.to_owned()]).unwrap();
        fs::write(self.path(&format!("{name}.crt")), cert.pem()).unwrap();
        fs::write(self.path(&format!("{name}.key")), signing_key.serialize_pem()).unwrap();
    }

    /// A text in which `DIR` is this directory.
    fn text(&self, text: &str) -> String {
        text.replace("DIR", self.0.path().to_str().unwrap())
    }

    fn check(&self, settings: &str, more: &[&str]) -> Ended {
        self.check_with(settings, more, &[])
    }

    fn check_with(&self, settings: &str, more: &[&str], environment: &[(&str, &str)]) -> Ended {
        fs::write(self.path("dayone.yaml"), self.text(settings)).unwrap();
        let mut command = dayone();
        command.args(["config", "check", "dayone.yaml"]).args(more).current_dir(self.0.path());
        ended(command.envs(environment.iter().copied()).output().unwrap())
    }
}

const GOOD: &str = "\
media-url: https://192.0.2.10:8081
bases:
- name: coreos
  iso: DIR/live.iso
- other=DIR/live.iso
data-dir: DIR/data
api-token-file: [DIR/tokens]
media-tls-cert: DIR/tls.crt
media-tls-key: DIR/tls.key
bmc-network: [192.0.2.0/24, 198.51.100.0/24]
drain-seconds: 7
";

#[test]
fn good_settings_are_shown_with_where_they_come_from() {
    let site = Site::new();
    let checked = site.check(GOOD, &[]);
    assert_eq!((checked.code, checked.err.as_str()), (0, ""));
    assert!(checked.out.contains("dayone.yaml: no errors, "), "{}", checked.out);

    let environment =
        [("DAYONE_DRAIN_SECONDS", "8"), ("DAYONE_LOG", "debug"), ("DAYONE_API_TOKEN", "a-secret-of-someone")];
    let options = ["--format", "json", "--", "--log", "warn", "--base", "third=/nowhere.iso"];
    let checked = site.check_with(GOOD, &options, &environment);
    // The third base is not there.
    assert_eq!(checked.code, 1, "{}", checked.err);
    assert!(!checked.out.contains("a-secret"), "{}", checked.out);
    let shown: Value = serde_json::from_str(&checked.out).unwrap();
    let setting = |name: &str| {
        let settings = shown["settings"].as_array().unwrap();
        settings.iter().find(|setting| setting["name"] == name).unwrap_or_else(|| panic!("no {name}: {shown}"))
    };
    let is = |name: &str, value: Value, from: &str| {
        assert_eq!((&setting(name)["value"], setting(name)["from"].as_str().unwrap()), (&value, from), "{name}");
    };
    is("media-url", "https://192.0.2.10:8081".into(), "dayone.yaml:1");
    is("drain-seconds", 8.into(), "environment (DAYONE_DRAIN_SECONDS)");
    is("log", "warn".into(), "command line (--log)");
    is("bmc-network", serde_json::json!(["192.0.2.0/24", "198.51.100.0/24"]), "dayone.yaml:10");
    is("api-listen", Value::Null, "default");
    assert_eq!(setting("api-listen")["default"], "127.0.0.1:8080");
    assert_eq!(setting("DAYONE_API_TOKEN")["secret"], true);
    let names: Vec<&str> =
        setting("bases")["value"].as_array().unwrap().iter().map(|base| base["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["third", "coreos", "other"]);
    let problem = &shown["problems"][0];
    assert_eq!(
        (problem["code"].as_str(), problem["place"]["flag"].as_str()),
        (Some("base-file"), Some("--base")),
        "{shown}"
    );
    assert!(
        shown["problems"].as_array().unwrap().iter().skip(1).all(|problem| problem["severity"] == "warning"),
        "{shown}"
    );

    let table = site.check(GOOD, &["--format", "table"]).out;
    let row = |name: &str| {
        table.lines().find(|line| line.starts_with(&format!("{name} "))).unwrap_or_else(|| panic!("{table}"))
    };
    assert!(
        row("drain-seconds").ends_with(" dayone.yaml:11") && row("api-listen").contains("(127.0.0.1:8080)"),
        "{table}"
    );
}

#[test]
fn what_yaml_shows_is_a_settings_file_with_the_same_values() {
    let site = Site::new();
    let shown = site.check(GOOD, &["--format", "yaml"]).out;
    assert!(shown.contains("# dayone.yaml:1\nmedia-url: https://192.0.2.10:8081\n"), "{shown}");
    let again = site.check(&shown, &["--format", "yaml"]);
    let values = |text: &str| {
        text.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect::<String>()
    };
    assert_eq!((again.code, values(&again.out)), (0, values(&shown)));
    // As a number, the name of the directory would be another one.
    let shown = site.check("data-dir: \"007\"\n", &["--format", "yaml"]).out;
    assert!(shown.contains("\ndata-dir: '007'\n"), "{shown}");
}

#[test]
fn mistakes_in_the_file_have_positions() {
    let site = Site::new();
    let cases = [
        ("log: info\nmedia-ulr: http://192.0.2.10\n", "2:1", "unknown-setting", "did you mean media-url?"),
        ("media_url: http://192.0.2.10\n", "1:1", "unknown-setting", "did you mean media-url?"),
        ("frobnicate: 1\n", "1:1", "unknown-setting", "--help lists all"),
        ("images-bind-addr: :8084\n", "1:1", "unknown-setting", "use a file for each program"),
        ("api-token: secret-of-someone\n", "1:1", "unknown-setting", "api-token-file"),
        ("bmc-password: secret-of-someone\n", "1:1", "unknown-setting", "NAME/password"),
        ("log: info\nlog: debug\n", "2:1", "set-twice", "remove one"),
        ("media-url: ftp://192.0.2.10\n", "1:12", "wrong-value", "http:// or https://"),
        ("drain-seconds: soon\n", "1:16", "wrong-value", "write a whole number"),
        ("log-format: xml\n", "1:13", "wrong-value", "one of text, json"),
        ("data-dir: \"\"\n", "1:11", "wrong-value", "the value is missing"),
        ("bmc-network:\n- 192.0.2.0/24\n- 192.0.2.0/99\n", "3:3", "wrong-value", "192.0.2.0/99"),
        ("api-listen: [127.0.0.1:1, 127.0.0.1:2]\n", "1:13", "wrong-type", "one value"),
        ("base-source: []\n", "1:14", "wrong-value", "its default: https://builds.coreos"),
        ("bmc-network: []\n", "1:14", "wrong-value", "its default: any address"),
        ("base-keys: []\n", "1:12", "wrong-value", "remove the setting"),
        ("base-source: [\"/srv/a,/tmp\"]\n", "1:15", "wrong-value", "write an item for each value"),
        ("base-keys: [\"/a\\n/b\"]\n", "1:13", "wrong-value", "write an item for each value"),
        ("bases:\n- name: a\n  isso: /a\n", "3:3", "unknown-setting", "did you mean iso?"),
        ("bases:\n- name: A\n  iso: /a\n", "2:3", "wrong-base", "not a name for a base"),
        ("bases:\n- name: a\n", "2:3", "wrong-base", "an ISO"),
        ("bases: {a: /a}\n", "1:8", "wrong-type", "a list"),
        ("- log\n", "1:1", "wrong-type", "mapping"),
        ("log: [info\n", "1:6", "not-yaml", "not YAML"),
    ];
    for (text, position, code, sign) in cases {
        let checked = site.check(text, &[]);
        let first = checked.out.lines().next().unwrap_or_default();
        let expected = format!("dayone.yaml:{position}: error: ");
        assert_eq!(checked.code, 1, "{text}");
        assert!(first.starts_with(&expected) && first.ends_with(&format!("[{code}]")), "{text}: {}", checked.out);
        assert!(checked.out.contains(sign) && !checked.out.contains("of-someone"), "{text}: {}", checked.out);
        // A server says the same, does not start, and repeats no secret.
        let served = run(&["serve", "--config", site.path("dayone.yaml").to_str().unwrap()]);
        assert_eq!(served.code, 2, "{text}");
        assert!(
            served.err.contains(&format!("dayone.yaml:{position}: ")) && !served.err.contains("of-someone"),
            "{}",
            served.err
        );
    }
    let environment = [("DAYONE_DRAIN_SECONDS", "soon"), ("DAYONE_MEDIA_URL", "ftp://192.0.2.1")];
    let checked = site.check_with(GOOD, &[], &environment);
    assert_eq!(checked.code, 1, "{}", checked.err);
    for sign in ["variable DAYONE_DRAIN_SECONDS: error: ", "variable DAYONE_MEDIA_URL: error: "] {
        assert!(checked.out.contains(sign), "{sign} is not in {}", checked.out);
    }
    let level = site.check("log: warning\n", &[]);
    assert!(level.code == 1 && level.out.contains("did you mean warn?"), "{}", level.out);
    let two = site.check("media-ulr: a\ndrain-seconds: soon\n", &[]);
    assert!(two.out.ends_with("dayone.yaml: 2 errors, no warnings\n"), "{}", two.out);
    assert_eq!(run(&["config", "check", "/nowhere/dayone.yaml"]).code, 2);
}

#[test]
fn what_the_settings_name_must_be_there() {
    let site = Site::new();
    site.token("open-tokens", 0o644);
    site.certificate("other", "boot.example.com");
    let mut expired = CertificateParams::new(["192.0.2.10".to_owned()]).unwrap();
    (expired.not_before, expired.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(2021, 1, 1));
    let key = KeyPair::generate().unwrap();
    fs::write(site.path("expired.crt"), expired.self_signed(&key).unwrap().pem()).unwrap();
    fs::write(site.path("expired.key"), key.serialize_pem()).unwrap();
    fs::write(site.path("empty.iso"), "").unwrap();
    fs::create_dir_all(site.path("credentials/worker-0")).unwrap();
    let cases = [
        ("live.iso\n-", "missing.iso\n-", "base-file", 1),
        ("live.iso\n-", "empty.iso\n-", "base-file", 1),
        ("live.iso\n-", "tokens\n-", "base-file", 1),
        ("DIR/tokens", "DIR/open-tokens", "token-file", 1),
        ("DIR/tokens", "DIR/missing", "token-file", 1),
        ("DIR/tls.key", "DIR/other.key", "tls-unusable", 1),
        ("tls", "expired", "certificate-expired", 1),
        ("tls", "other", "certificate-wrong-name", 1),
        ("media-tls-key: DIR/tls.key", "", "half-tls", 1),
        ("DIR/data", "DIR/live.iso/data", "data-directory", 1),
        ("DIR/data", "DIR/missing/data", "data-directory", 1),
        ("drain-seconds: 7", "audit-log: DIR/missing/audit.jsonl", "audit-log", 1),
        ("drain-seconds: 7", "audit-log: DIR", "audit-log", 1),
        ("drain-seconds: 7", "audit-log: DIR/tls.crt", "audit-log", 1),
        ("drain-seconds: 7", "media-listen: 0.0.0.0:8080", "same-address", 1),
        ("drain-seconds: 7", "boots-at-once: 4000000000", "doubtful", 0),
        ("drain-seconds: 7", "audit-log-max-mib: 5", "doubtful", 0),
        ("drain-seconds: 7", "bmc-ca: DIR/live.iso", "bmc-ca", 1),
        ("drain-seconds: 7", "bmc-credentials: DIR/missing", "bmc-credentials", 1),
        ("drain-seconds: 7", "bmc-credentials: DIR/credentials", "bmc-credentials", 0),
    ];
    for (part, other, code, exit) in cases {
        let name = |part: &str| if part == "tls" { "/tls." } else { part }.to_owned();
        let (from, to) = (name(part), if part == "tls" { format!("/{other}.") } else { other.to_owned() });
        assert!(GOOD.contains(&from), "{from}");
        let checked = site.check(&GOOD.replace(&from, &to), &[]);
        assert_eq!(checked.code, exit, "{part} {other}: {}", checked.out);
        let lines: Vec<&str> = checked
            .out
            .lines()
            .filter(|line| line.contains(": error: ") || line.contains(": warning: "))
            // The service could not read a temporary directory of root's own.
            .filter(|line| !line.ends_with("[base-closed]"))
            .collect();
        assert!(lines.len() == 1 && lines[0].ends_with(&format!("[{code}]")), "{part} {other}: {}", checked.out);
    }
    // One mistake does not hide the next.
    let settings = GOOD.replace("live.iso\n-", "missing.iso\n-").replace("media-url: https://192.0.2.10:8081", "");
    let two = site.check(&settings, &[]);
    assert!(two.out.contains("[base-file]") && two.out.contains("[no-media-url]"), "{}", two.out);
    let open = site.check(&GOOD.replace("api-token-file: [DIR/tokens]", "api-listen: 0.0.0.0:8080"), &[]);
    assert!(
        open.code == 1 && open.out.contains("dayone.yaml:7:1: error: ") && open.out.contains("[open-api]"),
        "{}",
        open.out
    );
    for log in ["DIR/audit.jsonl", "\"-\""] {
        let checked = site.check(&format!("{GOOD}audit-log: {log}\n"), &[]);
        assert_eq!((checked.code, checked.out.contains("audit")), (0, false), "{}", checked.out);
    }
    assert!(!site.path("audit.jsonl").exists(), "a check creates nothing");
    let iso = format!("third={}", site.path("live.iso").display());
    let twice = site.check(GOOD, &["--", "--base", &iso, "--base", &iso]);
    assert!(twice.code == 1 && twice.out.contains("two bases are named 'third'"), "{}", twice.out);
    let nowhere = site.check("data-dir: DIR/data\n", &[]);
    assert!(nowhere.code == 1 && nowhere.out.contains("media-url (default): error: "), "{}", nowhere.out);
    assert!(!site.path("data").exists(), "a check creates nothing");
    let none = site.check(&GOOD.replace("[DIR/tokens]", "[]"), &[]);
    assert_eq!((none.code, none.err.as_str()), (0, ""), "no tokens are the default: {}", none.out);
    let misspelt =
        site.check_with(GOOD, &[], &[("DAYONE_MEDIA_ULR", "http://192.0.2.1"), ("DAYONE_PORT_80_TCP", "tcp")]);
    assert!(misspelt.code == 0 && misspelt.out.contains("did you mean DAYONE_MEDIA_URL?"), "{}", misspelt.out);
    assert!(!misspelt.out.contains("DAYONE_PORT_80_TCP"), "{}", misspelt.out);
    let secret = site.check_with(GOOD, &[], &[("DAYONE_API_TOKN", "secret-of-someone")]);
    assert!(secret.code == 0 && secret.out.contains("did you mean DAYONE_API_TOKEN?"), "{}", secret.out);
    assert!(!secret.out.contains("of-someone"), "{}", secret.out);
}

#[test]
fn the_other_programs_have_the_same_three_places() {
    let site = Site::new();
    fs::create_dir(site.path("hosts")).unwrap();
    let settings = "deploy-iso: DIR/live.iso\nimages-publish-addr: http://192.0.2.10:8084\nlog-format: json\nnmstate-dir: DIR/hosts\n";
    let environment = [("IRONIC_BASE_URL", "http://192.0.2.5"), ("HTTPS_PROXY", "http://user:hunter2@192.0.2.6:3128")];
    let options = ["--for", "static-server", "--format", "table", "--", "--images-bind-addr", ":9084"];
    let checked = site.check_with(settings, &options, &environment);
    assert_eq!(checked.code, 0, "{}", checked.err);
    for (name, value, from) in [
        ("deploy-iso", "live.iso", "dayone.yaml:1"),
        ("images-bind-addr", ":9084", "command line (--images-bind-addr)"),
        ("ironic-base-url", "http://192.0.2.5", "environment (IRONIC_BASE_URL)"),
        ("drain-seconds", "60", "default"),
        ("https-proxy", "http://…@192.0.2.6:3128", "environment (HTTPS_PROXY)"),
    ] {
        let line = checked
            .out
            .lines()
            .find(|line| line.starts_with(&format!("{name} ")))
            .unwrap_or_else(|| panic!("{}", checked.out));
        assert!(line.contains(value) && line.ends_with(from), "{line}");
    }
    assert!(!checked.out.contains("hunter2"), "{}", checked.out);
    let controller = site.check("concurrency: 1000\n", &["--for", "controller"]);
    assert!(controller.code == 1 && controller.out.contains("dayone.yaml:1:14: error: "), "{}", controller.out);
}

/// The values are wrong, and may be in a log from then on.
#[test]
fn a_password_in_a_url_is_not_shown_wherever_the_url_comes_from() {
    let site = Site::new();
    let urls =
        ["https://user:hunter2@a/", "ftp://user:hunter2@a/", "https://user:hunt/er2@a/", "https://a/?key=hunter2"];
    let shows_nothing = |ended: &Ended, url: &str| {
        let text = format!("{}{}", ended.out, ended.err);
        assert!(ended.code != 0 && !text.contains("hunter2") && !text.contains("er2@"), "{url}: {text}");
        assert!(text.contains("not a source of bases") || text.contains("beginning of URLs"), "{url}: {text}");
    };
    for url in urls {
        shows_nothing(&site.check(&format!("{GOOD}base-source: [\"{url}\"]\n"), &[]), url);
        shows_nothing(&site.check_with(GOOD, &[], &[("DAYONE_BASE_SOURCE", url)]), url);
        shows_nothing(&site.check(GOOD, &["--", "--base-source", url]), url);
        shows_nothing(&run(&["serve", "--base-source", url]), url);
        shows_nothing(&ended(dayone().arg("serve").env("DAYONE_BASE_SOURCE", url).output().unwrap()), url);
    }
    for settings in ["media-url: ftp://user:hunter2@a\n", "bases: [\"b=https://user:hunter2@a/b.iso?hunter2\"]\n"] {
        let checked = site.check(settings, &[]);
        assert!(checked.code == 1 && checked.out.contains("://…@a"), "{}", checked.out);
        assert!(!checked.out.contains("hunter2"), "{}", checked.out);
    }
    // The reasons quote these values again.
    for (program, settings) in [
        ("serve", "bases: [\"https://user:hunter2@a/b.iso?hunter2\"]\n"),
        ("serve", "bases: [\"b=kernel:/k,https://user:hunter2@a/?hunter2\"]\n"),
        ("serve", "\"https://user:hunter2@a/?hunter2\": 1\n"),
        ("controller", "images-bind-addr: https://user:hunter2@a/?hunter2\n"),
        ("controller", "key-secret: https://user:hunter2@a/?hunter2\n"),
    ] {
        let checked = site.check(settings, &["--for", program]);
        assert!(checked.code == 1 && checked.out.contains("://…@a"), "{}", checked.out);
        assert!(!checked.out.contains("hunter2"), "{}", checked.out);
    }
}

#[test]
fn the_reference_of_settings_is_generated() {
    let path = fixture("../docs/reference/settings.md");
    let page = dayone::settings::reference::page();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let known = fs::read_to_string(&path).unwrap_or_default();
    assert!(known == page, "docs/reference/settings.md is not that of this program; UPDATE_GOLDEN=1 writes it");
}

/// A client of an `http://` URL cannot read images that are served over TLS. The controller ends because there is no cluster.
#[test]
fn a_controller_says_that_its_url_does_not_fit_its_tls() {
    let site = Site::new();
    let start = |url: &str| {
        let mut command = dayone();
        command.args(["controller", "--images-bind-addr=127.0.0.1:0", "--metrics-addr=0"]);
        command.args(["--images-tls-cert-file=tls.crt", "--images-tls-key-file=tls.key"]).current_dir(site.path("."));
        command.args(["--images-publish-addr", url]);
        command.env_remove("KUBECONFIG").env_remove("KUBERNETES_SERVICE_HOST").env("HOME", site.path("."));
        ended(command.output().unwrap()).err
    };
    let warning = "images are served over TLS, but their URL begins with http://";
    assert!(start("http://192.0.2.10").contains(warning) && !start("https://192.0.2.10").contains(warning));
}

/// Somebody may uncomment a line of the sample to have the default in the file.
#[test]
fn numbers_in_the_sample_are_the_defaults() {
    let without_a_default = ["api-requests-per-second", "audit-log-max-mib"];
    let half_of_all = media::listen::Options::default().max_per_address.to_string();
    let page = dayone::settings::reference::page();
    let (serve, _) = page.split_once("## dayone controller").unwrap();
    let sample = fs::read_to_string(fixture("../packaging/dayone.yaml")).unwrap();
    let mut compared = 0;
    for line in sample.lines() {
        let Some((key, value)) = line.strip_prefix('#').and_then(|line| line.split_once(": ")) else { continue };
        if value.parse::<u64>().is_err() || without_a_default.contains(&key) {
            continue;
        }
        let row = serve.lines().find(|row| row.starts_with(&format!("| `{key}` |"))).unwrap_or_else(|| panic!("{key}"));
        let default = row.split(" | ").nth(3).unwrap();
        let default = if default == "half of all" { half_of_all.as_str() } else { default };
        assert_eq!(value, default, "{key}");
        compared += 1;
    }
    assert!(compared >= 5, "{compared}");
}
