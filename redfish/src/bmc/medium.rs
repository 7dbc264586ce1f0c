//! The kinds of drives that a host sees.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What kind of drive the host sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Medium {
    /// A CD or DVD drive, for an ISO image.
    Cd,
    /// A USB stick, for the image of a disk.
    Usb,
}

impl fmt::Display for Medium {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Cd => "a CD or DVD",
            Self::Usb => "a USB stick",
        })
    }
}
