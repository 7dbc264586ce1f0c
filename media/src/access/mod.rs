//! Limits on the access to an image: until when it is served, how often its files may be read, and by which clients.
//!
//! The limits are not part of the image: with other limits, it has the same bytes and the same URL. A store keeps them
//! beside the image, and passes [`ImageAccess`] to the media plane with each file that has limits.

mod clock;
mod image;
mod limits;
mod networks;
mod reads;
mod ttl;

pub use clock::{Clock, Moment};
pub use image::{FileAccess, ImageAccess, Refusal};
pub use limits::AccessLimits;
pub use networks::{Network, NotANetwork, NotNetworks, OnlyFrom};
pub use reads::Reads;
pub use ttl::{Deadline, NotATtl, Ttl};
