//! Anaconda, the installer of Fedora, RHEL and its rebuilds. It brings dracut's module `livenet`.
//!
//! Anaconda's part of the initramfs looks for the installer's system where `inst.stage2=`, or else `inst.repo=`, says. But if the kernel
//! arguments have `root=`, it leaves the system to dracut's own modules (`dracut/parse-anaconda-repo.sh`). So the other arguments stay:
//! they also say where the packages are.

use super::{NotFetched, value};
use crate::kernel_arguments::KernelArguments;

/// Where the installer's system may be in a directory of a medium (`find_runtime` in `dracut/anaconda-lib.sh`).
const SYSTEMS: [&str; 2] = ["images/install.img", "LiveOS/squashfs.img"];
/// Files and a directory by which Anaconda's part of the initramfs changes the system that it finds on a medium, and `livenet` does
/// not (`anaconda_auto_updates` in `dracut/anaconda-lib.sh`).
pub(super) const UPDATES: [&str; 3] = ["/images/updates.img", "/images/product.img", "/images/RHupdates"];

/// Whether these arguments leave it to Anaconda's part of the initramfs to find the system.
pub(super) fn decides(arguments: &KernelArguments) -> bool {
    !arguments.iter().any(|argument| argument.starts_with("root="))
}

/// The arguments that say where the installer's system is. The first one counts more.
const PLACES: [&str; 2] = ["inst.stage2=", "inst.repo="];
/// The kinds of places on media; all others are on the network (`dracut/parse-anaconda-repo.sh`).
const MEDIA: [&str; 3] = ["hd", "cd", "cdrom"];

/// The argument that says where the system is, and its value.
fn place(arguments: &KernelArguments) -> Option<(&'static str, &str)> {
    PLACES.into_iter().find_map(|key| Some((key, value(arguments, key)?)))
}

/// Fails if the system is not on the medium.
pub(super) fn check(arguments: &KernelArguments) -> Result<(), NotFetched> {
    match place(arguments) {
        Some((key, place)) if !MEDIA.contains(&place.split(':').next().unwrap_or_default()) => {
            Err(NotFetched::Elsewhere(key))
        }
        _ => Ok(()),
    }
}

/// The paths at which the installer's system may be, the first first.
pub(super) fn paths(arguments: &KernelArguments) -> Vec<String> {
    let place = place(arguments).map(|(_, place)| place).unwrap_or_default();
    // The kind of the medium, its name, and perhaps the path of the system itself or of the directory around it.
    let path = place.splitn(3, ':').nth(2).unwrap_or_default().trim_matches('/');
    let root = if path.is_empty() { String::new() } else { format!("/{path}") };
    let named = (!root.is_empty()).then(|| root.clone());
    named.into_iter().chain(SYSTEMS.iter().map(|system| format!("{root}/{system}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::line;
    use super::*;

    #[test]
    fn the_system_is_where_the_arguments_say() {
        let by_default = ["/images/install.img", "/LiveOS/squashfs.img"];
        for text in ["", "inst.stage2=hd:LABEL=RHEL-9-4", "inst.repo=cdrom", "inst.stage2=hd:LABEL=x:/"] {
            assert_eq!(paths(&line(text)), by_default, "{text}");
        }
        let named = ["/a/b.img", "/a/b.img/images/install.img", "/a/b.img/LiveOS/squashfs.img"];
        assert_eq!(paths(&line("inst.repo=hd:LABEL=y:/c inst.stage2=hd:LABEL=x:/a/b.img")), named);
        assert_eq!(paths(&line("inst.repo=hd:LABEL=x:/a/b.img/")), named);
    }

    #[test]
    fn a_system_on_the_network_is_not_on_the_medium() {
        for text in ["", "inst.repo=cdrom", "inst.stage2=hd:LABEL=x inst.repo=http://192.0.2.1:8080/os"] {
            assert_eq!(check(&line(text)), Ok(()), "{text}");
        }
        for (text, key) in [
            ("inst.stage2=https://user:secret@mirror.example/os", "inst.stage2="),
            ("inst.repo=nfs:192.0.2.1:/os", "inst.repo="),
        ] {
            let error = check(&line(text)).unwrap_err();
            assert_eq!(error, NotFetched::Elsewhere(key), "{text}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }

    #[test]
    fn another_root_is_not_anacondas_to_find() {
        assert!(decides(&line("inst.stage2=hd:LABEL=x quiet inst.rootpw=1")));
        assert!(!decides(&line("inst.stage2=hd:LABEL=x root=live:CDLABEL=x")));
    }
}
