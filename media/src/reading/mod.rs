//! Reading as evidence: which bytes of an image were read, by whom, when, and what that says of a boot.
//!
//! The media plane notes what it hands to its connections; the store keeps a record for each image; a [`Layout`] tells the
//! bytes by the files that they are of. All of it is in memory, bounded, and begins again with the server.
//!
//! What counts as read was handed to a connection. Up to a few MiB of that may still be on their way to a client that asks
//! for a whole file at once; a client that asks for range after range is followed exactly.
//!
//! [`Layout`]: imagelib::layout::Layout

mod clients;
mod file;
mod image;
mod progress;
mod ranges;
mod rate;
mod recent;
mod sentence;
mod snapshot;

pub use clients::Request;
pub use file::{FileReading, Recorder};
pub use image::{ImageReading, Since};
pub use progress::{FileProgress, Progress};
pub use ranges::Ranges;
pub use snapshot::{ClientSnapshot, FileSnapshot, ReadingSnapshot};
