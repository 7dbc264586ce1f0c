//! `dayone build`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use imagelib::base::Format;
use imagelib::data_image::{DataKind, FileSystem};
use imagelib::delivery::DeliveryProfile;

use super::{CustomisationArguments, InputFile};
use crate::store::{BaseDefinition, BasePaths, DefinitionError};

/// The arguments of `dayone build`.
#[derive(Debug, Args)]
#[command(after_help = "\
The image is the one that `dayone serve` would serve for the same inputs, byte for byte. dayone writes it to a temporary file \
beside FILE, and renames it when it is complete. FILE is therefore either complete or absent. Only its owner can read it, \
because the embedded files may be secret.

dayone prints warnings about the image on standard error, and for the format initrd the kernel arguments that it needs.

With FILE… in place of --host, dayone makes the images of all hosts. The errors of one host do not affect the others.

Exit codes: 0 success, 1 the documents have errors, or dayone cannot make this image (with FILE…: of at least one host), \
2 wrong arguments, or dayone cannot read or write a file, 130 interrupted.

Examples:
  dayone build --host worker-0.yaml --base fedora-coreos-live.iso --format iso -o worker-0.iso
  dayone build fleet.yaml hosts.csv --base fedora-coreos-live.iso -o images/")]
pub struct BuildArguments {
    /// Documents that describe hosts, or directories of documents; all files are one set. dayone writes an image for each host
    /// into the directory -o, named after the host
    #[arg(value_name = "FILE", conflicts_with_all = ["host", "host_name", "hostname", "network_data", "meta_data"])]
    pub documents: Vec<InputFile>,

    /// Documents that describe the host (NMState, BareMetalHost with its Secret, install-config.yaml, …), or a directory of
    /// documents; repeatable, all files are one set; - is standard input
    #[arg(long, value_name = "FILE")]
    pub host: Vec<InputFile>,

    /// The host, if the documents describe several: its name, or one of its MAC addresses
    #[arg(long, value_name = "NAME")]
    pub host_name: Option<String>,

    /// Image to customise: PATH of an ISO or an initramfs, or kernel:PATH,initrd:PATH[,rootfs:PATH]; for iso and usb also boot
    /// loaders: esp:PATH, bios-loader:PATH, bios-loader-core:PATH, bios-boot-code:PATH
    #[arg(long, value_name = "BASE")]
    pub base: Option<BaseArgument>,

    /// What to make: iso (virtual media), minimal-iso (CoreOS, without its root file system), initrd (network boot), usb
    /// (virtual media that the host sees as a disk) or data (a drive that holds only the configuration) [default: iso; with
    /// --data, data]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<Format>,

    /// File to write, or - for standard output. With FILE…, the directory for the images, which dayone creates. Into a directory, dayone writes every file of the image: boot.iso, boot.img,
    /// data.iso or data.img, or those of vmlinuz, initrd.img and rootfs.img that the base has
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub output: PathBuf,

    /// Replace an existing output file, and files that somebody has embedded in the base
    #[arg(long)]
    pub force: bool,

    /// Print no progress and no summary, only warnings and errors
    #[arg(short, long)]
    pub quiet: bool,

    /// What to add to the image besides the network.
    #[command(flatten)]
    pub customisation: CustomisationArguments,

    // Last: a heading applies to every option after it.
    /// The contents of a data image.
    #[command(flatten)]
    pub data: DataArguments,
}

/// The arguments about data images.
#[derive(Debug, Args)]
#[command(next_help_heading = "Data images")]
pub struct DataArguments {
    /// Make a drive that holds only the configuration: config-2 (for cloud-init and the Ironic Python agent), cidata (for
    /// cloud-init) or combustion (for SUSE's systems at first boot)
    #[arg(long = "data", value_name = "KIND")]
    pub kind: Option<DataKind>,

    /// File system of the drive: iso, or vfat for slots that show a disk [default: iso]
    #[arg(long, value_name = "FS", requires = "kind")]
    pub file_system: Option<FileSystem>,

    /// Your own `network_data.json` or `network-config`, instead of --host; not for combustion
    #[arg(long, value_name = "FILE", requires = "kind")]
    pub network_data: Option<PathBuf>,

    /// Your own `meta_data.json` or `meta-data`; not for combustion
    #[arg(long, value_name = "FILE", requires = "kind")]
    pub meta_data: Option<PathBuf>,

    /// User data; for combustion, your own script
    #[arg(long, value_name = "FILE", requires = "kind")]
    pub user_data: Option<PathBuf>,

    /// Your own `vendor_data.json` or `vendor-data`; not for combustion
    #[arg(long, value_name = "FILE", requires = "kind")]
    pub vendor_data: Option<PathBuf>,

    /// Publisher id of a config-2 ISO, which Ironic compares with the kernel argument `ir_pub_id`
    #[arg(long, value_name = "ID", requires = "kind")]
    pub publisher: Option<String>,
}

/// A base on the command line: written as for `dayone serve`, without a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseArgument {
    /// Its files. The bytes of a single file show whether it is an ISO or an initramfs.
    pub files: BasePaths,
    /// The delivery profile, if the user gives one.
    pub profile: Option<DeliveryProfile>,
}

impl FromStr for BaseArgument {
    type Err = DefinitionError;

    fn from_str(text: &str) -> Result<Self, DefinitionError> {
        let BaseDefinition { files, profile, .. } = format!("base={text}").parse()?;
        Ok(Self { files, profile })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_is_a_path_or_named_files() {
        let base = |text: &str| text.parse::<BaseArgument>().unwrap();
        assert_eq!(base("live.iso").files.as_iso(), Some("live.iso".as_ref()));
        assert_eq!(base("/a=b,c.iso").files.as_iso(), Some("/a=b,c.iso".as_ref()));
        assert_eq!(base("iso:live.iso,profile:dracut").profile, Some(DeliveryProfile::Dracut));
        let files = base("kernel:k,initrd:i").files;
        assert_eq!((files.as_iso(), files.iter().count()), (None, 2));
        for bad in ["", "kernel:k", "kernel:k,initrd:i,iso:x", "iso:x,profile:y"] {
            assert!(bad.parse::<BaseArgument>().is_err(), "{bad}");
        }
    }
}
