//! From NMState to NetworkManager keyfiles.

mod keyfile;

pub use keyfile::{Keyfile, KeyfileName, KeyfileNameError};
