//! Who may read the image of a boot.

use clap::ValueEnum;

/// Who may read the image that a boot orders, unless the request says so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum BootOnlyFrom {
    /// Everybody who has its URL.
    #[default]
    Anyone,
    /// The host's BMC.
    Bmc,
}
