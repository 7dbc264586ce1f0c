//! A recording of `dayone boots watch` at a terminal, for the documentation.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use acceptance::bases::dracut_live_iso;
use acceptance::bmc::{EmulatedBmc, Failure, Fault, Machine, Options, Vendor};
use acceptance::fleet::Fleet;
use acceptance::peers::run_text;
use acceptance::server::{Server, dayone, free_address};

const HOSTS: u64 = 8;
/// The host whose BMC takes no image.
const BROKEN: usize = 5;

/// BMCs at different speeds.
async fn fleet() -> Fleet {
    let mut bmcs = Vec::new();
    for number in 0..HOSTS {
        let pause = Duration::from_millis(40 + number * 37 % 100);
        let starts_in = Duration::from_millis(1500);
        let machine = Machine { reads: 128 << 20, chunk: 1 << 20, pause, starts_in, ..Machine::default() };
        bmcs.push(EmulatedBmc::start(&Vendor::named("hpe-ilo6"), Options { machine, ..Options::default() }).await);
    }
    bmcs[BROKEN].inject(Fault::new("POST", "InsertMedia", 1000, Failure::Status(400)));
    Fleet(bmcs)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "make pictures runs it"]
async fn a_terminal_is_recorded_while_hosts_boot() {
    let directory = tempfile::tempdir().unwrap();
    let cast =
        std::env::var("DAYONE_RECORDING").unwrap_or_else(|_| directory.path().join("cast").display().to_string());
    let fleet = fleet().await;
    std::fs::write(directory.path().join("hosts.yaml"), fleet.documents()).unwrap();
    let place = directory.path().to_owned();
    let recorded = tokio::task::spawn_blocking(move || {
        // The address that commands have by default.
        let _server = Server::start_at("127.0.0.1:8080", &free_address(), "live", &dracut_live_iso(), &[]);
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/pictures/terminal.py");
        let binaries = Path::new(dayone().get_program()).parent().unwrap().to_owned();
        let mut record = Command::new("/usr/bin/python3");
        record.arg(script).args(["record", &cast, "112x14"]).args([
            "dayone boot hosts.yaml --base live --server http://127.0.0.1:8080 --wait-for boot-progress > boots 2> next",
            "dayone boots watch; echo \"exit code $?\"",
        ]);
        record.env("PATH", format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap())).current_dir(place);
        run_text(&mut record);
        std::fs::read_to_string(cast).unwrap()
    })
    .await
    .unwrap();
    let header: serde_json::Value = serde_json::from_str(recorded.lines().next().unwrap()).unwrap();
    assert_eq!((&header["version"], &header["width"]), (&2.into(), &112.into()));
    for shown in ["kernel █", "7 of 8 booted, 1 failed", "exit code 1"] {
        assert!(recorded.contains(shown), "{shown}");
    }
}
