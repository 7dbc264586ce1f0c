//! sushy-tools, without a hypervisor or with libvirt: a Redfish service that inserts what it is told, and reads it as a
//! BMC would.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use reqwest::blocking::{Client, RequestBuilder};
use serde_json::{Value, json};

use crate::peers::{cache, peer, run_text};
use crate::server::free_address;

/// How an emulator is started.
#[derive(Debug, Default)]
pub struct Options<'a> {
    /// User and password that it asks for, by basic authentication.
    pub credentials: Option<(&'a str, &'a str)>,
    /// Its certificate and its key: files in PEM. Without, it speaks plain HTTP.
    pub tls: Option<(&'a Path, &'a Path)>,
    /// Host and port to listen on. Without, a free port of loopback.
    pub address: Option<&'a str>,
    /// Whether its made-up machine remembers a URL for HTTP boot, as one of libvirt does. Its own driver for made-up machines refuses
    /// one, after it has inserted the image.
    pub http_boot: bool,
    /// The URI of the libvirt whose machines it controls. Without, its one machine is made up.
    pub libvirt: Option<&'a str>,
}

/// The emulator, ended when dropped.
pub struct Emulator {
    process: Child,
    client: Client,
    credentials: Option<(String, String)>,
    directory: PathBuf,
    /// Where it is, such as `http://127.0.0.1:34567`.
    pub origin: String,
    /// The path of its one System.
    pub system: String,
}

impl Emulator {
    /// Starts it, plain and open. Its files go into `directory`, which must not exist yet.
    pub fn start(directory: &Path) -> Self {
        Self::start_with(directory, &Options::default())
    }

    /// Starts it with options.
    pub fn start_with(directory: &Path, options: &Options<'_>) -> Self {
        fs::create_dir(directory).expect("a directory for the emulator");
        let configuration = directory.join("conf.py");
        fs::write(&configuration, configuration_text(directory, options)).expect("its configuration");
        let address = options.address.map_or_else(free_address, str::to_owned);
        let (host, port) = address.rsplit_once(':').expect("host:port");
        let log = fs::File::create(directory.join("log")).expect("a log");
        let driver = options.libvirt.map_or(vec!["--fake"], |uri| vec!["--libvirt-uri", uri]);
        let process = peer("sushy-emulator")
            .args(driver)
            .args(["-i", host.trim_matches(['[', ']']), "-p", port, "--config"])
            .arg(&configuration)
            .env("TMPDIR", directory)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("sushy-emulator starts");
        let scheme = if options.tls.is_some() { "https" } else { "http" };
        let client = Client::builder().tls_danger_accept_invalid_certs(true).no_proxy().build().expect("a client");
        let mut emulator = Self {
            process,
            client,
            credentials: options.credentials.map(|(user, password)| (user.to_owned(), password.to_owned())),
            directory: directory.to_owned(),
            origin: format!("{scheme}://{address}"),
            system: String::new(),
        };
        let systems = emulator.first_answer("/redfish/v1/Systems");
        systems["Members"][0]["@odata.id"].as_str().expect("a System").clone_into(&mut emulator.system);
        emulator
    }

