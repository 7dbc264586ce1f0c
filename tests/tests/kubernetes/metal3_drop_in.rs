//! dayone in the place of image-customization-controller: called by its names, with the command lines, the environments,
//! the files and the rights that known deployments give.

mod ignition;
mod site;

use std::fs;
use std::process::Command;

use acceptance::bases::coreos_iso;
use acceptance::container::Container;
use acceptance::kubernetes::ADMIN;
use acceptance::metal3::{condition, image_url, is_true};
use acceptance::peers::{peer, run, run_text};
use base64::prelude::*;
use rcgen::generate_simple_self_signed;
use reqwest::blocking::Client;
use serde_json::{Value, json};

use ignition::{assert_is_golden, content, shown};
use site::{
    CA_BUNDLE, CERTIFICATES, LoopDevice, OPERATOR, PULL_SECRET, Running, ask, in_cluster, operator_environment, site,
    with_copied_images,
};

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

/// The Ignition config of an ISO, as coreos-installer finds it.
fn embedded(iso: &std::path::Path) -> Value {
    let config = run_text(peer("coreos-installer").args(["iso", "ignition", "show"]).arg(iso));
    serde_json::from_str(&config).unwrap()
}

#[test]
fn the_cluster_operators_deployment_has_its_images() {
    let site = site();
    let container = with_copied_images(&site);
    let mut environment = operator_environment(&container);
    environment.extend(in_cluster(&site, &container));
    environment.push(("WATCH_NAMESPACE", site.namespace.clone().leak()));
    let published = format!("http://metal3-image-customization-service.{}.svc.cluster.local/", site.namespace);
    // There before it starts, and coming later.
    ask(&site, "worker-0", &json!({}), "x86_64", &["iso", "initrd"]);
    let dayone = Running::start(&container, &environment, |images, metrics| {
        words(&format!(
            "/machine-image-customization-controller -images-bind-addr {images} -images-publish-addr {published} \
             -metrics-addr {metrics}"
        ))
    });
    let rhel_10 = json!({"coreos.openshift.io/stream": "rhel-10"});
    ask(&site, "arm", &json!({}), "aarch64", &["iso"]);
    ask(&site, "arm-10", &rhel_10, "aarch64", &["iso"]);
    ask(&site, "network", &json!({}), "x86_64", &["initrd"]);
    ask(&site, "network-arm-10", &rhel_10, "aarch64", &["initrd"]);
    ask(&site, "power", &json!({}), "ppc64le", &["iso"]);

    let directory = tempfile::tempdir().unwrap();
    for (host, base) in [("worker-0", ""), ("arm", "_aarch64"), ("arm-10", "-rhel-10_aarch64")] {
        let image = site.wait_until_ready(host);
        let url = image_url(&image);
        assert!(url.starts_with(&format!("{published}i/")) && url.ends_with("/boot.iso"), "{url}");
        let iso = dayone.fetch_to(url, directory.path());
        if host == "worker-0" {
            let config = embedded(&iso);
            assert_is_golden(&shown(&config), "agent-ignition.txt");
            verify_unit(config["systemd"]["units"][0]["contents"].as_str().unwrap());
        }
        run(peer("coreos-installer").args(["iso", "reset"]).arg(&iso));
        let base = site.bases.read(&format!("ironic-python-agent{base}.iso"));
        assert!(fs::read(&iso).unwrap() == base, "{host}: another base, or more than the areas is changed");
    }
    for (host, base, rootfs) in [("network", "", ""), ("network-arm-10", "-rhel-10_aarch64", "-rhel-10_aarch64")] {
        let status = &site.wait_until_ready(host)["status"];
        let [initrd, kernel] = ["imageUrl", "kernelUrl"].map(|name| dayone.fetch(status[name].as_str().unwrap()));
        assert!(initrd.starts_with(&site.bases.read(&format!("ironic-python-agent{base}.initramfs"))), "{host}");
        assert!(kernel == site.bases.read(&format!("ironic-python-agent{base}.kernel")), "{host}");
        let expected =
            format!("coreos.live.rootfs_url=http://192.0.2.10:6180/images/ironic-python-agent{rootfs}.rootfs");
        assert_eq!(status["extraKernelParams"], expected);
    }
    site.wait_for_error("power", "ConfigurationError");

    // What the account has no right to is asked for again, and soon seldom; Events are tried once each.
    let requests = site.server.requests(&site.user(OPERATOR));
    let refused: Vec<_> = requests.iter().filter(|one| one.code == 403 && one.resource != "events").collect();
    assert!(refused.len() <= 12, "{refused:#?}");
    let log = dayone.program.log();
    assert!(log.contains("this replica writes") && !log.contains("tops3cret") && !log.contains("p%41ss"), "{log}");
}

