//! `dayone build`.

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use imagelib::base::Format;
use imagelib::delivery::DeliveryProfile;

use super::{CustomisationArguments, DataArguments, InputFile};
use crate::store::{BaseDefinition, BasePaths, DefinitionError};

/// The arguments of `dayone build`.
#[derive(Debug, Args)]
#[command(after_help = "\
The image is the one that `dayone serve` would serve for the same inputs, byte for byte. It is written beside FILE \
and renamed when it is complete: FILE is whole or not there. It can be read by its owner alone, since what is embedded \
may be secret.

What should be known about the image is said on standard error. With format initrd, the kernel arguments that it needs \
are said there, too.

Exit codes: 0 done, 1 the documents have errors or the image cannot be made of them, 2 wrong arguments, or a file \
cannot be read or written, 130 interrupted.

Example: dayone build --host worker-0.yaml --base fedora-coreos-live.iso --format iso -o worker-0.iso")]
pub struct BuildArguments {
    /// Documents that describe the host (NMState, BareMetalHost with its Secret, install-config.yaml, …), or a directory
    /// of them; repeatable: all are one set of documents; - is standard input
    #[arg(long, value_name = "FILE")]
    pub host: Vec<InputFile>,

    /// Which host of those in the documents, by its name or one of its MAC addresses; needed where there are several
    #[arg(long, value_name = "NAME")]
    pub host_name: Option<String>,

    /// Image to customise: PATH of an ISO or an initramfs, or kernel:PATH,initrd:PATH[,rootfs:PATH], for iso and usb with
    /// boot loaders: esp:PATH, and bios-loader:PATH, bios-loader-core:PATH, bios-boot-code:PATH
    #[arg(long, value_name = "BASE")]
    pub base: Option<BaseArgument>,

    /// What to make: iso (virtual media), minimal-iso (CoreOS, without its root file system), initrd (network boot), usb
    /// (virtual media that the host sees as a disk), data (a drive with the configuration alone, without --base); iso if
    /// not said, and data with --data
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<Format>,

    /// Where to write it; - is standard output. A directory gets every file of the image: boot.iso, boot.img, data.iso or
    /// data.img, or vmlinuz, initrd.img and rootfs.img as far as the base has them
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub output: OutputFile,

    /// Replace what is there: the output file, and what somebody has embedded in the base
    #[arg(long)]
    pub force: bool,

    /// Say nothing but warnings and errors
    #[arg(short, long)]
    pub quiet: bool,

    /// What is changed besides the network.
    #[command(flatten)]
    pub customisation: CustomisationArguments,

    // Last: a heading is that of every option behind it.
    /// What goes onto a data image.
    #[command(flatten)]
    pub data: DataArguments,
}

/// A base as the command line names it: in the form of `dayone serve`, without a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseArgument {
    /// Where it is.
    pub files: BaseFilesArgument,
    /// How its system takes what is added, where that is said.
    pub profile: Option<DeliveryProfile>,
}

/// Where a base is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BaseFilesArgument {
    /// An ISO or an initramfs: which, its bytes say.
    Path(PathBuf),
    /// The files of a base of several.
    Named(BasePaths),
}

impl FromStr for BaseArgument {
    type Err = DefinitionError;

    fn from_str(text: &str) -> Result<Self, DefinitionError> {
        let BaseDefinition { files, profile, .. } = format!("base={text}").parse()?;
        let single = files.as_iso().map(|path| BaseFilesArgument::Path(path.to_owned()));
        Ok(Self { files: single.unwrap_or(BaseFilesArgument::Named(files)), profile })
    }
}

/// Where an image goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutputFile {
    /// Written as `-`.
    StandardOutput,
    /// A file or a directory by its path.
    Path(PathBuf),
}

impl FromStr for OutputFile {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(if text == "-" { Self::StandardOutput } else { Self::Path(text.into()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_is_a_path_or_named_files() {
        let base = |text: &str| text.parse::<BaseArgument>().unwrap();
        assert_eq!(base("live.iso").files, BaseFilesArgument::Path("live.iso".into()));
        assert_eq!(base("/a=b,c.iso").files, BaseFilesArgument::Path("/a=b,c.iso".into()));
        assert_eq!(base("iso:live.iso,profile:dracut").profile, Some(DeliveryProfile::Dracut));
        let BaseFilesArgument::Named(files) = base("kernel:k,initrd:i").files else { panic!("not files") };
        assert_eq!(files.iter().count(), 2);
        for bad in ["", "kernel:k", "kernel:k,initrd:i,iso:x", "iso:x,profile:y"] {
            assert!(bad.parse::<BaseArgument>().is_err(), "{bad}");
        }
    }
}
