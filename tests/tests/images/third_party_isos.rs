//! ISOs that others have made, as Debian's packages have them: what there is nothing to customise of is refused, with a
//! reason that is true.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use acceptance::bases::fixtures;
use acceptance::fat::grub_reads;
use acceptance::peers::{cache, run};
use acceptance::secure_boot::kernel;
use acceptance::server::{Server, dayone};
use acceptance::small_system::initramfs;
use serde_json::Value;
use tempfile::TempDir;

fn inspect(image: &Path) -> Value {
    serde_json::from_slice(&run(dayone().arg("inspect").arg(image).args(["--format", "json"]))).unwrap()
}

fn build(base: &Path, output: &Path, extra: &[&str]) -> Output {
    let host = fixtures("nmstate/bond-vlan/nmstate.yaml");
    let mut command = dayone();
    command.arg("build").arg("--host").arg(host).arg("--base").arg(base).arg("-o").arg(output).args(extra);
    command.output().unwrap()
}

const NO_LINUX: &str = "no boot menu on it (of ISOLINUX, GRUB or systemd-boot) starts a Linux kernel with an initrd";
/// memtest86+ starts from the image of a floppy, which the BIOS emulates.
const EMULATED: &str = "no boot menu on it (of ISOLINUX, GRUB or systemd-boot) starts a Linux kernel with an initrd, and \
    dayone can add nothing to what it starts: /boot/floppy.img is the image of a floppy or a hard disk that the BIOS \
    emulates (El Torito), and dayone does not change the boot menu in it";
/// An example in the menu, of a system that is not on the medium.
const NOT_THERE: &str = "dayone did not find the initrds that its boot menus load: /initrd.img (entry \
    \"GNU/Linux\" of /boot/grub/grub.cfg)";

#[test]
fn what_is_no_linux_with_an_initrd_is_refused() {
    let directory = TempDir::new().unwrap();
    for (iso, reason) in [
        ("ipxe/ipxe.iso", NO_LINUX),
        ("memtest86+/memtest86+x64.iso", EMULATED),
        ("memtest86+/memtest86+ia32.iso", EMULATED),
        ("grub-rescue/grub-rescue-cdrom.iso", NOT_THERE),
        // An ISO as well, whatever its name.
        ("grub-rescue/grub-rescue-floppy.img", NOT_THERE),
    ] {
        let iso = Path::new("/usr/lib").join(iso);
        let found = inspect(&iso);
        assert_eq!((&found["kind"], &found["problem"]), (&"iso".into(), &reason.into()), "{}", iso.display());
        assert_eq!((&found["formats"], &found["customised"]), (&Value::Array(vec![]), &false.into()), "{found}");

        let output = directory.path().join("out.iso");
        let refused = build(&iso, &output, &[]);
        let errors = String::from_utf8(refused.stderr).unwrap();
        assert!(refused.status.code() == Some(1) && errors.contains(reason) && !output.exists(), "{errors}");
    }
}

#[test]
fn the_server_says_why_a_base_gives_no_images() {
    let server = Server::start("ipxe", Path::new("/usr/lib/ipxe/ipxe.iso"));
    let client = reqwest::blocking::Client::new();
    let base: Value = client.get(format!("{}/v1/bases/ipxe", server.api)).send().unwrap().json().unwrap();
    assert_eq!((&base["state"], &base["kind"]), (&"available".into(), &"iso".into()), "{base}");
    assert_eq!(base["not_customisable"], NO_LINUX, "{base}");
    let order = client
        .post(format!("{}/v1/images?base=ipxe&format=iso", server.api))
        .header("content-type", "application/yaml")
        .body(fs::read(fixtures("nmstate/bond-vlan/nmstate.yaml")).unwrap());
    let answer = order.send().unwrap();
    assert_eq!(answer.status(), 422);
    let problem: Value = answer.json().unwrap();
    assert!(problem["detail"].as_str().unwrap().contains(NO_LINUX), "{problem}");
}

