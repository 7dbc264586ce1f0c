//! DataImages: drives that the baremetal-operator attaches to running hosts. Users describe a drive in the annotations of
//! the object. dayone publishes the drive, and writes its URL to `spec.url`.
//!
//! `desired` reads the annotations, `secrets` reads the content from the Secrets that they name, and `reconcile` publishes
//! the drive.

mod desired;
mod memory;
mod reconcile;
mod resource;
mod secrets;

pub(super) use desired::reason;
pub(super) use resource::DataImage;
