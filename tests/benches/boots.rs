//! 500 boots in flight against 500 emulated BMCs, or as many as `BENCH_BOOTS` says: the time, the requests to each BMC, and the
//! memory and the processor time of dayone. Prints a part of `docs/benchmarks.md`.

#[path = "common/fleet.rs"]
mod fleet;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use acceptance::bases::coreos_iso;
use acceptance::bmc::{EmulatedBmc, Machine, PASSWORD, USERNAME, Vendor};
use acceptance::fleet::Fleet;
use acceptance::goals::Goals;
use acceptance::server::{ENVIRONMENT, free_address};
use acceptance::usage::{peak_memory, processor_time};
use reqwest::Client;
use serde_json::Value;

/// What each machine reads of its image.
const READS: u64 = 1 << 20;
const LIMIT: Duration = Duration::from_mins(10);

type Outcome<T> = Result<T, Box<dyn Error>>;

#[tokio::main]
async fn main() -> Outcome<()> {
    let hosts = std::env::var("BENCH_BOOTS").map_or(Ok(500), |boots| boots.parse())?;
    let work = tempfile::tempdir()?;
    let server = Server::start(work.path(), hosts).await?;
    // So many machines may open more connections than dayone allows. Like firmware, they then try again.
    let (starts_in, patience) = (Duration::from_millis(500), Duration::from_secs(30));
    let machine = Machine { reads: READS, starts_in, patience, ..Machine::default() };
    let vendor = Vendor::named("hpe-ilo6");
    let fleet = Fleet::start((0..hosts).map(|_| vendor.clone()), &machine).await;
    let before = peak_memory(server.process.id());

    let begin = Instant::now();
    let url = format!("{}/v1/boots?base=coreos&wait_for=boot-progress", server.api);
    let request = server.client.post(url).header("Content-Type", "application/yaml").body(documents(&fleet));
    let answer = request.send().await?;
    let (status, answer) = (answer.status(), answer.text().await?);
    assert_eq!(status, 201, "{answer}");
    let accepted = begin.elapsed();
    let boots = server.wait("booted").await?;
    let booted = begin.elapsed();
    for bmc in &fleet.0 {
        let boot = bmc.booted(0, LIMIT).await;
        assert_eq!((boot.read, boot.end), (READS, Some(Ok(()))), "a machine has not booted from its image");
    }
    let to_boot: Vec<usize> = fleet.0.iter().map(|bmc| bmc.requests().len()).collect();
    let memory = peak_memory(server.process.id());

    let begin = Instant::now();
    for boot in &boots {
        let id = boot["id"].as_str().ok_or("a boot has an id")?;
        server.client.delete(format!("{}/v1/boots/{id}", server.api)).send().await?.error_for_status()?;
    }
    server.wait("ejected").await?;
    let ejected = begin.elapsed();
    let in_all: Vec<usize> = fleet.0.iter().map(|bmc| bmc.requests().len()).collect();
    let left: usize = fleet.0.iter().map(EmulatedBmc::sessions).sum();

    println!("## {hosts} boots at once\n");
    println!(
        "One request with {hosts} hosts, each with its own network, and {hosts} emulated BMCs in one process beside"
    );
    println!(
        "dayone. Each machine reads {} MiB of its image in ranges of 64 KiB, and takes 0.5 s to start its system.",
        READS >> 20
    );
    println!(
        "All boots run at the same time (`--boots-at-once {hosts}`). No BMC gets two requests at a time. dayone asks a BMC"
    );
    println!(
        "every 15 s whether the system runs: on a fast machine the first question is too early, and the step `booted`"
    );
    println!("takes 15 s. Its environment is that of the systemd unit (`MALLOC_ARENA_MAX=2`).\n");
    println!("| measure | value |\n| --- | --- |");
    println!(
        "| until the images are made, the boots are recorded and the request is answered | {:.1} s |",
        accepted.as_secs_f64()
    );
    println!("| until all {hosts} have booted, from the request on | {:.1} s |", booted.as_secs_f64());
    println!("| until all {hosts} are ejected, from the first DELETE on | {:.1} s |", ejected.as_secs_f64());
    println!("| requests to a BMC until its host has booted, median and maximum | {} |", median_and_most(to_boot));
    println!("| all requests to a BMC, median and maximum | {} |", median_and_most(in_all));
    println!("| sessions left open on the BMCs | {left} |");
    println!("| dayone's memory before (RSS, peak) | {:.1} MiB |", mib(before));
    println!("| dayone's memory with {hosts} running boots (RSS, peak) | {:.1} MiB |", mib(memory));
    let for_each = memory.saturating_sub(before) as f64 / hosts as f64;
    println!("| memory for each boot | {for_each:.0} KiB |");
    println!("| dayone's total processor time | {:.1} s |", processor_time(server.process.id()).as_secs_f64());
    println!(
        "| processor time of the BMCs and their machines | {:.1} s |",
        processor_time(std::process::id()).as_secs_f64()
    );
    println!("\n| step of a boot | median | longest |\n| --- | --- | --- |");
    for step in ["insert", "boot-override", "power", "reading", "booted"] {
        let mut times: Vec<f64> = boots.iter().filter_map(|boot| seconds(boot, step)).collect();
        times.sort_by(f64::total_cmp);
        println!("| {step} | {:.1} s | {:.1} s |", times[times.len() / 2], times[times.len() - 1]);
    }
    let mut goals = Goals::default();
    goals.at_most("until all have booted", booted.as_secs_f64(), 240.0, " s");
    goals.at_most("memory for each boot", for_each, 100.0, " KiB");
    goals.print();
    Ok(())
}

