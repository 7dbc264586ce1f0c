//! What an image is for the host.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What an image is for the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Medium {
    /// A CD or DVD: images of format `iso`.
    Cd,
    /// A USB stick: images of format `usb`.
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
