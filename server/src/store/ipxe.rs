//! The iPXE script that boots an image over the network.

use std::fmt::Write as _;

use imagelib::image::{FileName, Image};

/// The script for an image that has a kernel and an initramfs; `None` for others, and for those whose kernel arguments
/// no iPXE script can carry. `url` gives the address of each of the image's files.
///
/// iPXE splits a line at white space and joins what follows the kernel's URL with single spaces. It has no quotes and no
/// escapes: `${…}` is always a setting, and a word that begins with `#`, or is `;`, `||` or `&&`, ends the command
/// (<https://ipxe.org/scripting>).
pub fn script(image: &Image, url: impl Fn(FileName) -> String) -> Option<String> {
    let has = |file| image.files.contains_key(&file);
    if !has(FileName::Kernel) || !has(FileName::Initrd) {
        return None;
    }
    let mut arguments = words(image.kernel_arguments.as_deref().unwrap_or_default())?;
    // EFI kernels find the initramfs by the name that iPXE gave it: the last component of its URL.
    let mut line = format!("kernel {} initrd={}", url(FileName::Kernel), FileName::Initrd);
    let rootfs = image.rootfs_argument.filter(|_| has(FileName::Rootfs)).map(|name| format!("{name}="));
    // The user's own address for it stands.
    let rootfs = rootfs.filter(|start| !arguments.iter().any(|word| word.starts_with(start.as_str())));
    let rootfs = rootfs.map(|start| start + &url(FileName::Rootfs));
    arguments.extend(rootfs.as_deref());
    for word in arguments {
        let _ = write!(line, " {word}");
    }
    Some(format!("#!ipxe\n{line}\ninitrd {}\nboot\n", url(FileName::Initrd)))
}

/// The arguments as iPXE would hand them on; `None` where that would not be the same arguments.
fn words(arguments: &str) -> Option<Vec<&str>> {
    let words: Vec<&str> = arguments.split_ascii_whitespace().collect();
    let ends_command = |word: &str| word.starts_with('#') || matches!(word, ";" | "||" | "&&");
    let lost = words.iter().any(|word| word.contains("${") || word.contains(char::is_control) || ends_command(word));
    // White space matters inside the kernel's quotes only.
    let collapses = arguments.contains('"') && words.join(" ") != arguments.trim_ascii();
    (!lost && !collapses).then_some(words)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use imagelib::overlay::{Overlay, Sizes};
    use vocabulary::report::Report;

    use super::*;

    fn image(files: &[FileName], arguments: Option<&str>) -> Image {
        let file = Overlay::concatenated(&Sizes::new(), vec![]).unwrap();
        let files: BTreeMap<_, _> = files.iter().map(|name| (*name, file.clone())).collect();
        Image {
            files,
            embedded: vec![],
            kernel_arguments: arguments.map(str::to_owned),
            rootfs_argument: Some("coreos.live.rootfs_url"),
            changes: vec![],
            report: Report::new(),
        }
    }

    const ALL: [FileName; 3] = [FileName::Kernel, FileName::Initrd, FileName::Rootfs];

    fn of(image: &Image) -> Option<String> {
        script(image, |file| format!("http://[2001:db8::1]:8081/i/token/{file}"))
    }

    #[test]
    fn a_live_system_is_told_where_its_root_file_system_is() {
        let expected = "#!ipxe\n\
            kernel http://[2001:db8::1]:8081/i/token/vmlinuz initrd=initrd.img rw a=\"b c\" \
            coreos.live.rootfs_url=http://[2001:db8::1]:8081/i/token/rootfs.img\n\
            initrd http://[2001:db8::1]:8081/i/token/initrd.img\n\
            boot\n";
        assert_eq!(of(&image(&ALL, Some("rw a=\"b c\""))).as_deref(), Some(expected));
        let own = of(&image(&ALL, Some("coreos.live.rootfs_url=http://x/r"))).unwrap();
        assert_eq!(own.matches("rootfs_url").count(), 1);
        assert!(own.contains("rootfs_url=http://x/r\n"));
    }

    #[test]
    fn there_is_no_script_without_a_kernel_or_for_arguments_that_ipxe_would_change() {
        assert_eq!(of(&image(&[FileName::BootIso], None)), None);
        assert_eq!(of(&image(&ALL[1..], None)), None);
        for bad in ["a=${net0/mac}", "a #b", "a ; b", "a || b", "&& b", "a=\"b  c\"", "a\u{7}b"] {
            assert_eq!(of(&image(&ALL[..2], Some(bad))), None, "{bad}");
        }
        for good in ["a=$b", "a=b#c", "a;b", "  a   b ", "", "a=\"b\""] {
            assert!(of(&image(&ALL[..2], Some(good))).is_some(), "{good}");
        }
    }

    #[test]
    fn arguments_cannot_add_lines_to_the_script() {
        let script = of(&image(&ALL[..2], Some("a\nshell\r\nb"))).unwrap();
        assert_eq!(script.lines().count(), 4);
    }
}
