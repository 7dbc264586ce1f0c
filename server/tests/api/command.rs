//! The program `dayone serve`: settings, what it says, how it ends.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::support::{Place, without_settings};

fn serve(place: &Place, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dayone"));
    command.arg("serve").args(arguments).stdout(Stdio::null()).stderr(Stdio::piped());
    without_settings(&mut command);
    command.current_dir(place.path(""));
    command
}

fn signal(child: &Child, signal: &str) {
    let status = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

fn wait(mut child: Child) -> ExitStatus {
    let limit = Instant::now() + Duration::from_secs(30);
    while Instant::now() < limit {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let _ = child.kill();
    panic!("dayone does not end");
}

#[test]
fn wrong_settings_exit_with_2_and_advice() {
    let place = Place::new();
    let file = |name: &str, text: &str| fs::write(place.path(name), text).unwrap();
    file("unknown.yaml", "data-dir: data\n\nmedia-uri: http://192.0.2.1\n");
    file("bases.yaml", "bases:\n- name: a\n  iso: coreos.iso\n  kernel: kernel\n");
    file("url.yaml", "media-url: http://192.0.2.1/a?b\n");
    file("short", "short\n");
    fs::set_permissions(place.path("short"), fs::Permissions::from_mode(0o600)).unwrap();
    file("open", "0123456789abcdef\n");
    fs::set_permissions(place.path("open"), fs::Permissions::from_mode(0o644)).unwrap();
    let url = ["--media-url", "http://192.0.2.1:8081"];
    let with_url = |arguments: &[&'static str]| [&url[..], arguments].concat();
    for (arguments, reason) in [
        (vec![], "--media-url"),
        (vec!["--media-url", "http://user:hunter2@192.0.2.1"], "user name or a password"),
        (vec!["--media-url", "http://192.0.2.1/my-media"], "my-media"),
        (with_url(&["--api-listen", "0.0.0.0:0"]), "--api-token-file"),
        (with_url(&["--api-token-file", "short"]), "shorter than 16"),
        (with_url(&["--api-token-file", "nowhere"]), "cannot read"),
        (with_url(&["--api-token-file", "open"]), "mode 0644"),
        (with_url(&["--api-tls-cert", "kernel"]), "--api-tls-cert and --api-tls-key"),
        (with_url(&["--media-tls-cert", "kernel", "--media-tls-key", "kernel"]), "TLS key file"),
        (with_url(&["--base", "nonsense"]), "NAME=PATH"),
        (with_url(&["--log", "loud=="]), "--log"),
        (with_url(&["--log", "verbose"]), "did you mean debug?"),
        (with_url(&["--config", "nowhere.yaml"]), "cannot read the settings file"),
        (vec!["--config", "unknown.yaml"], "unknown.yaml:3:1: unknown setting \"media-uri\"; did you mean media-url?"),
        (vec!["--config", "bases.yaml"], "bases"),
        (vec!["--config", "url.yaml"], "query"),
    ] {
        let output = serve(&place, &arguments).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains(reason), "{arguments:?}: {stderr}");
        assert!(!stderr.contains("panicked"), "{stderr}");
    }
    // A base that is not there is no mistake of the arguments' form.
    let arguments = with_url(&["--base", "a=nowhere.iso", "--data-dir", "data", "--api-listen", "127.0.0.1:0"]);
    let output = serve(&place, &arguments).args(["--media-listen", "127.0.0.1:0"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("nowhere.iso"));
    // A log that says nothing must not hide why the server does not start.
    let output = serve(&place, &arguments).args(["--media-listen", "127.0.0.1:0", "--log", "off"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("dayone does not start") && stderr.contains("nowhere.iso"), "{stderr}");
}

#[test]
fn settings_come_from_file_environment_and_command_line_and_a_signal_ends_it() {
    let place = Place::new();
    let settings = "\
data-dir: from-the-file
api-listen: 127.0.0.1:0
media-listen: 127.0.0.1:0
media-url: http://192.0.2.1:1
log-format: json
bases:
- {name: coreos, iso: coreos.iso}
- {name: ipa, kernel: kernel, initrd: initrd}
";
    fs::write(place.path("settings.yaml"), settings).unwrap();
    let mut child = serve(&place, &["--config", "settings.yaml", "--data-dir", "from-the-command-line"])
        .env("DAYONE_MEDIA_URL", "http://192.0.2.1:2")
        .env("DAYONE_API_TOKEN", "hunter2-hunter2-hunter2")
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let mut log = Vec::new();
    loop {
        let line = lines.next().unwrap_or_else(|| panic!("it ended: {log:?}"));
        let entry: serde_json::Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        log.push(line);
        if entry["message"] == "dayone serves" {
            assert_eq!(entry["media_url"], "http://192.0.2.1:2");
            break;
        }
    }
    assert!(place.path("from-the-command-line/images").is_dir() && !place.path("from-the-file").exists());
    assert!(log.iter().any(|line| line.contains("\"base\":\"ipa\"")), "{log:?}");
    signal(&child, "-TERM");
    log.extend(lines);
    assert_eq!(wait(child).code(), Some(0), "{log:?}");
    assert!(!log.concat().contains("hunter2"));
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let place = Place::new();
    let arguments = ["--data-dir", "data", "--api-listen", "127.0.0.1:0", "--media-listen", "127.0.0.1:0"];
    let mut child = serve(&place, &arguments).args(["--drain-seconds", "60"]).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let serves = lines.by_ref().find(|line| line.contains("dayone serves")).unwrap();
    let api = serves.split_whitespace().find_map(|word| word.strip_prefix("api=")).unwrap();
    // A request that is running, and takes its time.
    let mut stream = std::net::TcpStream::connect(api).unwrap();
    let head = "POST /v1/keyfiles HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/yaml\r\nContent-Length: 9\r\n\r\n";
    std::io::Write::write_all(&mut stream, head.as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    signal(&child, "-INT");
    lines.by_ref().find(|line| line.contains("stopping")).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    assert!(child.try_wait().unwrap().is_none());
    signal(&child, "-INT");
    assert_eq!(wait(child).code(), Some(130));
}

#[test]
fn sighup_reloads_the_tokens_and_ends_nothing() {
    let place = Place::new();
    let tokens = |text: &str, mode| {
        fs::write(place.path("tokens"), text).unwrap();
        fs::set_permissions(place.path("tokens"), fs::Permissions::from_mode(mode)).unwrap();
    };
    tokens("the-first-token-of-all\n", 0o600);
    let arguments = ["--data-dir", "data", "--api-listen", "127.0.0.1:0", "--media-listen", "127.0.0.1:0"];
    let mut child = serve(&place, &arguments).args(["--api-token-file", "tokens"]).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let serves = lines.by_ref().find(|line| line.contains("dayone serves")).unwrap();
    let api = serves.split_whitespace().find_map(|word| word.strip_prefix("api=")).unwrap().to_owned();
    let status = |token: &str| {
        let mut stream = std::net::TcpStream::connect(&api).unwrap();
        let request = format!(
            "GET /v1/bases HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
        );
        std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        line.split(' ').nth(1).unwrap().parse::<u16>().unwrap()
    };
    assert_eq!((status("the-first-token-of-all"), status("another-token-at-last")), (200, 401));

    tokens("another-token-at-last\n", 0o600);
    signal(&child, "-HUP");
    // Who has withdrawn a token reads that it counts no more.
    let read = lines.by_ref().find(|line| line.contains("certificates were read again")).unwrap();
    assert!(read.contains("changed=\"the API's clients or their tokens\""), "{read}");
    assert_eq!((status("the-first-token-of-all"), status("another-token-at-last")), (401, 200));

    signal(&child, "-HUP");
    let read = lines.by_ref().find(|line| line.contains("certificates were read again")).unwrap();
    assert!(read.contains("changed=\"no setting\""), "{read}");

    // A file that cannot be used changes nothing.
    tokens("a-token-for-everybody\n", 0o644);
    signal(&child, "-HUP");
    let refused = lines.by_ref().find(|line| line.contains("read again and are wrong")).unwrap();
    assert!(refused.contains("mode 0644") && !refused.contains("a-token-for"), "{refused}");
    assert_eq!((status("a-token-for-everybody"), status("another-token-at-last")), (401, 200));

    signal(&child, "-TERM");
    lines.by_ref().for_each(drop);
    assert_eq!(wait(child).code(), Some(0));
}

#[test]
fn sighup_does_not_end_the_static_server() {
    let place = Place::new();
    fs::create_dir(place.path("nmstate")).unwrap();
    fs::write(place.path("nmstate/worker-0.yaml"), super::support::NMSTATE).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_dayone"));
    command.args(["static-server", "--nmstate-dir", "nmstate", "--images-bind-addr", "127.0.0.1:0"]);
    command.args(["--images-publish-addr", "http://127.0.0.1:1"]).current_dir(place.path(""));
    fs::write(place.path("static.yaml"), "").unwrap();
    command.args(["--config", "static.yaml"]);
    command.env("DEPLOY_ISO", place.path("coreos.iso")).env("DEPLOY_INITRD", place.path("initrd"));
    command.env("IRONIC_BASE_URL", "http://192.0.2.10").env("IRONIC_AGENT_IMAGE", "registry.example.com/agent:1");
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let mut log = Vec::new();
    let mut until = |what: &str| {
        let found = lines.by_ref().inspect(|line| log.push(line.clone())).find(|line| line.contains(what));
        found.unwrap_or_else(|| panic!("no {what:?}: {log:?}"))
    };
    until("worker-0.initramfs");
    // The images are served a moment before the server has started.
    let is_started = |answer: String| answer.contains("only at start");
    loop {
        signal(&child, "-HUP");
        if is_started(until("SIGHUP")) {
            break;
        }
    }
    until("were read again");
    fs::write(place.path("static.yaml"), "log: debug\ncache-dir: elsewhere\n").unwrap();
    signal(&child, "-HUP");
    let read = until("were read again");
    assert!(read.contains("changed=\"log\""), "{read}");
    let restart = until("need a restart");
    assert!(restart.contains("cache-dir"), "{restart}");
    fs::write(place.path("static.yaml"), "logg: debug\n").unwrap();
    signal(&child, "-HUP");
    assert!(until("read again and are wrong").contains("did you mean log?"));
    signal(&child, "-TERM");
    until("stopped");
    assert_eq!(wait(child).code(), Some(0));
}

/// A server that is told its settings by a file, with its log.
struct Reloading {
    child: Child,
    lines: Box<dyn Iterator<Item = String>>,
    api: String,
    media: String,
    place: Place,
}

impl Reloading {
    fn start(place: Place, settings: &str) -> Self {
        fs::write(place.path("dayone.yaml"), settings).unwrap();
        let listen = ["--data-dir", "data", "--api-listen", "127.0.0.1:0", "--media-listen", "127.0.0.1:0"];
        let mut child = serve(&place, &listen).args(["--config", "dayone.yaml"]).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        let serves = lines.by_ref().find(|line| line.contains("dayone serves")).unwrap();
        let word = |name: &str| serves.split_whitespace().find_map(|word| word.strip_prefix(name)).unwrap().to_owned();
        let (api, media) = (word("api="), word("media="));
        Self { child, lines: Box::new(lines), api, media, place }
    }

    /// Writes settings and has them read. Returns the lines of the log up to the result.
    fn reload(&mut self, settings: &str) -> Vec<String> {
        fs::write(self.place.path("dayone.yaml"), settings).unwrap();
        signal(&self.child, "-HUP");
        let mut seen = Vec::new();
        for line in self.lines.by_ref() {
            let is_result = line.contains("were read again");
            seen.push(line);
            if is_result {
                return seen;
            }
        }
        panic!("no result: {seen:?}");
    }

    fn next_line(&mut self, sign: &str) -> String {
        self.lines.by_ref().find(|line| line.contains(sign)).unwrap()
    }

    /// Whether the images' address shows the certificate with this name.
    fn shows(&self, name: &str) -> bool {
        let root = fs::read(self.place.path(&format!("{name}.crt"))).unwrap();
        let root = reqwest::Certificate::from_pem(&root).unwrap();
        let client = reqwest::blocking::Client::builder().tls_certs_only([root]).build().unwrap();
        client.get(format!("https://{}/", self.media)).send().is_ok()
    }
}

impl Drop for Reloading {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn certificate(place: &Place, name: &str) {
    let issued = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    fs::write(place.path(&format!("{name}.crt")), issued.cert.pem()).unwrap();
    fs::write(place.path(&format!("{name}.key")), issued.signing_key.serialize_pem()).unwrap();
}

#[test]
fn sighup_takes_over_what_can_change_and_names_what_needs_a_restart() {
    let place = Place::new();
    certificate(&place, "one");
    certificate(&place, "other");
    let settings = |name: &str, more: &str| {
        let base = "bases: [coreos=coreos.iso]";
        format!(
            "media-url: https://127.0.0.1:8081\nmedia-tls-cert: {name}.crt\nmedia-tls-key: {name}.key\n{base}\n{more}"
        )
    };
    let mut server = Reloading::start(place, &settings("one", ""));
    assert!(server.shows("one") && !server.shows("other"));

    // Files of other names, the level of the log, and settings for BMCs.
    let seen = server
        .reload(&settings("other", "log: debug\nbmc-network: [192.0.2.0/24]\nboots-at-once: 3\ndata-dir: elsewhere\n"));
    let result = seen.last().unwrap();
    for name in ["media-tls-cert", "media-tls-key", "log", "bmc-network", "boots-at-once"] {
        assert!(result.contains(name), "{name}: {result}");
    }
    assert!(!result.contains("data-dir"), "the command line has the data directory: {result}");
    assert!(server.shows("other") && !server.shows("one"));
    let boot = |server: &Reloading, address: &str| {
        let documents =
            super::boots::host("worker-0", &format!("redfish-virtualmedia+http://{address}/redfish/v1/Systems/1"));
        let request = reqwest::blocking::Client::new().post(format!("http://{}/v1/boots?base=coreos", server.api));
        let answer = request.header("content-type", "application/yaml").body(documents).send().unwrap();
        (answer.status().as_u16(), answer.text().unwrap())
    };
    let (status, text) = boot(&server, "198.51.100.1");
    assert!(status != 201 && text.contains("192.0.2.0/24"), "{status} {text}");
    server.next_line("DEBUG");

    // What needs a restart is named, and is not used.
    server.reload(&settings("other", "media-url: https://127.0.0.1:9999\n").replacen(
        "media-url: https://127.0.0.1:8081\n",
        "",
        1,
    ));
    let restart = server.next_line("need a restart");
    assert!(restart.contains("media-url"), "{restart}");
    server.reload("media-url: https://127.0.0.1:8081\n");
    let restart = server.next_line("need a restart");
    assert!(restart.contains("media-tls-cert") && restart.contains("media-tls-key"), "{restart}");
    assert!(server.shows("other"), "plain HTTP needs a restart");
}

#[test]
fn a_broken_file_changes_nothing_at_sighup() {
    let place = Place::new();
    certificate(&place, "one");
    certificate(&place, "other");
    let settings = |name: &str, more: &str| {
        format!("media-url: https://127.0.0.1:8081\nmedia-tls-cert: {name}.crt\nmedia-tls-key: {name}.key\n{more}")
    };
    let mut server = Reloading::start(place, &settings("one", ""));
    for (more, sign) in [
        ("drain-secs: 3\n", "did you mean drain-seconds?"),
        ("bmc-network: [nonsense]\n", "dayone.yaml:4:15"),
        ("bmc-ca: missing.pem\n", "missing.pem"),
        ("log: loud=loud\n", "loud"),
        ("api-token-file: [missing]\n", "missing"),
    ] {
        let seen = server.reload(&settings("other", more));
        let result = seen.last().unwrap();
        assert!(result.contains("all old ones stay in use") && result.contains(sign), "{more}: {result}");
        assert!(server.shows("one"), "{more}");
    }
    server.reload(&settings("other", ""));
    assert!(server.shows("other"));
}

#[test]
fn settings_that_are_valid_only_after_a_restart_are_not_called_wrong() {
    let place = Place::new();
    certificate(&place, "one");
    fs::write(place.path("clients"), "clients:\n- {name: ops, role: boot, certificate: ops.example}\n").unwrap();
    fs::set_permissions(place.path("clients"), fs::Permissions::from_mode(0o600)).unwrap();
    let settings = "media-url: http://127.0.0.1:8081\n";
    let mut server = Reloading::start(place, settings);
    let clients = format!("{settings}api-clients: clients\n");
    let with_tls = format!("{clients}api-tls-cert: one.crt\napi-tls-key: one.key\napi-client-ca: one.crt\n");
    let seen = server.reload(&with_tls);
    let result = seen.last().unwrap();
    assert!(result.contains("valid only after a restart") && !result.contains("are wrong"), "{result}");
    for named in ["api-tls-cert", "api-tls-key", "add --api-client-ca"] {
        assert!(result.contains(named), "{named}: {result}");
    }
    let seen = server.reload(&clients);
    assert!(seen.last().unwrap().contains("are wrong"), "{seen:?}");
}
