//! Bases in their places, on file systems that can share blocks between files (XFS, Btrfs), and on one that cannot (ext4). On the
//! former, the kernel sends the bytes by itself. Bytes that are written to a base later reach no client of either.

use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use acceptance::bases::{coreos_iso, fixtures};
use acceptance::file_system::FileSystem;
use acceptance::server::{Server, free_address};
use reqwest::blocking::Client;
use rustix::process::{Pid, Signal, kill_process};

/// More than the kernel queues for a client.
const SIZE: &str = "64";

/// The smallest that all of them can be made with.
const MEBIBYTES: u64 = 512;

/// So old that every write changes the base's ctime.
const SETTLED: Duration = Duration::from_millis(2500);

/// A server over a base, with the image of a host.
struct Site {
    server: Server,
    media: String,
    url: String,
}

impl Site {
    fn start(base: &Path, data: Option<&Path>) -> Self {
        let media = free_address();
        let data = data.map(|data| data.display().to_string());
        let more = data.iter().flat_map(|data| ["--data-dir", data]).collect::<Vec<_>>();
        let server = Server::start_at(&free_address(), &media, "coreos", base, &more);
        let image = server.image("coreos", &fixtures("scenarios").join("static-ipv4-baremetalhost.yaml"));
        let url = image["url"].as_str().unwrap().to_owned();
        Self { server, media, url }
    }

    fn whole(&self) -> Vec<u8> {
        Client::builder().no_proxy().build().unwrap().get(&self.url).send().unwrap().bytes().unwrap().to_vec()
    }

    fn path(&self) -> &str {
        self.url.strip_prefix(&format!("http://{}", self.media)).unwrap()
    }

    /// The bytes of the image, and whether the kernel sent any by itself.
    fn traced(&self) -> (Vec<u8>, bool) {
        let log = self.server.directory().join("calls");
        let mut strace = Command::new("strace");
        strace.args(["-f", "-qq", "-e", "trace=sendfile", "-p", &self.server.process_id().to_string(), "-o"]).arg(&log);
        let mut strace = strace.stdin(Stdio::null()).spawn().expect("strace; see scripts/setup-peers.sh");
        self.wait_for_tracer(&strace);
        let bytes = self.whole();
        kill_process(Pid::from_child(&strace), Signal::INT).unwrap();
        strace.wait().unwrap();
        (bytes, fs::read_to_string(&log).unwrap().contains("sendfile("))
    }

    /// Waits until all threads of the server are traced.
    fn wait_for_tracer(&self, strace: &Child) {
        let tasks = format!("/proc/{}/task", self.server.process_id());
        let is_traced = |task: &Path| {
            fs::read_to_string(task.join("status"))
                .is_ok_and(|status| status.lines().any(|line| line == format!("TracerPid:\t{}", strace.id())))
        };
        let begun = Instant::now();
        while !fs::read_dir(&tasks).unwrap().all(|task| is_traced(&task.unwrap().path())) {
            assert!(begun.elapsed() < Duration::from_secs(20), "strace does not trace the server");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// A client that has asked for the whole image, and has read the head of the answer alone.
    fn slow_client(&self) -> TcpStream {
        let mut client = TcpStream::connect(&self.media).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        client.write_all(format!("GET {} HTTP/1.1\r\nHost: b\r\n\r\n", self.path()).as_bytes()).unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            client.read_exact(&mut byte).unwrap();
            head.extend(byte);
        }
        assert!(head.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&head));
        client
    }
}

/// What the client still gets before the connection ends, in good order or by a reset.
fn rest(mut client: TcpStream) -> Vec<u8> {
    let mut rest = Vec::new();
    if let Err(error) = client.read_to_end(&mut rest) {
        assert_eq!(error.kind(), ErrorKind::ConnectionReset, "after {} bytes", rest.len());
    }
    rest
}

/// Somebody writes other bytes to every place of the base.
fn overwrite(base: &Path) {
    let file = fs::File::options().write(true).open(base).unwrap();
    for mebibyte in 0..file.metadata().unwrap().len() >> 20 {
        file.write_all_at(&[0xEE; 1 << 20], mebibyte << 20).unwrap();
    }
    file.sync_all().unwrap();
}

