//! The iPXE script that boots an image over the network.

use std::fmt::Write as _;

use imagelib::image::{FileName, Image, ImageError};

/// Makes the script for an image with a kernel and an initramfs. Returns `None` for other images, and if an iPXE script cannot
/// contain the kernel arguments. `url` returns the URL of a file of the image. An error if the kernel would not get all
/// arguments.
///
/// iPXE splits a line at white space, and joins the words after the kernel's URL with single spaces. It has neither quotes nor
/// escapes: `${…}` is always a setting, and a word that begins with `#`, or is `;`, `||` or `&&`, ends the command
/// (<https://ipxe.org/scripting>).
pub fn script(image: &Image, url: impl Fn(FileName) -> String) -> Result<Option<String>, ImageError> {
    let has = |file| image.files.contains_key(&file);
    if !has(FileName::Kernel) || !has(FileName::Initrd) {
        return Ok(None);
    }
    let Some(mut arguments) = words(image.kernel_arguments.as_deref().unwrap_or_default()) else { return Ok(None) };
    // An EFI kernel finds the initramfs by the name that iPXE gives it: the last component of its URL.
    let mut line = format!("kernel {} initrd={}", url(FileName::Kernel), FileName::Initrd);
    let rootfs = image.rootfs_argument.filter(|_| has(FileName::Rootfs)).map(|name| format!("{name}="));
    // The user's own URL takes precedence.
    let rootfs = rootfs.filter(|start| !arguments.iter().any(|word| word.starts_with(start.as_str())));
    let rootfs = rootfs.map(|start| start + &url(FileName::Rootfs));
    image.check_network_boot(rootfs.as_deref())?;
    arguments.extend(rootfs.as_deref());
    for word in arguments {
        let _ = write!(line, " {word}");
    }
    Ok(Some(format!("#!ipxe\n{line}\ninitrd {}\nboot\n", url(FileName::Initrd))))
}

/// The arguments as iPXE would pass them on. `None` if these would be other arguments.
fn words(arguments: &str) -> Option<Vec<&str>> {
    let words: Vec<&str> = arguments.split_ascii_whitespace().collect();
    let ends_command = |word: &str| word.starts_with('#') || matches!(word, ";" | "||" | "&&");
    let lost = words.iter().any(|word| word.contains("${") || word.contains(char::is_control) || ends_command(word));
    // White space matters only inside the kernel's quotes.
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
        script(image, |file| format!("http://[2001:db8::1]:8081/i/token/{file}")).unwrap()
    }

    #[test]
    fn a_kernel_that_would_not_get_the_url_of_its_root_file_system_has_no_script() {
        let check = |length: usize| {
            let image = image(&ALL, Some(&format!("a={}", "b".repeat(length - 2))));
            script(&image, |file| format!("http://x/{file}")).map_err(|error| error.to_string())
        };
        // vmlinuz initrd=initrd.img … coreos.live.rootfs_url=http://x/rootfs.img
        assert!(check(2046 - 26 - 43).unwrap().is_some());
        let error = check(2046 - 26 - 42).unwrap_err();
        assert!(error.contains("would have 2047 bytes, 26 of which") && error.contains("such as \"a\""), "{error}");
    }

    #[test]
    fn a_live_system_gets_the_url_of_its_root_file_system() {
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