/// systemd's own checker finds nothing in it. The machine that tests has no podman.
fn verify_unit(unit: &str) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ironic-agent.service");
    fs::write(&path, unit.replace("/bin/podman", "/bin/true")).unwrap();
    let output = Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&path).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_bootstrap_node_has_its_images() {
    let site = site();
    let mut container = Container::new();
    // The CD that the node was booted from.
    let cd = coreos_iso(&["--size-mib", "8"]);
    let device = LoopDevice::of(&cd);
    if device.is_none() {
        eprintln!("no loop device to be had: the base is a file instead");
    }
    container.mount(device.as_ref().map_or(&cd, |device| &device.0), "/images/live.iso");
    container
        .mount(&fs::canonicalize(site.bases.path("ironic-python-agent.initramfs")).unwrap(), "/images/pxe/initrd.img");
    container.write("/auth/kubeconfig", fs::read(site.server.kubeconfig(ADMIN)).unwrap());
    let mut environment = operator_environment(&container);
    environment
        .retain(|(name, _)| !["DEPLOY_KERNEL", "IMAGE_SHARED_DIR", "IRONIC_ROOTFS_URL", "CA_BUNDLE"].contains(name));
    environment.retain(|(name, _)| !name.starts_with("DEPLOY_"));
    environment.extend([
        ("DEPLOY_ISO", "/images/live.iso"),
        ("DEPLOY_INITRD", "/images/pxe/initrd.img"),
        ("KUBECONFIG", "/auth/kubeconfig"),
    ]);
    let mut published = String::new();
    let dayone = Running::start(&container, &environment, |images, metrics| {
        published = format!("http://{images}");
        words(&format!(
            "/image-customization-controller --namespace={} --images-publish-addr={published} --metrics-addr={metrics} \
             --images-bind-addr={images}",
            site.namespace
        ))
    });
    ask(&site, "master-0", &json!({}), "x86_64", &["iso", "initrd"]);
    ask(&site, "master-1", &json!({}), "", &["initrd"]);
    let directory = tempfile::tempdir().unwrap();
    let image = site.wait_until_ready("master-0");
    let iso = dayone.fetch_to(image_url(&image), directory.path());
    assert!(image_url(&image).starts_with(&published));
    // However it is written in the environment, podman reads the secret, and nobody but root does.
    let config = embedded(&iso);
    assert_eq!(content(&config, "/etc/authfile.json"), PULL_SECRET);
    run(peer("coreos-installer").args(["iso", "reset"]).arg(&iso));
    assert!(fs::read(&iso).unwrap() == fs::read(&cd).unwrap(), "not the CD");

    let status = &site.wait_until_ready("master-1")["status"];
    assert!(
        dayone
            .fetch(status["imageUrl"].as_str().unwrap())
            .starts_with(&site.bases.read("ironic-python-agent.initramfs"))
    );
    assert_eq!((status["kernelUrl"].as_str(), status["extraKernelParams"].as_str()), (None, None), "{status:#}");
}

