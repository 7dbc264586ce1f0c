//! One file under several names on a live ISO, as live-build makes its ISOs: whoever loads it by whichever name gets what was
//! added, and a file that shares only a part of its bytes is left alone.

use crate::live_media;

use imagelib::digest::Digest;
use imagelib::image::ImageError;
use imagelib::iso::{TreeKind, Volume};
use imagelib::recipe::Recipe;
use live_media::*;
use proptest::prelude::*;

/// Writes one record over: its extent and size become these, in both byte orders.
fn point(image: &mut [u8], record: u64, block: u32, size: u32) {
    let at = usize::try_from(record).unwrap();
    for (field, value) in [(2, block), (10, size)] {
        image[at + field..at + field + 4].copy_from_slice(&value.to_le_bytes());
        image[at + field + 4..at + field + 8].copy_from_slice(&value.to_be_bytes());
    }
}

/// Makes a path a name of the content of another one, in both trees; without the last `less` bytes of it.
fn link(image: &mut Vec<u8>, path: &str, to: &str, less: u32) {
    for tree in [TreeKind::Primary, TreeKind::Joliet] {
        let find = |image: &Vec<u8>, path: &str| {
            let volume = Volume::open(image).unwrap();
            volume.find_in(image, tree, path).unwrap().unwrap()
        };
        let (record, extent) = (find(image, path).records[0], find(image, to).extents[0]);
        let block = u32::try_from(extent.offset / 2048).unwrap();
        point(image, record, block, u32::try_from(extent.length).unwrap() - less);
    }
}

const INITRDS: [&str; 4] = ["/live/a.img", "/live/b.img", "/live/c.img", "/live/unused.img"];
const MENUS: [&str; 3] = ["/boot/grub/grub.cfg", "/EFI/BOOT/grub.cfg", "/EFI/BOOT/BOOT.conf"];

fn menu() -> String {
    let entry = |name: &str| format!("menuentry {name} {{\n linux /live/vmlinuz quiet\n initrd /live/{name}.img\n}}\n");
    ["a", "b", "c"].map(entry).concat()
}

fn sums(image: &[u8]) -> String {
    let line = |path: &&str| format!("{}  .{path}\n", Digest::of(&file_in(image, TreeKind::Primary, path)));
    INITRDS.iter().chain(&MENUS).map(line).collect()
}

/// An ISO whose initrds and menus are names of these contents, with a list of checksums.
fn media(initrds: &[usize], menus: &[usize]) -> Vec<u8> {
    let mut files: Vec<(String, Vec<u8>)> = vec![("live/vmlinuz".to_owned(), kernel())];
    files.extend(INITRDS.iter().map(|path| (path[1..].to_owned(), live_boot(path))));
    // Nothing but a comment tells them apart.
    files.extend(MENUS.iter().map(|path| (path[1..].to_owned(), format!("{}# {path}\n", menu()).into_bytes())));
    let length = 7 * (64 + "  ./live/a.img\n".len() + 32);
    files.push(("sha256sum.txt".to_owned(), vec![b'\n'; length]));
    let files: Vec<(&str, Vec<u8>)> = files.iter().map(|(path, bytes)| (path.as_str(), bytes.clone())).collect();
    let mut image = iso(&files, &[("EFI/BOOT/BOOTX64.EFI", grub())]);
    for (names, contents) in [(INITRDS.as_slice(), initrds), (MENUS.as_slice(), menus)] {
        for (path, content) in names.iter().zip(contents) {
            link(&mut image, path, names[*content], 0);
        }
    }
    let list = sums(&image);
    let source = image.clone();
    let volume = Volume::open(&source).unwrap();
    let at = volume.find_in(&source, TreeKind::Primary, "/sha256sum.txt").unwrap().unwrap().extents[0].offset;
    let at = usize::try_from(at).unwrap();
    image[at..at + list.len()].copy_from_slice(list.as_bytes());
    image
}

