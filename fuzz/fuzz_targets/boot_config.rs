//! Any text as a boot configuration: no panic, and a change that is made is read back as it was meant.
#![no_main]

use imagelib::boot_config::{BootConfig, Boots, Edits, Loader};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((which, text)) = bytes.split_first() else { return };
    let loader = match which % 3 {
        0 => Loader::Syslinux,
        1 => Loader::Grub,
        _ => Loader::SystemdBoot,
    };
    let config = BootConfig::parse(loader, text.to_vec());
    for written in config.includes() {
        let _ = config.resolve(written, "/boot/grub");
    }
    let mut edits = Edits { initrds: vec!["/dayone.img".parse().expect("a path")], ..Edits::default() };
    edits.arguments.append = ["dayone.a", "dayone.b=\"c d\""].map(|text| text.parse().expect("an argument")).to_vec();
    let Ok(edited) = edits.apply_to(&[&config]) else { return };
    let Some(text) = edited.texts.into_iter().flatten().next() else { return };
    let edited = BootConfig::parse(loader, text);
    assert_eq!(edited.entries().len(), config.entries().len());
    for (old, new) in config.entries().iter().zip(edited.entries()) {
        let (Boots::Linux(old), Boots::Linux(new)) = (&old.boots, &new.boots) else { continue };
        assert_eq!(new.arguments.iter().count(), old.arguments.iter().count() + 2);
    }
});
