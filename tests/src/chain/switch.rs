//! A switch with VLANs, between the NICs of a machine and the namespace that the test is in. The kernel's own bridge
//! would need modules for that which not every host has.
//!
//! A NIC is a UDP socket of QEMU, one datagram a frame. On the other side each VLAN is a tap: what comes out there had
//! that VLAN's tag, and what goes in gets it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::UdpSocket;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tappers::{Interface, Tap};

use super::{Network, frame, router};
use crate::peers::run;

/// The largest frame: more than a jumbo frame.
const FRAME: usize = 16 << 10;

/// The namespace's side of one VLAN.
#[derive(Debug, Clone, Copy)]
pub struct Segment<'a> {
    /// None: frames without a tag.
    pub vlan: Option<u16>,
    /// Addresses with their prefixes, such as `192.0.2.1/24`.
    pub addresses: &'a [&'a str],
}

/// The sockets between the switch and one NIC.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cable {
    pub(super) switch: u16,
    pub(super) nic: u16,
}

impl Cable {
    /// The one to a NIC of the machine, by its number. In a namespace of its own, every port is free.
    pub(super) fn new(nic: u16) -> Self {
        Self { switch: 20_000 + nic, nic: 21_000 + nic }
    }
}

/// What the machine has sent.
#[derive(Default)]
struct Seen {
    tags: BTreeSet<Option<u16>>,
    aggregated: BTreeSet<usize>,
}

/// A switch with some NICs of the machine on it, running until it is dropped.
pub struct Switch {
    seen: Arc<Mutex<Seen>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Switch {
    /// Starts one, in the namespace that this thread is in. Its taps begin with its name.
    pub(super) fn start(network: &Network<'_>, cables: &[Cable]) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::<Mutex<Seen>>::default();
        let taps = network.segments.iter();
        let forwarding = Forwarding {
            ports: cables.iter().map(|cable| port(*cable).expect("a free port")).collect(),
            taps: taps.map(|segment| (segment.vlan, tap(network.name, segment, network.mtu))).collect(),
            advertisement: network.offered.map(router::advertisement),
            learned: BTreeMap::new(),
            seen: Arc::clone(&seen),
        };
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || forwarding.run(&stopped));
        Self { seen, stop, thread: Some(thread) }
    }

    /// The tags of the frames that the machine has sent.
    pub fn tags(&self) -> BTreeSet<Option<u16>> {
        self.seen.lock().expect("no thread panicked").tags.clone()
    }

    /// How many ports the machine sends on as parts of one link (LACP).
    pub fn aggregated(&self) -> usize {
        self.seen.lock().expect("no thread panicked").aggregated.len()
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn port(cable: Cable) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(("127.0.0.1", cable.switch))?;
    socket.connect(("127.0.0.1", cable.nic))?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

fn tap(switch: &str, segment: &Segment<'_>, mtu: u32) -> Tap {
    let name = segment.vlan.map_or_else(|| switch.to_owned(), |vlan| format!("{switch}.{vlan}"));
    let tap = Interface::new(&name).and_then(Tap::new_named);
    let mut tap = tap.unwrap_or_else(|error| panic!("tap {name}: {error}; is /dev/net/tun there?"));
    tap.set_nonblocking(true).expect("a tap");
    // An address that is checked for duplicates first could not be listened on at once.
    for address in segment.addresses {
        run(Command::new("ip").args(["address", "add", address, "dev", &name]).args(if address.contains(':') {
            &["nodad"][..]
        } else {
            &[]
        }));
    }
    run(Command::new("ip").args(["link", "set", &name, "up", "mtu", &mtu.to_string()]));
    tap
}

struct Forwarding {
    ports: Vec<UdpSocket>,
    taps: Vec<(Option<u16>, Tap)>,
    advertisement: Option<Vec<u8>>,
    /// At which port an address was seen last.
    learned: BTreeMap<[u8; 6], usize>,
    seen: Arc<Mutex<Seen>>,
}

impl Forwarding {
    fn run(mut self, stop: &AtomicBool) {
        let mut buffer = vec![0; FRAME];
        let mut advertised = Instant::now();
        while !stop.load(Ordering::Relaxed) {
            self.wait();
            if let Some(advertisement) = self.advertisement.as_ref()
                && advertised.elapsed() > Duration::from_secs(1)
            {
                self.send(None, advertisement);
                advertised = Instant::now();
            }
            for port in 0..self.ports.len() {
                // An error is a machine that is off.
                while let Ok(length) = self.ports[port].recv(&mut buffer) {
                    self.receive(port, &buffer[..length]);
                }
            }
            for tap in 0..self.taps.len() {
                while let Ok(length) = self.taps[tap].1.recv(&mut buffer) {
                    self.send(self.taps[tap].0, &buffer[..length]);
                }
            }
        }
    }

    /// Until there is a frame, or it is time to see whether this is the end.
    fn wait(&self) {
        let ports = self.ports.iter().map(AsFd::as_fd);
        let descriptors: Vec<BorrowedFd<'_>> = ports.chain(self.taps.iter().map(|(_, tap)| tap.as_fd())).collect();
        let mut descriptors: Vec<_> =
            descriptors.iter().map(|descriptor| PollFd::new(descriptor, PollFlags::IN)).collect();
        let _ = poll(&mut descriptors, Some(&Timespec { tv_sec: 0, tv_nsec: 200_000_000 }));
    }

    fn receive(&mut self, port: usize, frame: &[u8]) {
        if let Some((answer, distributing)) = frame::lacp_answer(frame, port) {
            if distributing {
                self.seen.lock().expect("no thread panicked").aggregated.insert(port);
            }
            let _ = self.ports[port].send(&answer);
            return;
        }
        let (vlan, untagged) = frame::untagged(frame);
        self.seen.lock().expect("no thread panicked").tags.insert(vlan);
        if let Some(source) = frame::source(frame) {
            self.learned.insert(source, port);
        }
        if let Some((_, tap)) = self.taps.iter().find(|(of, _)| *of == vlan) {
            let _ = tap.send(&untagged);
        }
    }

    fn send(&self, vlan: Option<u16>, frame: &[u8]) {
        let known = frame::destination(frame).and_then(|address| self.learned.get(&address));
        let frame = frame::tagged(frame, vlan);
        let ports = match known {
            Some(port) => &self.ports[*port..=*port],
            // Over one link of several ports each frame goes once.
            None if !self.seen.lock().expect("no thread panicked").aggregated.is_empty() => &self.ports[..1],
            None => &self.ports,
        };
        for port in ports {
            let _ = port.send(&frame);
        }
    }
}
