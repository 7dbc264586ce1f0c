//! Tells systemd about the state of a server, by the protocol of `sd_notify(3)`: a unit of the type `notify` has started when
//! its server is ready.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use rustix::time::{ClockId, clock_gettime};
use tracing::warn;

/// A state that the service manager wants to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// The server answers requests.
    Ready,
    /// The server reads its settings again. `Reloaded` follows.
    Reloading,
    /// The server has read its settings again.
    Reloaded(Reload),
    /// A signal has asked the server to stop.
    Stopping,
}

/// What a server does with settings that it has read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reload {
    /// It uses them.
    TakenOver,
    /// It keeps the old ones, although it would start with the new ones.
    NeedsRestart,
    /// It keeps the old ones, because the new ones are wrong.
    Wrong,
}

impl State {
    fn message(self) -> Cow<'static, str> {
        match self {
            Self::Ready => "READY=1".into(),
            // systemd 253 and later wants to know when: a unit of the type `notify-reload` may have had an older reload.
            Self::Reloading => format!("RELOADING=1\nMONOTONIC_USEC={}", monotonic_microseconds()).into(),
            Self::Reloaded(Reload::TakenOver) => "READY=1\nSTATUS=The settings were read again.".into(),
            Self::Reloaded(Reload::NeedsRestart) => {
                "READY=1\nSTATUS=The settings were read again and are valid only after a restart; the old ones stay in use."
                    .into()
            }
            Self::Reloaded(Reload::Wrong) => {
                "READY=1\nSTATUS=The settings were read again and are wrong; the old ones stay in use.".into()
            }
            Self::Stopping => "STOPPING=1".into(),
        }
    }
}

/// Sends a state to the service manager, if there is one that listens.
pub(super) fn notify(state: State) {
    if let Some(socket) = std::env::var_os("NOTIFY_SOCKET")
        && let Err(error) = send(&socket, state.message().as_bytes())
    {
        warn!(%error, ?socket, ?state, "cannot tell the service manager the state of the server");
    }
}

/// The monotonic clock, in microseconds.
fn monotonic_microseconds() -> i64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.saturating_mul(1_000_000).saturating_add(now.tv_nsec / 1000)
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
            send(&socket, State::Ready.message().as_bytes()).unwrap();
            let mut buffer = [0; 32];
            let length = receiver.recv(&mut buffer).unwrap();
            assert_eq!(&buffer[..length], b"READY=1");
        }
        assert!(send(OsStr::new("/nowhere/notify"), b"READY=1").is_err());
    }
}