#[test]
fn what_is_no_iso_is_no_base() {
    for image in ["/usr/lib/ipxe/undionly.kpxe", "/usr/lib/ipxe/ipxe.lkrn"] {
        let refused = dayone().arg("inspect").arg(image).output().unwrap();
        let errors = String::from_utf8(refused.stderr).unwrap();
        assert!(!refused.status.success() && errors.contains(image), "{errors}");
        assert!(refused.stdout.is_empty() && !errors.contains("panicked"), "{errors}");
    }
}

/// Beside the loaders for UEFI, grub-mkrescue makes directories of HFS+. GRUB reads them here as Apple's firmware does.
#[test]
fn directories_of_hfs_plus_are_named_because_they_stay_as_they_are() {
    let directory = TempDir::new().unwrap();
    let tree = directory.path().join("tree");
    fs::create_dir_all(tree.join("boot/grub")).unwrap();
    let initrd = initramfs(&[]).to_bytes();
    fs::copy(kernel(), tree.join("boot/vmlinuz")).unwrap();
    fs::write(tree.join("boot/initrd"), &initrd).unwrap();
    let menu = "menuentry Install {\n  linux /boot/vmlinuz\n  initrd /boot/initrd\n}\n";
    fs::write(tree.join("boot/grub/grub.cfg"), menu).unwrap();
    for (platform, has_hfs_plus) in [("x86_64-efi", true), ("i386-pc", false)] {
        let [iso, output] = ["iso", "out.iso"].map(|kind| directory.path().join(format!("{platform}.{kind}")));
        let loaders = Path::new("/usr/lib/grub").join(platform);
        run(Command::new("grub-mkrescue").arg("-d").arg(loaders).arg("-o").args([&iso, &tree]));
        let says = "is not changed by dayone: firmware that starts from it";
        let built = build(&iso, &output, &[]);
        let errors = String::from_utf8(built.stderr).unwrap();
        assert!(built.status.success() && errors.contains(says) == has_hfs_plus, "{platform}: {errors}");
        let findings = inspect(&iso)["findings"].to_string();
        assert_eq!(findings.contains("boot-path-unreached"), has_hfs_plus, "{platform}: {findings}");
        if has_hfs_plus {
            grub_reads(&output, ",gpt3", "boot/initrd", &initrd);
        }
    }
    for more in [[].as_slice(), &["-part"]] {
        let iso = directory.path().join("hfs.iso");
        run(Command::new("genisoimage").args(["-quiet", "-r", "-hfs"]).args(more).arg("-o").args([&iso, &tree]));
        let findings = inspect(&iso)["findings"].to_string();
        assert!(findings.contains("HFS file system"), "{more:?}: {findings}");
        // Without Apple's partition map, there is a signature, and no entry that is used.
        let built = build(&iso, &directory.path().join("out.img"), &["--format", "usb"]);
        let errors = String::from_utf8(built.stderr).unwrap();
        assert_eq!(built.status.success(), !more.is_empty(), "{more:?}: {errors}");
        assert_eq!(errors.contains("an image of format 'usb' from this base"), more.is_empty(), "{more:?}: {errors}");
    }
}

/// An ISO as Debian makes its installer's `mini.iso`: kernel, initramfs and menus in the root directory.
fn debian_installer(directory: &Path) -> std::path::PathBuf {
    let parts = cache().join("debian-installer");
    assert!(parts.exists(), "{} is missing; run scripts/setup-peers.sh", parts.display());
    let tree = directory.join("tree");
    fs::create_dir_all(tree.join("boot/grub")).unwrap();
    for name in ["linux", "initrd.gz"] {
        std::os::unix::fs::symlink(parts.join(name), tree.join(name)).unwrap();
    }
    let in_the_root =
        |text: String| text.replace("debian-installer/amd64/boot-screens/", "").replace("debian-installer/amd64/", "/");
    for entry in fs::read_dir(parts.join("boot-screens")).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if let Some(stem) = name.strip_suffix(".cfg") {
            let to = if stem == "syslinux" { "isolinux.cfg" } else { &name };
            fs::write(tree.join(to), in_the_root(fs::read_to_string(entry.path()).unwrap())).unwrap();
        }
    }
    let grub = fs::read_to_string(parts.join("grub/grub.cfg")).unwrap();
    fs::write(tree.join("boot/grub/grub.cfg"), grub.replace("/debian-installer/amd64/", "/")).unwrap();
    let iso = directory.join("mini.iso");
    run(Command::new("xorriso")
        .args(["-as", "mkisofs", "-quiet", "-r", "-J", "-follow-links", "-V", "ISOIMAGE", "-o"])
        .args([&iso, &tree]));
    iso
}

