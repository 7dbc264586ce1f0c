//! The quick starts and guides of `docs/`: their commands are run as they stand there, and what the pages show as output is
//! what comes. Only places are replaced.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use acceptance::bases::fixtures;
use acceptance::boots::Callers;
use acceptance::nginx::Nginx;
use acceptance::peers::run_text;
use acceptance::server::{dayone, free_address, wait_for};
use acceptance::sushy::{Emulator, Options};
use imagelib::digest::Digest;
use tempfile::TempDir;

/// A code block of a page.
struct Block {
    /// What is behind the fence: the language, and what to do with the block.
    info: String,
    text: String,
}

impl Block {
    fn has(&self, word: &str) -> bool {
        self.info.split(' ').any(|other| other == word)
    }

    fn file(&self) -> Option<&str> {
        self.info.split(' ').find_map(|word| word.strip_prefix("file="))
    }
}

/// Code blocks in order. Those in lists, which are indented, are not commands to run here.
fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(info) = line.strip_prefix("```") else { continue };
        let text: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        blocks.push(Block { info: info.to_owned(), text: text.join("\n") });
    }
    blocks
}

struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A reader of a page: a directory with a base, and what the page's addresses stand for.
struct Reader {
    directory: TempDir,
    places: Vec<(String, String)>,
    api: String,
    servers: Vec<Ended>,
    _bmc: Emulator,
    _callers: Callers,
}

impl Reader {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let base = Command::new("xz").arg("-dc").arg(fixtures("bases/coreos-packed.iso.xz")).output().unwrap();
        fs::write(directory.path().join("live.iso"), base.stdout).unwrap();
        let options = Options { credentials: Some(("admin", "hunter2-hunter2")), ..Options::default() };
        let bmc = Emulator::start_with(&directory.path().join("bmc"), &options);
        let (api, media, other) = (free_address(), free_address(), free_address());
        let places = [
            ("/var/lib/dayone", directory.path().join("data").display().to_string()),
            (
                "--media-url http://192.0.2.10:8081 --eject",
                format!("--media-listen {media} --media-url http://{media} --eject"),
            ),
            ("127.0.0.1:8080", api.clone()),
            ("0.0.0.0:8081", media.clone()),
            ("192.0.2.10:8081", media),
            ("192.0.2.10:8000", other),
            (
                "redfish-virtualmedia+https://192.0.2.200/redfish/v1/Systems/1",
                format!("redfish-virtualmedia+{}{}", bmc.origin, bmc.system),
            ),
            ("https://192.0.2.200", bmc.origin.clone()),
            ("system=/redfish/v1/Systems/1", format!("system={}", bmc.system)),
        ];
        let places = places.map(|(place, real)| (place.to_owned(), real)).to_vec();
        let callers = Callers::start(directory.path());
        Self { directory, places, api, servers: Vec::new(), _bmc: bmc, _callers: callers }
    }

    /// A text of the page, with real places.
    fn real(&self, text: &str) -> String {
        self.places.iter().fold(text.to_owned(), |text, (place, real)| text.replace(place, real))
    }

    /// An output, with the page's places.
    fn shown(&self, output: &str) -> String {
        self.places.iter().rev().fold(output.to_owned(), |output, (place, real)| output.replace(real, place))
    }

    fn shell(&self, script: &str) -> Command {
        let binaries = PathBuf::from(dayone().get_program()).parent().unwrap().to_owned();
        let mut command = Command::new("bash");
        command.args(["-euo", "pipefail", "-c", &self.real(script)]).current_dir(self.directory.path());
        command.env("PATH", format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap()));
        // What `dayone boot` makes is gone with the test, and the hosts that call home here find its images.
        command.env("NO_COLOR", "1").env("TMPDIR", self.directory.path()).stdin(Stdio::null());
        command
    }

    /// Serves the directory with Python's server, which has no ranges.
    fn serve_files(&mut self) {
        let address = self.real("192.0.2.10:8000");
        let (host, port) = address.rsplit_once(':').unwrap();
        fs::copy(self.directory.path().join("live.iso"), self.directory.path().join("boot.iso")).unwrap();
        let mut server = Command::new("/usr/bin/python3");
        server.args(["-m", "http.server", "--bind", host, port]).current_dir(self.directory.path());
        self.servers.push(Ended(server.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()));
        wait_for(&format!("http://{address}/boot.iso"), Duration::from_secs(30), String::new);
    }

    /// Does what a page says, and compares what comes with what the page shows. Returns how many commands it ran.
    fn follow(&mut self, page: &Path) -> usize {
        let (mut ran, mut output) = (0, None);
        for block in blocks(&fs::read_to_string(page).unwrap()) {
            if let Some(file) = block.file() {
                let text = self.real(&block.text);
                fs::write(self.directory.path().join(file), format!("{text}\n")).unwrap();
            } else if block.has("sh") && block.has("background") {
                let server = self.shell(&format!("exec {}", block.text)).stderr(Stdio::null()).spawn().unwrap();
                self.servers.push(Ended(server));
                wait_for(&format!("http://{}/readyz", self.api), Duration::from_secs(30), String::new);
                ran += 1;
            } else if block.has("sh") {
                let result = self.shell(&format!("{{ {}\n}} 2>&1", block.text)).output().unwrap();
                let text = self.shown(&String::from_utf8(result.stdout).unwrap());
                assert_eq!(result.status.success(), !block.has("fails"), "{}: {}\n{text}", page.display(), block.text);
                output = Some(text);
                ran += 1;
                continue;
            } else if let (true, Some(output)) = (block.has("text"), &output) {
                assert_shown(page, &block.text, output);
            }
            output = None;
        }
        ran
    }
}

