//! From a host's document to an image: the time of a POST, by the size of the base, beside coreos-installer's time for
//! the same work in the same run, and the disk that an image takes. Prints the tables of `docs/benchmarks.md`.

#[path = "common/client.rs"]
mod client;
#[path = "common/fleet.rs"]
mod fleet;

use std::fs;
use std::io;
use std::net::TcpStream;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use acceptance::hosts::bond_and_vlans;
use client::Connection;

const POSTS: usize = 1000;
const PEER_RUNS: usize = 5;
const FLEET: usize = 4000;

fn main() -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests are in the workspace");
    let work = tempfile::tempdir()?;
    let sizes = [64, 1024, 8192];
    let bases: Vec<PathBuf> = sizes.iter().map(|mib| make_base(root, work.path(), *mib)).collect();

    let server = Server::start(work.path(), &sizes, &bases)?;
    println!("## From POST to answer\n");
    println!(
        "{POSTS} hosts for each base, one after the other over one connection. For each POST, dayone converts the NMState, plans the"
    );
    println!(
        "image, and writes its record to disk (fsync) before it answers. The last column is for the same POST, sent again.\n"
    );
    println!("| base | p50 | p99 | repeated: p50 |\n| --- | --- | --- | --- |");
    let mut p50_of_1_gib = Duration::ZERO;
    for mib in sizes {
        let first = server.post_all(mib)?;
        let again = server.post_all(mib)?;
        println!("| {mib} MiB | {} | {} | {} |", ms(first.p50), ms(first.p99), ms(again.p50));
        if mib == 1024 {
            p50_of_1_gib = first.p50;
        }
    }
    let (records, disk) = disk_use(&work.path().join("data/images"))?;
    println!(
        "\nDisk per image: {:.1} KiB ({records} records, {} KiB in blocks).",
        disk as f64 / records as f64 / 1024.0,
        disk / 1024
    );
    server.post_fleet()?;
    drop(server);

    println!("\n## The same work with coreos-installer 0.27.0, for the 1 GiB base\n");
    println!("Medians of {PEER_RUNS} runs. The ratio is to the p50 of a POST for the same base above.\n");
    println!("| command | time | times a POST | disk per image |\n| --- | --- | --- | --- |");
    let nmstate = work.path().join("host.yaml");
    fs::write(&nmstate, bond_and_vlans(1))?;
    let keyfile = root.join("fixtures/nmstate/static-ipv4-baremetalhost/expected/enp2s0.nmconnection");
    let output = work.path().join("out.iso");
    let base = &bases[1];
    for (name, arguments) in [
        ("iso customize --network-nmstate -o FILE", vec!["iso", "customize", "--network-nmstate", path(&nmstate)]),
        ("iso network embed --keyfile -o FILE", vec!["iso", "network", "embed", "--keyfile", path(&keyfile)]),
    ] {
        let mut times = vec![];
        for _ in 0..PEER_RUNS {
            let _ = fs::remove_file(&output);
            let start = Instant::now();
            let status = Command::new(peer("coreos-installer"))
                .args(&arguments)
                .args(["-o", path(&output), path(base)])
                .stderr(Stdio::null())
                .status()?;
            times.push(start.elapsed());
            assert!(status.success(), "coreos-installer {name} failed");
        }
        times.sort();
        let median = times[PEER_RUNS / 2];
        let ratio = median.as_secs_f64() / p50_of_1_gib.as_secs_f64();
        let blocks = fs::metadata(&output)?.blocks() * 512;
        println!("| `{name}` | {} | {ratio:.0} | {} MiB |", ms(median), blocks >> 20);
    }
    Ok(())
}

fn path(path: &Path) -> &str {
    path.to_str().expect("paths of the bench are text")
}

fn ms(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1000.0)
}

fn peer(name: &str) -> PathBuf {
    let cache = std::env::var_os("DAYONE_CACHE").map(PathBuf::from);
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache/dayone");
    cache.unwrap_or_else(home).join("bin").join(name)
}

