use std::cell::Cell;

use super::*;
use crate::boot_config::{Boots, MAX_INCLUDES, NotEditable};

#[test]
fn discovery_is_bounded() {
    let paths: Vec<String> = (0..400).map(|n| format!("/{n}/grub.cfg")).collect();
    let many = FileSystem::new(paths.iter().map(String::as_str), |_| Some(b"source /0/GRUB.CFG".to_vec()));
    assert_eq!(discover(&[many]).len(), MAX_CONFIGS);
    let large = FileSystem::new(["/grub.cfg"], |_| Some(vec![b'#'; MAX_CONFIG_SIZE + 1]));
    assert!(discover(&[large]).is_empty());
    let text = format!("ui menu.c32{}", " x".repeat(2 * MAX_INCLUDES));
    let looked_for = Cell::new(0);
    let links = |_: &str| {
        looked_for.set(looked_for.get() + 1);
        None
    };
    let words = FileSystem::new(["/isolinux.cfg"], |_| Some(text.clone().into())).with_links(Vec::new(), links);
    assert_eq!(discover(&[words]).len(), 1);
    assert_eq!(looked_for.get(), MAX_INCLUDES);
}

/// What is found on file systems with these files, the first one that of the ISO.
fn found(media: &[&[(&str, &str)]]) -> Vec<Found> {
    let mut file_systems = Vec::new();
    for files in media {
        let text = move |path: &str| {
            let (_, text) = files.iter().find(|(known, _)| *known == path)?;
            Some(text.as_bytes().to_vec())
        };
        file_systems.push(FileSystem::new(files.iter().map(|(path, _)| *path), text));
    }
    discover(&file_systems)
}

fn paths(found: &[Found]) -> Vec<&str> {
    found.iter().map(|found| found.path.as_str()).collect()
}

#[test]
fn a_configuration_of_syslinux_may_have_a_directory_of_its_own() {
    let menu = "default z\nlabel z\n kernel vmlinuz\n append initrd=initrd.img\n";
    for (config, expected) in [
        ("config /sub/menu.cfg /sub", "/sub/initrd.img"),
        ("config ../sub/menu.cfg ../sub", "/sub/initrd.img"),
        ("config /sub/menu.cfg\n append /sub/", "/sub/initrd.img"),
        ("config /sub/menu.cfg /", "/initrd.img"),
        ("config /sub/menu.cfg", "/isolinux/initrd.img"),
        ("config /sub/menu.cfg\n append -", "/isolinux/initrd.img"),
    ] {
        let first = format!("default m\nlabel m\n {config}\n");
        let found = found(&[&[("/isolinux/isolinux.cfg", first.as_str()), ("/sub/menu.cfg", menu)]]);
        let [first, second] = found.as_slice() else { panic!("{config}: {found:?}") };
        let initrd = second.config.resolve("initrd.img", &second.directory);
        assert_eq!(initrd.as_deref(), Some(expected), "{config}");
        // It is another menu, which has its own default.
        assert_ne!(first.group, second.group, "{config}");
    }
}

#[test]
fn a_menu_module_of_syslinux_may_show_other_files() {
    let menu = "label z\n kernel vmlinuz\n append initrd=initrd.img\n";
    for first in [
        "ui vesamenu.c32 menu.txt\n",
        "default /isolinux/menu.c32 menu.txt\n",
        "ontimeout menu.c32 ~ colors.txt menu.txt\n",
        "label m\n kernel vesamenu.c32 menu.txt\n",
        "label m\n com32 menu.c32\n append ~ /isolinux/menu.txt\n",
    ] {
        let found = found(&[&[("/isolinux/isolinux.cfg", first), ("/isolinux/menu.txt", menu)]]);
        assert_eq!(paths(&found), ["/isolinux/isolinux.cfg", "/isolinux/menu.txt"], "{first}");
        let initrd = found[1].config.resolve("initrd.img", &found[1].directory);
        assert_eq!(initrd.as_deref(), Some("/isolinux/initrd.img"), "{first}");
        assert!(found[0].leads_to.contains(&found[1].group) && found[0].group != found[1].group, "{first}");
    }
    for first in [
        "ui gfxboot.c32 menu.txt\n",
        "label m\n kernel vesamenu.c32\n append -\n",
        "label m\n kernel hdt.c32\n append menu.txt\n",
    ] {
        let found = found(&[&[("/isolinux/isolinux.cfg", first), ("/isolinux/menu.txt", menu)]]);
        assert_eq!(paths(&found), ["/isolinux/isolinux.cfg"], "{first}");
    }
}

