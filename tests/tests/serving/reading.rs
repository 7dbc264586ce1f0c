//! What dayone says was read of an image is what was read: by nbdkit as OpenBMC has it, which logs every read that it is
//! asked for; by QEMU's block driver; and by a slow client that gives up.

use std::fs;
use std::ops::Range;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use acceptance::bases::{debian_live_iso, fixtures};
use acceptance::extents::{Extents, by_xorriso};
use acceptance::peers::{run, run_text};
use acceptance::server::{Server, dayone};
use reqwest::blocking::Client;
use reqwest::header::{RANGE, USER_AGENT};
use serde_json::Value;

const KERNEL: &str = "/live/vmlinuz";
const INITRD: &str = "/live/initrd";
const ROOTFS: &str = "/live/filesystem.squashfs";

/// A server with one image, the same image on disk, and where its files lie.
struct Scene {
    server: Server,
    id: String,
    url: String,
    image: PathBuf,
    extents: Extents,
}

impl Scene {
    fn new() -> Self {
        let base = debian_live_iso();
        let server = Server::start("debian", &base);
        let host = fixtures("nmstate/bond-vlan/nmstate.yaml");
        let image = server.directory().join("image.iso");
        let build = ["build", "--format", "iso", "--hostname", "worker-0", "--host"];
        run(dayone().args(build).arg(&host).arg("--base").arg(&base).arg("-o").arg(&image));
        let order = format!("{}/v1/images?base=debian&format=iso&hostname=worker-0", server.api);
        let posted = Client::new().post(order).header("Content-Type", "application/yaml");
        let posted: Value = posted.body(fs::read(host).unwrap()).send().unwrap().json().unwrap();
        let text = |member: &str| posted[member].as_str().unwrap_or_else(|| panic!("{posted}")).to_owned();
        let extents = by_xorriso(&image);
        Self { id: text("id"), url: text("url"), server, image, extents }
    }

    fn reading(&self) -> Value {
        let url = format!("{}/v1/images/{}/reading", self.server.api, self.id);
        Client::new().get(url).send().unwrap().json().unwrap()
    }

    /// Where a file lies whose path begins so.
    fn range(&self, path: &str) -> Range<u64> {
        let mut found = self.extents.iter().filter(|(known, _)| known.starts_with(path));
        found.next().unwrap_or_else(|| panic!("no {path}")).1[0].clone()
    }
}

fn ranges(reading: &Value) -> Vec<Range<u64>> {
    let ranges = reading["files"][0]["ranges"].as_array().unwrap().iter();
    ranges.map(|range| range["start"].as_u64().unwrap()..range["end"].as_u64().unwrap()).collect()
}

/// How much of the file whose path begins so was read, in hundredths.
fn percent(reading: &Value, path: &str) -> u64 {
    let contents = reading["contents"].as_array().unwrap();
    let found = contents.iter().find(|content| content["name"].as_str().unwrap().starts_with(path));
    found.unwrap_or_else(|| panic!("no {path}: {reading:#}"))["percent"].as_u64().unwrap()
}

/// Ranges in order, those that touch as one.
fn joined(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match joined.last_mut().filter(|last| last.end >= range.start) {
            Some(last) => last.end = last.end.max(range.end),
            None => joined.push(range),
        }
    }
    joined
}

#[test]
fn what_nbdkit_was_asked_for_is_what_was_read() {
    let scene = Scene::new();
    let (kernel, initrd) = (scene.range(KERNEL), scene.range(INITRD));
    let log = scene.server.directory().join("nbdkit.log");
    // Descriptors, the kernel, a third of the initrd in pieces, and the initrd's beginning again.
    let third = (initrd.end - initrd.start) / 3 / 512 * 512;
    let mut reads = vec![0x8000..0x9000, kernel.start..kernel.end.next_multiple_of(512)];
    reads.extend(
        (0..4).map(|piece| initrd.start + piece * (third / 4 / 512 * 512)).map(|at| at..at + third / 4 / 512 * 512),
    );
    reads.push(initrd.start..initrd.start + 4096);
    let mut script = "qemu-io -r -f raw".to_owned();
    for read in &reads {
        script.push_str(&format!(" -c 'read {} {}'", read.start, read.end - read.start));
    }
    let mut nbdkit = Command::new("timeout");
    nbdkit.args(["120", "nbdkit", "-U", "-", "-r", "--filter=log", "curl", &scene.url, "followlocation=false"]);
    nbdkit.arg(format!("logfile={}", log.display())).args(["--run", &format!("{script} \"$uri\"")]);
    let output = run_text(&mut nbdkit);
    assert_eq!(output.matches("read ").count(), reads.len(), "{output}");

    let logged = fs::read_to_string(&log).unwrap();
    let asked = logged.lines().filter(|line| line.contains(" Read id=")).map(|line| {
        let field = |name: &str| {
            let value = line.split_once(name).unwrap().1.split_whitespace().next().unwrap();
            u64::from_str_radix(value.trim_start_matches("0x"), 16).unwrap()
        };
        field("offset=")..field("offset=") + field("count=")
    });
    let asked: Vec<Range<u64>> = asked.collect();
    assert!(asked.len() >= reads.len(), "{logged}");

    let reading = scene.reading();
    // The curl plugin of nbdkit 1.32 asks for one byte more than it was asked for, which is seen here and nowhere else.
    let more = ranges(&reading)[0].end - reads[0].end;
    assert!(more <= 1, "{:?}", ranges(&reading));
    let asked: Vec<Range<u64>> = asked.into_iter().map(|range| range.start..range.end + more).collect();
    let total: u64 = asked.iter().map(|range| range.end - range.start).sum();
    assert_eq!(ranges(&reading), joined(asked));
    assert_eq!(reading["sent"], total, "what was read twice was sent twice");
    assert_eq!((percent(&reading, KERNEL), percent(&reading, INITRD)), (100, 33));
    let summary = reading["summary"].as_str().unwrap();
    assert!(summary.starts_with("kernel read, initrd 33 %, ") && !summary.contains("rootfs"), "{summary}");
    let client = &reading["files"][0]["clients"][0];
    assert!(client["range_requests"].as_u64().unwrap() >= reads.len() as u64, "{client}");
    assert!(client["heads"].as_u64().unwrap() >= 1, "it asks for the size: {client}");
}

