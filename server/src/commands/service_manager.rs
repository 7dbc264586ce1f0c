//! Tells systemd about the state of a server, by the protocol of `sd_notify(3)`: a unit of the type `notify` has started when
//! its server is ready.

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use tracing::warn;

/// A state that the service manager wants to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// The server answers requests.
    Ready,
    /// A signal has asked the server to stop.
    Stopping,
}

impl State {
    fn message(self) -> &'static [u8] {
        match self {
            Self::Ready => b"READY=1",
            Self::Stopping => b"STOPPING=1",
        }
    }
}

/// Sends a state to the service manager, if there is one that listens.
pub(super) fn tell(state: State) {
    if let Some(socket) = std::env::var_os("NOTIFY_SOCKET")
        && let Err(error) = send(&socket, state.message())
    {
        warn!(%error, ?socket, ?state, "cannot tell the service manager the state of the server");
    }
}

/// Sends a message to a socket, which is a path, or with `@` in front a name in the abstract namespace.
fn send(socket: &OsStr, message: &[u8]) -> io::Result<()> {
    let address = match socket.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(socket)?,
    };
    UnixDatagram::unbound()?.send_to_addr(message, &address).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_sockets_are_reached() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notify");
        let name = format!("dayone-test-{}", std::process::id());
        let sockets = [
            (UnixDatagram::bind(&path).unwrap(), path.as_os_str().to_owned()),
            (
                UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap(),
                format!("@{name}").into(),
            ),
        ];
        for (receiver, socket) in sockets {
            send(&socket, State::Ready.message()).unwrap();
            let mut buffer = [0; 32];
            let length = receiver.recv(&mut buffer).unwrap();
            assert_eq!(&buffer[..length], b"READY=1");
        }
        assert!(send(OsStr::new("/nowhere/notify"), b"READY=1").is_err());
    }
}
