//! The static server: images of a directory of NMState documents, under names that others have written down.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

use acceptance::container::{Container, Program};
use acceptance::metal3::AgentBases;
use acceptance::peers::{peer, run_text};
use acceptance::server::{free_address, wait_for};
use base64::prelude::*;
use reqwest::blocking::{Client, Response};
use reqwest::{Method, StatusCode};
use serde_json::Value;

const ENVIRONMENT: [(&str, &str); 7] = [
    ("DEPLOY_ISO", "/images/ironic-python-agent.iso"),
    ("DEPLOY_INITRD", "/images/ironic-python-agent.initramfs"),
    ("IRONIC_BASE_URL", "http://192.0.2.10"),
    ("IRONIC_AGENT_IMAGE", "registry.example.com/ironic-agent:1"),
    // {"auths":{}}
    ("IRONIC_AGENT_PULL_SECRET", "eyJhdXRocyI6e319"),
    ("IRONIC_RAMDISK_SSH_KEY", ""),
    ("REGISTRIES_CONF_PATH", ""),
];

fn nmstate(address: &str) -> String {
    format!(
        "interfaces:\n- name: eth0\n  type: ethernet\n  state: up\n  ipv4:\n    enabled: true\n    address:\n    \
         - ip: {address}\n      prefix-length: 24\n"
    )
}

fn container(bases: &AgentBases) -> Container {
    let mut container = Container::new();
    container.mount(bases.path("ironic-python-agent.iso").parent().unwrap(), "/images");
    container
}

/// A server that serves, and a client for it.
struct Running {
    program: Program,
    origin: String,
    client: Client,
}

impl Running {
    /// Starts it, and waits until it serves this image.
    fn start(container: &Container, awaited: &str) -> Self {
        let address = free_address();
        let origin = format!("http://{address}");
        let line = ["/image-customization-server", "-nmstate-dir", "/nmstate", "-images-bind-addr", &address];
        let program = container.start(&[&line[..], &["-images-publish-addr", &origin]].concat(), &ENVIRONMENT);
        wait_for(&format!("{origin}/{awaited}"), Duration::from_secs(60), || program.log());
        Self { program, origin, client: Client::builder().no_proxy().build().unwrap() }
    }

    fn ask(&self, method: Method, path: &str, headers: &[(&str, &str)]) -> Response {
        let request = self.client.request(method, format!("{}{path}", self.origin));
        headers.iter().fold(request, |request, (name, value)| request.header(*name, *value)).send().unwrap()
    }

    fn status(&self, path: &str) -> StatusCode {
        self.ask(Method::GET, path, &[]).status()
    }

    fn fetch(&self, path: &str) -> Vec<u8> {
        let answer = self.ask(Method::GET, path, &[]);
        assert_eq!(answer.status(), 200, "{path}\n{}", self.program.log());
        answer.bytes().unwrap().to_vec()
    }

    /// The Ignition config of an ISO, as coreos-installer finds it.
    fn ignition(&self, path: &str) -> Value {
        let directory = tempfile::tempdir().unwrap();
        let iso = directory.path().join("image.iso");
        fs::write(&iso, self.fetch(path)).unwrap();
        let config = run_text(peer("coreos-installer").args(["iso", "ignition", "show"]).arg(&iso));
        serde_json::from_str(&config).unwrap()
    }
}

/// The host's name and its address, as they stand in its Ignition config.
fn told(config: &Value, hostname: &str, address: &str) {
    let unit = config["systemd"]["units"][0]["contents"].as_str().unwrap();
    assert!(unit.contains(&format!("\"IPA_DEFAULT_HOSTNAME={hostname}\"")), "{hostname}: {unit}");
    let files = config["storage"]["files"].as_array().unwrap();
    let keyfile = files.iter().find(|file| file["path"].as_str().unwrap().ends_with(".nmconnection")).unwrap();
    let source = keyfile["contents"]["source"].as_str().unwrap().strip_prefix("data:;base64,").unwrap();
    let keyfile = String::from_utf8(BASE64_STANDARD.decode(source).unwrap()).unwrap();
    assert!(keyfile.contains(&format!("address0={address}/24")), "{hostname}: {keyfile}");
}