/// Each part of a shown output, between lines with an ellipsis, must be in the real one; line breaks do not count.
fn assert_shown(page: &Path, shown: &str, output: &str) {
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in shown.split("\n…").map(plain) {
        assert!(plain(output).contains(&part), "{}: {part}\nis not in\n{output}", page.display());
    }
}

fn follow(page: &str, prepare: impl FnOnce(&mut Reader)) -> Reader {
    let mut reader = Reader::new();
    prepare(&mut reader);
    let ran = reader.follow(&fixtures("../docs").join(page));
    assert!(ran > 0, "{page} has no command");
    reader
}

/// The host of the first quick start, which other pages use too.
fn quick_start_host() -> String {
    let page = fs::read_to_string(fixtures("../docs/start/one-host.md")).unwrap();
    let host = blocks(&page).into_iter().find(|block| block.file() == Some("worker-0.yaml"));
    format!("{}\n", host.unwrap().text)
}

#[test]
fn one_host_one_iso() {
    let reader = follow("start/one-host.md", |_| ());
    // The picture on the page is that of the page's document.
    fs::write(reader.directory.path().join("worker-0.yaml"), quick_start_host()).unwrap();
    run_text(&mut reader.shell("dayone convert --svg worker-0.svg worker-0.yaml"));
    let drawn = fs::read_to_string(reader.directory.path().join("worker-0.svg")).unwrap();
    let picture = fixtures("../docs/pictures/worker-0.svg");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&picture, &drawn).unwrap();
    }
    assert!(fs::read_to_string(&picture).unwrap() == drawn, "another picture; UPDATE_GOLDEN=1 writes it");
}

#[test]
fn static_addresses_for_a_rack_with_curl() {
    follow("start/rack.md", |_| ());
}

#[test]
fn a_table_of_forty_machines() {
    follow("start/table.md", |_| ());
}

#[test]
fn my_bmc_does_not_mount_it() {
    follow("start/bmc-does-not-mount.md", Reader::serve_files);
}

