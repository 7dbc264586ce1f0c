//! Formats an inspection as text.

use imagelib::base::DeliveryProfile;
use imagelib::base::live::LiveDescription;
use imagelib::secure_boot::SecureBoot;
use imagelib::uki::Carrier;

use super::carried::Carried;
use super::{Areas, Common, Inspection, Iso, Kind, Member};
use crate::commands::table::Table;

pub(super) fn describe(path: &str, inspection: &Inspection) -> String {
    let what = match &inspection.kind {
        Kind::CoreosIso { .. } => "CoreOS live ISO",
        Kind::LiveIso { .. } => "live ISO",
        Kind::Iso { .. } => "ISO 9660 image",
        Kind::Disk { .. } => "image of a disk",
        Kind::Initramfs { .. } => "initramfs",
    };
    let common = &inspection.common;
    let mut table = Table::new(&format!("{path}: {what}"));
    table.row("size", format!("{} bytes", common.size));
    match &inspection.kind {
        Kind::CoreosIso { iso, areas } => {
            describe_iso(&mut table, iso);
            describe_areas(&mut table, areas);
        }
        Kind::LiveIso { iso, live } => {
            describe_iso(&mut table, iso);
            describe_live(&mut table, live);
        }
        Kind::Iso { iso, problem } => {
            describe_iso(&mut table, iso);
            table.row("not customisable", problem);
        }
        Kind::Disk { live, talos_meta, problem } => {
            if let Some(live) = live {
                describe_live(&mut table, live);
            }
            if let Some(keys) = talos_meta {
                let keys: Vec<String> = keys.iter().map(|key| format!("{key:#x}")).collect();
                table.row("values in META", listed(keys.iter().map(String::as_str)));
            }
            table.rows("not customisable", problem);
        }
        Kind::Initramfs { members, profile, evidence, features, problem } => {
            table.rows("archives", members.iter().map(member));
            table.row("system", system(*profile));
            table.rows("  shown by", evidence);
            if common.network_manager_version.is_none() {
                table.row("NetworkManager", yes_no(features.network_manager));
            }
            table.rows("not customisable", problem);
        }
    }
    describe_common(&mut table, common);
    table.into_text()
}

fn system(profile: DeliveryProfile) -> &'static str {
    match profile {
        DeliveryProfile::Coreos => "CoreOS live initramfs",
        DeliveryProfile::RootInInitramfs => "stays in the initramfs",
        DeliveryProfile::Networkd => "stays in the initramfs, with systemd-networkd",
        DeliveryProfile::Dracut => "started by dracut",
        DeliveryProfile::InitramfsTools => "started by initramfs-tools",
        DeliveryProfile::Flatcar => "Flatcar",
        DeliveryProfile::Talos => "Talos",
        DeliveryProfile::Unknown => "unknown",
    }
}

fn describe_live(table: &mut Table, live: &LiveDescription) {
    for entry in &live.boot_entries {
        table.row("boot entry", &entry.title);
        table.row("  in", &entry.configuration);
        table.row("  initrd", entry.initrd.as_deref().unwrap_or("not found"));
        table.row("  arguments", &entry.kernel_arguments);
    }
    for initrd in &live.initrds {
        let place = if initrd.in_esp { " of the EFI system partition" } else { "" };
        table.row("initrd", format!("{}{place}, {} bytes", initrd.path, initrd.size));
        table.row("  system", system(initrd.profile));
        table.rows("  shown by", &initrd.evidence);
        table.rows("  problem", &initrd.problem);
    }
    for uki in &live.unified_kernel_images {
        table.row("unified kernel image", format!("{}, {} bytes", uki.path, uki.size));
        table.row("  title", &uki.title);
        table.row("  stub", uki.stub.as_deref().map_or("unknown".to_owned(), |stub| format!("systemd-stub {stub}")));
        table.row("  takes", takes(uki.carrier));
        table.rows("  kernel", &uki.kernel);
        table.row("  arguments", &uki.kernel_arguments);
        table.row("  system", system(uki.profile));
        table.rows("  shown by", &uki.evidence);
        table.rows("  problem", &uki.problem);
    }
}

