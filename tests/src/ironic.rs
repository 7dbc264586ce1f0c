//! Ironic as Metal3 runs it: API and conductor in one process, no authentication, SQLite, Redfish virtual media.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use reqwest::blocking::{Client, RequestBuilder};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::peers::{cache, run};
use crate::server::{free_address, wait_for};
use crate::sushy::Emulator;

/// Where an ISO comes from as the BMC sees it.
#[derive(Debug, Clone, Copy)]
pub enum DownloadSource {
    /// The URL as it was given.
    Http,
    /// Ironic's own web server, where Ironic puts what it has downloaded. This is its default.
    Local,
}

impl DownloadSource {
    fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Local => "local",
        }
    }
}

/// Ironic and the web server that it publishes with, ended when dropped. Their logs are kept if a test fails.
pub struct Ironic {
    // Dropped, and so ended, before the directory that they write into.
    _conductor: Group,
    _web: Group,
    client: Client,
    api: String,
    /// What Ironic's web server serves, such as `http://127.0.0.1:34567`.
    pub web: String,
    directory: TempDir,
}

impl Ironic {
    /// Starts it with an empty database. BMCs get URLs of ISOs as they were given.
    pub fn start() -> Self {
        Self::start_with(DownloadSource::Http)
    }

    /// Starts it with an empty database.
    pub fn start_with(source: DownloadSource) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path();
        for name in ["state", "lock", "master", "tmp", "images", "instances", "tftp", "tftp-master", "web"] {
            fs::create_dir(path.join(name)).expect("a directory");
        }
        let (api, web) = (free_address(), free_address());
        let configuration = path.join("ironic.conf");
        fs::write(&configuration, configuration_text(path, &api, &web, source)).expect("a configuration");
        run(program("ironic-dbsync").arg("--config-file").arg(&configuration).arg("create_schema"));
        let (_, web_port) = web.split_once(':').expect("host:port");
        let web_server = Group::start(
            program("python")
                .args(["-m", "http.server", web_port, "--bind", "127.0.0.1", "--directory"])
                .arg(path.join("web")),
            &path.join("web.log"),
        );
        // It derives a key from the BMC's password, for a quarter of a second, before each of hundreds of requests.
        let remembered = "import functools, hashlib\nhashlib.pbkdf2_hmac = functools.cache(hashlib.pbkdf2_hmac)\n";
        fs::write(path.join("sitecustomize.py"), remembered).expect("a file");
        let log = path.join("ironic.log");
        let mut ironic = program("ironic");
        ironic.arg("--config-file").arg(&configuration).env("PYTHONPATH", path);
        let conductor = Group::start(&mut ironic, &log);
        let api = format!("http://{api}");
        let shown = || fs::read_to_string(&log).unwrap_or_default();
        wait_for(&format!("{api}/v1/drivers/redfish"), Duration::from_secs(60), shown);
        let client = Client::builder().no_proxy().build().expect("a client");
        Self { _conductor: conductor, _web: web_server, client, api, web: format!("http://{web}"), directory }
    }

    /// A directory that is gone when Ironic is, unless a test failed.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Publishes a file with Ironic's web server and returns its URL.
    pub fn publish(&self, name: &str, bytes: &[u8]) -> String {
        fs::write(self.directory().join("web").join(name), bytes).expect("a file");
        format!("{}/{name}", self.web)
    }

    /// Whether Ironic has put the ISO of a node on its web server.
    pub fn republishes(&self, node: &Node<'_>) -> Option<String> {
        let name = format!("redfish/boot-{}.iso", node.id);
        self.directory().join("web").join(&name).exists().then(|| format!("{}/{name}", self.web))
    }

    /// Enrols the machine of an emulator, as a node that boots an ISO and is then active (`ramdisk`).
    pub fn ramdisk_node(&self, name: &str, bmc: &Emulator, iso: &str, source: DownloadSource) -> Node<'_> {
        let instance = json!({"boot_iso": iso, "ramdisk_image_download_source": source.name()});
        self.enrol(name, "ramdisk", bmc, json!({}), &instance)
    }

    /// Enrols the machine of an emulator, as a node whose disk is written by the agent that its ISO starts (`direct`):
    /// the way of Metal3.
    pub fn direct_node(&self, name: &str, bmc: &Emulator, deploy_iso: &str) -> Node<'_> {
        self.agent_node(name, bmc, json!({"deploy_iso": deploy_iso}))
    }

    /// The same, of whatever its driver is told that the agent is in.
    pub fn agent_node(&self, name: &str, bmc: &Emulator, driver: Value) -> Node<'_> {
        let disk = self.publish(&format!("{name}.raw"), &[0; 512]);
        let instance = json!({
            "image_source": disk,
            "image_disk_format": "raw",
            "image_os_hash_algo": "sha256",
            "image_os_hash_value": "076a27c79e5ace2a3d47f9dd2e83e4ff6ea8872b3c2218f66c92b89b55f36560",
        });
        self.enrol(name, "direct", bmc, driver, &instance)
    }

    fn enrol(&self, name: &str, deploy: &str, bmc: &Emulator, more: Value, instance: &Value) -> Node<'_> {
        let mut driver = json!({
            "redfish_address": bmc.origin,
            "redfish_system_id": bmc.system,
            "redfish_verify_ca": false,
        });
        let Value::Object(more) = more else { panic!("an object: {more}") };
        driver.as_object_mut().expect("an object").extend(more);
        let node = json!({
            "name": name,
            "driver": "redfish",
            "driver_info": driver,
            "boot_interface": "redfish-virtual-media",
            "deploy_interface": deploy,
            "properties": {"capabilities": "boot_mode:uefi"},
            "instance_info": instance,
        });
        let answer = self.send(self.client.post(format!("{}/v1/nodes", self.api)).json(&node));
        let id = answer["uuid"].as_str().expect("a UUID").to_owned();
        let node = Node { ironic: self, id, instance: instance.clone() };
        node.provision("manage", "manageable");
        node.provision("provide", "available");
        node
    }

    fn send(&self, request: RequestBuilder) -> Value {
        let answer = request.header("X-OpenStack-Ironic-API-Version", "latest").send().expect("an answer of Ironic");
        let (status, text) = (answer.status(), answer.text().expect("text"));
        assert!(status.is_success(), "Ironic answers {status}: {text}");
        if text.is_empty() { Value::Null } else { serde_json::from_str(&text).expect("JSON") }
    }
}

