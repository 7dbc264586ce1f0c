//! Who listens on a port, from `/proc`.

use std::net::SocketAddr;

use procfs::net::{TcpState, tcp, tcp6};
use procfs::process::{FDTarget, Process, all_processes};

/// A socket that listens on a port.
pub(super) struct Listener {
    /// The process that has it. `None` if this user may not see it.
    pub(super) process: Option<Process>,
}

impl Listener {
    /// The process for people: `nginx (process 123)`.
    pub(super) fn shown(&self) -> String {
        let name = self.process.as_ref().and_then(|process| Some((process.stat().ok()?.comm, process.pid())));
        name.map_or_else(
            || "a process that this user may not see".to_owned(),
            |(name, id)| format!("{name} (process {id})"),
        )
    }
}

/// Finds who listens on the port of an address, on that address or on all. `Err`: `/proc` does not show sockets.
pub(super) fn find(address: SocketAddr) -> Result<Option<Listener>, procfs::ProcError> {
    let (v4, v6) = (tcp(), tcp6());
    if let (Err(error), Err(_)) = (&v4, &v6) {
        return Err(procfs::ProcError::Other(error.to_string()));
    }
    let sockets = v4.into_iter().flatten().chain(v6.into_iter().flatten());
    let mut listening = sockets.filter(|socket| socket.state == TcpState::Listen);
    let wanted = address.ip().to_canonical();
    let found = listening.find(|socket| {
        let ip = socket.local_address.ip().to_canonical();
        socket.local_address.port() == address.port()
            && (ip == wanted || ip.is_unspecified() || wanted.is_unspecified())
    });
    Ok(found.map(|socket| Listener { process: owner(socket.inode) }))
}

/// The process that has a socket open.
fn owner(inode: u64) -> Option<Process> {
    all_processes().ok()?.flatten().find(|process| {
        let open = process.fd().into_iter().flatten().flatten();
        open.into_iter().any(|open| matches!(open.target, FDTarget::Socket(socket) if socket == inode))
    })
}
