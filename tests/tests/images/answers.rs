//! Orders with answer files, and what is in their images.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use acceptance::bases::extracted;
use acceptance::peers::run;
use acceptance::server::dayone;

/// Orders the image `out.iso` with an answer file, for the host of a document.
pub(crate) fn order(
    directory: &Path,
    base: &Path,
    (document, kind, answers): (&str, &str, &str),
    extra: &[&str],
) -> Output {
    let path = |name: &str| directory.join(name);
    fs::write(path("host.yaml"), document).unwrap();
    fs::write(path("answers"), answers).unwrap();
    let mut command = dayone();
    command.arg("build").arg(path("host.yaml")).arg("--base").arg(base).arg("-o").arg(path("out.iso"));
    command.args(["--answers", kind]).arg(path("answers")).args(extra).output().unwrap()
}

pub(crate) fn errors(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Makes an ISO of the directory `tree`, whose boot menus have one more kernel argument, before `mark`.
pub(crate) fn remade(directory: &Path, menus: &[&str], mark: &str, argument: &str) -> PathBuf {
    let (tree, iso) = (directory.join("tree"), directory.join("remade.iso"));
    for menu in menus {
        let menu = tree.join(menu);
        let text = fs::read_to_string(&menu).unwrap();
        assert!(text.contains(mark), "{text}");
        fs::write(&menu, text.replace(mark, &format!("{argument} {mark}"))).unwrap();
    }
    let make = "rm -f $0; xorriso -as mkisofs -quiet -r -J -V REMADE -o $0 $1";
    run(Command::new("sh").args(["-ec", make]).args([&iso, &tree]));
    iso
}

/// What the kernel makes of the part of an image's initramfs that follows `base`'s.
pub(crate) fn unpacked(image: &Path, base: &Path, initrd: &str, directory: &Path) -> PathBuf {
    let [before, after, tree] = ["before", "after", "unpacked"].map(|name| directory.join(name));
    for path in [&before, &after, &tree] {
        fs::create_dir(path).unwrap();
    }
    let [before, after] = [(base, &before), (image, &after)].map(|(iso, to)| extracted(iso, initrd, to));
    let (before, after) = (fs::read(before).unwrap(), fs::read(after).unwrap());
    assert!(after.starts_with(&before));
    fs::write(directory.join("added.cpio"), &after[before.len()..]).unwrap();
    run(Command::new("sh").args(["-ec", "cpio --quiet -idm < ../added.cpio"]).current_dir(&tree));
    tree
}

/// What is in a directory.
pub(crate) fn names(directory: &Path) -> Vec<String> {
    let names = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// Checks that an installed system has the profiles that `converted` has, one of the user's own, and no others; the host name; and that
/// each new file got its label.
pub(crate) fn has_the_network(target: &Path, converted: &Path) {
    let profiles = target.join("etc/NetworkManager/system-connections");
    let mut expected = names(converted);
    assert!(expected.len() >= 4 && expected.contains(&"bond0.7.nmconnection".to_owned()), "{expected:?}");
    for name in &expected {
        let written = profiles.join(name);
        assert_eq!(fs::read(&written).unwrap(), fs::read(converted.join(name)).unwrap(), "{name}");
        assert_eq!(fs::metadata(&written).unwrap().permissions().mode() & 0o777, 0o600, "{name}");
    }
    let labelled = fs::read_to_string(target.join("tmp/labelled")).unwrap();
    assert_eq!(labelled.lines().count(), expected.len() + 2, "{labelled}");
    expected.push("user.nmconnection".to_owned());
    expected.sort();
    assert_eq!(names(&profiles), expected, "the installer's other profiles are gone");
    assert_eq!(fs::read_to_string(profiles.join("user.nmconnection")).unwrap(), "user\n");
    assert_eq!(fs::read_to_string(target.join("etc/hostname")).unwrap(), "worker-0.example.com\n");
    let configuration = target.join("etc/NetworkManager/conf.d/99-dayone-no-auto-default.conf");
    assert_eq!(fs::read_to_string(configuration).unwrap(), "[main]\nno-auto-default=*\n");
}
