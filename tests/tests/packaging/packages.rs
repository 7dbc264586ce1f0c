//! The packages, as dpkg and rpm read and install them: into roots of their own, which have nothing but a shell.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use acceptance::packaging::{as_root, script, stripped};
use acceptance::peers::{run, run_text};

use super::files;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Makes the packages of this binary in `directory/packages`.
fn packages(directory: &Path, binary: &Path) -> PathBuf {
    let packages = directory.join("packages");
    run(script("packages.sh").arg("amd64").arg(binary).arg(&packages));
    packages
}

/// A root that has a shell, for the scripts of packages.
fn root(directory: &Path) -> PathBuf {
    let root = directory.join("root");
    fs::create_dir_all(root.join("bin")).unwrap();
    fs::copy("/bin/busybox", root.join("bin/sh")).unwrap();
    root
}

/// What every package installs, wherever else its parts are.
fn check_installed(root: &Path) {
    let version = run_text(Command::new(root.join("usr/bin/dayone")).arg("--version"));
    assert!(version.starts_with(&format!("dayone {VERSION}\n")), "{version}");
    let unit = fs::read_to_string(root.join("usr/lib/systemd/system/dayone.service")).unwrap();
    assert!(unit.contains("\nExecStart=/usr/bin/dayone serve"), "{unit}");
    for file in ["share/bash-completion/completions/dayone", "share/man/man1/dayone.1.gz", "share/doc/dayone/README.md"]
    {
        assert!(root.join("usr").join(file).exists(), "{file}");
    }
    let mode = |file: &str| fs::metadata(root.join(file)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("etc/dayone/dayone.env"), mode("etc/dayone/dayone.yaml")), (0o600, 0o644));
    assert_eq!((mode("etc/dayone"), mode("usr/bin/dayone")), (0o755, 0o755));
}

#[test]
fn debian_installs_keeps_settings_and_removes() {
    let directory = tempfile::tempdir().unwrap();
    let packages = packages(directory.path(), &stripped(directory.path()));
    let package = packages.join(format!("dayone_{VERSION}-1_amd64.deb"));
    let field = |name: &str| run_text(Command::new("dpkg-deb").arg("--field").arg(&package).arg(name));
    assert_eq!((field("Package").trim(), field("Architecture").trim()), ("dayone", "amd64"));
    // The program is static in a release: it needs no package.
    assert_eq!(field("Depends").trim(), "");
    let listed = run_text(Command::new("dpkg-deb").arg("--contents").arg(&package));
    assert!(listed.lines().all(|line| line.contains(" root/root ") || line.contains(" 0/0 ")), "{listed}");

    let root = root(directory.path());
    for path in ["info", "updates"] {
        fs::create_dir_all(root.join("var/lib/dpkg").join(path)).unwrap();
    }
    fs::write(root.join("var/lib/dpkg/status"), "").unwrap();
    let dpkg = |arguments: &[&str]| {
        let mut command = as_root("dpkg");
        command.arg(format!("--root={}", root.display())).args(["--log=/dev/null", "--force-confdef"]).args(arguments);
        run_text(&mut command)
    };
    dpkg(&["--install", package.to_str().unwrap()]);
    check_installed(&root);
    assert!(root.join("usr/share/zsh/vendor-completions/_dayone").exists());
    assert!(root.join("usr/share/doc/dayone/copyright").exists());
    let settings = run_text(Command::new("dpkg-query").arg(format!("--root={}", root.display())).args([
        "--showformat=${Conffiles}",
        "--show",
        "dayone",
    ]));
    assert!(
        settings.contains("/etc/dayone/dayone.env ") && settings.contains("/etc/dayone/dayone.yaml "),
        "{settings}"
    );

    fs::write(root.join("etc/dayone/dayone.yaml"), "media-url: http://192.0.2.10:8081\n").unwrap();
    dpkg(&["--install", package.to_str().unwrap()]);
    assert_eq!(fs::read_to_string(root.join("etc/dayone/dayone.yaml")).unwrap(), "media-url: http://192.0.2.10:8081\n");
    dpkg(&["--remove", "dayone"]);
    let left: Vec<String> = files(&root.join("etc")).into_iter().collect();
    assert_eq!(left, ["dayone/dayone.env", "dayone/dayone.yaml"]);
    assert!(!root.join("usr/bin/dayone").exists());
    dpkg(&["--purge", "dayone"]);
    assert!(!root.join("etc/dayone").exists());
}

