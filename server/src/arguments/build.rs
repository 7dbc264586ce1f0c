//! `dayone build`.

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use imagelib::base::Format;
use imagelib::delivery::DeliveryProfile;
use imagelib::host::HostName;
use imagelib::ignition::{AbsolutePath, FileMode};
use imagelib::kernel_arguments::{KernelArgument, Replacement};
use imagelib::recipe::RootfsUrl;

use super::{DataArguments, InputFile};
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
    /// NMState, or a BareMetalHost with its Secret, in YAML or JSON; repeatable: several files are one set of documents;
    /// - is standard input
    #[arg(long, value_name = "FILE")]
    pub host: Vec<InputFile>,

    /// Which host of those in the documents; needed where there are several
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

    /// What goes onto a data image.
    #[command(flatten)]
    pub data: DataArguments,

    /// Where to write it; - is standard output. A directory gets every file of the image: boot.iso, boot.img, data.iso or
    /// data.img, or vmlinuz, initrd.img and rootfs.img as far as the base has them
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub output: OutputFile,

    /// Replace what is there: the output file, and what somebody has embedded in the base
    #[arg(long)]
    pub force: bool,

    /// Kernel argument to add; repeatable
    #[arg(long, value_name = "ARG")]
    pub karg_append: Vec<KernelArgument>,

    /// Kernel argument to remove; repeatable
    #[arg(long, value_name = "ARG")]
    pub karg_delete: Vec<String>,

    /// Kernel argument whose value to change; repeatable
    #[arg(long, value_name = "KEY=OLD=NEW")]
    pub karg_replace: Vec<Replacement>,

    /// Title of a boot entry that gets the kernel arguments and what is added to the system; repeatable; all, if not said
    #[arg(long, value_name = "TITLE")]
    pub boot_entry: Vec<String>,

    /// How the system takes what is added, where its initramfs does not say so; inspect says which it is
    #[arg(long, value_name = "PROFILE")]
    pub profile: Option<DeliveryProfile>,

    /// Where a minimal-iso, or a medium around CoreOS's kernel and initramfs, fetches its root file system from
    #[arg(long, value_name = "URL")]
    pub rootfs_url: Option<RootfsUrl>,

    /// Host name to set, whatever the documents say
    #[arg(long, value_name = "NAME")]
    pub hostname: Option<HostName>,

    /// Ignition config (version 3) of your own, which the image's is merged with; CoreOS only
    #[arg(long, value_name = "FILE")]
    pub ignition: Option<PathBuf>,

    /// SSH public key of the user core, or a file with such keys; repeatable; CoreOS only
    // A private key begins with hyphens, and must not be shown as an unknown option.
    #[arg(long, value_name = "KEY|FILE", allow_hyphen_values = true)]
    pub ssh_key: Vec<String>,

    /// File to add to the system, with its mode in octal (0644 if not said) and the numbers of its owner and group (root's
    /// if not said); repeatable
    #[arg(long, value_name = "PATH=LOCALFILE[:MODE[:USER:GROUP]]")]
    pub file: Vec<FileArgument>,

    /// systemd unit to add, named like its file; it is enabled if it has an [Install] section; repeatable; CoreOS only
    #[arg(long, value_name = "FILE")]
    pub unit: Vec<PathBuf>,

    /// Let NICs that the documents do not mention come up with DHCP, as NetworkManager does of itself
    #[arg(long)]
    pub auto_default: bool,

    /// Say nothing but warnings and errors
    #[arg(short, long)]
    pub quiet: bool,
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

/// A file to add: where it goes, where its content is, and its mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileArgument {
    /// Where it goes.
    pub path: AbsolutePath,
    /// Where its content is.
    pub local: PathBuf,
    /// Its mode.
    pub mode: FileMode,
    /// The numbers of the user and of the group that own it.
    pub owner: (u32, u32),
}

impl FromStr for FileArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (path, local) = text
            .split_once('=')
            .ok_or("write PATH=LOCALFILE, PATH=LOCALFILE:MODE, or PATH=LOCALFILE:MODE:USER:GROUP")?;
        let path = path.parse().map_err(|error| format!("{error}"))?;
        // A colon with anything but digits behind it belongs to the local file's name.
        let with_mode = |local: &'_ str| {
            let (local, mode) = local.rsplit_once(':')?;
            Some((local.to_owned(), mode.parse::<FileMode>().ok()?))
        };
        let with_owner = || {
            let (rest, group) = local.rsplit_once(':')?;
            let (rest, user) = rest.rsplit_once(':')?;
            let (local, mode) = with_mode(rest)?;
            Some((local, mode, (user.parse().ok()?, group.parse().ok()?)))
        };
        let (local, mode, owner) = with_owner()
            .or_else(|| with_mode(local).map(|(local, mode)| (local, mode, (0, 0))))
            .unwrap_or_else(|| (local.to_owned(), FileMode::default(), (0, 0)));
        if local.is_empty() {
            return Err("LOCALFILE is empty".to_owned());
        }
        Ok(Self { path, local: local.into(), mode, owner })
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

    #[test]
    fn a_file_has_a_mode_if_it_is_said() {
        let parsed = |text: &str| {
            text.parse::<FileArgument>()
                .map(|file| (file.path.to_string(), file.local.display().to_string(), file.mode.to_string()))
        };
        let expected = |path: &str, local: &str, mode: &str| Ok((path.into(), local.into(), mode.into()));
        assert_eq!(parsed("/etc/motd=motd"), expected("/etc/motd", "motd", "0644"));
        assert_eq!(parsed("/usr/local/bin/x=./x=y:0755"), expected("/usr/local/bin/x", "./x=y", "0755"));
        assert_eq!(parsed("/srv/x=a:b:0600:1000:100"), expected("/srv/x", "a:b", "0600"));
        assert_eq!("/srv/x=a:b:0600:1000:100".parse::<FileArgument>().unwrap().owner, (1000, 100));
        assert_eq!(parsed("/etc/motd=C:motd"), expected("/etc/motd", "C:motd", "0644"));
        for bad in ["", "/etc/motd", "etc/motd=x", "/etc/../motd=x", "/etc/motd=", "/etc/motd=:0644"] {
            assert!(parsed(bad).is_err(), "{bad}");
        }
    }
}