#[test]
fn urls_are_upstreams_and_tls_is_spoken_where_that_is_asked_for() {
    let site = site();
    let container = with_copied_images(&site);
    let mut environment = operator_environment(&container);
    environment.extend(in_cluster(&site, &container));
    let certified = generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    container.write("/certs/ironic/tls.crt", certified.cert.pem());
    container.write("/certs/ironic/tls.key", certified.signing_key.serialize_pem());
    let mut address = String::new();
    let dayone = Running::start(&container, &environment, |images, metrics| {
        images.clone_into(&mut address);
        words(&format!(
            "/image-customization-controller -namespace={} -images-bind-addr={images} \
             -images-publish-addr https://{images}/a/path/ -metrics-addr {metrics} -compatibility strict \
             -images-tls-cert-file /certs/ironic/tls.crt --images-tls-key-file=/certs/ironic/tls.key",
            site.namespace
        ))
    });
    ask(&site, "worker-0", &json!({}), "x86_64", &["iso"]);
    let image = site.wait_until_ready("worker-0");
    let url = image_url(&image);
    let uuid = url.strip_prefix(&format!("https://{address}/")).unwrap_or_else(|| panic!("{url}"));
    assert!(uuid.len() == 36 && uuid.split('-').map(str::len).eq([8, 4, 4, 4, 12]), "{url}");

    let authority = reqwest::Certificate::from_pem(certified.cert.pem().as_bytes()).unwrap();
    let client = Client::builder().no_proxy().tls_certs_only([authority]).build().unwrap();
    let at = |path: &str| client.get(format!("https://{address}{path}"));
    let whole = at(&format!("/{uuid}")).send().unwrap();
    assert_eq!(whole.headers()["accept-ranges"], "bytes");
    let whole = whole.bytes().unwrap();
    let base = site.bases.read("ironic-python-agent.iso");
    assert_eq!(whole.len(), base.len());
    let head = client.head(url).send().unwrap();
    assert_eq!(
        (head.status().as_u16(), &head.headers()["content-length"]),
        (200, &base.len().to_string().parse().unwrap())
    );
    // Whatever a Route or an Ingress puts before it.
    for path in [format!("/images/{uuid}"), format!("/a/b/c/{uuid}")] {
        let part = at(&path).header("Range", "bytes=32768-34815").send().unwrap();
        assert_eq!(part.status(), 206, "{path}");
        assert_eq!(part.bytes().unwrap(), whole.slice(32768..34816));
    }
    let other = format!("{:x}{}", 15 - u32::from_str_radix(&uuid[..1], 16).unwrap(), &uuid[1..]);
    for path in ["/", "/index.html", "/images/", &format!("/{uuid}/"), &format!("/{uuid}.iso"), &format!("/{other}")] {
        let answer = at(path).send().unwrap();
        assert_eq!(answer.status(), 404, "{path}");
        assert!(!answer.text().unwrap().contains(&uuid[..8]), "{path} names an image");
    }
    // Plain HTTP is not spoken there.
    assert!(!Client::new().get(format!("http://{address}/{uuid}")).send().is_ok_and(|answer| answer.status() == 200));
    assert!(!dayone.program.log().contains(uuid), "a URL is a credential");
}

