//! Images over media in the layout of Talos' ISOs: what the command and the API say, and what xorriso and mtools find in them.
//! Machines boot them in `machines::talos`; the kernel speaks about the network configuration itself in `network::talos`.

use std::fs;
use std::path::Path;
use std::process::Command;

use acceptance::bases::extracted;
use acceptance::bases::grub_efi_loader;
use acceptance::peers::{run, run_text};
use acceptance::secure_boot::{self, SiteKey};
use acceptance::server::dayone;
use acceptance::small_system;
use acceptance::talos::{disk, esp, initramfs, iso, meta_values, network_in};
use acceptance::uki::{self, trixie, unified};
use serde_json::Value;

const HOST: &str = "
hostname: {config: node-1.example.com}
interfaces:
- {name: eno1, type: ethernet, state: up, ipv4: {enabled: true, address: [{ip: 192.0.2.7, prefix-length: 24}]}}
routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: eno1}]}
";

fn build(document: &str, base: &Path, to: &Path) -> Command {
    let host = to.with_extension("yaml");
    fs::write(&host, document).unwrap();
    let mut build = dayone();
    build.arg("build").arg(host).arg("--base").arg(base).arg("--output").arg(to);
    build
}

fn to_usb(document: &str, base: &Path, to: &Path) -> Command {
    let mut build = build(document, base, to);
    build.args(["--format", "usb"]);
    build
}

/// What a command that must fail says.
fn refusal(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(!output.status.success(), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn both_ways_to_boot_get_the_network_and_nothing_else_changes() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let base = iso(directory);
    let inspected = run_text(dayone().arg("inspect").arg(&base));
    assert!(inspected.contains("Talos") && inspected.contains("rootfs.sqsh"), "{inspected}");
    let image = directory.join("host.iso");
    let built = build(HOST, &base, &image).output().unwrap();
    let said = String::from_utf8(built.stderr).unwrap();
    assert!(built.status.success() && said.contains("talos-untested") && said.contains("dhcp-on-other-nics"), "{said}");

    let menu = fs::read_to_string(extracted(&image, "/boot/grub/grub.cfg", directory)).unwrap();
    let lines: Vec<&str> = menu.lines().filter(|line| line.trim_start().starts_with("linux ")).collect();
    assert_eq!(lines.len(), 2, "{menu}");
    let [first, reset] = [lines[0], lines[1]].map(|line| serde_json::from_str::<Value>(&network_in(line)).unwrap());
    assert_eq!(first, reset);
    assert_eq!(first["addresses"][0]["address"], "192.0.2.7/24");
    assert_eq!(first["routes"][0]["gateway"], "192.0.2.1");
    assert_eq!(first["hostnames"][0]["hostname"], "node-1");
    assert_eq!(first["hostnames"][0]["domainname"], "example.com");
    let initrd = fs::read(extracted(&image, "/boot/initramfs.xz", directory)).unwrap();
    assert!(initrd == initramfs().to_bytes());

    // The partition that firmware finds is the one that the image's table names.
    let table = run_text(Command::new("sfdisk").args(["--json"]).arg(&image));
    let table: Value = serde_json::from_str(&table).unwrap();
    let partitions = table["partitiontable"]["partitions"].as_array().unwrap();
    let esp = partitions.iter().find(|part| part["type"] == "C12A7328-F81F-11D2-BA4B-00A0C93EC93B").unwrap();
    let place = format!("{}@@{}", image.display(), esp["start"].as_u64().unwrap() * 512);
    let addon = directory.join("addon.efi");
    run(Command::new("mcopy").args(["-i", &place, "::EFI/Linux/Talos-v1.10.0.efi.extra.d/host.addon.efi"]).arg(&addon));
    let command_line = directory.join("cmdline");
    run(Command::new("objcopy").args(["-O", "binary", "--only-section=.cmdline"]).args([&addon, &command_line]));
    let arguments = fs::read_to_string(command_line).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&network_in(arguments.trim_end_matches('\0'))).unwrap(), first);
    let sections = run_text(Command::new("objdump").arg("-h").arg(&addon));
    assert!(!sections.contains(".initrd"), "{sections}");
}

