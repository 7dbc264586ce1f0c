//! `dayone boot` of more hosts than clients may follow one by one, and of hosts whose boots somebody deletes.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use acceptance::bases::coreos_iso;
use acceptance::bmc::{Machine, Vendor};
use acceptance::fleet::Fleet;
use acceptance::peers::run;
use acceptance::server::{Server, dayone, free_address};
use tempfile::TempDir;

/// At most 64 clients follow single boots of a server.
const HOSTS: usize = 66;

/// Emulated BMCs, and a directory with the documents of their hosts.
async fn fleet(hosts: usize, starts_in: Duration) -> (Fleet, TempDir) {
    let machine = Machine { reads: 64 << 10, starts_in, ..Machine::default() };
    let fleet = Fleet::start((0..hosts).map(|_| Vendor::named("hpe-ilo6")), &machine).await;
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("hosts.yaml"), fleet.documents()).unwrap();
    (fleet, directory)
}

fn boot(directory: &Path, further: &[&str]) -> Command {
    let mut command = dayone();
    command.arg("boot").arg(directory.join("hosts.yaml")).args(["--wait-for", "boot-progress"]).args(further);
    command.env("TMPDIR", directory).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs what blocks, beside the BMCs.
async fn beside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap()
}

fn inserted(fleet: &Fleet) -> usize {
    fleet.0.iter().map(|bmc| bmc.inserted().len()).sum()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[track_caller]
fn assert_all_booted(output: &Output) {
    let (outcomes, errors) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{outcomes}{errors}");
    assert_eq!(outcomes.lines().filter(|line| line.contains(": booted: ")).count(), HOSTS, "{outcomes}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_whole_rack_is_booted_by_the_program_itself() {
    let (fleet, directory) = fleet(HOSTS, Duration::ZERO).await;
    let base = coreos_iso(&[]).display().to_string();
    let own = ["--base", &base, "--media-listen", &free_address(), "--eject-when-booted"];
    let mut command = boot(directory.path(), &own);
    assert_all_booted(&beside(move || command.output().unwrap()).await);
    assert_eq!(inserted(&fleet), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_whole_rack_is_booted_by_a_server() {
    let (_fleet, directory) = fleet(HOSTS, Duration::ZERO).await;
    let output = beside(move || {
        let server = Server::start("coreos", &coreos_iso(&[]));
        boot(directory.path(), &["--base", "coreos", "--server", &server.api, "--wait"]).output().unwrap()
    });
    assert_all_booted(&output.await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupt_restores_the_bmcs_of_many_hosts() {
    let (fleet, directory) = fleet(40, Duration::from_hours(1)).await;
    let base = coreos_iso(&[]).display().to_string();
    let program = boot(directory.path(), &["--base", &base, "--media-listen", &free_address()]).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_mins(1);
    while inserted(&fleet) < 4 {
        assert!(Instant::now() < deadline, "nothing is inserted");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // The program follows the boots by now.
    tokio::time::sleep(Duration::from_secs(2)).await;
    run(Command::new("kill").args(["-INT", &program.id().to_string()]));
    let output = beside(move || program.wait_with_output().unwrap()).await;
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{errors}");
    assert!(errors.contains("interrupted; the BMCs are restored"), "{errors}");
    assert_eq!(inserted(&fleet), 0, "{errors}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_boot_that_the_server_forgets_does_not_end_the_waiting_for_others() {
    let (_fleet, directory) = fleet(3, Duration::from_secs(6)).await;
    let output = beside(move || {
        let server = Server::start("coreos", &coreos_iso(&[]));
        let waits = ["--base", "coreos", "--server", &server.api, "--wait"];
        let program = boot(directory.path(), &waits).spawn().unwrap();
        let boots = |arguments: &[&str]| {
            dayone().arg("boots").args(arguments).args(["--server", &server.api]).output().unwrap()
        };
        let deadline = Instant::now() + Duration::from_mins(1);
        while text(&boots(&["list", "--format", "csv"]).stdout).lines().count() < 4 {
            assert!(Instant::now() < deadline, "no boot has begun");
            thread::sleep(Duration::from_millis(50));
        }
        let removed = boots(&["rm", "host-1", "--forget"]);
        assert_eq!(removed.status.code(), Some(0), "{}", text(&removed.stderr));
        program.wait_with_output().unwrap()
    });
    let output = output.await;
    let (outcomes, errors) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{outcomes}{errors}");
    let lines: Vec<&str> = outcomes.lines().collect();
    assert_eq!((lines.len(), lines[1]), (3, "host-1: forgotten"), "{outcomes}{errors}");
    assert!(lines[0].starts_with("host-0: booted: ") && lines[2].starts_with("host-2: booted: "), "{outcomes}");
}