impl Drop for Ironic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.directory.disable_cleanup(true);
            eprintln!("Ironic's logs are in {}", self.directory().display());
        }
    }
}

/// A node of Ironic's.
pub struct Node<'a> {
    ironic: &'a Ironic,
    id: String,
    instance: Value,
}

impl Node<'_> {
    /// Asks for a change of state and waits until it is there.
    pub fn provision(&self, target: &str, state: &str) {
        let node = self.ask(target, &[state, "deploy failed", "enroll", "error"], Duration::from_secs(120));
        assert_eq!(node["provision_state"], state, "{target}: {}", node["last_error"]);
    }

    /// Says again what is to be deployed: a node that is deleted forgets it.
    pub fn set_instance(&self) {
        let patch = json!([{"op": "add", "path": "/instance_info", "value": self.instance}]);
        self.ironic.send(self.ironic.client.patch(self.url()).json(&patch));
    }

    /// Asks for a deployment that must fail, and returns what Ironic says about it: in the node's history, since it
    /// clears `last_error` again when the clean-up finds the machine switched off.
    pub fn deploy_fails(&self) -> String {
        let node = self.ask("active", &["active", "deploy failed"], Duration::from_secs(180));
        assert_eq!(node["provision_state"], "deploy failed", "{node:#}");
        let history = self.ironic.send(self.ironic.client.get(format!("{}/history?detail=true", self.url())));
        let events = history["history"].as_array().expect("a list").iter();
        let errors: Vec<_> = events.filter_map(|event| event["event"].as_str()).collect();
        assert!(!errors.is_empty(), "{history:#}");
        errors.join("\n")
    }

    /// The node as Ironic shows it.
    pub fn show(&self) -> Value {
        self.ironic.send(self.ironic.client.get(self.url()))
    }

    fn state(&self) -> Value {
        let fields = "provision_state,provision_updated_at,last_error";
        self.ironic.send(self.ironic.client.get(format!("{}?fields={fields}", self.url())))
    }

    fn ask(&self, target: &str, until: &[&str], limit: Duration) -> Value {
        let before = self.state()["provision_updated_at"].clone();
        let url = format!("{}/states/provision", self.url());
        self.ironic.send(self.ironic.client.put(url).json(&json!({"target": target})));
        let deadline = Instant::now() + limit;
        loop {
            let node = self.state();
            let state = node["provision_state"].as_str().expect("a state");
            if node["provision_updated_at"] != before && until.contains(&state) {
                return node;
            }
            assert!(Instant::now() < deadline, "{target}: still {state} after {limit:?}: {}", node["last_error"]);
            // An answer costs it some 20 ms of its one thread.
            std::thread::sleep(Duration::from_millis(500));
        }
    }

    fn url(&self) -> String {
        format!("{}/v1/nodes/{}", self.ironic.api, self.id)
    }
}

