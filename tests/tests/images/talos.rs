//! Images over media in the layout of Talos' ISOs: what the command and the API say, and what xorriso and mtools find in them.
//! Machines boot them in `machines::talos`; the kernel speaks about the network configuration itself in `network::talos`.

use std::fs;
use std::path::Path;
use std::process::Command;

use acceptance::bases::extracted;
use acceptance::peers::{run, run_text};
use acceptance::server::dayone;
use acceptance::talos::{initramfs, iso, network_in};
use serde_json::Value;

const HOST: &str = "
hostname: {config: node-1.example.com}
interfaces:
- {name: eno1, type: ethernet, state: up, ipv4: {enabled: true, address: [{ip: 192.0.2.7, prefix-length: 24}]}}
routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: eno1}]}
";

fn build(directory: &Path, document: &str, base: &Path) -> Command {
    let host = directory.join("host.yaml");
    fs::write(&host, document).unwrap();
    let mut build = dayone();
    build
        .arg("build")
        .arg(&host)
        .arg("--force")
        .arg("--base")
        .arg(base)
        .arg("--output")
        .arg(directory.join("host.iso"));
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
    let built = build(directory, HOST, &base).output().unwrap();
    let said = String::from_utf8(built.stderr).unwrap();
    assert!(built.status.success() && said.contains("talos-untested") && said.contains("dhcp-on-other-nics"), "{said}");
    let image = directory.join("host.iso");

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

#[test]
fn what_talos_cannot_take_is_refused_with_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let base = iso(directory);
    let by_mac =
        HOST.replace("type: ethernet", "type: ethernet, identifier: mac-address, mac-address: '52:54:00:00:00:01'");
    let said = refusal(&mut build(directory, &by_mac, &base));
    assert!(
        said.contains("not-in-talos-network") && said.contains("Talos finds a NIC only by its kernel name"),
        "{said}"
    );
    let said = refusal(build(directory, HOST, &base).args(["--file", "/etc/motd=/etc/hostname"]));
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
    let said = refusal(&mut build(directory, &document, &base));
    assert!(said.contains("2047"), "{said}");
}