#[test]
fn images_have_the_names_of_their_documents() {
    let bases = AgentBases::new();
    let container = container(&bases);
    for number in 0..3 {
        container.write(&format!("/nmstate/nm{number}.yaml"), nmstate(&format!("192.0.2.1{number}")));
    }
    // Of a name only `.yaml` goes, and of a host's name whatever is behind the last dot.
    container.write(
        "/nmstate/json.host.json",
        r#"{"interfaces": [{"name": "eth0", "type": "ethernet", "state": "up",
        "ipv4": {"enabled": true, "dhcp": false, "address": [{"ip": "192.0.2.20", "prefix-length": 24}]}}]}"#,
    );
    container.write("/nmstate/worker.example.com.yaml", nmstate("192.0.2.21"));
    container.write("/nmstate/plain", nmstate("192.0.2.22"));
    let server = Running::start(&container, "nm0.iso");

    let base = bases.read("ironic-python-agent.iso");
    for (image, hostname, address) in [
        ("nm0.iso", "nm0", "192.0.2.10"),
        ("nm1.iso", "nm1", "192.0.2.11"),
        ("nm2.iso", "nm2", "192.0.2.12"),
        ("json.host.json.iso", "json.host", "192.0.2.20"),
        ("worker.example.com.iso", "worker.example.com", "192.0.2.21"),
        ("plain.iso", "plain", "192.0.2.22"),
    ] {
        told(&server.ignition(&format!("/{image}")), hostname, address);
        let head = server.ask(Method::HEAD, &format!("/{image}"), &[]);
        assert_eq!(head.headers()["content-length"], base.len().to_string());
        let initramfs = server.fetch(&format!("/{}", image.replace(".iso", ".initramfs")));
        let path = container.path("/nmstate").with_file_name("fetched");
        fs::write(&path, &initramfs).unwrap();
        let config = run_text(peer("coreos-installer").args(["pxe", "ignition", "unwrap"]).arg(&path));
        told(&serde_json::from_str(&config).unwrap(), hostname, address);
        assert!(initramfs.starts_with(&bases.read("ironic-python-agent.initramfs")));
    }
    // They are said in the order of their names.
    let log = server.program.log();
    let said = |name: &str| log.find(&format!("{}/{name}", server.origin)).unwrap_or_else(|| panic!("{name}: {log}"));
    let order = ["nm0.iso", "nm0.initramfs", "nm1.iso", "nm1.initramfs", "nm2.iso", "nm2.initramfs"].map(said);
    assert!(order.is_sorted(), "{log}");
}

#[test]
fn a_name_is_found_behind_any_path_and_nothing_is_listed() {
    let bases = AgentBases::new();
    let container = container(&bases);
    container.write("/nmstate/nm0.yaml", nmstate("192.0.2.10"));
    let server = Running::start(&container, "nm0.iso");
    let whole = server.fetch("/nm0.iso");
    for path in ["/images/nm0.iso", "/a/b/c/nm0.iso", "//nm0.iso"] {
        assert!(server.fetch(path) == whole, "{path}");
    }
    for path in
        ["/", "/images/", "/index.html", "/nm0.iso/", "/nm0", "/nm0.yaml", "/nm1.iso", "/nm0.kernel", "/../nm0.yaml"]
    {
        assert_eq!(server.status(path), 404, "{path}");
    }
    assert!(!server.ask(Method::GET, "/", &[]).text().unwrap().contains("nm0"));
    assert_eq!(server.ask(Method::POST, "/nm0.iso", &[]).status(), 405);

    let size = whole.len();
    let part = |range: &str| server.ask(Method::GET, "/nm0.iso", &[("Range", range)]);
    for (range, expected) in
        [("bytes=0-511", &whole[..512]), ("bytes=32768-", &whole[32768..]), ("bytes=-100", &whole[size - 100..])]
    {
        let answer = part(range);
        assert_eq!(answer.status(), 206, "{range}");
        assert!(answer.bytes().unwrap() == expected, "{range}");
    }
    let beyond = part(&format!("bytes={size}-"));
    assert_eq!(
        (beyond.status().as_u16(), &beyond.headers()["content-range"]),
        (416, &format!("bytes */{size}").parse().unwrap())
    );
    let several = part("bytes=0-0,2-2");
    assert_eq!(several.status(), 206);
    assert!(several.headers()["content-type"].to_str().unwrap().starts_with("multipart/byteranges"));

    // What was begun can be gone on with, and what is there need not come again. The date comes a second after the image.
    std::thread::sleep(Duration::from_millis(1100));
    let head = server.ask(Method::HEAD, "/nm0.iso", &[]);
    let [etag, modified] = ["etag", "last-modified"].map(|name| head.headers()[name].to_str().unwrap().to_owned());
    let resumed = [("Range", "bytes=1000-"), ("If-Range", &*etag)];
    assert_eq!(server.ask(Method::GET, "/nm0.iso", &resumed).bytes().unwrap(), whole[1000..]);
    let other = [("Range", "bytes=1000-"), ("If-Range", "\"another\"")];
    assert_eq!(server.ask(Method::GET, "/nm0.iso", &other).status(), 200);
    for (name, value) in [("If-None-Match", &etag), ("If-Modified-Since", &modified)] {
        assert_eq!(server.ask(Method::GET, "/nm0.iso", &[(name, value)]).status(), 304, "{name}");
    }
}

