//! An emulated BMC: it serves a vendor's file of `fixtures/redfish/` over HTTP on loopback, with what that
//! vendor's firmware accepts, refuses and gets wrong. The machine behind it has a power state, and boots: with media
//! in and an override set it reads the image by ranges, and calls home.
//!
//! It is asynchronous and small, so that hundreds fit in one process. It behaves as real firmware is known to behave; it
//! does not prove that real firmware never behaves otherwise.

mod action;
mod answer;
mod behaviour;
mod bios;
mod boot;
mod certificate;
mod fault;
mod image_server;
pub(crate) mod listen;
mod machine;
mod media;
mod record;
mod session;
mod state;
pub mod target;
mod task;
mod tree;
mod vendor;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub use self::behaviour::Behaviour;
pub use self::fault::{Failure, Fault};
pub use self::image_server::ImageServer;
pub use self::listen::Identity;
pub use self::machine::Boot;
pub use self::record::Record;
pub use self::session::{PASSWORD, USERNAME};
use self::state::State;
pub use self::vendor::Vendor;

/// The options of a BMC that do not come from the vendor's file.
#[derive(Default)]
pub struct Options {
    /// The certificate for TLS. Without it, the BMC speaks plain HTTP.
    pub identity: Option<Identity>,
    /// How the machine boots from a medium.
    pub machine: Machine,
}

/// How the machine behind the BMC boots.
#[derive(Debug, Clone)]
pub struct Machine {
    /// How many bytes of the image the machine reads.
    pub reads: u64,
    /// The length of each range, in bytes.
    pub chunk: u64,
    /// The pause between two reads.
    pub pause: Duration,
    /// The time from the last byte to the running system.
    pub starts_in: Duration,
    /// How long the machine retries if the server of the image does not answer.
    pub patience: Duration,
}

impl Default for Machine {
    fn default() -> Self {
        let (pause, starts_in, patience) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
        Self { reads: 1 << 20, chunk: 64 << 10, pause, starts_in, patience }
    }
}

/// A running BMC. Dropping it stops it.
pub struct EmulatedBmc {
    shared: Arc<Shared>,
    listener: JoinHandle<()>,
}

/// The state that the handlers of requests and the machine share.
struct Shared {
    address: SocketAddr,
    options: Options,
    behaviour: Behaviour,
    state: Mutex<State>,
    /// The client that reads images. Each BMC has its own, with its own connections.
    reader: reqwest::Client,
}

impl EmulatedBmc {
    /// Starts a BMC on a free port of loopback, on the caller's runtime.
    pub async fn start(vendor: &Vendor, options: Options) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let behaviour = vendor.behaviour();
        let shared = Arc::new(Shared {
            address: listener.local_addr().expect("an address"),
            options,
            behaviour,
            state: Mutex::new(State::new(vendor)),
            reader: machine::reader(),
        });
        let tls = shared.options.identity.as_ref().map(Identity::acceptor);
        let answering = Arc::clone(&shared);
        let handler = move |request| action::answer(Arc::clone(&answering), request);
        let listener = tokio::spawn(listen::listen(listener, tls, handler));
        Self { shared, listener }
    }

    /// Returns the BMC's origin, such as `http://127.0.0.1:34567`.
    pub fn origin(&self) -> String {
        let scheme = if self.shared.options.identity.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.shared.address)
    }

    /// Injects a fault.
    pub fn inject(&self, fault: Fault) {
        self.shared.state().faults.push(fault);
    }

    /// Whether all injected faults have occurred.
    pub fn has_gone_wrong(&self) -> bool {
        self.shared.state().faults.iter().all(|fault| fault.times == 0)
    }

    /// Returns how many requests the BMC has carried out and not answered yet.
    pub fn late_answers(&self) -> usize {
        self.shared.state().late_answers
    }

    /// Returns the path of the System.
    pub fn system(&self) -> String {
        self.shared.state().system.clone()
    }

    /// Returns the images in the slots.
    pub fn inserted(&self) -> Vec<String> {
        self.shared.state().slots.values().filter_map(|slot| slot.image.clone()).collect()
    }

    /// Removes all faults.
    pub fn heal(&self) {
        self.shared.state().faults.clear();
    }

    /// Returns all requests, oldest first.
    pub fn requests(&self) -> Vec<Record> {
        self.shared.state().records.clone()
    }

    /// Returns the requests that change something, without logins and logouts.
    pub fn writes(&self) -> Vec<Record> {
        self.requests().into_iter().filter(Record::is_write).collect()
    }

    /// Returns the boots of the machine, oldest first.
    pub fn boots(&self) -> Vec<Boot> {
        self.shared.state().boots.clone()
    }

    /// Returns the number of open sessions.
    pub fn sessions(&self) -> usize {
        self.shared.state().sessions.open()
    }

    /// Returns the present value of a member, such as `("/redfish/v1/Systems/1", "/PowerState")`.
    pub fn member(&self, path: &str, pointer: &str) -> serde_json::Value {
        let mut state = self.shared.state();
        state.advance();
        let resource = state.tree.get(path).unwrap_or_else(|| panic!("no {path}"));
        resource.pointer(pointer).cloned().unwrap_or_default()
    }

    /// Sets a member of a resource, as another client of this BMC would.
    pub fn set(&self, path: &str, pointer: &str, value: serde_json::Value) {
        self.shared.state().tree.set(path, pointer, value);
    }

    /// Adds a resource that another release of the firmware has.
    pub fn add(&self, path: &str, value: serde_json::Value) {
        self.shared.state().tree.insert(path, value);
    }

    /// Sets the URL that the system calls when it has booted from a medium.
    pub fn call_home(&self, url: &str) {
        self.shared.state().call_home = Some(url.to_owned());
    }

    /// Waits for the end of a boot. Boots are numbered from 0.
    pub async fn booted(&self, number: usize, limit: Duration) -> Boot {
        let wait = async {
            loop {
                if let Some(boot) = self.boots().into_iter().nth(number).filter(Boot::is_over) {
                    return boot;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(limit, wait).await.unwrap_or_else(|_| panic!("no boot {number}: {:?}", self.boots()))
    }
}

impl Drop for EmulatedBmc {
    fn drop(&mut self) {
        self.listener.abort();
        self.shared.state().power_off();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // A test that failed while it held the lock has said why already.
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