/// A process and those that it starts.
struct Group {
    process: Child,
}

impl Group {
    fn start(command: &mut Command, log: &Path) -> Self {
        use std::os::unix::process::CommandExt;
        let log = fs::File::create(log).expect("a log");
        command.process_group(0).stdin(Stdio::null()).stdout(log.try_clone().expect("a log")).stderr(log);
        Self { process: command.spawn().expect("it starts") }
    }

    fn end(&mut self) {
        // Only while it is not waited for: its number may be another's afterwards.
        if matches!(self.process.try_wait(), Ok(None)) {
            let _ = kill_process_group(Pid::from_child(&self.process), Signal::KILL);
            let _ = self.process.wait();
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}

fn program(name: &str) -> Command {
    let path = cache().join("ironic-39.0.0/bin").join(name);
    assert!(path.exists(), "{} is missing; run scripts/setup-peers.sh", path.display());
    Command::new(path)
}

fn configuration_text(directory: &Path, api: &str, web: &str, source: DownloadSource) -> String {
    let directory = directory.display();
    let (_, api_port) = api.split_once(':').expect("host:port");
    let source = source.name();
    format!(
        "[DEFAULT]
auth_strategy = noauth
rpc_transport = none
host = acceptance
state_path = {directory}/state
tempdir = {directory}/tmp
enabled_hardware_types = redfish
enabled_bios_interfaces = no-bios
enabled_boot_interfaces = redfish-virtual-media
enabled_console_interfaces = no-console
enabled_deploy_interfaces = ramdisk,direct
enabled_firmware_interfaces = no-firmware
enabled_inspect_interfaces = no-inspect
enabled_management_interfaces = redfish
enabled_network_interfaces = noop
enabled_power_interfaces = redfish
enabled_raid_interfaces = no-raid
enabled_rescue_interfaces = no-rescue
enabled_storage_interfaces = noop
enabled_vendor_interfaces = no-vendor
[api]
host_ip = 127.0.0.1
port = {api_port}
api_workers = 1
[conductor]
automated_clean = false
sync_power_state_interval = 0
[database]
connection = sqlite:///{directory}/state/ironic.sqlite
[deploy]
http_url = http://{web}
http_root = {directory}/web
iso_master_path = {directory}/master
ramdisk_image_download_source = {source}
[dhcp]
dhcp_provider = none
[oslo_concurrency]
lock_path = {directory}/lock
[pxe]
images_path = {directory}/images
instance_master_path = {directory}/instances
tftp_root = {directory}/tftp
tftp_master_path = {directory}/tftp-master
[sensor_data]
send_sensor_data = false
[service_catalog]
auth_type = none
endpoint_override = http://{api}
"
    )
}