/// As the kubelet does it: the files are links into `..data`, which is a link to the directory of one version.
#[test]
fn the_documents_of_a_config_map_are_read() {
    let bases = AgentBases::new();
    let container = container(&bases);
    container.write("/nmstate/..2026_01_02_03_04_05.1/worker-0.yaml", nmstate("192.0.2.10"));
    container.write("/nmstate/..2026_01_02_03_04_05.1/worker-1.yaml", nmstate("192.0.2.11"));
    container.link("/nmstate/..data", "..2026_01_02_03_04_05.1");
    for worker in ["worker-0", "worker-1"] {
        container.link(&format!("/nmstate/{worker}.yaml"), &format!("..data/{worker}.yaml"));
    }
    fs::create_dir(container.path("/nmstate/lost+found")).unwrap();
    let server = Running::start(&container, "worker-0.iso");
    told(&server.ignition("/worker-0.iso"), "worker-0", "192.0.2.10");
    told(&server.ignition("/worker-1.iso"), "worker-1", "192.0.2.11");
    let log = server.program.log();
    assert_eq!(log.matches("image is served").count(), 4, "an ISO and an initramfs of each document: {log}");
}

#[test]
fn a_bad_document_ends_it_and_all_that_is_wrong_is_said() {
    let bases = AgentBases::new();
    let container = container(&bases);
    container.write("/nmstate/a-good.yaml", nmstate("192.0.2.10"));
    container.write("/nmstate/b-bad.yaml", nmstate("192.0.2.300").replace("prefix-length: 24", "prefix-length: 99"));
    container.write("/nmstate/c-typo.yaml", nmstate("192.0.2.11").replace("ethernet", "ethernot"));
    container.write("/nmstate/d-no.yaml", "interfaces: [");
    container.write("/nmstate/x$(reboot).yaml", nmstate("192.0.2.12"));
    let line = ["/machine-image-customization-server", "--nmstate-dir=/nmstate", "-images-bind-addr=127.0.0.1:0"];
    let (code, log) = container.start(&line, &ENVIRONMENT).end();
    assert_eq!(code, Some(1), "{log}");
    for word in ["b-bad.yaml", "c-typo.yaml", "d-no.yaml", "x$(reboot)", "ethernot"] {
        assert!(log.contains(word), "{word}: {log}");
    }
    let (code, log) = container.start(&[line[0], "-nmstate-dir=/no/such", line[2]], &ENVIRONMENT).end();
    assert_eq!(code, Some(1), "{log}");
    assert!(log.contains("/no/such"), "{log}");
}

/// Documents of a directory that is no mount, with links out of it.
#[test]
fn without_a_base_it_says_which() {
    let container = Container::new();
    container.write("/nmstate/nm0.yaml", nmstate("192.0.2.10"));
    let outside = tempfile::tempdir().unwrap();
    symlink(outside.path().join("gone"), container.path("/nmstate/dangling.yaml")).unwrap();
    let line = ["/image-customization-server", "-nmstate-dir", "/nmstate", "-images-bind-addr", "127.0.0.1:0"];
    let (code, log) = container.start(&line, &ENVIRONMENT).end();
    assert_eq!(code, Some(1), "{log}");
    assert!(log.contains("Base Image not available") && log.contains("nm0.yaml"), "{log}");
}
