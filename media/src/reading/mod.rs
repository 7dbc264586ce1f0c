//! Records which bytes of an image were read, by whom and when, and what that shows about a boot.
//!
//! The media plane records what it passes to its connections. The store has a record for each image. A [`Layout`] shows
//! which file each byte belongs to. The records are in memory, their size is limited, and they are lost when the server
//! stops.
//!
//! A byte counts as read when it was passed to a connection. If a client requests a whole file at once, up to a few MiB
//! may still be on their way. If it requests one range after the other, the record is exact.
//!
//! [`Layout`]: imagelib::layout::Layout

mod clients;
mod file;
mod image;
mod progress;
mod ranges;
mod rate;
mod reads;
mod recent;
mod snapshot;
mod time;
mod units;

pub use clients::{Client, Request};
pub use file::{FileReading, Recorder};
pub use image::{ImageReading, Since};
pub use progress::{FileProgress, Progress};
pub use reads::{TakeAfter, TakenRead};
pub use snapshot::{FileSnapshot, ReadingSnapshot};
pub use time::Time;
