//! The modules `base`, `base_info` and `image`, and what Ansible's own tools say of the collection.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use acceptance::bases::{coreos_iso, fixtures};
use acceptance::boots::documents;
use acceptance::fault_proxy::{Fault, FaultProxy};
use acceptance::nginx::Nginx;
use acceptance::peers::{cache, run, run_text};
use acceptance::server::{Server, free_address};
use imagelib::digest::Digest;
use reqwest::Method;
use serde_json::{Value, json};

use crate::playbook::Ansible;

const MODULES: [&str; 4] = ["base", "base_info", "boot", "image"];
const TOKEN: &str = "a-token-that-nobody-sees";

/// A server that needs a token.
fn server() -> Server {
    server_with(&[])
}

/// A server that needs a token, with more arguments.
fn server_with(arguments: &[&str]) -> Server {
    let directory = tempfile::tempdir().unwrap();
    let tokens = directory.path().join("tokens");
    fs::write(&tokens, format!("{TOKEN}\n")).unwrap();
    fs::set_permissions(&tokens, fs::Permissions::from_mode(0o600)).unwrap();
    let more = [&["--api-token-file", tokens.to_str().unwrap()], arguments].concat();
    Server::start_at(&free_address(), &free_address(), "coreos", &coreos_iso(&[]), &more)
}

fn nmstate(address: &str) -> Value {
    let ipv4 = json!({"enabled": true, "address": [{"ip": address, "prefix-length": 24}]});
    json!({"interfaces": [{"name": "eth0", "type": "ethernet", "state": "up", "ipv4": ipv4}]})
}

#[test]
fn bases_are_listed() {
    let server = server();
    let ansible = Ansible::new(&server.api, Some(TOKEN));
    let all = ansible.task("base_info", &json!({}), &[]).changed(false);
    let [base] = all["bases"].as_array().unwrap().as_slice() else { panic!("{all:#}") };
    assert_eq!(
        (&base["name"], &base["state"], &base["kind"]),
        (&json!("coreos"), &json!("available"), &json!("coreos-iso"))
    );
    let one = ansible.task("base_info", &json!({"name": "coreos"}), &["--check"]).changed(false);
    assert_eq!(one["bases"], all["bases"]);
    let none = ansible.task("base_info", &json!({"name": "a/b"}), &[]).changed(false);
    assert_eq!(none["bases"], json!([]));
}

#[test]
fn a_base_is_added_replaced_and_removed() {
    let nginx = Nginx::start(None);
    let iso = fs::read(coreos_iso(&[])).unwrap();
    let put = |name: &str, bytes: &[u8]| {
        fs::write(nginx.root().join(name), bytes).unwrap();
        json!({"url": nginx.url(name), "sha256": Digest::of(bytes).to_string()})
    };
    let source = nginx.url("");
    let server = server_with(&["--base-source", &source]);
    let ansible = Ansible::new(&server.api, Some(TOKEN));
    let base = |arguments: &Value, more: &[&str]| ansible.task("base", arguments, more);
    let first = json!({"name": "fcos", "files": {"iso": put("first.iso", &iso)}});

    base(&first, &["--check"]).changed(true);
    let added = base(&first, &[]).changed(true);
    assert_eq!((&added["base"]["state"], &added["base"]["version"]), (&json!("available"), &json!(1)));
    assert_eq!(base(&first, &[]).changed(false)["base"]["version"], 1);
    base(&first, &["--check"]).changed(false);

    // The next release: the volume's application identifier is another.
    let mut next = iso.clone();
    next[16 * 2048 + 574] ^= 1;
    let second = json!({"name": "fcos", "files": {"iso": put("second.iso", &next)}});
    base(&second, &["--check"]).changed(true);
    assert_ne!(base(&second, &[]).changed(true)["base"]["identity"], added["base"]["identity"]);

    // The query of a URL may be a credential.
    let mut with_key = put("first.iso", &iso);
    with_key["url"] = json!(format!("{}?key=hunter2-hunter2", nginx.url("first.iso")));
    let task = base(&json!({"name": "fcos", "files": {"iso": with_key}}), &["--check"]);
    assert!(!task.printed.contains("hunter2-hunter2"), "{}", task.printed);
    task.changed(true);

    let mut wrong = put("third.iso", &iso);
    wrong["sha256"] = json!(Digest::of(b"x").to_string());
    base(&json!({"name": "third", "files": {"iso": wrong}}), &[]).failed("SHA-256");
    let elsewhere = json!({"url": "http://127.0.0.1:1/x.iso", "sha256": Digest::of(b"x").to_string()});
    let refused = base(&json!({"name": "other", "files": {"iso": elsewhere}}), &[]).failed("--base-source");
    assert_eq!(refused["problem"]["type"], "/v1/problems/source-refused");

    let absent = json!({"name": "fcos", "state": "absent"});
    let order = json!({"base": "fcos", "nmstate": nmstate("192.0.2.20")});
    let image = ansible.task("image", &order, &[]).changed(true);
    assert_eq!(base(&absent, &[]).failed("use the base")["problem"]["type"], "/v1/problems/base-in-use");
    server_release(&server, image["image"]["id"].as_str().unwrap());
    base(&absent, &["--check"]).changed(true);
    base(&absent, &[]).changed(true);
    base(&absent, &[]).changed(false);
}