#[test]
fn files_with_settings_are_read_again_when_they_change() {
    let site = site();
    let container = with_copied_images(&site);
    let mut environment = operator_environment(&container);
    environment.extend(in_cluster(&site, &container));
    let dayone = Running::start(&container, &environment, |images, metrics| {
        words(&format!(
            "/machine-image-customization-controller -namespace {} -images-bind-addr {images} \
             -images-publish-addr http://{images}/ -metrics-addr {metrics}",
            site.namespace
        ))
    });
    ask(&site, "worker-0", &json!({}), "x86_64", &["iso"]);
    let first = image_url(&site.wait_until_ready("worker-0")).to_owned();
    container.write("/run/secrets/pull-secret", BASE64_STANDARD.encode(r#"{"auths":{}}"#));
    site.wait_for_image("worker-0", "made anew", |image| is_true(image, "Ready") && image_url(image) != first);
    let second = image_url(&site.wait_until_ready("worker-0")).to_owned();
    let directory = tempfile::tempdir().unwrap();
    let config = embedded(&dayone.fetch_to(&second, directory.path()));
    assert_eq!(content(&config, "/etc/authfile.json"), r#"{"auths":{}}"#);
    assert_eq!(dayone.get(&first).status(), 200, "a host may still read it");

    // What is made stays while a file is away; what is not made says which it is.
    fs::remove_file(container.path(CA_BUNDLE)).unwrap();
    std::thread::sleep(std::time::Duration::from_secs(6));
    ask(&site, "worker-1", &json!({}), "x86_64", &["iso"]);
    let says_why =
        |image: &Value| condition(image, "Ready")["message"].as_str().is_some_and(|text| text.contains(CA_BUNDLE));
    site.wait_for_image("worker-1", "it says why", says_why);
    assert_eq!(image_url(&site.wait_until_ready("worker-0")), second);
    assert_eq!(dayone.get(&second).status(), 200);
    container.write(CA_BUNDLE, CERTIFICATES);
    site.wait_until_ready("worker-1");
}

#[test]
fn what_is_wrong_ends_it_as_it_ended_upstream() {
    let container = Container::new();
    container.write("/nmstate/worker-0.yaml", "interfaces: []\n");
    let required = [("DEPLOY_ISO", "/iso"), ("DEPLOY_INITRD", "/initrd"), ("IRONIC_AGENT_IMAGE", "agent")];
    let controllers = ["/machine-image-customization-controller", "/image-customization-controller"];
    let servers = ["/machine-image-customization-server", "/image-customization-server"];
    for program in controllers.into_iter().chain(servers) {
        let mut line = vec![program];
        if servers.contains(&program) {
            line.extend(["-nmstate-dir", "/nmstate"]);
        }
        for (missing, _) in required {
            let environment: Vec<_> = required.into_iter().filter(|(name, _)| *name != missing).collect();
            let (code, log) = container.start(&line, &environment).end();
            assert_eq!(code, Some(1), "{log}");
            let text = format!("required key {missing} missing value");
            assert!(log.contains("environment not provided") && log.contains(&text), "{log}");
        }
        for bad in ["-no-such-flag", "--images-bind-addr"] {
            let (code, log) = container.start(&[&line[..], &[bad]].concat(), &required).end();
            assert_eq!(code, Some(2), "{bad}: {log}");
        }
        let (code, help) = container.start(&[program, "-help"], &[]).end();
        assert_eq!(code, Some(0), "{help}");
        assert!(help.contains("images-publish-addr"), "{help}");
    }
    for program in servers {
        for line in [&[program][..], &[program, "-nmstate-dir", ""]] {
            let (code, log) = container.start(line, &required).end();
            assert_eq!(code, Some(1), "{log}");
            assert!(log.contains("nmstate-dir"), "{log}");
        }
    }
    // What is set to nothing is not set, and of what is said twice the last counts: it gets to the cluster, which nobody
    // says how to reach.
    let line = "-namespace a -namespace b -images-bind-addr 127.0.0.1:0 -metrics-addr 0 -images-tls-cert-file= \
                -images-tls-key-file=";
    let line: Vec<&str> = [controllers[0]].into_iter().chain(line.split_whitespace()).collect();
    let environment =
        [&required[..], &[("KUBECONFIG", ""), ("WATCH_NAMESPACE", ""), ("IRONIC_ROOTFS_URL", "")]].concat();
    let (code, log) = container.start(&line, &environment).end();
    assert_eq!(code, Some(1), "{log}");
    assert!(log.contains("KUBECONFIG") || log.contains("kubeconfig"), "{log}");
}