/// The labels of what a menu module shows together are those of one menu, so that a default among them is no kernel.
#[test]
fn files_that_a_menu_module_shows_together_are_one_menu() {
    let first = "label m\n kernel vesamenu.c32\n append ~ common.cfg menu.cfg\nlabel n\n kernel menu.c32 other.cfg\n";
    let found = found(&[&[
        ("/isolinux/isolinux.cfg", first),
        ("/isolinux/common.cfg", "menu title x\nontimeout z\n"),
        ("/isolinux/menu.cfg", "default menu.c32\nlabel z\n kernel vmlinuz\n"),
        ("/isolinux/other.cfg", "ontimeout z\n"),
    ]]);
    assert_eq!(found.iter().map(|found| found.config.entries().len()).collect::<Vec<_>>(), [2, 0, 1, 1]);
    let groups: Vec<usize> = found.iter().map(|found| found.group).collect();
    assert!(groups[1] == groups[2] && groups[0] != groups[1] && groups[2] != groups[3], "{groups:?}");
}

#[test]
fn paths_that_differ_in_case_are_different_configurations() {
    for (include, expected) in [
        ("source /a.cfg", vec!["/BOOT/GRUB/grub.cfg", "/boot/grub/grub.cfg", "/a.cfg"]),
        ("source /A.CFG", vec!["/BOOT/GRUB/grub.cfg", "/boot/grub/grub.cfg", "/A.CFG"]),
        ("source /A*.CFG", vec!["/BOOT/GRUB/grub.cfg", "/boot/grub/grub.cfg", "/A.CFG"]),
        ("source /A.cfg", vec!["/BOOT/GRUB/grub.cfg", "/boot/grub/grub.cfg", "/a.cfg", "/A.CFG"]),
    ] {
        let include = include.replace('*', "$unknown");
        let first = ("/BOOT/GRUB/grub.cfg", include.as_str());
        let found = found(&[&[first, ("/boot/grub/grub.cfg", ""), ("/a.cfg", ""), ("/A.CFG", "")]]);
        assert_eq!(paths(&found), expected, "{include}");
    }
}

#[test]
fn all_commands_of_grub_that_read_a_configuration_are_followed() {
    let text = "normal /a.cfg\nnormal\nextract_entries_source /b.cfg\nextract_entries_configfile /c.cfg\n";
    let found = found(&[&[("/grub.cfg", text), ("/a.cfg", ""), ("/b.cfg", ""), ("/c.cfg", "")]]);
    assert_eq!(paths(&found), ["/grub.cfg", "/a.cfg", "/b.cfg", "/c.cfg"]);
    let other = b"menuentry a { syslinux_configfile /isolinux/isolinux.cfg }".to_vec();
    let other = BootConfig::parse(Loader::Grub, other);
    assert_eq!(other.entries()[0].boots, Boots::Other(NotEditable::Command("syslinux_configfile")));
}

#[test]
fn grub_reads_what_its_partition_lacks_from_the_iso() {
    let in_esp = "search --file --set=root /live/vmlinuz\nset prefix=($root)/boot/grub\n\
                  configfile $prefix/efi.cfg\nif true; then source /none.cfg; fi\nsource /gone.cfg\n";
    let alone = found(&[&[("/a.cfg", "")], &[("/syslinux.cfg", "include /a.cfg")]]);
    let iso = [("/boot/grub/efi.cfg", "source $prefix/more.cfg"), ("/boot/grub/more.cfg", ""), ("/x/grub.cfg", "")];
    let found = found(&[&iso, &[("/EFI/BOOT/grub.cfg", in_esp)]]);
    let places: Vec<_> = found.iter().map(|found| (found.file_system, found.path.as_str())).collect();
    let expected =
        [(0, "/x/grub.cfg"), (1, "/EFI/BOOT/grub.cfg"), (0, "/boot/grub/efi.cfg"), (0, "/boot/grub/more.cfg")];
    assert_eq!(places, expected);
    assert_eq!(found[1].missing, ["/gone.cfg"]);
    assert!(found[1].group == found[3].group && found[0].group != found[1].group);
    // SYSLINUX knows no other file system than its own.
    assert_eq!(paths(&alone), ["/syslinux.cfg"]);
}

#[test]
fn grub_finds_its_configuration_through_a_link() {
    let texts = [("/boot/menu.txt", ""), ("/boot/grub2/grub.cfg", ""), ("/x.cfg", "")];
    let text = move |path: &str| texts.iter().find(|(known, _)| *known == path).map(|(_, text)| Vec::from(*text));
    let links = [
        ("/boot/grub/grub.cfg", "/boot/menu.txt"),
        ("/EFI/BOOT/GRUB.CFG", "/boot/grub2/grub.cfg"),
        ("/isolinux/isolinux.cfg", "/x.cfg"),
        ("/gone/grub.cfg", "/gone.cfg"),
    ];
    let linked = links.iter().map(|(link, _)| (*link).to_owned()).collect();
    let resolve = move |path: &str| links.iter().find(|(link, _)| *link == path).map(|(_, to)| (*to).to_owned());
    let iso = FileSystem::new(texts.iter().map(|(path, _)| *path), text).with_links(linked, resolve);
    let found = discover(&[iso]);
    assert_eq!(paths(&found), ["/boot/grub2/grub.cfg", "/boot/menu.txt"]);
    assert_eq!(found[1].directory, "/boot/grub");
    assert_eq!(found[1].config.loader(), Loader::Grub);
}
