//! Orders with answer files, and what is in their images.

use std::fs;
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

/// What the kernel makes of the part of an image's initramfs that is behind `base`'s.
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