fn both_trees(image: &[u8], path: &str) -> Vec<u8> {
    let content = file_in(image, TreeKind::Primary, path);
    assert!(file_in(image, TreeKind::Joliet, path) == content, "{path}");
    content
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 10, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_name_leads_to_what_was_added(
        // Each is a name of itself, or of one before it.
        initrds in prop::array::uniform4(any::<prop::sample::Index>()),
        menus in prop::array::uniform3(any::<prop::sample::Index>()),
        chosen in prop::option::of(0_usize..3),
    ) {
        let names_of = |indexes: &[prop::sample::Index]| {
            let mut contents: Vec<usize> = Vec::new();
            for (name, index) in indexes.iter().enumerate() {
                let other = index.index(name + 1);
                contents.push(contents.get(other).copied().unwrap_or(name));
            }
            contents
        };
        let (initrds, menus) = (names_of(&initrds), names_of(&menus));
        let base = media(&initrds, &menus);
        let title = chosen.map(|index| ["a", "b", "c"][index].to_owned());
        let wanted = Recipe { boot_entries: title.iter().cloned().collect(), ..recipe(&base) };
        let image = planned(&base, &wanted).unwrap();
        let made = output(&base, &image);

        let loaded: Vec<usize> = (0..3).filter(|index| chosen.is_none_or(|chosen| chosen == *index)).collect();
        for (name, path) in INITRDS.iter().enumerate() {
            let (old, new) = (both_trees(&base, path), both_trees(&made, path));
            let grows = loaded.iter().any(|loaded| initrds[*loaded] == initrds[name]);
            prop_assert!(new.starts_with(&old), "{}", path);
            prop_assert_eq!(new.len() > old.len(), grows, "{}", path);
            // One file stays one file.
            prop_assert_eq!(&new, &both_trees(&made, INITRDS[initrds[name]]), "{}", path);
        }
        for path in MENUS {
            let (old, new) = (both_trees(&base, path), both_trees(&made, path));
            let (old, new) = (String::from_utf8(old).unwrap(), String::from_utf8(new).unwrap());
            let expected: String = old
                .split_inclusive("}\n")
                .map(|entry| {
                    let meant = title.as_ref().is_none_or(|title| entry.contains(&format!("menuentry {title} ")));
                    if meant { entry.replace("quiet", "quiet x=y") } else { entry.to_owned() }
                })
                .collect();
            prop_assert_eq!(&new, &expected, "{}", path);
        }
        let list = String::from_utf8(both_trees(&made, "/sha256sum.txt")).unwrap();
        // Lines of menus are taken out or right, and all the others are right.
        let right = sums(&made);
        prop_assert!(list.lines().filter(|line| !line.is_empty()).all(|line| right.contains(line)), "{}", list);
        prop_assert!(INITRDS.iter().all(|path| list.contains(&format!(".{path}\n"))), "{}", list);
    }
}

#[test]
fn a_file_that_shares_a_part_of_its_bytes_is_refused() {
    let mut base = media(&[0, 1, 2, 3], &[0, 1, 2]);
    // The kernel, say, lies in the middle of something that is one file with an initrd.
    link(&mut base, "/live/unused.img", "/live/a.img", 1);
    let chosen = |title: &str| Recipe { boot_entries: [title.to_owned()].into(), ..recipe(&base) };
    let error = planned(&base, &chosen("a")).unwrap_err().to_string();
    assert_eq!(
        error,
        "the initrd /live/a.img cannot be extended: it shares only some of its bytes with /live/unused.img in the ISO image, \
         so a change of one would damage the other"
    );
    assert!(planned(&base, &chosen("b")).is_ok());
    // It is the default, too, so that the others do not make up for it.
    let error = planned(&base, &recipe(&base)).unwrap_err();
    assert!(matches!(error, ImageError::DefaultInitrd { .. }), "{error}");

    let mut base = media(&[0, 1, 2, 3], &[0, 1, 2]);
    link(&mut base, "/live/unused.img", "/EFI/BOOT/grub.cfg", 3);
    let error = planned(&base, &recipe(&base)).unwrap_err().to_string();
    assert!(
        error.starts_with("\"/EFI/BOOT/grub.cfg\" in the ISO image cannot be edited: it shares only some"),
        "{error}"
    );
}