#[test]
fn the_debian_installer_is_told_from_what_reads_keyfiles() {
    let directory = TempDir::new().unwrap();
    let iso = debian_installer(directory.path());
    let found = inspect(&iso);
    assert_eq!(found["kind"], "live-iso", "{found}");
    let initrds = found["initrds"].as_array().unwrap();
    assert_eq!(
        (initrds.len(), &initrds[0]["path"], &initrds[0]["profile"]),
        (1, &"/initrd.gz".into(), &"root-in-initramfs".into())
    );
    let evidence = initrds[0]["evidence"].to_string();
    assert!(
        evidence.contains("the Debian installer") && evidence.contains("NetworkManager is not in it"),
        "{evidence}"
    );
    let says = "is the Debian installer, which does not read keyfiles";
    assert!(found["findings"].to_string().contains(says), "{}", found["findings"]);
    let entries = found["boot_entries"].as_array().unwrap();
    let of = |path: &str| entries.iter().filter(|entry| entry["configuration"] == path).count();
    assert!(of("/txt.cfg") == 1 && of("/boot/grub/grub.cfg") > 5, "{entries:?}");

    // A preseed file is what it does read.
    let preseed = directory.path().join("preseed.cfg");
    fs::write(&preseed, "d-i netcfg/disable_autoconfig boolean true\n").unwrap();
    let output = directory.path().join("out.iso");
    let file = format!("/preseed.cfg={}", preseed.display());
    let built = build(
        &iso,
        &output,
        &["--file", &file, "--karg-append", "netcfg/get_ipaddress=192.0.2.10", "--boot-entry", "Install"],
    );
    let errors = String::from_utf8(built.stderr).unwrap();
    assert!(built.status.success() && errors.contains(says), "{errors}");
    let extracted = directory.path().join("extracted");
    run(Command::new("xorriso")
        .args(["-osirrox", "on", "-indev"])
        .arg(&output)
        .args(["-extract", "/"])
        .arg(&extracted));
    let base = fs::read(cache().join("debian-installer/initrd.gz")).unwrap();
    let grown = fs::read(extracted.join("initrd.gz")).unwrap();
    assert!(grown.starts_with(&base) && grown.windows(11).any(|window| window == b"preseed.cfg"));
    let grub = fs::read_to_string(extracted.join("boot/grub/grub.cfg")).unwrap();
    let changed: Vec<&str> = grub.lines().filter(|line| line.contains("netcfg/get_ipaddress=192.0.2.10")).collect();
    assert_eq!(changed.len(), 1, "{grub}");
    // Before the mark behind which the installer takes arguments over into the installed system.
    assert!(changed[0].contains("netcfg/get_ipaddress=192.0.2.10 ---"), "{grub}");
    run(Command::new("chmod").args(["-R", "u+rwX"]).arg(&extracted));
}

/// The questions of the installer that is in this initramfs.
fn templates(initrd: &Path, directory: &Path) -> String {
    let unpack = "gzip -dc \"$0\" | cpio --quiet -id 'var/lib/dpkg/info/netcfg.templates' 2>/dev/null";
    run(Command::new("sh").args(["-c", unpack]).arg(initrd).current_dir(directory));
    fs::read_to_string(directory.join("var/lib/dpkg/info/netcfg.templates")).unwrap()
}

