//! Boots of machines with Secure Boot: what the image needs is compared with what the machine verifies, before anything is inserted.

use std::path::{Path, PathBuf};

use acceptance::boots::{begin, delete, documents, step, until, until_state};
use acceptance::secure_boot::{GRUB, debian_iso, esp, kernel, live_iso, unsigned};
use acceptance::server::Server;
use acceptance::small_system::initramfs;
use acceptance::sushy::{Emulator, Options};
use reqwest::blocking::Client;
use serde_json::Value;

const PASSWORD: &str = "hunter2-hunter2";

/// A live ISO with Debian's shim and GRUB, and this kernel.
fn base(directory: &Path, kernel: &Path) -> PathBuf {
    debian_iso(directory, kernel, &initramfs(&[]), "console=ttyS0")
}

fn start(base: &Path) -> (Server, Emulator) {
    let server = Server::start("live", base);
    let options = Options { credentials: Some(("admin", PASSWORD)), ..Options::default() };
    let bmc = Emulator::start_with(&server.directory().join("bmc"), &options);
    (server, bmc)
}

fn remarks(boot: &Value) -> String {
    let remarks = boot["remarks"].as_array().unwrap().iter().map(|remark| remark["text"].as_str().unwrap());
    remarks.collect::<Vec<_>>().join("\n")
}

#[test]
fn an_image_that_the_machine_would_refuse_is_not_inserted() {
    let directory = tempfile::tempdir().unwrap();
    let kernel_without = directory.path().join("unsigned");
    unsigned(&kernel(), &kernel_without);
    let (server, bmc) = start(&base(directory.path(), &kernel_without));
    let documents = documents("worker-0", &bmc.origin, &bmc.system, PASSWORD);

    bmc.set_secure_boot(true);
    let boot = until_state(&server, &begin(&server, "?base=live", &documents), "failed");
    let error = step(&boot, "insert")["error"].as_str().unwrap();
    assert!(error.starts_with("Secure Boot is on at this machine"), "{error}");
    assert!(error.contains("/live/vmlinuz is not signed"), "{error}");
    assert_eq!((boot["inserted"].as_bool(), boot["ended"].as_bool()), (Some(false), Some(true)), "{boot:#}");
    assert_eq!(bmc.media()["Inserted"], false);
    assert!(bmc.fetched().is_empty());

    // The owner of the machine knows better.
    let id = begin(&server, "?base=live&ignore_secure_boot=true", &documents);
    let boot = until(&server, &id, "inserted", |boot| boot["inserted"] == true);
    let said = remarks(&boot);
    assert!(said.contains("/live/vmlinuz is not signed") && said.contains("The boot goes on"), "{said}");
    delete(&server, &id);
    until_state(&server, &id, "ejected");

    bmc.set_secure_boot(false);
    let id = begin(&server, "?base=live", &documents);
    let boot = until(&server, &id, "inserted", |boot| boot["inserted"] == true);
    assert!(!remarks(&boot).contains("Secure Boot"), "{boot:#}");
    delete(&server, &id);
    until_state(&server, &id, "ejected");
}

#[test]
fn an_image_that_keeps_secure_boot_is_inserted_and_shown_as_such() {
    let directory = tempfile::tempdir().unwrap();
    let (server, bmc) = start(&base(directory.path(), &kernel()));
    bmc.set_secure_boot(true);
    let documents = documents("worker-0", &bmc.origin, &bmc.system, PASSWORD);
    let id = begin(&server, "?base=live", &documents);
    let boot = until(&server, &id, "inserted", |boot| boot["inserted"] == true);
    assert!(remarks(&boot).contains("Secure Boot is on, and the image keeps it: /EFI/BOOT/BOOTX64.EFI"), "{boot:#}");
    delete(&server, &id);
    until_state(&server, &id, "ejected");

    let get = |path: &str, kind: &str| {
        Client::new().get(format!("{}{path}", server.api)).header("accept", kind).send().unwrap()
    };
    let base: Value = get("/v1/bases/live", "application/json").json().unwrap();
    assert_eq!(base["secure_boot"]["verdict"], "kept", "{base:#}");
    let id = boot["image"].as_str().unwrap();
    let image: Value = get(&format!("/v1/images/{id}/secure-boot"), "application/json").json().unwrap();
    assert_eq!(image["verdict"], "kept", "{image:#}");
    let programs = image["programs"].as_array().unwrap();
    assert!(programs.len() == 3 && programs.iter().all(|program| program["unchanged"] == true), "{image:#}");
    let page = get(&format!("/images/{id}"), "text/html").text().unwrap();
    assert!(page.contains("<h2 id=\"secure-boot-title\">Secure Boot</h2>") && page.contains("/live/vmlinuz"), "{page}");
}

#[test]
fn documents_that_want_secure_boot_are_told_what_the_base_does_not_keep() {
    let directory = tempfile::tempdir().unwrap();
    let files = [("EFI/BOOT/BOOTX64.EFI", Path::new(GRUB))];
    let esp = esp(directory.path(), &files);
    let (server, bmc) = start(&live_iso(directory.path(), &esp, &kernel(), &initramfs(&[]), "console=ttyS0"));
    let findings = |documents: String| -> Vec<String> {
        let request = Client::new().post(format!("{}/v1/images?base=live", server.api));
        let image: Value =
            request.header("content-type", "application/yaml").body(documents).send().unwrap().json().unwrap();
        let findings = image["findings"].as_array().unwrap().iter();
        findings.map(|finding| finding["code"].as_str().unwrap().to_owned()).collect()
    };
    let documents = documents("worker-0", &bmc.origin, &bmc.system, PASSWORD);
    let code = "secure-boot-not-kept".to_owned();
    assert!(!findings(documents.clone()).contains(&code));
    assert!(findings(documents.replace("spec:\n", "spec:\n  bootMode: UEFISecureBoot\n")).contains(&code));
}
