//! What is behind the URLs of `dayone controller`: read by coreos-installer and cpio, compared with `dayone convert`, and
//! made anew when what it is made of changes while dayone runs.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use acceptance::bases::{coreos_iso, fixtures};
use acceptance::data_url;
use acceptance::kubernetes::ApiServer;
use acceptance::metal3::{AgentBases, Replica, ReplicaSettings, Site, condition, image_url, is_true};
use acceptance::peers::{peer, run, run_text};
use acceptance::server::dayone;
use imagelib::cpio::Archive;
use serde_json::{Value, json};
use tempfile::TempDir;

const NMSTATE: &str = "interfaces:
- name: bond0
  type: bond
  state: up
  ipv4: {enabled: true, dhcp: false, address: [{ip: 192.0.2.10, prefix-length: 24}]}
  link-aggregation: {mode: active-backup, port: [eno1, eno2]}
- {name: eno1, type: ethernet, state: up}
- {name: eno2, type: ethernet, state: up}
routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: bond0}]}
";
const KERNEL_ARGUMENTS: &str = "dayone.metal3.io/kernel-arguments";

fn start_with(settings: impl FnOnce(ReplicaSettings) -> ReplicaSettings) -> (Site<'static>, Replica, TempDir) {
    let site = Site::new(ApiServer::shared());
    let replica = settings(site.settings("dayone")).start_ready("dayone-0");
    (site, replica, tempfile::tempdir().unwrap())
}

fn start() -> (Site<'static>, Replica, TempDir) {
    start_with(|settings| settings)
}

fn spec(format: &str) -> Value {
    json!({"architecture": "x86_64", "acceptFormats": [format]})
}

fn downloaded(replica: &Replica, image: &Value, directory: &TempDir) -> std::path::PathBuf {
    let path = directory.path().join("downloaded");
    fs::write(&path, replica.fetch(image_url(image))).unwrap();
    path
}

fn installer(arguments: &[&str], image: &Path) -> String {
    run_text(peer("coreos-installer").args(arguments).arg(image))
}

fn ignition(image: &Path) -> Value {
    serde_json::from_str(&installer(&["iso", "ignition", "show"], image)).unwrap()
}

/// The content of a file of an Ignition config.
fn file(config: &Value, path: &str) -> Option<String> {
    let files = config["storage"]["files"].as_array()?;
    files.iter().find(|file| file["path"] == path)?["contents"]["source"].as_str().map(data_url::text)
}

/// Names and contents of the files in a directory.
fn contents(directory: &Path) -> Vec<(String, String)> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(path).unwrap()))
        .collect();
    files.sort();
    files
}

/// The keyfiles that `dayone convert` makes of the same document.
fn converted(directory: &TempDir) -> Vec<(String, String)> {
    let (document, keyfiles) = (directory.path().join("host.yaml"), directory.path().join("converted"));
    fs::write(&document, NMSTATE).unwrap();
    run(dayone().arg("convert").arg(&document).arg("-o").arg(&keyfiles));
    contents(&keyfiles)
}

#[test]
fn an_iso_has_the_agent_and_the_hosts_keyfiles_in_it() {
    let (site, replica, directory) = start();
    site.create_secret("network", &json!({"nmstate": NMSTATE}));
    let mut with_network = spec("iso");
    with_network["networkDataName"] = json!("network");
    site.create_image("worker-0", &with_network);
    let iso = downloaded(&replica, &site.wait_until_ready("worker-0"), &directory);

    let config = ignition(&iso);
    assert_eq!(config["ignition"]["version"], "3.2.0");
    let unit = &config["systemd"]["units"][0];
    assert_eq!((&unit["name"], &unit["enabled"]), (&json!("ironic-agent.service"), &json!(true)));
    let contents_of_unit = unit["contents"].as_str().unwrap();
    for part in
        ["registry.example.test/ironic-agent:1", "IPA_COREOS_COPY_NETWORK=true", "IPA_DEFAULT_HOSTNAME=worker-0"]
    {
        assert!(contents_of_unit.contains(part), "{part}: {contents_of_unit}");
    }
    let agent = file(&config, "/etc/ironic-python-agent.conf").expect("its configuration");
    assert!(agent.contains("api_url = https://192.0.2.1:6385,https://[2001:db8::1]:6385"), "{agent}");
    assert!(agent.contains("inspection_callback_url = https://192.0.2.1:5050/v1/continue"), "{agent}");

    let network = directory.path().join("network");
    run(peer("coreos-installer").args(["iso", "network", "extract", "-C"]).args([&network, &iso]));
    let converted = converted(&directory);
    assert_eq!(contents(&network), converted);
    assert_eq!(converted.len(), 3);
    for (name, content) in &converted {
        let path = format!("/etc/NetworkManager/system-connections/{name}");
        assert_eq!(file(&config, &path).as_ref(), Some(content), "{config:#}");
        let files = config["storage"]["files"].as_array().unwrap();
        let keyfile = files.iter().find(|file| file["path"] == path).unwrap();
        assert_eq!((&keyfile["mode"], &keyfile["overwrite"]), (&json!(0o600), &json!(true)));
    }
    let arguments = installer(&["iso", "kargs", "show"], &iso);
    assert_eq!(arguments, installer(&["iso", "kargs", "show", "--default"], &iso));
    // Nothing else differs from the base.
    run(peer("coreos-installer").args(["iso", "reset"]).arg(&iso));
    assert!(fs::read(&iso).unwrap() == site.bases.read("ironic-python-agent.iso"), "not the base after iso reset");
}

