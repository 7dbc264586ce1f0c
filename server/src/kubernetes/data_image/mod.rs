//! DataImages: drives that the baremetal-operator attaches to running hosts. A user's object says by annotations what is
//! on its drive; dayone publishes that, and writes where it is to `spec.url`.
//!
//! `asked` says what an object asks for, `secrets` what is in the Secrets that it names, `reconcile` does it.

mod annotations;
mod asked;
mod memory;
mod reconcile;
mod resource;
mod secrets;

pub(super) use resource::DataImage;
