//! What clients follow by server-sent events (WHATWG HTML, §9.2). The server computes each update once, for all clients that
//! follow the same subject, and each client gets only what has changed since its last event.

mod boot_pieces;
mod follower;
mod publisher;
mod update;

pub(crate) use boot_pieces::BootPieces;
pub(crate) use publisher::{Publisher, Subject};
pub(crate) use update::{Changes, Content, Piece};

/// How many clients follow the subjects of one publisher, or single boots, at once. Each holds a connection.
pub(crate) const MAX_FOLLOWERS: usize = 64;

/// Makes nginx pass events on at once. By default it waits until 4 KiB have arrived, and few streams ever have as much.
pub(crate) const UNBUFFERED: [(&str, &str); 1] = [("x-accel-buffering", "no")];