fn server_release(server: &Server, id: &str) {
    let path = format!("{}/v1/images/{id}", server.api);
    let answer = reqwest::blocking::Client::new().delete(path).bearer_auth(TOKEN).send().unwrap();
    assert_eq!(answer.status(), 204);
}

/// Before ansible-core 2.19, a template that results in JSON, such as the content of a file, is a list or a dictionary.
#[test]
fn documents_that_ansible_has_parsed_are_json_again() {
    let server = server();
    let ansible = Ansible::new(&server.api, Some(TOKEN));
    let network = "interfaces:\n- name: eth0\n  type: ethernet\n  state: up\n  ipv4: {enabled: true, dhcp: true}\n";
    let parsed = json!([
        {"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "metadata": {"name": "w0", "creationTimestamp": null},
         "spec": {"preprovisioningNetworkDataName": "w0-network"}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "w0-network"}, "stringData": {"nmstate": network}},
    ]);
    let orders = [
        json!({"base": "coreos", "documents": parsed.to_string()}),
        json!({"base": "coreos", "documents": parsed}),
        json!({"base": "coreos", "document_files": [{"name": "w0.json", "text": parsed}]}),
    ];
    let mut results = ansible.tasks(&orders.map(|order| ("image", order)), &[]).into_iter();
    let made = results.next().unwrap().changed(true);
    for again in results {
        assert_eq!(again.changed(false)["image"]["id"], made["image"]["id"]);
    }
}

#[test]
fn an_image_is_made_once_and_deleted_once() {
    let server = server();
    let ansible = Ansible::new(&server.api, Some(TOKEN));
    let image = |arguments: &Value, more: &[&str]| ansible.task("image", arguments, more);
    let order = json!({"base": "coreos", "hostname": "worker-0", "nmstate": nmstate("192.0.2.20"),
        "kernel_arguments": {"append": ["console=ttyS0"]},
        "files": [{"path": "/etc/motd", "contents": "SGVsbG8K"}]});

    // It would be made, and is not.
    image(&order, &["--check"]).changed(true);
    image(&order, &["--check"]).changed(true);
    let made = image(&order, &[]).changed(true);
    let id = made["image"]["id"].as_str().unwrap();
    let url = made["image"]["url"].as_str().unwrap();
    assert!(reqwest::blocking::get(url).unwrap().status().is_success());

    // The same again, and another host.
    assert_eq!(image(&order, &[]).changed(false)["image"], made["image"]);
    assert_eq!(image(&order, &["--check"]).changed(false)["image"]["id"], id);
    let other = json!({"base": "coreos", "nmstate": nmstate("192.0.2.21")});
    image(&other, &["--check"]).changed(true);

    let absent = json!({"state": "absent", "id": id});
    image(&absent, &["--check"]).changed(true);
    image(&absent, &[]).changed(true);
    image(&absent, &[]).changed(false);
    image(&absent, &["--check"]).changed(false);
    assert_eq!(reqwest::blocking::get(url).unwrap().status(), 404);
}

