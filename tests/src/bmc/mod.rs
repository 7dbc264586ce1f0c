//! A BMC that is not there: it plays a vendor's file of `fixtures/redfish/` over HTTP on loopback, with what that
//! vendor's firmware accepts, refuses and gets wrong. The machine behind it has a power state, and boots: with media
//! in and an override set it reads the image by ranges, and calls home.
//!
//! It is asynchronous and small, so that hundreds fit in one process. It says what real firmware is known to say; it
//! is no proof that real firmware says nothing else.

mod action;
mod answer;
mod behaviour;
mod bios;
mod boot;
mod certificate;
mod fault;
mod image_server;
mod listen;
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

/// What the test decides of a BMC, apart from what the vendor's file says.
#[derive(Default)]
pub struct Options {
    /// The certificate that it speaks TLS with; plain HTTP if there is none.
    pub identity: Option<Identity>,
    /// What the machine does with a medium that it boots from.
    pub machine: Machine,
}

/// How the machine behind the BMC boots.
#[derive(Debug, Clone)]
pub struct Machine {
    /// How much of the image it reads.
    pub reads: u64,
    /// How much it asks for at once.
    pub chunk: u64,
    /// How long it waits before it asks for more.
    pub pause: Duration,
    /// How long it takes from the last byte to the running system.
    pub starts_in: Duration,
    /// For how long a server of images that does not answer is tried again.
    pub patience: Duration,
}

impl Default for Machine {
    fn default() -> Self {
        let (pause, starts_in, patience) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
        Self { reads: 1 << 20, chunk: 64 << 10, pause, starts_in, patience }
    }
}

/// A BMC that listens until it is dropped.
pub struct EmulatedBmc {
    shared: Arc<Shared>,
    listener: JoinHandle<()>,
}

/// What the handlers of requests and the machine share.
struct Shared {
    address: SocketAddr,
    options: Options,
    behaviour: Behaviour,
    state: Mutex<State>,
    /// What reads the images; one for each BMC, as connections belong to it.
    reader: reqwest::Client,
}

impl EmulatedBmc {
    /// Starts one on a free port of loopback, on the runtime of the caller.
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

    /// Such as `http://127.0.0.1:34567`.
    pub fn origin(&self) -> String {
        let scheme = if self.shared.options.identity.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.shared.address)
    }

    /// Lets something go wrong from now on.
    pub fn inject(&self, fault: Fault) {
        self.shared.state().faults.push(fault);
    }

    /// Whether everything that was to go wrong has gone wrong.
    pub fn has_gone_wrong(&self) -> bool {
        self.shared.state().faults.iter().all(|fault| fault.times == 0)
    }

    /// How many requests were carried out whose answer is late.
    pub fn late_answers(&self) -> usize {
        self.shared.state().late_answers
    }

    /// The path of the system.
    pub fn system(&self) -> String {
        self.shared.state().system.clone()
    }

    /// The images in the slots.
    pub fn inserted(&self) -> Vec<String> {
        self.shared.state().slots.values().filter_map(|slot| slot.image.clone()).collect()
    }

    /// Lets nothing go wrong any more.
    pub fn heal(&self) {
        self.shared.state().faults.clear();
    }

    /// The requests that were made, in their order.
    pub fn requests(&self) -> Vec<Record> {
        self.shared.state().records.clone()
    }

    /// The requests that were to change something, apart from logging in and out.
    pub fn writes(&self) -> Vec<Record> {
        self.requests().into_iter().filter(Record::is_write).collect()
    }

    /// What the machine has booted from, the first boot first.
    pub fn boots(&self) -> Vec<Boot> {
        self.shared.state().boots.clone()
    }

    /// The sessions that are open.
    pub fn sessions(&self) -> usize {
        self.shared.state().sessions.open()
    }

    /// A member of a resource as it is now, such as `("/redfish/v1/Systems/1", "/PowerState")`.
    pub fn member(&self, path: &str, pointer: &str) -> serde_json::Value {
        let mut state = self.shared.state();
        state.advance();
        let resource = state.tree.get(path).unwrap_or_else(|| panic!("no {path}"));
        resource.pointer(pointer).cloned().unwrap_or_default()
    }

    /// Sets a member of a resource, as somebody else would who uses this BMC.
    pub fn set(&self, path: &str, pointer: &str, value: serde_json::Value) {
        self.shared.state().tree.set(path, pointer, value);
    }

    /// Adds a resource, such as firmware of another release has.
    pub fn add(&self, path: &str, value: serde_json::Value) {
        self.shared.state().tree.insert(path, value);
    }

    /// What the system calls when it has started, if it has booted from media.
    pub fn call_home(&self, url: &str) {
        self.shared.state().call_home = Some(url.to_owned());
    }

    /// Waits for the end of a boot, whose number is counted from 0.
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
