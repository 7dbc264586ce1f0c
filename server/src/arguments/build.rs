//! `dayone build`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use imagelib::base::Format;
use imagelib::data_image::{DataKind, FileSystem};
use imagelib::delivery::DeliveryProfile;

use super::{CustomisationArguments, InputFile};
use crate::store::{BaseDefinition, BasePaths, DefinitionError};

/// The examples in the help text.
const EXAMPLES: &str = "\
Examples:
  dayone build worker-0.yaml --base fedora-coreos-live.iso -o worker-0.iso
  dayone build fleet.yaml hosts.csv --base fedora-coreos-live.iso -o images/
  dayone build --data cidata worker-0.yaml -o seed.iso";

/// The arguments of `dayone build`.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    after_long_help = format!("\
The image is the one that `dayone serve` would serve for the same inputs, byte for byte. dayone writes it to a temporary file \
beside the output file, and renames it when it is complete. The output file is therefore either complete or absent. Only its \
owner can read it, because the embedded files may be secret.

If the output is a directory (it exists, or its name ends with /), dayone writes an image for each host, named after the host. The \
errors of one host do not affect the others. With --host, dayone writes every file of this host's image into the directory: \
boot.iso, boot.img, data.iso or data.img, or those of vmlinuz, initrd.img and rootfs.img that the base has.

dayone prints warnings about the image on standard error, and for the format initrd the kernel arguments that it needs.

Exit codes: 0 success, 1 the documents have errors, or dayone cannot make this image (for several hosts: at least one of them), \
2 wrong arguments, or dayone cannot read or write a file, 130 interrupted.

{EXAMPLES}")
)]
pub struct BuildArguments {
    /// Documents that describe hosts (NMState, BareMetalHost with its Secret, install-config.yaml, …), or directories of
    /// documents; all files are one set; - is standard input
    #[arg(value_name = "FILE")]
    pub documents: Vec<InputFile>,

    /// The host, if the documents describe several: its name, or one of its MAC addresses
    // Until 0.1, these were the documents.
    #[arg(long, value_name = "NAME")]
    pub host: Vec<String>,

    /// The host, until 0.1.
    #[arg(long, value_name = "NAME", hide = true)]
    pub host_name: Option<String>,

    /// Whether the command line is that of 0.1, which knew only images of single hosts.
    #[arg(skip)]
    pub is_of_one_host: bool,

    /// Image to customise: PATH of an ISO or an initramfs, or kernel:PATH,initrd:PATH[,rootfs:PATH]; for iso and usb also boot
    /// loaders: esp:PATH, bios-loader:PATH, bios-loader-core:PATH, bios-boot-code:PATH
    #[arg(long, value_name = "BASE")]
    pub base: Option<BaseArgument>,

    /// What to make: iso (virtual media), minimal-iso (a live ISO without its root file system), initrd (network boot), usb
    /// (virtual media that the host sees as a disk) or data (a drive that holds only the configuration) [default: iso; with
    /// --data, data]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<Format>,

    /// File to write, or - for standard output; or a directory for the images of all hosts
    #[arg(short = 'o', long = "output", value_name = "PATH")]
    pub output: PathBuf,

    /// Replace an existing output file, and files that somebody has embedded in the base
    #[arg(long)]
    pub force: bool,

    /// Print no progress and no summary, only warnings and errors
    #[arg(short, long)]
    pub quiet: bool,

    /// Private key (PEM, RSA) of the site, which signs the addons for unified kernel images [default: addons are not signed]
    #[arg(long, value_name = "FILE")]
    pub site_key: Option<PathBuf>,

    /// Certificate (PEM) of that key, which the `db` of the machines with Secure Boot must have
    #[arg(long, value_name = "FILE")]
    pub site_certificate: Option<PathBuf>,

    /// What to add to the image besides the network.
    #[command(flatten)]
    pub customisation: CustomisationArguments,

    // Last: a heading applies to every option after it.
    /// The contents of a data image.
    #[command(flatten)]
    pub data: DataArguments,
}

impl BuildArguments {
    /// Reads the command line of 0.1, in which `--host` named documents and `--host-name` the host, as that of today. Returns
    /// what to tell the user.
    pub(super) fn replace_old_spellings(&mut self) -> Vec<String> {
        let mut notices = Vec::new();
        if self.documents.is_empty() && !self.host.is_empty() {
            let documents = std::mem::take(&mut self.host);
            self.documents = documents.into_iter().map(|file| OsString::from(file).into()).collect();
            self.is_of_one_host = true;
            notices
                .push("note: write documents without --host, which now selects a host; this still works\n".to_owned());
        }
        if let Some(name) = self.host_name.take() {
            self.host.push(name);
            notices.push("note: --host-name is now --host; the old name still works\n".to_owned());
        }
        if self.quiet { Vec::new() } else { notices }
    }

    /// Whether to write an image for each host into a directory.
    pub fn is_of_all_hosts(&self) -> bool {
        let is_directory = self.output.is_dir() || self.output.as_os_str().as_encoded_bytes().ends_with(b"/");
        !self.documents.is_empty() && !self.is_of_one_host && self.host.is_empty() && is_directory
    }
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

    /// Your own `network_data.json` or `network-config`, instead of documents; not for combustion
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
