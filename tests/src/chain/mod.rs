//! Everything between a document and a machine that has booted: dayone, a BMC (sushy-tools with libvirt), a machine
//! under software emulation, and a network with VLANs between them, in a namespace of the test's own.

mod frame;
mod libvirt;
mod machine;
mod namespace;
mod router;
mod switch;

use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;

pub use machine::{Firmware, Nic, Place};
pub use switch::{Segment, Switch};

use crate::qemu::{self, Turn, kept_console};
use crate::report::Report;
use crate::server::Server;
use crate::sushy::{Emulator, Options};
use libvirt::Libvirt;
use namespace::Namespace;
use switch::Cable;

/// The user and the password of the BMC: those of the scenarios' documents.
pub const CREDENTIALS: (&str, &str) = ("admin", "password");

/// What is added to a kernel's command line: the system stays on when it has said what has become of its network, and
/// nothing else is written meanwhile.
pub const KERNEL_ARGUMENTS: [&str; 2] = ["boot-report=600", "systemd.show_status=false"];

/// NICs that are on one switch, and what else is there.
#[derive(Debug, Clone, Copy)]
pub struct Network<'a> {
    /// The name of the switch.
    pub name: &'a str,
    /// The machine's NICs.
    pub nics: &'a [Nic],
    /// The VLANs.
    pub segments: &'a [Segment<'a>],
    /// The MTU on the other side.
    pub mtu: u32,
    /// The prefix that a router there offers to everybody, in frames without a tag.
    pub offered: Option<Ipv6Addr>,
}

/// What is to be set up.
#[derive(Debug, Clone, Copy)]
pub struct Setup<'a> {
    /// A name for what is kept if the test fails.
    pub name: &'a str,
    /// The base of the images, which dayone calls `live`.
    pub base: &'a Path,
    /// The machine's firmware.
    pub firmware: Firmware,
    /// The machine's UUID, and so its path at the BMC.
    pub uuid: &'a str,
    /// Where the BMC and dayone listen: one of the addresses in `networks`.
    pub address: IpAddr,
    /// The machine's networks.
    pub networks: &'a [Network<'a>],
}

/// It all, running; ended when dropped. The thread that started it is in its namespace.
pub struct Chain {
    name: String,
    started: Instant,
    /// The machine's firmware.
    pub firmware: Firmware,
    /// dayone: its API is on the namespace's loopback.
    pub server: Server,
    /// The BMC.
    pub bmc: Emulator,
    _libvirt: Libvirt,
    /// The switches, in the order of the networks.
    pub switches: Vec<Switch>,
    console: PathBuf,
    directory: TempDir,
    _namespace: Namespace,
    _turn: Turn,
}

impl Chain {
    /// Sets it up, with the machine off.
    pub fn start(setup: &Setup<'_>) -> Self {
        let turn = Turn::take();
        let started = Instant::now();
        let namespace = Namespace::enter();
        let directory = tempfile::tempdir().expect("a directory");
        fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).expect("our directory");
        let mut switches = Vec::new();
        let mut nics = Vec::new();
        for network in setup.networks {
            let first = nics.len();
            for nic in network.nics {
                let number = u16::try_from(nics.len()).expect("few NICs");
                nics.push((*nic, Cable::new(number)));
            }
            let cables: Vec<_> = nics[first..].iter().map(|(_, cable)| *cable).collect();
            switches.push(Switch::start(network, &cables));
        }

        let libvirt = Libvirt::start(&directory.path().join("libvirt"));
        let console = libvirt.empty_file("console", 0);
        let disk = libvirt.empty_file("disk", 1 << 20);
        libvirt.define(&machine::domain(setup.uuid, setup.firmware, &nics, &disk, &console));
        let options = Options {
            credentials: Some(CREDENTIALS),
            address: Some(&SocketAddr::new(setup.address, 8000).to_string()),
            libvirt: Some(&libvirt.uri()),
            ..Options::default()
        };
        let bmc = Emulator::start_with(&directory.path().join("bmc"), &options);
        let media = SocketAddr::new(setup.address, 8081).to_string();
        let server = Server::start_at("127.0.0.1:8080", &media, "live", setup.base, &[]);
        let chain = Self {
            name: setup.name.to_owned(),
            started,
            firmware: setup.firmware,
            server,
            bmc,
            _libvirt: libvirt,
            switches,
            console,
            directory,
            _namespace: namespace,
            _turn: turn,
        };
        chain.lap("set up");
        chain
    }

    /// Says how long it took to get here; it is shown if the test fails.
    pub fn lap(&self, what: &str) {
        println!("{}: {what} after {:.1} s", self.name, self.started.elapsed().as_secs_f64());
    }

    /// Waits for what the machine says of its network.
    pub fn report(&self) -> Report {
        let deadline = Instant::now() + qemu::LIMIT;
        loop {
            let console = self.console();
            if console.contains("\nBOOT-REPORT-END") {
                self.lap("reported");
                return Report::in_console(&console).unwrap_or_else(|| panic!("a broken report:\n{console}"));
            }
            assert!(Instant::now() < deadline, "the machine does not say anything of its network:\n{console}");
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// What has come over the serial console.
    pub fn console(&self) -> String {
        let console = fs::read(&self.console).expect("the console");
        String::from_utf8_lossy(&console).replace('\r', "")
    }
}

impl Drop for Chain {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let directory = self.directory.path();
            let logs = [directory.join("bmc/log"), directory.join("libvirt/log"), self.server.directory().join("log")];
            let logs =
                logs.map(|log| format!("--- {}\n{}", log.display(), fs::read_to_string(&log).unwrap_or_default()));
            let kept = kept_console(&self.name, &(self.console() + &logs.concat()));
            eprintln!("{}: the machine's console and the logs are in {}", self.name, kept.display());
        }
    }
}

/// Whether a datagram of this size gets to a machine and its answer back. Nobody there takes it, so the answer is that.
pub fn answers(address: IpAddr, size: usize) -> bool {
    let any = if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = UdpSocket::bind(any).expect("a socket");
    socket.connect((address, 9)).expect("a route");
    socket.set_read_timeout(Some(Duration::from_secs(2))).expect("a timeout");
    (0..5).any(|_| {
        let sent = socket.send(&vec![0; size]);
        let refused = |error: &std::io::Error| error.kind() == ErrorKind::ConnectionRefused;
        sent.err().as_ref().is_some_and(refused) || socket.recv(&mut [0; 1]).err().as_ref().is_some_and(refused)
    })
}