#[test]
fn a_bmc_at_50_kilobytes_per_second() {
    follow("how-to/slow-bmc.md", |reader| {
        fs::write(reader.directory.path().join("worker-0.yaml"), quick_start_host()).unwrap();
    });
}

#[test]
fn rolling_out_a_new_base() {
    let mirror = Nginx::start(None);
    follow("how-to/replace-a-base.md", |reader| {
        let old = fs::read(reader.directory.path().join("live.iso")).unwrap();
        let mut new = old.clone();
        // The volume's application identifier.
        new[16 * 2048 + 574] ^= 1;
        let of_page = [
            ("44.20261101", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", old),
            ("44.20261115", "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752", new),
        ];
        for (release, digest, iso) in of_page {
            fs::create_dir(mirror.root().join(release)).unwrap();
            fs::write(mirror.root().join(release).join("live.iso"), &iso).unwrap();
            reader.places.push((digest.to_owned(), Digest::of(&iso).to_string()));
        }
        reader.places.push(("https://mirror.example/coreos/".to_owned(), mirror.url("")));
    });
}

#[test]
fn limiting_the_access_to_an_image() {
    follow("how-to/limit-access.md", |reader| {
        fs::write(reader.directory.path().join("worker-0.yaml"), quick_start_host()).unwrap();
    });
}

#[test]
fn clients_with_roles_and_an_audit_log() {
    follow("how-to/operators.md", |reader| {
        fs::write(reader.directory.path().join("worker-0.yaml"), quick_start_host()).unwrap();
        let directory = reader.directory.path().display().to_string();
        // The tokens whose digests the page shows.
        let places = [
            ("openssl rand -hex 32", "printf test"),
            ("openssl rand -hex 33", "printf test2"),
            ("/etc/dayone", &directory),
            ("/var/log/dayone", &directory),
        ];
        reader.places.extend(places.map(|(place, real)| (place.to_owned(), real.to_owned())));
    });
}

#[test]
fn rotating_the_key() {
    follow("how-to/rotate-the-key.md", |reader| {
        fs::write(reader.directory.path().join("worker-0.yaml"), quick_start_host()).unwrap();
    });
}

#[test]
fn encrypting_the_data_directory() {
    follow("how-to/encrypt-the-data-directory.md", |reader| {
        fs::write(reader.directory.path().join("worker-0.yaml"), quick_start_host()).unwrap();
    });
}

#[test]
fn backing_up() {
    follow("how-to/back-up.md", |reader| {
        fs::write(reader.directory.path().join("worker-0.yaml"), quick_start_host()).unwrap();
    });
}

#[test]
fn security() {
    follow("how-to/security.md", |_| ());
}

/// The quick starts and guides: the name of each, and its code blocks.
fn pages() -> Vec<(String, Vec<Block>)> {
    let mut pages = Vec::new();
    for folder in ["start", "how-to"] {
        for entry in fs::read_dir(fixtures("../docs").join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("{folder}/{}", path.file_name().unwrap().to_str().unwrap());
            pages.push((name, blocks(&fs::read_to_string(&path).unwrap())));
        }
    }
    pages
}

/// A page with commands that no test runs would rot.
#[test]
fn every_page_with_commands_is_followed() {
    let tests = include_str!("pages.rs");
    for (name, blocks) in pages() {
        let has_commands = blocks.iter().any(|block| block.has("sh"));
        assert!(!has_commands || tests.contains(&format!("follow(\"{name}\"")), "{name} is followed by no test");
    }
}

/// A live system runs from its medium, unless it has fetched its root file system.
#[test]
fn no_page_ejects_the_medium_of_a_running_system() {
    let mut ejecting = 0;
    for (name, blocks) in pages() {
        for block in blocks {
            if block.text.contains("--eject-when-booted") || block.text.contains("eject=when-booted") {
                ejecting += 1;
                assert!(block.text.contains("minimal-iso"), "{name}: {}", block.text);
            }
        }
    }
    assert!(ejecting > 0, "no page shows how to eject the medium");
}