#[test]
fn what_qemu_copies_has_been_read_whole() {
    let scene = Scene::new();
    let copy = scene.server.directory().join("copy.iso");
    let source = format!("driver=raw,file.driver=http,file.url={}", scene.url);
    let mut convert = Command::new("timeout");
    convert.args(["300", "qemu-img", "convert", "-m", "1", "--image-opts", "-O", "raw", &source]).arg(&copy);
    run(&mut convert);
    assert!(fs::read(&copy).unwrap() == fs::read(&scene.image).unwrap());
    let (reading, size) = (scene.reading(), fs::metadata(&copy).unwrap().len());
    assert_eq!(ranges(&reading), [Range { start: 0, end: size }]);
    for content in reading["contents"].as_array().unwrap() {
        assert_eq!(content["percent"], 100, "{content}");
    }
    let summary = reading["summary"].as_str().unwrap();
    assert!(summary.starts_with("kernel read, initrd read, rootfs read, "), "{summary}");
    assert!(scene.extents.keys().all(|path| percent(&reading, path) == 100 || path.ends_with("efi.img")), "{reading}");
}

#[test]
fn a_slow_client_is_followed_and_missed_when_it_stops() {
    let scene = Scene::new();
    let (initrd, rootfs) = (scene.range(INITRD), scene.range(ROOTFS));
    let client = Client::new();
    let mut position = initrd.start;
    // 64 KiB every 300 ms, which is 218 KB/s, for 6 s.
    let (start, mut next) = (Instant::now(), Instant::now());
    for block in 0..20 {
        let range = format!("bytes={position}-{}", position + 65_535);
        let answer = client.get(&scene.url).header(RANGE, range).header(USER_AGENT, "slow-bmc/1").send().unwrap();
        assert_eq!(answer.bytes().unwrap().len(), 65_536);
        position += 65_536;
        let reading = scene.reading();
        assert_eq!(reading["sent"], (block + 1) * 65_536, "it is seen at once");
        next += Duration::from_millis(300);
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    let reading = scene.reading();
    let rate = reading["rate"].as_u64().unwrap();
    let expected = 20 * 65_536 * 1000 / u64::try_from(start.elapsed().as_millis()).unwrap();
    assert!(rate.abs_diff(expected) < expected / 4, "{rate} is not {expected}");
    let left = (initrd.end - position) / rate;
    assert!(reading["seconds_left"].as_u64().unwrap().abs_diff(left) <= left / 5 + 2, "{reading:#}");
    let contents = reading["contents"].as_array().unwrap();
    let now: Vec<&str> =
        contents.iter().filter(|one| one["reading"] == true).filter_map(|one| one["name"].as_str()).collect();
    assert!(matches!(now.as_slice(), [one] if one.starts_with(INITRD)), "{now:?}");
    assert!(reading.get("stalled_seconds").is_none());
    assert_eq!(reading["files"][0]["clients"][0]["user_agent"], "slow-bmc/1");

    std::thread::sleep(Duration::from_secs(11));
    let stalled = scene.reading();
    assert!((10..20).contains(&stalled["stalled_seconds"].as_u64().unwrap()), "{stalled:#}");
    let summary = stalled["summary"].as_str().unwrap();
    assert!(summary.starts_with("initrd ") && summary.contains("%, stalled for 1"), "{summary}");

    // A running system that has all of its initrd and looks at its root file system now and then has not stalled.
    let range = format!("bytes={position}-{}", initrd.end - 1);
    client.get(&scene.url).header(RANGE, range).send().unwrap().bytes().unwrap();
    let range = format!("bytes={}-{}", rootfs.start, rootfs.start + 999_999);
    client.get(&scene.url).header(RANGE, range).send().unwrap().bytes().unwrap();
    let running = scene.reading();
    assert!(running["summary"].as_str().unwrap().starts_with("initrd read, rootfs 1 %, "), "{}", running["summary"]);
    assert!(running.get("stalled_seconds").is_none(), "{running:#}");
    assert!(running.get("seconds_left").is_none(), "nobody reads all of it: {running:#}");
}
