//! The arguments of commands that make images about the contents besides the network.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use imagelib::delivery::DeliveryProfile;
use imagelib::ignition::{AbsolutePath, FileMode};
use imagelib::kernel_arguments::{KernelArgument, Replacement};
use imagelib::recipe::RootfsUrl;
use vocabulary::host::HostName;

/// What to add to an image besides the network.
#[derive(Debug, Args)]
#[command(next_help_heading = "Customisation")]
pub struct CustomisationArguments {
    /// Kernel argument to add; repeatable
    #[arg(long, value_name = "ARG")]
    pub karg_append: Vec<KernelArgument>,

    /// Kernel argument to remove; repeatable
    #[arg(long, value_name = "ARG")]
    pub karg_delete: Vec<String>,

    /// Kernel argument whose value to change; repeatable
    #[arg(long, value_name = "KEY=OLD=NEW")]
    pub karg_replace: Vec<Replacement>,

    /// Title of a boot entry that gets the kernel arguments and the additions to the system; repeatable [default: all boot
    /// entries]
    #[arg(long, value_name = "TITLE")]
    pub boot_entry: Vec<String>,

    /// How the system receives the additions, if its initramfs does not show that; inspect shows the profile
    #[arg(long, value_name = "PROFILE")]
    pub profile: Option<DeliveryProfile>,

    /// URL from which a minimal-iso, or a medium around the kernel and initramfs of CoreOS, fetches its root file system
    #[arg(long, value_name = "URL")]
    pub rootfs_url: Option<RootfsUrl>,

    /// Host name to set; overrides the documents
    #[arg(long, value_name = "NAME")]
    pub set_hostname: Option<HostName>,

    /// Your own Ignition config (version 3), which dayone merges with the image's; CoreOS only
    #[arg(long, value_name = "FILE")]
    pub ignition: Option<PathBuf>,

    /// SSH public key for the user core, or a file with such keys; repeatable; CoreOS only
    // A private key begins with hyphens, and must not be shown as an unknown option.
    #[arg(long, value_name = "KEY|FILE", allow_hyphen_values = true)]
    pub ssh_key: Vec<String>,

    /// Answer file of an installer (KIND: preseed, kickstart, autoinstall or agama), which dayone completes with the host's network; the
    /// installed system gets that network
    #[arg(long, num_args = 2, value_names = ["KIND", "FILE"])]
    pub answers: Vec<String>,

    /// File to add to the system. The mode is octal (default: 0644); owner and group are numbers (default: root); repeatable
    #[arg(long, value_name = "PATH=LOCALFILE[:MODE[:USER:GROUP]]")]
    pub file: Vec<FileArgument>,

    /// systemd unit to add, with the name of its file; dayone enables it if it has an [Install] section; repeatable; CoreOS
    /// only
    #[arg(long, value_name = "FILE")]
    pub unit: Vec<PathBuf>,

    /// Let NICs that the documents do not mention come up with DHCP, as NetworkManager does by default
    #[arg(long)]
    pub auto_default: bool,
}

/// A file to add to the system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileArgument {
    /// Its path in the system.
    pub path: AbsolutePath,
    /// The local file with its content.
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
        // A colon with anything but digits after it belongs to the local file's name.
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