/// Where a disk has a META partition, Talos does not look at the kernel argument.
#[test]
fn a_disk_gets_the_network_in_its_meta_partition_and_nowhere_else() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let base = directory.join("metal.raw");
    disk(&esp(directory), Some(r#"{"6": "state encryption", "14": "more"}"#), &base);
    let inspected = run_text(dayone().arg("inspect").arg(&base));
    assert!(inspected.contains("values in META") && inspected.contains("0x6, 0xe"), "{inspected}");
    let image = directory.join("host.raw");
    let built = to_usb(HOST, &base, &image).output().unwrap();
    let said = String::from_utf8(built.stderr).unwrap();
    assert!(built.status.success() && said.contains("the META partition: starts Talos"), "{said}");
    let values = meta_values(&image);
    let network: Value = serde_json::from_str(values["10"].as_str().unwrap()).unwrap();
    assert_eq!(network["addresses"][0]["address"], "192.0.2.7/24");
    let mut others = values.as_object().unwrap().clone();
    others.remove("10");
    assert_eq!(Value::from(others), meta_values(&base));
    // Outside the partition, nothing differs.
    let (before, after) = (fs::read(&base).unwrap(), fs::read(&image).unwrap());
    let changed: Vec<usize> = (0..before.len()).filter(|at| before[*at] != after[*at]).collect();
    let partition = after.len() - (3 << 20)..after.len() - (2 << 20);
    assert!(changed.iter().all(|at| partition.contains(at)), "{:?} {:?}", changed.first(), changed.last());
    assert_eq!(before.len(), after.len());

    // An image is no base for another host, unless the user says so.
    let again = directory.join("other.raw");
    let other = HOST.replace("192.0.2.7", "192.0.2.8");
    let said = refusal(&mut to_usb(&other, &image, &again));
    assert!(said.contains("already carries a configuration (the value 0xa in the META partition"), "{said}");
    run(to_usb(&other, &image, &again).arg("--force"));
    assert!(meta_values(&again)["10"].as_str().unwrap().contains("192.0.2.8/24"));

    // What is for the kernel goes beside the unified kernel image.
    let key = SiteKey::new(directory);
    let mut signed = to_usb(HOST, &base, &again);
    signed.arg("--site-key").arg(&key.key).arg("--site-certificate").arg(&key.certificate);
    run(signed.args(["--force", "--karg-append", "console=ttyS1"]));
    assert_eq!(meta_values(&again), values);
    let addon = directory.join("addon.efi");
    let path = "::EFI/Linux/Talos-v1.10.0.efi.extra.d/host.addon.efi";
    run(Command::new("mcopy").arg("-i").arg(format!("{}@@1M", again.display())).arg(path).arg(&addon));
    run(Command::new("sbverify").arg("--cert").arg(&key.certificate).arg(&addon));
    let text = fs::read(&addon).unwrap();
    assert!(text.windows(13).any(|text| text == b"console=ttyS1") && !text.windows(4).any(|text| text == b"META"));
}

#[test]
fn a_partition_of_that_name_on_a_disk_of_another_system_is_not_for_talos() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let program = directory.join("other.efi");
    unified(&trixie("linuxx64.efi.stub"), &secure_boot::kernel(), &small_system::initramfs(&[]), "quiet", &program);
    let esp = uki::esp(&uki::iso(directory, &[("EFI/BOOT/BOOTX64.EFI", &program)]), directory);
    let base = directory.join("disk.raw");
    disk(&esp, None, &base);
    let inspected = run_text(dayone().arg("inspect").arg(&base));
    assert!(inspected.contains("unified kernel image") && !inspected.contains("values in META"), "{inspected}");
}

/// Talos before 1.10 starts from a GRUB whose menu is in a file system that dayone does not read.
#[test]
fn a_disk_whose_boot_menus_cannot_be_read_still_gets_the_network() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let loader = grub_efi_loader(directory);
    let esp = secure_boot::esp(directory, &[("EFI/BOOT/BOOTX64.EFI", &loader)]);
    let base = directory.join("metal.raw");
    disk(&esp, None, &base);
    let image = directory.join("host.raw");
    run(&mut to_usb(HOST, &base, &image));
    assert!(meta_values(&image)["10"].as_str().unwrap().contains("192.0.2.7/24"));
    // The menus would have to change for this.
    let said = refusal(to_usb(HOST, &base, &directory.join("other.raw")).args(["--karg-append", "console=ttyS1"]));
    assert!(said.contains("this base cannot be customised"), "{said}");
}

#[test]
fn what_talos_cannot_take_is_refused_with_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let base = iso(directory);
    let to = directory.join("host.iso");
    let by_mac =
        HOST.replace("type: ethernet", "type: ethernet, identifier: mac-address, mac-address: '52:54:00:00:00:01'");
    let said = refusal(&mut build(&by_mac, &base, &to));
    assert!(
        said.contains("not-in-talos-network") && said.contains("Talos finds a NIC only by its kernel name"),
        "{said}"
    );
    let said = refusal(build(HOST, &base, &to).args(["--file", "/etc/motd=/etc/hostname"]));
    assert!(said.contains("dayone cannot deliver files: Talos takes its network from a kernel argument"), "{said}");
    // The kernel cuts off what is longer than its command line.
    let many: String = (0..60)
        .map(|number| {
            let (vlan, third) = (number * 37 + 100, number * 91 % 200 + 7);
            format!(
                "- {{name: v{vlan}, type: vlan, state: up, vlan: {{base-iface: eno1, id: {vlan}}}, ipv4: {{enabled: true, address: \
                 [{{ip: 10.{number}.{third}.{third}, prefix-length: 24}}]}}}}\n"
            )
        })
        .collect();
    let document = HOST.replace("routes:", &format!("{many}routes:"));
    let said = refusal(&mut build(&document, &base, &to));
    assert!(said.contains("at most 2046"), "{said}");
}
