//! Pictures for the documentation: a recording of `dayone boots watch` at a terminal, and the page meanwhile.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use acceptance::bases::dracut_live_iso;
use acceptance::bmc::{EmulatedBmc, Failure, Fault, Machine, Options, Vendor};
use acceptance::fleet::Fleet;
use acceptance::peers::{PAGE_MODULES, cache, run_text};
use acceptance::server::{Server, dayone, free_address};
use serde_json::{Value, json};

const HOSTS: u64 = 10;
/// The host whose BMC takes no image.
const BROKEN: usize = 5;
/// The size of the terminal.
const SIZE: &str = "112x14";

/// BMCs at different speeds.
async fn fleet() -> Fleet {
    let mut bmcs = Vec::new();
    for number in 0..HOSTS {
        let pause = Duration::from_millis(50 + number * 67 % 150);
        let starts_in = Duration::from_millis(1500);
        let machine = Machine { reads: 128 << 20, chunk: 1 << 20, pause, starts_in, ..Machine::default() };
        bmcs.push(EmulatedBmc::start(&Vendor::named("hpe-ilo6"), Options { machine, ..Options::default() }).await);
    }
    bmcs[BROKEN].inject(Fault::new("POST", "InsertMedia", 1000, Failure::Status(400)));
    Fleet(bmcs)
}

/// Runs the commands of the recording where the documents are.
fn record(place: &Path, cast: &Path) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/pictures/terminal.py");
    let binaries = Path::new(dayone().get_program()).parent().unwrap().to_owned();
    let mut record = Command::new("/usr/bin/python3");
    record.arg(script).arg("record").arg(cast).arg(SIZE).args([
        "dayone boot hosts.yaml --base live --server http://127.0.0.1:8080 --wait-for boot-progress > boots 2> next",
        "dayone boots watch; echo \"exit code $?\"",
    ]);
    record.env("PATH", format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap())).current_dir(place);
    run_text(&mut record);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "make pictures runs it"]
async fn pictures_are_taken_while_hosts_boot() {
    let directory = tempfile::tempdir().unwrap();
    let fleet = fleet().await;
    std::fs::write(directory.path().join("hosts.yaml"), fleet.documents()).unwrap();
    let pictures = std::env::var_os("DAYONE_PICTURES").map_or_else(|| directory.path().to_owned(), PathBuf::from);
    let (place, cast) = (directory.path().to_owned(), pictures.join("boots.cast"));
    let recorded = tokio::task::spawn_blocking(move || {
        // The address that commands have by default.
        let server = Server::start_at("127.0.0.1:8080", &free_address(), "live", &dracut_live_iso(), &[]);
        let settings = json!({"api": server.api, "modules": cache().join(PAGE_MODULES), "pictures": pictures});
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/pictures.mjs");
        let browse = thread::spawn(move || run_text(Command::new("node").arg(script).arg(settings.to_string())));
        record(&place, &cast);
        browse.join().unwrap();
        for name in ["boots-light", "boots-dark", "boot"] {
            assert!(pictures.join(format!("{name}.png")).is_file(), "{name}");
        }
        std::fs::read_to_string(cast).unwrap()
    })
    .await
    .unwrap();
    let header: Value = serde_json::from_str(recorded.lines().next().unwrap()).unwrap();
    assert_eq!((&header["version"], &header["width"]), (&2.into(), &112.into()));
    for shown in ["kernel █", "9 of 10 booted, 1 failed", "exit code 1"] {
        assert!(recorded.contains(shown), "{shown}");
    }
}