fn make_base(root: &Path, work: &Path, mib: usize) -> PathBuf {
    let base = work.join(format!("base-{mib}.iso"));
    let status = Command::new(root.join("fixtures/bases/make-coreos-iso.sh"))
        .arg(&base)
        // A file of an ISO has at most 4 GiB. What is behind the file system is as data on a hybrid disk.
        .args(["--size-mib", &mib.min(4000).to_string()])
        .stdout(Stdio::null())
        .status();
    assert!(status.is_ok_and(|status| status.success()), "the base of {mib} MiB could not be made");
    let size = (mib as u64) << 20;
    let file = fs::OpenOptions::new().write(true).open(&base).expect("the base");
    file.set_len(size.max(file.metadata().expect("the base").len())).expect("room for a sparse file");
    base
}

struct Times {
    p50: Duration,
    p99: Duration,
}

struct Server {
    process: Child,
    api: String,
}

impl Server {
    fn start(work: &Path, sizes: &[usize], bases: &[PathBuf]) -> io::Result<Self> {
        let binary =
            std::env::current_exe()?.ancestors().nth(2).expect("a bench lies in target/release/deps").join("dayone");
        let (api, media) = (free_address()?, free_address()?);
        let mut command = Command::new(binary);
        command.args(["serve", "--data-dir", path(&work.join("data")), "--api-listen", &api, "--media-listen", &media]);
        command.args(["--media-url", &format!("http://{media}"), "--log", "warn"]);
        for (mib, base) in sizes.iter().zip(bases) {
            command.args(["--base", &format!("base{mib}={}", path(base))]);
        }
        let server = Self { process: command.spawn()?, api };
        let deadline = Instant::now() + Duration::from_secs(120);
        while TcpStream::connect(&server.api).is_err() {
            assert!(Instant::now() < deadline, "the server does not answer");
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(server)
    }

    /// Posts all hosts for the base of `mib` MiB.
    fn post_all(&self, mib: usize) -> io::Result<Times> {
        let mut connection = Connection::new(&self.api)?;
        let mut times = Vec::with_capacity(POSTS);
        for host in 0..POSTS {
            let body = bond_and_vlans(host);
            let start = Instant::now();
            let (status, answer) = connection.ask("POST", &format!("/v1/images?base=base{mib}&format=iso"), &body)?;
            times.push(start.elapsed());
            assert!([200, 201].contains(&status), "{status}: {}", String::from_utf8_lossy(&answer));
        }
        times.sort();
        Ok(Times { p50: times[POSTS / 2], p99: times[POSTS * 99 / 100] })
    }
}

impl Server {
    /// Posts a fleet, and prints how long its answer takes.
    fn post_fleet(&self) -> io::Result<()> {
        println!("\n## Images of {FLEET} hosts with one request\n");
        println!(
            "`POST /v1/images?hosts=all` with a HostFleet: a bond and two VLANs, and a row for each host. dayone reads the fleet, converts"
        );
        println!(
            "each host, compares the hosts with each other, plans the images, and writes the records to disk before it answers.\n"
        );
        println!("| request | time | for each host |\n| --- | --- | --- |");
        let body = fleet::fleet(0..FLEET);
        for name in ["first", "repeated"] {
            let mut connection = Connection::new(&self.api)?;
            let start = Instant::now();
            let (status, answer) = connection.ask("POST", "/v1/images?base=base64&hosts=all", &body)?;
            let time = start.elapsed();
            let answer: serde_json::Value = serde_json::from_slice(&answer).map_err(io::Error::other)?;
            assert!(status == 207 && answer["failed"] == 0, "{status}");
            println!("| {name} | {:.2} s | {} |", time.as_secs_f64(), ms(time / u32::try_from(FLEET).unwrap_or(1)));
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn free_address() -> io::Result<String> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string())
}

fn disk_use(directory: &Path) -> io::Result<(usize, u64)> {
    let mut records = 0;
    let mut bytes = fs::metadata(directory)?.blocks() * 512;
    for entry in fs::read_dir(directory)? {
        records += 1;
        bytes += entry?.metadata()?.blocks() * 512;
    }
    Ok((records, bytes))
}
