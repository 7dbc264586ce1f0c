//! Programs that read ISOs, each in its own way.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use acceptance::peers::{cache, run, run_text};

/// Files by path; a directory ends in a slash, and a symbolic link has its target as content.
pub type Tree = BTreeMap<String, Vec<u8>>;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Names {
    Iso,
    RockRidge,
    Joliet,
}

pub struct Reader {
    pub name: &'static str,
    pub names: Names,
    pub read: fn(&Path, &Path) -> Tree,
}

pub const READERS: [Reader; 9] = [
    Reader { name: "xorriso", names: Names::RockRidge, read: |iso, to| xorriso(iso, to, &[]) },
    Reader {
        name: "xorriso -read_fs norock",
        names: Names::Joliet,
        read: |iso, to| xorriso(iso, to, &["-read_fs", "norock"]),
    },
    Reader { name: "bsdtar", names: Names::Iso, read: bsdtar },
    Reader { name: "7z", names: Names::Iso, read: seven_zip },
    Reader { name: "isoinfo -R", names: Names::RockRidge, read: |iso, _| isoinfo(iso, &["-R"]) },
    Reader { name: "isoinfo -J", names: Names::Joliet, read: |iso, _| isoinfo(iso, &["-J"]) },
    Reader { name: "pycdlib ISO 9660", names: Names::Iso, read: |iso, to| pycdlib(iso, to, "iso") },
    Reader { name: "pycdlib Rock Ridge", names: Names::RockRidge, read: |iso, to| pycdlib(iso, to, "rr") },
    Reader { name: "pycdlib Joliet", names: Names::Joliet, read: |iso, to| pycdlib(iso, to, "joliet") },
];

fn xorriso(iso: &Path, directory: &Path, options: &[&str]) -> Tree {
    extracted(directory, |to| {
        run(Command::new("xorriso")
            .args(options)
            .args(["-osirrox", "on:auto_chmod_on", "-indev"])
            .arg(iso)
            .args(["-extract", "/"])
            .arg(to)
            .env("LC_ALL", "C.UTF-8"));
    })
}

fn bsdtar(iso: &Path, directory: &Path) -> Tree {
    extracted(directory, |to| {
        run(Command::new("bsdtar").arg("-xf").arg(iso).arg("-C").arg(to).env("LC_ALL", "C.UTF-8"));
    })
}

fn seven_zip(iso: &Path, directory: &Path) -> Tree {
    extracted(directory, |to| {
        let mut output = std::ffi::OsString::from("-o");
        output.push(to);
        // What the boot catalog names is not a file.
        run(Command::new("7z").args(["x", "-y", "-x![BOOT]"]).arg(output).arg(iso));
    })
}

fn isoinfo(iso: &Path, options: &[&str]) -> Tree {
    let image = fs::read(iso).unwrap();
    let listing = run_text(Command::new("isoinfo").args(options).arg("-l").arg("-i").arg(iso));
    let mut tree = Tree::new();
    let mut directory = String::new();
    for line in listing.lines() {
        if let Some(path) = line.strip_prefix("Directory listing of ") {
            path.clone_into(&mut directory);
        } else if let Some((head, name)) = line.split_once("] ") {
            // -rw-r--r--   1    0    0       11868 Nov 14 2023 [     57 00]  name
            let number = |text: &str| text.parse::<usize>().unwrap();
            let (size, block) = (head.split_whitespace().nth(4).unwrap(), head.split_once('[').unwrap().1);
            let (size, start) = (number(size), number(block.split_whitespace().next().unwrap()) * 2048);
            let (name, target) = name.trim().split_once(" -> ").unwrap_or((name.trim(), ""));
            match line.as_bytes()[0] {
                _ if name == "." || name == ".." => None,
                b'd' => tree.insert(format!("{directory}{name}/"), Vec::new()),
                b'l' => tree.insert(format!("{directory}{name}"), target.as_bytes().to_vec()),
                _ if size == 0 => tree.insert(format!("{directory}{name}"), Vec::new()),
                _ => tree.insert(format!("{directory}{name}"), image[start..start + size].to_vec()),
            };
        }
    }
    tree
}

const PYCDLIB: &str = r#"
import os, sys, pycdlib
source, kind, to = sys.argv[1:]
iso = pycdlib.PyCdlib()
iso.open(source)
key = kind + "_path"
for directory, directories, files in iso.walk(**{key: "/"}):
    for name in directories:
        os.makedirs(to + "/" + directory + "/" + name)
    for name in files:
        path = directory.rstrip("/") + "/" + name
        record = iso.get_record(**{key: path})
        if kind != "joliet" and record.rock_ridge is not None and record.rock_ridge.is_symlink():
            if kind == "rr":
                os.symlink(record.rock_ridge.symlink_path(), to + path)
            continue
        iso.get_file_from_iso(to + path, **{key: path})
iso.close()
"#;

fn pycdlib(iso: &Path, directory: &Path, kind: &str) -> Tree {
    let python = cache().join("pycdlib-1.22.0/bin/python");
    assert!(python.exists(), "{} is missing; run scripts/setup-peers.sh", python.display());
    // It refuses to open an image for its partition table, if that is none that it would write itself.
    let mut image = fs::read(iso).unwrap();
    image[..16 * 2048].fill(0);
    let copy = directory.join("pycdlib.iso");
    fs::write(&copy, image).unwrap();
    extracted(directory, |to| {
        run(Command::new(&python).args(["-c", PYCDLIB]).arg(&copy).arg(kind).arg(to).env("LC_ALL", "C.UTF-8"));
    })
}

/// What a program extracts.
fn extracted(directory: &Path, extract: impl FnOnce(&Path)) -> Tree {
    let to = tempfile::tempdir_in(directory).unwrap();
    extract(to.path());
    run(Command::new("chmod").args(["-R", "u+rwX"]).arg(to.path()));
    let mut tree = Tree::new();
    collect(to.path(), "", &mut tree);
    tree
}

fn collect(directory: &Path, path: &str, tree: &mut Tree) {
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let path = format!("{path}/{}", entry.file_name().to_str().unwrap());
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            collect(&entry.path(), &path, tree);
            tree.insert(format!("{path}/"), Vec::new());
        } else if kind.is_symlink() {
            tree.insert(path, fs::read_link(entry.path()).unwrap().into_os_string().into_encoded_bytes());
        } else {
            tree.insert(path, fs::read(entry.path()).unwrap());
        }
    }
}
