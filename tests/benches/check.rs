//! A fleet checked before anything boots, beside what is done of that work today: nmstatectl for one host after the other,
//! and Python's YAML reader on the stream. Prints a part of `docs/benchmarks.md`.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use acceptance::peers::peer;
use acceptance::rack::{self, RackHost};
use acceptance::usage::{self, Usage};

const HOSTS: usize = 10_000;
/// Of how many of them nmstatectl makes keyfiles.
const SAMPLE: usize = 200;
const RUNS: usize = 5;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let load = load()?;
    let work = tempfile::tempdir()?;
    let dayone = binary()?;
    let hosts = rack::hosts(HOSTS);
    let (stream, install_config) = (work.path().join("hosts.yaml"), work.path().join("install-config.yaml"));
    fs::write(&stream, rack::stream(&hosts))?;
    fs::write(&install_config, rack::install_config(&hosts, ["10.0.0.2", "10.0.0.3"]))?;
    let size = fs::metadata(&stream)?.len();

    println!("## Check a fleet of {HOSTS} hosts\n");
    println!(
        "`dayone check --short` on one file: {HOSTS} BareMetalHosts, each with the Secret of its network (a bond, two"
    );
    println!(
        "VLANs, addresses of both families, DNS, routes), {:.1} MB; and on the same hosts as an install-config. dayone reads them, makes",
        size as f64 / 1e6
    );
    println!(
        "every host's keyfiles, and checks each host by itself and against the others. Medians of {RUNS} runs, the best run in brackets."
    );
    println!(
        "Processor time includes all threads. nmstatectl makes the keyfiles of {SAMPLE} of the hosts, with one process for each, as in a"
    );
    println!("script, and checks nothing else. Python only reads the YAML stream, and not the NMState in it.\n");
    println!(
        "| program | time | processor time | peak memory | for each host | times dayone |\n| --- | --- | --- | --- | --- | --- |"
    );
    let check = |file: &Path| {
        runs(|| Ok(usage::run(Command::new(&dayone).args(["check", "--short"]).arg(file).stdout(Stdio::null()))?))
    };
    let ours = check(&stream)?;
    let of_a_host = |usage: &Usage, hosts: usize| usage.time.as_secs_f64() / hosts as f64;
    let row = |name: &str, usage: &[Usage], hosts: usize| {
        let (median, best) = (&usage[usage.len() / 2], &usage[0]);
        // What is too short for the kernel's clock is not said.
        let processor = if median.processor.is_zero() {
            "-".to_owned()
        } else {
            format!("{:.2} s", median.processor.as_secs_f64())
        };
        println!(
            "| {name} | {:.2} s ({:.2} s) | {processor} | {:.0} MiB | {:.3} ms | {:.1} |",
            median.time.as_secs_f64(),
            best.time.as_secs_f64(),
            median.memory as f64 / 1024.0,
            of_a_host(median, hosts) * 1e3,
            of_a_host(median, hosts) / of_a_host(&ours[ours.len() / 2], HOSTS),
        );
    };
    row("`dayone check`, BareMetalHosts and Secrets", &ours, HOSTS);
    row("`dayone check`, install-config", &check(&install_config)?, HOSTS);
    let documents = networks(&hosts, work.path())?;
    row(&format!("`nmstatectl gc`, {SAMPLE} hosts"), &[one_by_one(&documents)?], SAMPLE);
    let python = "import sys, yaml; [None for _ in yaml.load_all(open(sys.argv[1]), Loader=yaml.CSafeLoader)]";
    row(
        "Python's `yaml.CSafeLoader`, only reading",
        &[usage::run(Command::new("/usr/bin/python3").args(["-c", python]).arg(&stream))?],
        HOSTS,
    );
    println!("\n{} processors; load average before: {load}.", thread::available_parallelism()?);
    Ok(())
}

/// Runs of the same, the shortest first.
fn runs(mut run: impl FnMut() -> Outcome<Usage>) -> Outcome<Vec<Usage>> {
    let mut all = (0..RUNS).map(|_| run()).collect::<Outcome<Vec<_>>>()?;
    all.sort_by_key(|usage| usage.time);
    Ok(all)
}

/// `nmstatectl gc` for one document after the other: the sum of the times, and the most memory of one.
fn one_by_one(documents: &[PathBuf]) -> Outcome<Usage> {
    let mut all = Usage::default();
    for document in documents {
        let usage = usage::run(peer("nmstatectl").arg("gc").arg(document).stdout(Stdio::null()).stderr(Stdio::null()))?;
        all.time += usage.time;
        all.processor += usage.processor;
        all.processor += usage.processor;
        all.memory = all.memory.max(usage.memory);
    }
    Ok(all)
}

/// Networks of hosts from all racks, one to a file.
fn networks(hosts: &[RackHost], work: &Path) -> Outcome<Vec<PathBuf>> {
    let mut files = Vec::new();
    for host in hosts.iter().step_by(HOSTS / SAMPLE) {
        let file = work.join(format!("{}.yaml", host.name()));
        fs::write(&file, host.nmstate())?;
        files.push(file);
    }
    Ok(files)
}

/// How busy the machine is otherwise.
fn load() -> Outcome<String> {
    Ok(fs::read_to_string("/proc/loadavg")?.split(' ').next().ok_or("a number")?.to_owned())
}

/// The binary of `DAYONE_BIN`, or the one that was built beside the bench.
fn binary() -> Outcome<PathBuf> {
    if let Some(binary) = std::env::var_os("DAYONE_BIN") {
        return Ok(binary.into());
    }
    Ok(std::env::current_exe()?.ancestors().nth(2).ok_or("a bench lies in target/release/deps")?.join("dayone"))
}