fn takes(carrier: Carrier) -> &'static str {
    match carrier {
        Carrier::Addon => "addons with kernel arguments and an initrd",
        Carrier::Credential => "addons with kernel arguments, and files from a credential",
        Carrier::ArgumentsAddon => "addons with kernel arguments alone",
        Carrier::None => "no addons",
    }
}

fn describe_iso(table: &mut Table, iso: &Iso) {
    table.row("volume", &iso.volume_id);
    table.row("partition table", yes_no(iso.hybrid));
}

fn describe_areas(table: &mut Table, areas: &Areas) {
    let ignition = &areas.ignition_area;
    let place =
        format!("{} bytes, {} used, at {} ({})", ignition.length, ignition.used, ignition.offset, ignition.file);
    table.row("Ignition area", place);
    match &areas.kernel_arguments {
        None => table.row("kernel arguments", "cannot be changed"),
        Some(kargs) => {
            table.row("kernel arguments", &kargs.current);
            if kargs.current != kargs.default {
                table.row("  as published", &kargs.default);
            }
            let places = kargs.areas.iter().map(|area| match &area.file {
                Some(file) => format!("{} bytes at {} ({file})", kargs.capacity, area.offset),
                None => format!("{} bytes at {}", kargs.capacity, area.offset),
            });
            table.rows("  areas", places);
        }
    }
    let features = [
        (areas.features.live_initrd_network, "keyfiles in the initramfs"),
        (areas.features.installer_config, "installer settings"),
        (areas.features.installer_console, "installer consoles"),
    ];
    table.row("features", listed(features.into_iter().filter(|(has, _)| *has).map(|(_, name)| name)));
    table.rows("network boot", areas.network_boot.iter().map(|(name, size)| format!("{name}, {size} bytes")));
}

fn describe_common(table: &mut Table, common: &Common) {
    table.rows("NetworkManager", common.network_manager_version);
    if let Some(secure_boot) = &common.secure_boot {
        describe_secure_boot(table, secure_boot);
    }
    if let Some(found) = &common.http_boot {
        table.row("HTTP boot", format!("{}: {}", found.verdict, found.reason));
    }
    if let Some(found) = &common.minimal_iso {
        table.row("minimal ISO", format!("{}: {}", found.verdict, found.reason));
    }
    table.rows("a BMC reads", common.medium_reads.iter().map(crate::units::medium_reads));
    let formats: Vec<String> = common.formats.iter().map(ToString::to_string).collect();
    table.row("can become", listed(formats.iter().map(String::as_str)));
    table.row("customised", yes_no(common.customised));
    let Some(Carried { files, ignition }) = &common.carried else { return };
    let files =
        files.iter().map(|file| format!("{} {}, {} bytes, sha256 {}", file.mode, file.path, file.size, file.sha256));
    table.rows("carries", files);
    if let Some(ignition) = ignition {
        table.row("Ignition", format!("version {}", ignition.version));
        table.rows("  writes", &ignition.paths);
        table.rows("  units", &ignition.units);
    }
}

fn describe_secure_boot(table: &mut Table, secure_boot: &SecureBoot) {
    table.row("Secure Boot", format!("{}: {}", secure_boot.verdict, secure_boot.reason));
    for program in &secure_boot.programs {
        table.row(&format!("  {}", program.role), format!("{}: {}", program.path, program.verdict));
        table.row("    because it", &program.reason);
        let sbat = program.sbat.iter().map(|sbat| format!("{} {}", sbat.component, sbat.generation));
        table.rows("    SBAT", Some(sbat.collect::<Vec<_>>().join(", ")).filter(|sbat| !sbat.is_empty()));
    }
    table.rows("  not verified", secure_boot.unsigned.iter().map(|file| format!("{} ({})", file.path, file.kind)));
}

fn member(member: &Member) -> String {
    let compression = member.compression.as_deref().unwrap_or("not compressed");
    format!("at {}, {compression}, {} entries", member.offset, member.entries)
}

fn yes_no(value: bool) -> &'static str {
    if value { "yes" } else { "no" }
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}