#[test]
fn an_initramfs_is_the_base_and_an_archive_behind_it() {
    let (site, replica, directory) = start();
    site.create_secret("network", &json!({"nmstate": NMSTATE}));
    let mut with_network = spec("initrd");
    with_network["networkDataName"] = json!("network");
    site.create_image("worker-0", &with_network);
    let whole = replica.fetch(image_url(&site.wait_until_ready("worker-0")));
    let base = site.bases.read("ironic-python-agent.initramfs");
    let rest = whole.strip_prefix(base.as_slice()).expect("the base comes first");
    let start = rest.iter().position(|byte| *byte != 0).expect("an archive");
    assert_eq!((base.len() + start) % 4, 0);
    let archive = directory.path().join("archive");
    fs::write(&archive, &rest[start..]).unwrap();
    let unpacked = directory.path().join("unpacked");
    fs::create_dir(&unpacked).unwrap();
    let unpack = "case $(head -c 2 \"$1\" | od -An -tx1) in *1f*8b*) gzip -dc \"$1\";; *) cat \"$1\";; esac | \
                  cpio --quiet -idm -D \"$2\"";
    run(Command::new("sh").args(["-c", unpack, "unpack"]).args([&archive, &unpacked]));
    assert_eq!(contents(&unpacked.join("etc/coreos-firstboot-network")), converted(&directory));
    let config: Value = serde_json::from_slice(&fs::read(unpacked.join("config.ign")).unwrap()).unwrap();
    assert_eq!(config["systemd"]["units"][0]["name"], "ironic-agent.service");
}

#[test]
fn kernel_arguments_of_one_host_are_in_its_image_or_beside_its_kernel() {
    let (site, replica, directory) = start();
    let metadata = json!({"annotations": {KERNEL_ARGUMENTS: "console=ttyS1,115200n8 rd.debug"},
        "labels": {"karg.dayone.metal3.io/nomodeset": "", "karg.dayone.metal3.io/hugepages": "16"}});
    site.create_image_with("iso", &metadata, &spec("iso"));
    site.create_image_with("initrd", &metadata, &spec("initrd"));
    let ours = "hugepages=16 nomodeset console=ttyS1,115200n8 rd.debug";
    let ready = site.wait_until_ready("iso");
    let iso = downloaded(&replica, &ready, &directory);
    let default = installer(&["iso", "kargs", "show", "--default"], &iso);
    assert_eq!(installer(&["iso", "kargs", "show"], &iso).trim_end(), format!("{} {ours}", default.trim_end()));
    let initrd = site.wait_until_ready("initrd");
    let parameters = initrd["status"]["extraKernelParams"].as_str().unwrap();
    assert!(parameters.starts_with("coreos.live.rootfs_url=http://") && parameters.ends_with(ours), "{parameters}");

    // They may change at any time, which is no change of the object's generation.
    site.patch_image("iso", &json!({"metadata": {"annotations": {KERNEL_ARGUMENTS: null}}}));
    site.patch_image("initrd", &json!({"metadata": {"annotations": {KERNEL_ARGUMENTS: null}}}));
    let changed = site.wait_for_image("iso", "another image", |image| image_url(image) != image_url(&ready));
    let changed = if is_true(&changed, "Ready") { changed } else { site.wait_until_ready("iso") };
    let iso = downloaded(&replica, &changed, &directory);
    let without = format!("{} hugepages=16 nomodeset", default.trim_end());
    assert_eq!(installer(&["iso", "kargs", "show"], &iso).trim_end(), without);
    site.wait_for_image("initrd", "other parameters", |image| {
        image["status"]["extraKernelParams"]
            .as_str()
            .is_some_and(|text| text.ends_with(".rootfs hugepages=16 nomodeset"))
    });

    let bad = json!({"annotations": {KERNEL_ARGUMENTS: "a\nb=\"c"}});
    site.create_image_with("bad", &bad, &spec("iso"));
    site.wait_for_error("bad", "ImageBuildInvalid");
}

