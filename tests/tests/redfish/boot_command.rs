//! `dayone boot` against sushy-tools: by the program itself, and by a server.

use std::fs;
use std::io::Read as _;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use acceptance::bases::coreos_iso;
use acceptance::boots::Callers;
use acceptance::one_host::{NMSTATE, nmstate_of};
use acceptance::server::{Server, dayone, free_address};
use acceptance::sushy::{Emulator, Options};
use serde_json::Value;
use tempfile::TempDir;

/// A BareMetalHost with the Secret of its network; of its BMC there is none.
fn host(name: &str, bmc: &Emulator) -> String {
    let nmstate = nmstate_of(name).replace('\n', "\n    ");
    format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}-network}}\nstringData:\n  nmstate: |\n    {nmstate}\n---\n\
         apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {{name: {name}}}\nspec:\n  \
           preprovisioningNetworkDataName: {name}-network\n  bmc:\n    address: redfish-virtualmedia+{}{}\n---\n",
        bmc.origin, bmc.system
    )
}

/// BMCs with a password, and documents of their hosts.
struct Scene {
    directory: TempDir,
    bmcs: Vec<Emulator>,
}

impl Scene {
    fn new(hosts: usize) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let options = Options { credentials: Some(("admin", "hunter2-hunter2")), ..Options::default() };
        let bmcs: Vec<_> = (0..hosts)
            .map(|number| Emulator::start_with(&directory.path().join(format!("bmc{number}")), &options))
            .collect();
        let hosts = bmcs.iter().enumerate().map(|(number, bmc)| host(&format!("worker-{number}"), bmc));
        fs::write(directory.path().join("hosts.yaml"), hosts.collect::<String>()).unwrap();
        fs::write(directory.path().join("password"), "hunter2-hunter2\n").unwrap();
        Self { directory, bmcs }
    }

    fn path(&self, name: &str) -> String {
        self.directory.path().join(name).display().to_string()
    }

    /// `dayone boot` of the hosts by the program itself.
    fn boot(&self, further: &[&str]) -> Command {
        let mut command = self.boot_of("hosts.yaml");
        command.args(["--bmc-username", "admin", "--bmc-password-file", &self.path("password")]).args(further);
        command
    }

    /// `dayone boot` of what these documents describe by the program itself.
    fn boot_of(&self, documents: &str) -> Command {
        let mut command = self.command_of(documents, &coreos_iso(&[]).display().to_string());
        command.args(["--media-listen", &free_address()]);
        // What it makes is gone with the test, whatever becomes of it.
        command.env("TMPDIR", self.directory.path());
        command
    }

    fn command(&self, base: &str) -> Command {
        self.command_of("hosts.yaml", base)
    }

    fn command_of(&self, documents: &str, base: &str) -> Command {
        let mut command = dayone();
        command.args(["boot", &self.path(documents), "--base", base]);
        // The emulator starts no machine: the test calls home in its place, or nothing shows that a host has booted.
        command.args(["--wait-for", "call-home", "--booted-within", "60"]);
        command
    }

    /// The systems of the hosts.
    fn callers(&self) -> Callers {
        Callers::start(self.directory.path())
    }

    fn is_inserted(&self) -> Vec<bool> {
        self.bmcs.iter().map(|bmc| bmc.media()["Inserted"] == true).collect()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn lines(output: &Output) -> Vec<String> {
    text(&output.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn hosts_are_booted_by_the_program_itself() {
    let scene = Scene::new(2);
    let _callers = scene.callers();
    let output = scene.boot(&["--eject-when-booted"]).output().unwrap();
    let (errors, lines) = (text(&output.stderr), lines(&output));
    assert_eq!(output.status.code(), Some(0), "{errors}");
    assert_eq!(lines.len(), 2, "{lines:?}");
    for (number, line) in lines.iter().enumerate() {
        assert!(line.starts_with(&format!("worker-{number}: booted: ")), "{lines:?}");
        for said in ["insert done", "power done", "ejected done"] {
            assert!(errors.contains(&format!("worker-{number}: {said}")), "{said}\n{errors}");
        }
    }
    assert!(!errors.contains("hunter2"), "{errors}");
    // The server is gone, and so is the medium.
    assert_eq!(scene.is_inserted(), [false, false]);
    assert!(scene.bmcs.iter().all(|bmc| bmc.system_state()["PowerState"] == "On"));
    let left = fs::read_dir(scene.directory.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = left.filter(|name| name.to_string_lossy().starts_with(".tmp")).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// What `dayone boot` reads, it reads as `dayone check` does.
#[test]
fn hosts_are_booted_from_every_document_that_describes_them() {
    let scene = Scene::new(1);
    let _callers = scene.callers();
    let Emulator { origin, system, .. } = &scene.bmcs[0];
    let bmc = format!("address: \"redfish-virtualmedia+{origin}{system}\"");
    let booted = |mut command: Command, mac: &str| {
        let output = command.arg("--eject-when-booted").output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(text(&output.stdout).starts_with("worker-0: booted: "), "{}", text(&output.stdout));
        assert!(!text(&output.stderr).contains(mac), "{}", text(&output.stderr));
    };

    // OpenShift's installer has the BMC's password beside its address.
    let nmstate = format!("\n{NMSTATE}").replace('\n', "\n          ");
    let install_config = format!(
        "apiVersion: v1\nbaseDomain: example.com\nmetadata: {{name: lab}}\nnetworking: {{machineNetwork: [{{cidr: 192.0.2.0/24}}]}}\n\
         platform:\n  baremetal:\n    apiVIPs: [192.0.2.2]\n    ingressVIPs: [192.0.2.3]\n    hosts:\n    - name: worker-0\n      \
         bmc: {{{bmc}, username: admin, password: hunter2-hunter2}}\n      bootMACAddress: 52:54:00:00:00:01\n      \
         networkConfig:{nmstate}\n"
    );
    fs::write(scene.path("install-config.yaml"), install_config).unwrap();
    booted(scene.boot_of("install-config.yaml"), "hunter2");

    // A directory with the host's own profiles, and what says where its BMC is, in an archive as it came.
    fs::create_dir_all(scene.path("fleet/worker-0")).unwrap();
    let profile =
        "[connection]\nid=eth0\ntype=ethernet\ninterface-name=eth0\n\n[ipv4]\nmethod=manual\naddress1=192.0.2.20/24\n";
    fs::write(scene.path("fleet/worker-0/eth0.nmconnection"), profile).unwrap();
    let host = format!(
        "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {{name: worker-0}}\nspec: {{bmc: {{{bmc}}}}}\n"
    );
    fs::write(scene.path("fleet/host.yaml"), host).unwrap();
    assert!(Command::new("gzip").arg(scene.path("fleet/host.yaml")).status().unwrap().success());
    let mut command = scene.boot_of("fleet");
    command.args(["--bmc-username", "admin", "--bmc-password-file", &scene.path("password")]);
    booted(command, "hunter2");
}

#[test]
fn every_change_is_a_line_of_json_and_the_medium_can_be_kept() {
    let scene = Scene::new(1);
    let _callers = scene.callers();
    let mut command = scene.command(&coreos_iso(&[]).display().to_string());
    command.args(["--media-listen", &free_address(), "--format", "json", "--keep"]);
    command.env("DAYONE_BMC_USERNAME", "admin").env("DAYONE_BMC_PASSWORD", "hunter2-hunter2");
    let output = command.env("TMPDIR", scene.directory.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let lines: Vec<Value> = lines(&output).iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().all(|line| line["host"] == "worker-0"));
    assert!(lines.is_sorted_by_key(|line| line["revision"].as_u64()));
    assert_eq!(lines.last().unwrap()["state"], "booted");
    assert_eq!(scene.is_inserted(), [true]);
}

#[test]
fn what_does_not_boot_is_said_and_undone() {
    let scene = Scene::new(1);
    fs::write(scene.path("password"), "wrong-wrong").unwrap();
    let output = scene.boot(&[]).output().unwrap();
    let lines = lines(&output);
    assert_eq!(output.status.code(), Some(1), "{lines:?}");
    assert!(lines.len() == 1 && lines[0].starts_with("worker-0: failed at insert: "), "{lines:?}");
    assert!(!text(&output.stderr).contains("wrong-wrong") && !lines[0].contains("wrong-wrong"));

    // Nobody calls home from an emulator.
    fs::write(scene.path("password"), "hunter2-hunter2").unwrap();
    let mut command = scene.boot(&["--booted-within", "2"]);
    command = without(&command, &["--booted-within", "60"]);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stdout).starts_with("worker-0: failed at "), "{}", text(&output.stdout));
    assert_eq!(scene.is_inserted(), [false], "{}", text(&output.stderr));
}

/// The same command without these arguments, the first time that they are there.
fn without(command: &Command, arguments: &[&str]) -> Command {
    let all: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
    let at = all.windows(arguments.len()).position(|window| window == arguments).expect("the arguments are there");
    let mut other = Command::new(command.get_program());
    other.args(&all[..at]).args(&all[at + arguments.len()..]);
    other.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    other
}

/// A program whose end is awaited, and brought about when dropped.
struct Running(Child);

impl Running {
    fn start(mut command: Command) -> Self {
        Self(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    fn interrupt(&self) {
        let pid = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    }

    /// The exit code, and what was said on standard error.
    fn end(&mut self) -> (Option<i32>, String) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.0.try_wait().unwrap().is_none() {
            assert!(Instant::now() < deadline, "it does not end");
            std::thread::sleep(Duration::from_millis(50));
        }
        let mut errors = String::new();
        self.0.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        (self.0.wait().unwrap().code(), errors)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn until(what: &str, is: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn an_interrupt_brings_the_bmc_back_to_what_it_was() {
    let scene = Scene::new(1);
    let mut running = Running::start(scene.boot(&[]));
    until("nothing was inserted", || scene.is_inserted() == [true]);
    running.interrupt();
    let (code, errors) = running.end();
    assert_eq!(code, Some(130), "{errors}");
    assert!(errors.contains("interrupted; the BMCs are restored"), "{errors}");
    assert_eq!(scene.is_inserted(), [false]);

    // It serves on for as long as it shall.
    let _callers = scene.callers();
    let mut running = Running::start(scene.boot(&[]));
    until("nothing was inserted", || scene.is_inserted() == [true]);
    let image = scene.bmcs[0].media()["Image"].as_str().unwrap().to_owned();
    std::thread::sleep(Duration::from_secs(8));
    let answer = reqwest::blocking::Client::new().head(&image).send().unwrap();
    assert_eq!(answer.status(), 200);
    running.interrupt();
    let (code, errors) = running.end();
    assert_eq!(code, Some(0), "{errors}");
    assert_eq!(scene.is_inserted(), [false], "{errors}");
}

#[test]
fn a_server_boots_them_as_well() {
    let server = Server::start("coreos", &coreos_iso(&[]));
    let scene = Scene::new(1);
    let bmc = format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: bmc}}\nstringData: {{username: admin, password: hunter2-hunter2}}\n---\n{}",
        host("worker-0", &scene.bmcs[0]).replace("  bmc:\n", "  bmc:\n    credentialsName: bmc\n")
    );
    fs::write(scene.path("hosts.yaml"), bmc).unwrap();
    let command = |further: &[&str]| {
        let mut command = scene.command("coreos");
        command.args(["--server", &server.api]).args(further);
        command
    };
    let _callers = Callers::start(server.directory());
    let output = command(&["--wait"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).starts_with("worker-0: booted: "), "{}", text(&output.stdout));
    assert_eq!(scene.is_inserted(), [true]);

    // The BMC is that boot's until it is deleted.
    let output = command(&[]).output().unwrap();
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.starts_with("dayone: ") && errors.contains("one boot at a time"), "{errors}");
    let output = command(&["--bmc-username", "admin"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("--bmc-username is not valid with --server"));
}

#[test]
fn mistakes_are_told_before_anything_is_begun() {
    let scene = Scene::new(1);
    let base = coreos_iso(&[]).display().to_string();
    let nowhere = format!("http://{}", free_address());
    fs::write(scene.path("broken.yaml"), host("worker-0", &scene.bmcs[0]).replace("192.0.2.20", "192.0.2.999"))
        .unwrap();
    let (hosts, broken) = (scene.path("hosts.yaml"), scene.path("broken.yaml"));
    let listen = free_address();
    for (arguments, code, said) in [
        (vec!["boot", &hosts, "--base", &base], 2, "--media-url"),
        (vec!["boot", &hosts, "--base", "nothing.iso", "--media-listen", &listen], 2, "nothing.iso"),
        (vec!["boot", &hosts, "--base", "x", "--server", &nowhere], 2, "does not answer"),
        (vec!["boot", &hosts, "--base", "x", "--wait"], 2, "--server"),
        (vec!["boot", "nothing.yaml", "--base", &base, "--media-listen", &listen], 2, "nothing.yaml"),
        (
            vec!["boot", &broken, "--base", &base, "--media-listen", &listen],
            1,
            "broken.yaml:13:15: error: Secret/worker-0-network: ",
        ),
    ] {
        let output = dayone().args(&arguments).env("TMPDIR", scene.directory.path()).output().unwrap();
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{errors}");
        assert!(errors.contains(said) && output.stdout.is_empty(), "{arguments:?}\n{errors}");
    }
    assert_eq!(scene.is_inserted(), [false]);
}