#[test]
fn the_debian_installer_gets_the_hosts_network_by_its_preseed_file() {
    let directory = TempDir::new().unwrap();
    let path = |name: &str| directory.path().join(name);
    let iso = debian_installer(directory.path());
    let document = "hostname: {config: worker-0.example.com}\ninterfaces:\n- {name: lan, type: ethernet, state: up, identifier: \
                    mac-address, mac-address: '52:54:00:00:00:01', ipv4: {enabled: true, address: [{ip: 192.0.2.10, \
                    prefix-length: 24}]}}\nroutes: {config: [{destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, \
                    next-hop-interface: lan}]}\ndns-resolver: {config: {server: [192.0.2.53]}}\n";
    fs::write(path("host.yaml"), document).unwrap();
    let order = |answers: &str, base: &Path, output: &str| {
        fs::write(path("preseed.cfg"), answers).unwrap();
        let mut command = dayone();
        command.arg("build").arg(path("host.yaml")).arg("--base").arg(base).arg("-o").arg(path(output));
        command.args(["--answers", "preseed"]).arg(path("preseed.cfg")).output().unwrap()
    };
    let answers = "d-i passwd/root-password password hunter2\nd-i netcfg/get_gateway string 192.0.2.1\n";
    let built = order(answers, &iso, "out.iso");
    let errors = String::from_utf8(built.stderr).unwrap();
    assert!(built.status.success(), "{errors}");
    assert!(!errors.contains("does not read keyfiles") && !errors.contains("hunter2"), "{errors}");

    // What the installer reads, in its initramfs behind its own files.
    let extracted = path("initrd.gz");
    run(Command::new("xorriso")
        .args(["-osirrox", "on", "-indev"])
        .arg(path("out.iso"))
        .args(["-extract", "/initrd.gz"])
        .arg(&extracted));
    let base = cache().join("debian-installer/initrd.gz");
    let grown = fs::read(&extracted).unwrap();
    let appended = &grown[fs::metadata(&base).unwrap().len() as usize..];
    fs::write(path("appended.cpio"), appended).unwrap();
    let tree = path("appended");
    fs::create_dir(&tree).unwrap();
    run(Command::new("sh").args(["-c", "cpio --quiet -idm < ../appended.cpio"]).current_dir(&tree));
    let preseed = tree.join("preseed.cfg");
    let text = fs::read_to_string(&preseed).unwrap();
    assert!(text.starts_with(answers) && text.matches("netcfg/get_gateway").count() == 1, "{text}");
    let templates = templates(&base, directory.path());
    let questions: Vec<&str> = text.lines().filter(|line| line.contains("netcfg/")).collect();
    assert!(questions.len() > 8, "{text}");
    for line in questions {
        let question = line.split_whitespace().nth(1).unwrap();
        assert!(templates.contains(&format!("Template: {question}\n")), "netcfg knows no {question}");
    }
    let program = tree.join("usr/lib/finish-install.d/56dayone-network");
    run(Command::new("sh").arg("-n").arg(&program));
    let units = fs::read_dir(tree.join("usr/lib/dayone/installed/etc/systemd/network")).unwrap();
    let units: String = units.map(|unit| fs::read_to_string(unit.unwrap().path()).unwrap()).collect();
    assert!(units.contains("Address=192.0.2.10/24") && units.contains("MACAddress=52:54:00:00:00:01"), "{units}");

    // What contradicts the document is refused, and so is any other base.
    let refused = order("d-i netcfg/get_ipaddress string 192.0.2.11\n", &iso, "refused.iso");
    let errors = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && !path("refused.iso").exists());
    assert!(errors.contains("line 1 says netcfg/get_ipaddress is \"192.0.2.11\""), "{errors}");
    let other = order(answers, &acceptance::bases::ramdisk_iso(&[]), "other.iso");
    let errors = String::from_utf8(other.stderr).unwrap();
    assert!(!other.status.success() && errors.contains("is not that of the Debian installer"), "{errors}");
}
