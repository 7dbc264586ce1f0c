//! What the boot loaders read. There is one entry, and nobody to choose.

use super::{BootMediumError, INITRD, KERNEL};
use crate::boot_config::{Loader, check_length};
use crate::kernel_arguments::KernelArguments;

/// The command line, which a loader's configuration can carry as it is, and which the loader passes on as a whole.
fn checked(loader: Loader, arguments: &KernelArguments) -> Result<String, BootMediumError> {
    let special = ['{', '}', '|', '&', '$', ';', '<', '>', '\\', '\''];
    let comment = arguments.iter().any(|argument| argument.starts_with('#'));
    let text = arguments.to_string();
    if comment || text.contains(special) || text.chars().any(char::is_control) {
        return Err(BootMediumError::Arguments);
    }
    let [kernel, initrd] = [KERNEL, INITRD].map(|name| format!("/{name}"));
    let arguments: Vec<&str> = arguments.iter().collect();
    check_length(loader.added_length(&kernel, &[initrd.as_str()]), &arguments)?;
    Ok(text)
}

/// GRUB's: it may have been started from another file system than the one with the kernel, and finds that by the file
/// `mark`.
pub(super) fn grub(mark: &str, arguments: &KernelArguments) -> Result<String, BootMediumError> {
    let arguments = checked(Loader::Grub, arguments)?;
    Ok(format!(
        "search --no-floppy --file --set=root /{mark}\n\
         set default=0\n\
         set timeout=0\n\
         menuentry 'Linux' {{\n\
         \tlinux /{KERNEL} {arguments}\n\
         \tinitrd /{INITRD}\n\
         }}\n"
    ))
}

/// ISOLINUX's: it reads the file system that it was started from. `INITRD` would add itself behind the arguments, the last
/// of which may be for others than the kernel.
pub(super) fn isolinux(arguments: &KernelArguments) -> Result<String, BootMediumError> {
    let arguments = checked(Loader::Syslinux, arguments)?;
    Ok(format!(
        "DEFAULT linux\n\
         PROMPT 0\n\
         LABEL linux\n\
         \x20 KERNEL /{KERNEL}\n\
         \x20 APPEND initrd=/{INITRD} {arguments}\n"
    ))
}

/// systemd-boot's: an entry of type 1 (Boot Loader Specification).
pub(super) fn systemd_boot(arguments: &KernelArguments) -> Result<String, BootMediumError> {
    let arguments = checked(Loader::SystemdBoot, arguments)?;
    Ok(format!("title Linux\nlinux /{KERNEL}\ninitrd /{INITRD}\noptions {arguments}\n"))
}
