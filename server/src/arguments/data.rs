//! What `dayone build` puts onto a data image.

use std::path::PathBuf;

use clap::Args;
use imagelib::data_image::{DataKind, FileSystem};

/// The arguments about data images.
#[derive(Debug, Args)]
#[command(next_help_heading = "Data images")]
pub struct DataArguments {
    /// Make a drive with the configuration alone: config-2 (for cloud-init and the Ironic Python agent), cidata (for
    /// cloud-init) or combustion (for SUSE's systems at first boot)
    #[arg(long = "data", value_name = "KIND")]
    pub kind: Option<DataKind>,

    /// Its file system: iso if not said, or vfat
    #[arg(long, value_name = "FS", requires = "kind")]
    pub file_system: Option<FileSystem>,

    /// Network data of your own, as the drive's readers take it, in place of documents
    #[arg(long, value_name = "FILE", requires = "kind")]
    pub network_data: Option<PathBuf>,

    /// Meta data of your own
    #[arg(long, value_name = "FILE", requires = "kind")]
    pub meta_data: Option<PathBuf>,

    /// User data; for combustion, a script of your own
    #[arg(long, value_name = "FILE", requires = "kind")]
    pub user_data: Option<PathBuf>,

    /// Vendor data
    #[arg(long, value_name = "FILE", requires = "kind")]
    pub vendor_data: Option<PathBuf>,

    /// Publisher of a config-2 ISO, by which Ironic knows its own
    #[arg(long, value_name = "ID", requires = "kind")]
    pub publisher: Option<String>,
}