#[test]
fn an_initramfs_of_flatcar_comes_with_the_argument_without_which_ignition_does_not_run() {
    let site = Site::new(ApiServer::shared());
    let mut initramfs = Archive::new();
    initramfs.file("usr.squashfs".parse().unwrap(), 0o644, "x").unwrap();
    fs::write(site.bases.path("coreos-x86_64-initrd.img"), initramfs.to_bytes()).unwrap();
    let _replica = site.start();
    let own = json!({"labels": {"karg.dayone.metal3.io/flatcar.first_boot": "detected"}});
    site.create_image("usual", &spec("initrd"));
    site.create_image_with("own", &own, &spec("initrd"));
    for (name, expected) in [("usual", ".rootfs flatcar.first_boot=1"), ("own", ".rootfs flatcar.first_boot=detected")]
    {
        let image = site.wait_until_ready(name);
        let parameters = image["status"]["extraKernelParams"].as_str().unwrap();
        assert!(parameters.ends_with(expected), "{parameters}");
    }
}

#[test]
fn what_somebody_embedded_in_the_base_gives_way_and_its_kernel_arguments_stay() {
    let directory = tempfile::tempdir().unwrap();
    let base = directory.path().join("base.iso");
    fs::copy(coreos_iso(&[]), &base).unwrap();
    let config = directory.path().join("mine.ign");
    fs::write(&config, r#"{"ignition": {"version": "3.2.0"}, "systemd": {"units": [{"name": "mine.service"}]}}"#)
        .unwrap();
    run(peer("coreos-installer").args(["iso", "ignition", "embed", "-i"]).args([&config, &base]));
    let modify = ["iso", "kargs", "modify", "-d", "ignition.platform.id=metal", "-a", "console=ttyS0,115200n8"];
    run(peer("coreos-installer").args(modify).arg(&base));
    let carried = installer(&["iso", "kargs", "show"], &base);
    assert!(carried.contains("ttyS0") && !carried.contains("platform.id"), "{carried}");

    let site = Site { bases: AgentBases::with_iso(&base), ..Site::new(ApiServer::shared()) };
    let replica = site.start();
    let metadata = json!({"annotations": {KERNEL_ARGUMENTS: "rd.debug"}});
    site.create_image_with("host", &metadata, &spec("iso"));
    let iso = downloaded(&replica, &site.wait_until_ready("host"), &directory);
    let expected = format!("{} rd.debug", carried.trim_end());
    assert_eq!(installer(&["iso", "kargs", "show"], &iso).trim_end(), expected);
    let units = ignition(&iso)["systemd"]["units"].clone();
    assert_eq!((units.as_array().unwrap().len(), &units[0]["name"]), (1, &json!("ironic-agent.service")));
}

#[test]
fn a_stream_of_its_own_is_taken_where_there_is_one() {
    let stream = coreos_iso(&["--kargs", "ignition.firstboot ignition.platform.id=metal stream=10"]);
    let site = Site::new(ApiServer::shared());
    site.bases.put("-rhel-10", "x86_64", &stream);
    let replica = site.start();
    let directory = tempfile::tempdir().unwrap();
    let label = |stream: &str| json!({"labels": {"coreos.openshift.io/stream": stream}});
    for (name, stream) in [("ten", "rhel-10"), ("nine", "rhel-9")] {
        site.create_image_with(name, &label(stream), &spec("iso"));
    }
    let shown = |name: &str| {
        let iso = downloaded(&replica, &site.wait_until_ready(name), &directory);
        installer(&["iso", "kargs", "show"], &iso)
    };
    assert!(shown("ten").contains("stream=10") && !shown("nine").contains("stream=10"));

    site.create_image_with("initrd", &label("rhel-10"), &spec("initrd"));
    let initrd = site.wait_until_ready("initrd");
    let kernel = replica.fetch(initrd["status"]["kernelUrl"].as_str().unwrap());
    assert!(kernel == site.bases.read("ironic-python-agent-rhel-10.kernel"));
    let parameters = initrd["status"]["extraKernelParams"].as_str().unwrap();
    assert!(parameters.ends_with("/ironic-python-agent-rhel-10.rootfs"), "{parameters}");

    let before = image_url(&site.image("nine")).to_owned();
    site.patch_image("nine", &json!({"metadata": label("rhel-10")}));
    site.wait_for_image("nine", "another image", |image| image_url(image) != before && is_true(image, "Ready"));
    assert!(shown("nine").contains("stream=10"));
}

#[test]
fn a_renewed_certificate_is_in_the_images_without_a_restart() {
    let settings_directory = tempfile::tempdir().unwrap();
    let bundle = settings_directory.path().join("ca.crt");
    let pem = |text: &str| format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n");
    fs::write(&bundle, pem("Zmlyc3Q=")).unwrap();
    let path = bundle.display().to_string();
    let (site, replica, directory) = start_with(|settings| {
        settings.with_variable("CA_BUNDLE", path.clone()).with_variable("IRONIC_CA_BUNDLE", path)
    });
    site.create_image("host", &spec("iso"));
    let first = site.wait_until_ready("host");
    let in_image = |image: &Value| {
        file(&ignition(&downloaded(&replica, image, &directory)), "/etc/pki/ca-trust/source/anchors/ca.crt")
    };
    assert_eq!(in_image(&first), Some(pem("Zmlyc3Q=")));

    let history = site.follow("host", &replica);
    // As a mounted Secret is renewed.
    let renewed = settings_directory.path().join("renewed");
    fs::write(&renewed, pem("c2Vjb25k")).unwrap();
    fs::rename(renewed, &bundle).unwrap();
    let second = site.wait_for_image("host", "another image", |image| {
        image_url(image) != image_url(&first) && is_true(image, "Ready")
    });
    assert_eq!(in_image(&second), Some(pem("c2Vjb25k")));
    history.assert_ready_images_answered();

    // Without a certificate, and without the file, what is there stays as it is.
    let empty = |path: &Path| fs::write(path, "").unwrap();
    let remove = |path: &Path| fs::remove_file(path).unwrap();
    for spoil in [&empty as &dyn Fn(&Path), &remove] {
        spoil(&bundle);
        thread::sleep(Duration::from_secs(7));
        let same = site.image("host");
        assert_eq!((image_url(&same), is_true(&same, "Ready")), (image_url(&second), true), "{same:#}");
        assert_eq!(replica.status(image_url(&second)), Ok(200));
    }
}

/// A process reads its variables once, so the page must not say that dayone reads them again.
#[test]
fn a_missing_setting_of_the_agent_is_explained_where_the_page_looks_for_it() {
    let (site, _replica, _directory) = start_with(|settings| settings.with_variable("IRONIC_BASE_URL", ""));
    site.create_image("host", &spec("iso"));
    let error = site.wait_for_error("host", "ImageBuildInvalid");
    let message = condition(&error, "Error")["message"].as_str().unwrap();
    assert!(message.starts_with("Cannot generate image: ironicBaseURL is required"), "{message}");
    let page = fs::read_to_string(fixtures("../docs/metal3.md")).unwrap();
    let row = page.lines().find(|line| line.contains("`… is required`")).expect("a row");
    assert!(row.starts_with("| `ImageBuildInvalid`, `Cannot generate image: …`") && row.contains("restart"), "{row}");
}

#[test]
fn a_base_that_is_replaced_is_another_image_and_the_old_url_never_has_its_bytes() {
    let (site, replica, _directory) = start();
    site.create_image("host", &spec("iso"));
    let first = site.wait_until_ready("host");
    let (old, before) = (image_url(&first).to_owned(), replica.fetch(image_url(&first)));
    let another = coreos_iso(&["--kargs", "ignition.firstboot ignition.platform.id=metal another=base"]);
    let put = |in_place: bool, content: &[u8]| {
        let (path, new) = (site.bases.path("coreos-x86_64.iso"), site.bases.path("new"));
        if in_place {
            return fs::write(path, content).unwrap();
        }
        fs::write(&new, content).unwrap();
        fs::rename(new, path).unwrap();
    };
    // Whoever reads the old one gets its bytes, or not all, or none.
    let read_old = |url: &str, bytes: &[u8]| {
        if let Ok(answer) = reqwest::blocking::get(replica.own(url))
            && answer.status() == 200
            && let Ok(read) = answer.bytes()
        {
            assert!(read == bytes, "other bytes under the same URL");
        }
    };
    let contents = [fs::read(another).unwrap(), site.bases.read("ironic-python-agent.iso")];
    let mut current = first;
    // A new file under the same name; then other bytes in the same file.
    for (in_place, content) in [(false, &contents[0]), (true, &contents[1])] {
        let url = image_url(&current).to_owned();
        let bytes = replica.fetch(&url);
        put(in_place, content);
        let mut now = site.image("host");
        let mut looks = 0;
        while image_url(&now) == url || !is_true(&now, "Ready") {
            read_old(&url, &bytes);
            looks += 1;
            assert!(looks < 600, "no new image:\n{now:#}\n{}", replica.log());
            thread::sleep(Duration::from_millis(50));
            now = site.image("host");
        }
        let read = replica.fetch(image_url(&now));
        assert!(read.len() == content.len() && read != bytes);
        read_old(&url, &bytes);
        current = now;
    }
    assert_eq!(image_url(&current), old, "the same base, the same URL");
    assert!(replica.fetch(&old) == before);
}