#[test]
fn a_file_that_two_loaders_read_as_different_menus_is_refused() {
    let text = "label live\n linux /live/vmlinuz\n append initrd=/live/a.img\n#\nmenuentry a {\n linux /live/vmlinuz\n initrd /live/a.img\n}\n";
    let files = [
        isolinux(),
        ("live/vmlinuz", kernel()),
        ("live/a.img", live_boot("a")),
        ("isolinux/isolinux.cfg", text.into()),
        ("boot/grub/grub.cfg", text.into()),
    ];
    let mut base = iso(&files, &[]);
    link(&mut base, "/boot/grub/grub.cfg", "/isolinux/isolinux.cfg", 0);
    let error = planned(&base, &recipe(&base)).unwrap_err();
    assert!(matches!(&error, ImageError::SharedMenu { .. }), "{error}");
    assert!(error.to_string().contains("/boot/grub/grub.cfg and /isolinux/isolinux.cfg are the same file"), "{error}");
}

/// Takes the sign of Rock Ridge (SP) away, without which no reader looks for its names.
fn without_rock_ridge(mut image: Vec<u8>) -> Vec<u8> {
    let sign = b"SP\x07\x01\xbe\xef";
    let places: Vec<usize> = (0..image.len()).filter(|at| image[*at..].starts_with(sign)).collect();
    assert_eq!(places.len(), 1);
    image[places[0]] = b'X';
    assert!(!Volume::open(&image).unwrap().has_rock_ridge());
    image
}

#[test]
fn without_rock_ridge_each_loader_has_its_own_names() {
    let entry = |name: &str| format!("menuentry {name} {{\n linux /live/vmlinuz quiet\n initrd /live/{name}.img\n}}\n");
    let label = |name: &str| format!("label {name}\n linux /live/vmlinuz\n append initrd=/live/{name}.img quiet\n");
    let files = [
        isolinux(),
        // ISOLINUX knows the second menu by its name of ISO 9660, and GRUB by that of Joliet.
        ("isolinux/isolinux.cfg", format!("{}include long_men.cfg\n", label("a")).into_bytes()),
        ("isolinux/long_menu.cfg", label("b").into_bytes()),
        ("boot/grub/grub.cfg", format!("{}source /boot/grub/live_entries.cfg\n", entry("a")).into_bytes()),
        ("boot/grub/live_entries.cfg", entry("c").into_bytes()),
        ("live/vmlinuz", kernel()),
        ("live/a.img", live_boot("a")),
        ("live/b.img", live_boot("b")),
        ("live/c.img", live_boot("c")),
    ];
    let base = without_rock_ridge(iso(&files, &[("EFI/BOOT/BOOTX64.EFI", grub())]));
    let image = planned(&base, &recipe(&base)).unwrap();
    assert_eq!(warnings(&image), [""; 0]);
    // A menu that has the same name in both trees is one menu.
    let entries = live(&base).unwrap().describe().boot_entries;
    let titles: Vec<&str> = entries.iter().map(|entry| entry.title.as_str()).collect();
    assert_eq!(titles, ["a", "a", "c", "b"]);
    let made = output(&base, &image);
    let file = |path: &str| file_in(&made, TreeKind::Joliet, path);
    for (path, old) in &files {
        let Some(old) = str::from_utf8(old).ok().filter(|old| old.contains("quiet")) else { continue };
        let new = String::from_utf8(file(path)).unwrap();
        assert_eq!(new, old.replace("quiet", "quiet x=y"), "{path}");
    }
    for (path, old) in files.iter().filter(|(path, _)| path.starts_with("live/") && *path != "live/vmlinuz") {
        let new = file(path);
        assert!(new.len() > old.len() && new.starts_with(old), "{path}");
    }
}