#[test]
fn every_kind_of_document_goes_through() {
    let server = server();
    let ansible = Ansible::new(&server.api, Some(TOKEN));
    let text = documents("worker-0", "http://192.0.2.200", "/redfish/v1/Systems/1", "hunter2-hunter2");
    let plain = ansible.task("image", &json!({"base": "coreos", "documents": text}), &[]).changed(true);
    let files = json!({"base": "coreos", "document_files": [{"name": "host.yaml", "text": text}]});
    assert_eq!(ansible.task("image", &files, &[]).changed(false)["image"]["id"], plain["image"]["id"]);
    let data = json!({"format": "data", "nmstate": nmstate("192.0.2.20"),
        "data": {"kind": "cidata", "user_data": "I2Nsb3VkLWNvbmZpZwo="}});
    ansible.task("image", &data, &["--check"]).changed(true);
    ansible.task("image", &data, &[]).changed(true);
    ansible.task("image", &data, &["--check"]).changed(false);
}

#[test]
fn mistakes_are_told_with_their_places() {
    let server = server();
    let ansible = Ansible::new(&server.api, Some(TOKEN));
    let wrong = json!({"base": "coreos", "nmstate": nmstate("300.0.2.20")});
    for more in [&[][..], &["--check"]] {
        let failed = ansible.task("image", &wrong, more).failed("interfaces[0]");
        assert_eq!(failed["problem"]["type"], "/v1/problems/documents-refused");
        assert!(failed["msg"].as_str().unwrap().contains("Fix: "), "{failed:#}");
    }
    let order = json!({"base": "none", "nmstate": nmstate("192.0.2.20")});
    assert_eq!(ansible.task("image", &order, &[]).failed("none")["problem"]["known"], json!(["coreos"]));
    ansible.task("image", &json!({"base": "coreos"}), &[]).failed("documents, document_files, nmstate");
    Ansible::new(&server.api, None).task("base_info", &json!({}), &[]).failed("token");
    let nobody = format!("http://{}", free_address());
    Ansible::new(&nobody, Some(TOKEN)).task("base_info", &json!({}), &[]).failed(&nobody);
    // The request goes to the proxy, which refuses it. Without the proxy, it would time out.
    Ansible::new("http://192.0.2.1", None).task("base_info", &json!({}), &[]).failed("refused");
}

#[test]
fn secrets_are_not_printed() {
    let server = server();
    let ansible = Ansible::new(&server.api, None);
    let secret = "hunter2-hunter2";
    let documents = format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: worker-0-bmc}}\nstringData: {{username: admin, password: {secret}}}\n---\n{}",
        nmstate("192.0.2.20")
    );
    // As users keep them: in files that are looked up.
    let file = server.directory().join("documents.yaml");
    fs::write(&file, &documents).unwrap();
    let lookup = |path: &Path| format!("{{{{ lookup('ansible.builtin.file', '{}') }}}}", path.display());
    let token = server.directory().join("token");
    fs::write(&token, TOKEN).unwrap();
    let order = json!({"base": "coreos", "api_token": lookup(&token), "documents": lookup(&file)});
    let task = ansible.task("image", &order, &[]);
    for secret in [secret, TOKEN] {
        assert!(!task.printed.contains(secret), "{}", task.printed);
    }
    assert!(task.printed.contains("VALUE_SPECIFIED_IN_NO_LOG_PARAMETER"), "{}", task.printed);
    task.changed(true);
}