/// The hosts as a table with their BMCs, of which one request can hold ten thousand.
fn documents(bmcs: &Fleet) -> String {
    let mut fleet: Value = serde_json::from_str(&fleet::fleet(0..bmcs.0.len())).expect("JSON");
    let spec = &mut fleet["spec"];
    spec["template"]["bmc"] = serde_json::json!({"address": "${bmc}", "credentialsName": "racks-bmc"});
    let addresses = bmcs.0.iter().map(|bmc| bmc.origin().replace("http://", "redfish-virtualmedia+http://"));
    let column = std::iter::once("bmc".to_owned()).chain(addresses);
    let csv = spec["hosts"]["csv"].as_str().expect("a table");
    let csv: String = csv.lines().zip(column).map(|(line, bmc)| format!("{line},{bmc}\n")).collect();
    spec["hosts"]["csv"] = csv.into();
    let credentials = format!("stringData: {{username: {USERNAME}, password: {PASSWORD}}}");
    format!("{fleet}\n---\napiVersion: v1\nkind: Secret\nmetadata: {{name: racks-bmc}}\n{credentials}\n")
}

/// How long a step of a boot took.
fn seconds(boot: &Value, step: &str) -> Option<f64> {
    boot["steps"].as_array()?.iter().find(|each| each["step"] == step)?["seconds"].as_f64()
}

fn median_and_most(mut counts: Vec<usize>) -> String {
    counts.sort_unstable();
    format!("{}, {}", counts[counts.len() / 2], counts[counts.len() - 1])
}

fn mib(kib: u64) -> f64 {
    kib as f64 / 1024.0
}

/// `dayone serve` of the release.
struct Server {
    process: Child,
    api: String,
    client: Client,
    hosts: usize,
    log: PathBuf,
}

impl Server {
    async fn start(work: &Path, hosts: usize) -> Outcome<Self> {
        let (api, media) = (free_address(), free_address());
        let path = work.join("log");
        let log = fs::File::create(&path)?;
        let mut command = Command::new(binary()?);
        command.envs(ENVIRONMENT).arg("serve").arg("--data-dir").arg(work.join("data"));
        command.args(["--base", &format!("coreos={}", coreos_iso(&["--size-mib", "64"]).display())]);
        command.args(["--api-listen", &api, "--media-listen", &media, "--media-url", &format!("http://{media}")]);
        command.args(["--boots-at-once", &hosts.to_string(), "--log", "warn"]);
        let process = command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).spawn()?;
        let server = Self { process, api: format!("http://{api}"), client: Client::new(), hosts, log: path };
        let deadline = Instant::now() + Duration::from_mins(1);
        let ready = format!("{}/readyz", server.api);
        while !server.client.get(&ready).send().await.is_ok_and(|answer| answer.status().is_success()) {
            assert!(Instant::now() < deadline, "{}", fs::read_to_string(&server.log)?);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(server)
    }

    /// All boots, page by page.
    async fn boots(&self) -> Outcome<Vec<Value>> {
        let (mut boots, mut after) = (Vec::new(), String::new());
        loop {
            let url = format!("{}/v1/boots?limit=1000{after}", self.api);
            let page: Value = self.client.get(url).send().await?.json().await?;
            boots.extend(page["boots"].as_array().ok_or("boots")?.iter().cloned());
            let Some(next) = page["next"].as_str() else { return Ok(boots) };
            after = format!("&after={next}");
        }
    }

    /// Waits until all boots are in this state, and returns them.
    async fn wait(&self, state: &str) -> Outcome<Vec<Value>> {
        let deadline = Instant::now() + LIMIT;
        loop {
            let boots = self.boots().await?;
            if boots.len() == self.hosts && boots.iter().all(|boot| boot["state"] == state) {
                return Ok(boots);
            }
            if let Some(failed) = boots.iter().find(|boot| boot["state"] == "failed") {
                let failures = boots.iter().filter(|boot| boot["state"] == "failed").count();
                eprintln!("{}", fs::read_to_string(&self.log)?);
                return Err(format!("{failures} boots have failed, one of them: {failed:#}").into());
            }
            let other = boots.iter().find(|boot| boot["state"] != state);
            assert!(Instant::now() < deadline, "not all are {state}: {other:#?}");
            // A list of all is work for dayone, too.
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
}

/// The binary of `DAYONE_BIN`, or the one that was built beside the bench.
fn binary() -> Outcome<PathBuf> {
    if let Some(binary) = std::env::var_os("DAYONE_BIN") {
        return Ok(binary.into());
    }
    Ok(std::env::current_exe()?.ancestors().nth(2).ok_or("a bench lies in target/release/deps")?.join("dayone"))
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