/// The base with `SIZE` MiB, as a file of its own.
fn base_in(directory: &Path) -> PathBuf {
    let base = directory.join("base.iso");
    fs::create_dir_all(directory).unwrap();
    fs::copy(coreos_iso(&["--size-mib", SIZE]), &base).unwrap();
    base
}

fn writes_reach_no_client(kind: &str, shares_blocks: bool) {
    let Some(mut file_system) = FileSystem::make(kind, MEBIBYTES) else { return };
    let base = base_in(&file_system.path().join("bases"));
    let data = file_system.path().join("data");
    let bound = file_system.read_only("bases");
    thread::sleep(SETTLED);
    // The copy without a name is in the data directory if that shares blocks with the base, and else beside the base.
    for (shown, data) in [(bound.join("base.iso"), Some(data.as_path())), (base.clone(), None)] {
        let site = Site::start(&shown, data);
        let (image, sent_by_the_kernel) = site.traced();
        assert_eq!(sent_by_the_kernel, shares_blocks, "{kind}, {}\n{}", shown.display(), site.server.log());
        assert_eq!(site.server.log().contains("shares its blocks"), shares_blocks, "{kind}");

        let clients: Vec<_> = (0..4).map(|_| site.slow_client()).collect();
        overwrite(&base);
        for client in clients {
            let rest = rest(client);
            assert!(rest.len() < image.len(), "{kind}: a whole image, although its base has changed");
            assert!(rest == image[..rest.len()], "{kind}: a byte that was written later");
        }
        let log = site.server.log();
        assert!(log.contains("transfer aborted: cannot read the image"), "{kind}, {}\n{log}", shown.display());
        let answer = Client::builder().no_proxy().build().unwrap().get(&site.url).send().unwrap();
        assert_eq!(answer.status(), 503, "{kind}");
        drop(site);
        // A copy stays no longer than its server.
        let names = |directory: &Path| {
            fs::read_dir(directory).unwrap().map(|file| file.unwrap().file_name()).collect::<Vec<_>>()
        };
        assert_eq!(names(base.parent().unwrap()), ["base.iso"], "{kind}");
        base_in(base.parent().unwrap());
        thread::sleep(SETTLED);
    }
}

#[test]
fn a_base_on_xfs_is_sent_by_the_kernel_and_writes_to_it_reach_no_client() {
    writes_reach_no_client("xfs", true);
}

#[test]
fn a_base_on_btrfs_is_sent_by_the_kernel_and_writes_to_it_reach_no_client() {
    writes_reach_no_client("btrfs", true);
}

#[test]
fn writes_to_a_base_on_ext4_reach_no_client() {
    writes_reach_no_client("ext4", false);
}

/// A change of the base that changes no byte ends no transfer of the copy.
fn attributes_end_no_transfer(kind: &str) {
    let Some(file_system) = FileSystem::make(kind, MEBIBYTES) else { return };
    let base = base_in(&file_system.path().join("bases"));
    thread::sleep(SETTLED);
    let site = Site::start(&base, Some(&file_system.path().join("data")));
    assert!(site.server.log().contains("shares its blocks"), "{kind}");
    let image = site.whole();
    let mut client = site.slow_client();
    fs::set_permissions(&base, fs::Permissions::from_mode(0o640)).unwrap();
    fs::hard_link(&base, base.with_extension("link")).unwrap();
    let mut read = vec![0; image.len()];
    client.read_exact(&mut read).expect("the transfer ended early");
    assert!(read == image, "{kind}: other bytes");
    assert!(site.whole() == image, "{kind}: a later transfer");
}

#[test]
fn attributes_of_a_base_on_xfs_end_no_transfer() {
    attributes_end_no_transfer("xfs");
}

#[test]
fn attributes_of_a_base_on_btrfs_end_no_transfer() {
    attributes_end_no_transfer("btrfs");
}