#[test]
fn secrets_in_structures_are_not_printed_and_results_are_whole() {
    let server = server();
    let ansible = Ansible::new(&server.api, Some(TOKEN));
    let secret = "hunter2-hunter2";
    let mut network = nmstate("192.0.2.20");
    network["interfaces"][0]["802.1x"] = json!({"identity": "worker-0", "eap-methods": ["tls"], "private-key": "/etc/k.pem",
        "client-cert": "/etc/c.pem", "ca-cert": "/etc/a.pem", "private-key-password": secret});
    let config = json!({"ignition": {"version": "3.4.0"},
        "storage": {"files": [{"path": "/etc/boot", "mode": 8, "contents": {"source": format!("data:,{secret}")}}]},
        "passwd": {"users": [{"name": "iso", "passwordHash": secret}]}});
    let order = json!({"base": "coreos", "nmstate": network, "ignition": config});
    let task = ansible.task("image", &order, &[]);
    assert!(!task.printed.contains(secret), "{}", task.printed);
    let made = task.changed(true);
    assert!(!made.to_string().contains(secret), "{made:#}");
    // Ansible would censor each value of the documents in them, such as `iso`, `eth0` or `8`.
    assert!(made["image"]["url"].as_str().is_some_and(|url| url.ends_with(".iso")), "{made:#}");
    assert!(!made["image"].to_string().contains("***"), "{made:#}");
    let id = made["image"]["id"].as_str().unwrap();
    assert!(id.len() == 64 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
    // Documents may be given as structures, too.
    let documents = json!({"base": "coreos", "documents": order["nmstate"], "ignition": order["ignition"]});
    let task = ansible.task("image", &documents, &[]);
    assert!(!task.printed.contains(secret), "{}", task.printed);
    assert_eq!(task.changed(false)["image"]["id"], made["image"]["id"]);
    // Nor does a task that fails print them: for its options, or for the documents.
    for more in [json!({"documents": "x"}), json!({"base": "none"}), json!({"hostname": "-"})] {
        let mut wrong = order.clone();
        wrong.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let task = ansible.task("image", &wrong, &[]);
        assert!(!task.printed.contains(secret), "{}", task.printed);
        task.failed("");
    }
}

/// If an option has the wrong form, Ansible does not know which of its values are secret, and its messages quote some of them.
#[test]
fn secrets_in_wrong_options_are_not_printed() {
    let secret = "hunter2-hunter2";
    let ansible = Ansible::new("http://127.0.0.1:1", None);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("secret");
    fs::write(&file, format!("password: \"{secret}\"\n")).unwrap();
    let secret_text = format!("{{{{ lookup('ansible.builtin.file', '{}') }}}}", file.display());
    let image = |more: Value| {
        let mut order = json!({"base": "coreos", "nmstate": nmstate("192.0.2.20")});
        order.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        ("image", order)
    };
    let (tasks, words): (Vec<_>, Vec<_>) = [
        (image(json!({"answers": secret_text})), "dictionary"),
        (image(json!({"answers": {"kind": "preseed", "txt": secret_text}})), "text found in answers"),
        (image(json!({"answers": {"kind": secret_text, "text": "x"}})), "got: ********"),
        // The module makes JSON of a structure, with an escape in it.
        (image(json!({"answers": {"kind": {"password": format!("{secret}é")}, "text": "x"}})), "got: ********"),
        (image(json!({"data": {"kind": "cidata", "userdata": secret_text}})), "data.userdata"),
        (image(json!({"files": [{"path": "/a", "contents": "", "user": secret_text}]})), "********"),
        (image(json!({"document": secret_text})), "document"),
        (
            ("image", json!({"base": "coreos", "document_files": [{"name": "a", "contents": secret_text}]})),
            "text found",
        ),
        (("image", json!({"base": "coreos", "document_files": [[secret_text]]})), "********"),
        (("boot", json!({"base": "coreos", "bmc": {"address": "a", "password": secret_text}})), "bmc.password"),
        // Ansible makes a dictionary of the text, with the secret as a name.
        (("boot", json!({"base": "coreos", "bmc": format!("{secret}=")})), "bmc.********"),
        (("base", json!({"name": "coreos", "file": {"iso": secret_text}})), "files"),
        (("base_info", json!({"api_tokn": secret_text})), "api_tokn"),
    ]
    .into_iter()
    .unzip();
    for (task, words) in ansible.tasks(&tasks, &[]).into_iter().zip(words) {
        assert!(!task.printed.contains(secret), "{}", task.printed);
        let failed = task.failed(words);
        assert!(!failed.to_string().contains(secret), "{failed:#}");
    }
}

/// Reads a text in which not all words have "=", as ansible-core 2.16 and 2.17 do. The peers have only a later release.
const EARLIER_READER: &str = "\
from ansible_collections.dayone.dayone.plugins.module_utils import quiet
quiet.check_type_dict = lambda text: dict(word.split('=', 1) for word in text.split())
print(*quiet._texts('key: ssh-rsa AAAA== me@x'))
";

#[test]
fn earlier_releases_of_ansible_also_look_for_secrets_in_texts() {
    let python = cache().join("ansible-core-2.19.3/bin/python");
    let mut python = Command::new(python);
    python.args(["-c", EARLIER_READER]).env("PYTHONPATH", Ansible::collections()).env("PYTHONDONTWRITEBYTECODE", "1");
    assert!(run_text(&mut python).starts_with("key: ssh-rsa AAAA== me@x"));
}

/// A redirect would carry the token to another server, and a POST would become a GET there. The page of a proxy is no success.
#[test]
fn only_the_server_itself_is_asked_and_believed() {
    let server = server();
    let (here, elsewhere) = (FaultProxy::start(&server.api), FaultProxy::start(&server.api));
    let ansible = Ansible::new(&here.origin(), Some(TOKEN));
    let order = json!({"base": "coreos", "nmstate": nmstate("192.0.2.20")});
    let (list, image) = (("base_info", json!({})), ("image", order));
    for (method, path, (module, arguments)) in [(Method::GET, "/v1/bases", list), (Method::POST, "/v1/images", image)] {
        let location = format!("{}{path}", elsewhere.origin());
        here.next(method, path, 1, Fault::Answer(308, vec![("Location", location)], json!({})));
        ansible.task(module, &arguments, &[]).failed("308");
    }
    assert_eq!(elsewhere.seen().len(), 0);
    // A token from a block of YAML.
    let with_line_end = json!({"api_token": format!("{TOKEN}\n")});
    ansible.task("base_info", &with_line_end, &[]).changed(false);

    let nginx = Nginx::start(None);
    fs::create_dir(nginx.root().join("v1")).unwrap();
    fs::write(nginx.root().join("v1/bases"), "<html>Log in</html>").unwrap();
    let page = Ansible::new(nginx.url("").trim_end_matches('/'), None);
    page.task("base_info", &json!({}), &[]).failed("the answer is not from dayone's API");
}

#[test]
fn the_documentation_of_every_module_renders() {
    let ansible = Ansible::new("http://127.0.0.1:1", None);
    for module in MODULES {
        let name = format!("dayone.dayone.{module}");
        let page = run_text(ansible.command("ansible-doc").arg(&name));
        for part in ["OPTIONS", "EXAMPLES", "RETURN VALUES", "api_token", "check_mode"] {
            assert!(page.contains(part), "{module} has no {part}:\n{page}");
        }
        let json: Value = serde_json::from_slice(&run(ansible.command("ansible-doc").args(["--json", &name]))).unwrap();
        assert!(json[&name]["doc"]["options"]["api_url"].is_object(), "{module}");
    }
}

/// The checks that Ansible makes of the collections it ships.
#[test]
fn the_collection_is_sane() {
    let home = cache().join("ansible-test-2.19.3");
    assert!(home.join("primed").exists(), "{} is missing; run scripts/setup-peers.sh", home.display());
    // It writes reports into the collection, and finds its files by git.
    let directory = tempfile::tempdir().unwrap();
    run(Command::new("cp").arg("-r").arg(Ansible::collections().join("ansible_collections")).arg(directory.path()));
    let collection = directory.path().join("ansible_collections/dayone/dayone");
    for arguments in [&["init", "--quiet"][..], &["add", "."]] {
        run(Command::new("git").args(arguments).current_dir(&collection));
    }
    let mut sanity = Ansible::new("http://127.0.0.1:1", None).command("ansible-test");
    // Its default is any Python of the machine, whether it runs or not.
    let version = "import sys; print('%d.%d' % sys.version_info[:2])";
    let python = cache().join("ansible-core-2.19.3/bin/python");
    let version = run_text(Command::new(python).args(["-c", version]));
    sanity.args(["sanity", "--python", version.trim()]).env("HOME", home).current_dir(&collection);
    for test in ["validate-modules", "import", "compile", "pep8", "yamllint", "ignores", "runtime-metadata", "shebang"]
    {
        sanity.args(["--test", test]);
    }
    let output = sanity.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("validate-modules"), "{said}");
}

#[test]
fn the_page_names_every_module() {
    let page = fs::read_to_string(fixtures("../docs/ansible.md")).unwrap();
    let modules = Ansible::collections().join("ansible_collections/dayone/dayone/plugins/modules");
    let mut found: Vec<_> = fs::read_dir(modules).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.extension().is_some_and(|suffix| suffix == "py"));
    assert_eq!(found.len(), MODULES.len());
    for module in MODULES {
        assert!(page.contains(&format!("`dayone.dayone.{module}`")), "{module}");
    }
}