#[test]
fn rpm_installs_keeps_settings_and_removes() {
    let directory = tempfile::tempdir().unwrap();
    let packages = packages(directory.path(), &stripped(directory.path()));
    let package = packages.join(format!("dayone-{VERSION}-1.x86_64.rpm"));
    let query = |arguments: &[&str]| run_text(Command::new("rpm").arg("--query").args(arguments).arg(&package));
    let fields = query(&["--queryformat", "%{NAME} %{ARCH} %{LICENSE} %{BUILDHOST} %{BUILDTIME}", "--package"]);
    assert_eq!(fields, "dayone x86_64 Apache-2.0 dayone 1700000000");
    let settings = query(&["--configfiles", "--package"]);
    assert_eq!(settings, "/etc/dayone/dayone.env\n/etc/dayone/dayone.yaml\n");
    assert!(query(&["--licensefiles", "--package"]).contains("LICENSE"));
    // Directories that other packages have are not ours.
    let listed = query(&["--list", "--package"]);
    assert!(!listed.lines().any(|line| ["/usr", "/usr/bin", "/usr/share", "/etc"].contains(&line)), "{listed}");

    let root = root(directory.path());
    let rpm = |arguments: &[&str]| {
        let mut command = as_root("rpm");
        // The root has no package that has a shell, only a shell.
        run_text(command.arg("--root").arg(&root).arg("--nodeps").args(arguments))
    };
    // As RPM 6 does by default. The option is that of docs/install.md.
    let strict = ["--define", "_pkgverify_level all", "--upgrade", package.to_str().unwrap()];
    let refused = as_root("rpm").arg("--root").arg(&root).arg("--nodeps").args(strict).output().unwrap();
    let errors = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && errors.contains("does not verify: no signature"), "{errors}");
    rpm(&[&["--nosignature"][..], &strict].concat());
    rpm(&["--erase", "dayone"]);

    rpm(&["--install", package.to_str().unwrap()]);
    check_installed(&root);
    assert!(root.join("usr/share/zsh/site-functions/_dayone").exists());
    assert_eq!(rpm(&["--verify", "dayone"]), "");

    fs::write(root.join("etc/dayone/dayone.yaml"), "media-url: http://192.0.2.10:8081\n").unwrap();
    rpm(&["--upgrade", "--replacepkgs", package.to_str().unwrap()]);
    assert_eq!(fs::read_to_string(root.join("etc/dayone/dayone.yaml")).unwrap(), "media-url: http://192.0.2.10:8081\n");
    rpm(&["--erase", "dayone"]);
    assert!(!root.join("usr/bin/dayone").exists());
    // What the user has written is kept aside.
    assert!(root.join("etc/dayone/dayone.yaml.rpmsave").exists());
}

/// The commands of `docs/install.md` unpack the archive as root over the machine's own directories.
#[test]
fn the_archive_leaves_the_directories_of_the_machine_as_they_are() {
    let directory = tempfile::tempdir().unwrap();
    let packages = packages(directory.path(), &stripped(directory.path()));
    let archive = packages.join(format!("dayone-{VERSION}-linux-amd64.tar.gz"));
    let root = directory.path().join("root");
    // As systems with ostree have it, and as an administrator may have it.
    for path in ["etc", "usr", "var/usrlocal/share/pages"] {
        fs::create_dir_all(root.join(path)).unwrap();
    }
    let links = [("usr/local", "../var/usrlocal"), ("var/usrlocal/share/man", "pages")];
    for (link, target) in links {
        symlink(target, root.join(link)).unwrap();
    }
    let modes = [("etc", 0o2750), ("var/usrlocal/share", 0o2775)];
    for (path, mode) in modes {
        fs::set_permissions(root.join(path), fs::Permissions::from_mode(mode)).unwrap();
    }
    let unpack = |more: &[&str]| {
        let mut tar = as_root("tar");
        tar.arg("-xzf").arg(&archive).arg("-C").arg(&root).args(["--strip-components", "1", "--no-same-owner"]);
        run(tar.args(more));
    };
    let settings = root.join("etc/dayone/dayone.yaml");
    unpack(&[]);
    fs::write(&settings, "mine").unwrap();
    unpack(&["--exclude", "*/etc"]);
    assert_eq!(fs::read_to_string(&settings).unwrap(), "mine");
    let mode = |path: &str| fs::metadata(root.join(path)).unwrap().permissions().mode() & 0o7777;
    for (path, before) in modes {
        assert_eq!(mode(path), before, "{path}");
    }
    for (link, target) in links {
        assert_eq!(fs::read_link(root.join(link)).unwrap(), Path::new(target), "{link}");
    }
    assert_eq!((mode("etc/dayone"), mode("etc/dayone/dayone.env")), (0o755, 0o600));
    for file in ["bin/dayone", "share/pages/man1/dayone.1.gz", "share/doc/dayone/docs/install.md"] {
        assert!(root.join("var/usrlocal").join(file).exists(), "{file}");
    }
}

#[test]
fn the_same_program_gives_the_same_packages() {
    let directory = tempfile::tempdir().unwrap();
    let binary = stripped(directory.path());
    let one = packages(&directory.path().join("one"), &binary);
    let other = packages(&directory.path().join("another/place"), &binary);
    let names = files(&one);
    assert_eq!(names.len(), 3, "{names:?}");
    assert_eq!(names, files(&other));
    for name in names {
        assert!(fs::read(one.join(&name)).unwrap() == fs::read(other.join(&name)).unwrap(), "{name} differs");
    }
    let archive = one.join(format!("dayone-{VERSION}-linux-amd64.tar.gz"));
    let listed = run_text(Command::new("tar").arg("--list").arg("--file").arg(archive));
    assert!(listed.contains(&format!("dayone-{VERSION}-linux-amd64/usr/local/bin/dayone\n")), "{listed}");
}