    /// A resource of it.
    pub fn get(&self, path: &str) -> Value {
        let answer = self.as_user(self.client.get(format!("{}{path}", self.origin))).send().expect("an answer");
        answer.json().unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Its System: power and boot override.
    pub fn system_state(&self) -> Value {
        self.get(&self.system)
    }

    /// The virtual CD.
    pub fn media(&self) -> Value {
        self.get(&format!("{}/VirtualMedia/Cd", self.system))
    }

    /// An action of the virtual CD, which must succeed.
    pub fn media_action(&self, name: &str, body: &Value) {
        let url = format!("{}{}/VirtualMedia/Cd/Actions/VirtualMedia.{name}", self.origin, self.system);
        let answer = self.as_user(self.client.post(url)).json(body).send().expect("an answer");
        assert_eq!(answer.status(), 204, "{name}: {}", answer.text().expect("text"));
    }

    /// Has the machine start from the virtual CD, and switches it on.
    pub fn boot_cd(&self, mode: &str) {
        self.change_system(&json!({"Boot": {"BootSourceOverrideTarget": "Cd", "BootSourceOverrideEnabled": "Once",
            "BootSourceOverrideMode": mode}}));
        let reset = format!("{}{}/Actions/ComputerSystem.Reset", self.origin, self.system);
        let answer = self.as_user(self.client.post(reset)).json(&json!({"ResetType": "On"})).send();
        let answer = answer.expect("an answer");
        assert_eq!(answer.status(), 204, "{}", answer.text().expect("text"));
    }

    /// Changes its System, which must succeed.
    pub fn change_system(&self, body: &Value) {
        let request = self.client.patch(format!("{}{}", self.origin, self.system));
        let answer = self.as_user(request).json(body).send().expect("an answer");
        assert_eq!(answer.status(), 204, "{}", answer.text().expect("text"));
    }

    /// Switches Secure Boot of its machine on or off.
    pub fn set_secure_boot(&self, enable: bool) {
        let request = self.client.patch(format!("{}{}/SecureBoot", self.origin, self.system));
        let answer = self.as_user(request).json(&json!({"SecureBootEnable": enable})).send().expect("an answer");
        assert_eq!(answer.status(), 204, "{}", answer.text().expect("text"));
    }

    /// Inserts `image` and nothing else.
    pub fn insert(&self, image: &str) {
        self.media_action("InsertMedia", &json!({"Image": image, "Inserted": true}));
    }

    /// The images that it has read and not given up since.
    pub fn fetched(&self) -> Vec<PathBuf> {
        let directories = fs::read_dir(&self.directory).expect("its directory").map(|entry| entry.expect("one").path());
        let images = directories.filter(|path| path.is_dir()).flat_map(|path| fs::read_dir(path).expect("a directory"));
        let is_image = |path: &PathBuf| path.extension().is_some_and(|suffix| suffix == "iso" || suffix == "img");
        images.map(|entry| entry.expect("a file").path()).filter(is_image).collect()
    }

    /// What it has written: every request with its status.
    pub fn log(&self) -> String {
        fs::read_to_string(self.directory.join("log")).unwrap_or_default()
    }

    fn as_user(&self, request: RequestBuilder) -> RequestBuilder {
        match &self.credentials {
            Some((user, password)) => request.basic_auth(user, Some(password)),
            None => request,
        }
    }

    fn first_answer(&self, path: &str) -> Value {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let answer = self.as_user(self.client.get(format!("{}{path}", self.origin))).send();
            if let Ok(answer) = answer.and_then(reqwest::blocking::Response::error_for_status) {
                return answer.json().expect("JSON");
            }
            assert!(Instant::now() < deadline, "{} does not answer:\n{}", self.origin, self.log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn configuration_text(directory: &Path, options: &Options<'_>) -> String {
    // Its machines take 1 to 11 s to change their power, as drawn: here always the least. The file is a program.
    let least = "import random\nrandom.randint = lambda least, most: least\n";
    let mut text = format!("{least}SUSHY_EMULATOR_STATE_DIR = {directory:?}\n");
    if let Some((user, password)) = options.credentials {
        let file = directory.join("htpasswd");
        fs::write(&file, format!("{user}:{}\n", bcrypt(password))).expect("its users");
        text += &format!("SUSHY_EMULATOR_AUTH_FILE = {file:?}\n");
    }
    if options.libvirt.is_some() {
        text += FIRMWARE;
    }
    if options.http_boot {
        text += HTTP_BOOT;
    }
    if let Some((certificate, key)) = options.tls {
        text += &format!("SUSHY_EMULATOR_SSL_CERT = {certificate:?}\nSUSHY_EMULATOR_SSL_KEY = {key:?}\n");
    }
    text
}

/// What its driver for libvirt does, which remembers one URL.
const HTTP_BOOT: &str = "from sushy_tools.emulator.resources.systems.fakedriver import FakeDriver
FakeDriver.http_boot_uri = None
FakeDriver.get_http_boot_uri = lambda self, identity: self.http_boot_uri
FakeDriver.set_http_boot_uri = lambda self, uri: setattr(self, 'http_boot_uri', uri)
";

/// Debian's files: those that it would take have other names, and libvirt would be given none for BIOS.
const FIRMWARE: &str = "SUSHY_EMULATOR_BOOT_LOADER_MAP = {
    'UEFI': {'x86_64': '/usr/share/OVMF/OVMF_CODE_4M.fd'}, 'Legacy': {'x86_64': '/usr/share/seabios/bios-256k.bin'}}
SUSHY_EMULATOR_SECURE_BOOT_DISABLED_NVRAM = '/usr/share/OVMF/OVMF_VARS_4M.fd'
";

/// The only hash that it takes.
fn bcrypt(password: &str) -> String {
    let script = "import bcrypt, sys; print(bcrypt.hashpw(sys.argv[1].encode(), bcrypt.gensalt(4)).decode())";
    let hash = run_text(Command::new(cache().join("sushy-tools-2.2.0/bin/python")).args(["-c", script, password]));
    hash.trim().to_owned()
}
