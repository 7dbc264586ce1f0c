//! The ways to order an image, and what is refused.

use imagelib::cpio::Archive;
use serde_json::{Value, json};

use super::support::{Answer, Dayone, NMSTATE, Place, bare_metal_host};

const ORDER: &str = "/v1/images?base=coreos";

fn nmstate() -> Value {
    serde_yaml::from_str(NMSTATE).unwrap()
}

#[tokio::test]
async fn equal_requests_in_other_forms_give_the_same_image() {
    let dayone = Dayone::start().await;
    let image = Answer::of(dayone.post(ORDER, NMSTATE)).await.ok();
    let requests = [
        dayone.post_json("/v1/images", &json!({"base": "coreos", "documents": NMSTATE})),
        dayone.post_json("/v1/images", &json!({"base": "coreos", "nmstate": nmstate(), "format": "iso"})),
        // JSON that is the user's document, not a request.
        dayone.post_json(ORDER, &nmstate()),
        dayone.post(ORDER, nmstate().to_string()),
        dayone.post(ORDER, NMSTATE.replace('\n', "\r\n")),
        dayone.client.post(dayone.url(ORDER)).body(NMSTATE),
        dayone.client.post(dayone.url(ORDER)).body(NMSTATE).header("content-type", "application/x-www-form-urlencoded"),
        dayone.client.post(dayone.url(ORDER)).body(NMSTATE).header("content-type", "Text/YAML; charset=utf-8"),
    ];
    for (number, request) in requests.into_iter().enumerate() {
        let answer = Answer::of(request).await;
        assert_eq!(answer.status, 200, "{number}: {answer:?}");
        assert_eq!(answer.ok()["id"], image["id"], "{number}");
    }
    assert_eq!(dayone.place.records().len(), 1);
}

/// Members whose value is a name or an address, which problems quote.
const QUOTED: [&str; 5] = ["base", "host", "hostname", "image", "only_from"];

/// A secret may be in any other member, also where it does not belong. Names, paths and versions inside of members are quoted, too.
#[tokio::test]
async fn a_wrong_value_is_refused_and_not_repeated() {
    let dayone = Dayone::start().await;
    let description: Value = serde_json::from_str(&dayone::api::document()).unwrap();
    let text = "x https://user:hunter2@a/?hunter2 hunter2\nhunter2";
    let values = [
        json!(text),
        json!([text]),
        json!({ "x": text }),
        json!([{ "x": text }]),
        json!({"kind": text, "text": text}),
        json!({"kind": "agama", "text": text}),
        json!({"append": [format!("key={text}")], "delete": [format!("key={text}")]}),
        json!({"replace": [format!("key=hunter2={text}")]}),
        json!({"append": [3], "delete": [{ "x": text }], "replace": ["a=b"]}),
        json!({"address": text}),
        json!({"credentials": text}),
        json!([{"path": "etc\n", "contents": text}]),
        json!([{"path": "/etc/x", "contents": text}]),
        json!([{"path": "/etc/x", "contents": "eA==", "user": text}]),
        json!([{"name": "x\n", "contents": text}]),
        json!([{"name": "x.service", "contents": [text]}]),
        json!({"ignition": {"version": "9.9.9"}, "passwd": text}),
        json!({"ignition": {"version": "3.2.0"}, "storage": {"files": [{"path": "etc", "contents": text}]}}),
        json!({"ignition": {"version": "3.2.0"}, "storage": {"files": [{"path": "/etc/x", "contents": text}]}}),
        json!({"ignition": {"version": "3.2.0"}, "passwd": {"users": text}}),
    ];
    let mut quoting = std::collections::BTreeSet::new();
    for (schema, path) in [("ImageRequest", "/v1/images"), ("BootRequest", "/v1/boots")] {
        let members = description["components"]["schemas"][schema]["properties"].as_object().unwrap();
        assert!(members.len() > 20);
        // Findings about the network quote it.
        for member in members.keys().filter(|member| !["documents", "nmstate"].contains(&member.as_str())) {
            let mut is_refused = false;
            for value in &values {
                let mut order = json!({"base": "coreos", "documents": NMSTATE});
                order[member] = value.clone();
                let answer = Answer::of(dayone.post_json(path, &order)).await;
                let body = String::from_utf8_lossy(&answer.body);
                if !answer.status.is_success() {
                    is_refused = true;
                    if body.contains("hunter2") {
                        println!("{schema}.{member}: {body}");
                        quoting.insert(member.clone());
                    }
                }
            }
            assert!(is_refused, "{schema}.{member}");
        }
    }
    assert_eq!(quoting, QUOTED.map(str::to_owned).into());
}

#[tokio::test]
async fn every_option_changes_the_image() {
    let dayone = Dayone::start().await;
    let orders = [
        json!({}),
        json!({"hostname": "worker-0"}),
        json!({"format": "initrd"}),
        json!({"auto_default": true}),
        json!({"ignition": {"ignition": {"version": "3.2.0"}, "storage": {"files": [{"path": "/etc/x", "contents": {"source": "data:,x"}}]}}}),
        json!({"ssh_authorized_keys": ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1wVd0KqKpJOmGwzjeqWKLGu7dSDPnzcDnFoSDCuKw5 a@b"]}),
        json!({"files": [{"path": "/etc/motd", "contents": "aGVsbG8K"}]}),
        json!({"units": [{"name": "a.service", "enabled": true, "contents": "[Service]\nExecStart=/bin/true\n"}]}),
        json!({"kernel_arguments": {"append": ["console=ttyS0"]}}),
        json!({"kernel_arguments": {"delete": ["mitigations=auto,nosmt"]}}),
        json!({"kernel_arguments": {"replace": ["ignition.platform.id=metal=qemu"]}}),
    ];
    let mut ids = std::collections::BTreeSet::new();
    for order in &orders {
        let mut order = order.clone();
        (order["base"], order["documents"]) = ("coreos".into(), NMSTATE.into());
        let answer = Answer::of(dayone.post_json("/v1/images", &order)).await;
        assert_eq!(answer.status, 201, "{order}: {answer:?}");
        assert!(ids.insert(answer.ok()["id"].to_string()), "{order}");
    }
    for query in [
        "hostname=worker-0",
        "format=initrd",
        "auto_default=true",
        "karg_append=console%3DttyS0",
        "karg_delete=mitigations%3Dauto,nosmt",
        "karg_replace=ignition.platform.id%3Dmetal%3Dqemu",
    ] {
        let answer = Answer::of(dayone.post(&format!("{ORDER}&{query}"), NMSTATE)).await;
        assert_eq!(answer.status, 200, "the same as one of the above: {query}: {answer:?}");
    }
    let image = Answer::of(dayone.post(&format!("{ORDER}&karg_append=a&karg_append=b%3D1"), NMSTATE)).await.ok();
    assert!(image["kernel_arguments"].as_str().unwrap().ends_with(" a b=1"), "{image}");
}

#[tokio::test]
async fn an_image_for_network_boot_lists_all_its_files() {
    let dayone = Dayone::start().await;
    let image = Answer::of(dayone.post("/v1/images?base=coreos&format=initrd", NMSTATE)).await.ok();
    let names: Vec<&String> = image["files"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["initrd.img", "rootfs.img", "vmlinuz"]);
    assert_eq!(image["url"], image["files"]["initrd.img"]["url"]);
    let script = Answer::of(dayone.client.get(image["ipxe"].as_str().unwrap())).await;
    let script = String::from_utf8(script.body).unwrap();
    for name in names {
        assert!(script.contains(image["files"][name]["url"].as_str().unwrap()), "{script}");
    }
}

#[tokio::test]
async fn one_of_several_hosts_is_selected() {
    let dayone = Dayone::start().await;
    let documents = format!("{}---\n{}", bare_metal_host("worker-0"), bare_metal_host("worker-1"));
    let problem = Answer::of(dayone.post(ORDER, &*documents)).await;
    assert_eq!(problem.status, 422);
    assert_eq!(problem.problem("several-hosts")["known"], json!(["worker-0", "worker-1"]));

    let image = Answer::of(dayone.post(&format!("{ORDER}&host=worker-1"), &*documents)).await.ok();
    assert_eq!(image["label"], "worker-1");
    let alone = Answer::of(dayone.post(ORDER, bare_metal_host("worker-1"))).await;
    assert_eq!((alone.status.as_u16(), &alone.ok()["id"]), (200, &image["id"]));

    let problem = Answer::of(dayone.post(&format!("{ORDER}&host=worker-2"), &*documents)).await;
    assert_eq!(problem.status, 422);
    let problem = problem.problem("unknown-host");
    assert_eq!(problem["known"], json!(["worker-0", "worker-1"]));
    assert!(problem["detail"].as_str().unwrap().contains("worker-0, worker-1"));
    assert_eq!(dayone.place.records().len(), 1);
}

#[tokio::test]
async fn invalid_requests_name_the_error() {
    let dayone = Dayone::start().await;
    let query = [
        ("/v1/images", "wrong-parameter", "base"),
        ("/v1/images?base=coreos&bse=x", "wrong-parameter", "\"bse\""),
        ("/v1/images?base=coreos&base=coreos", "wrong-parameter", "twice"),
        ("/v1/images?base=coreos&format=floppy", "wrong-parameter", "\"floppy\""),
        ("/v1/images?base=coreos&hostname=a_b", "wrong-parameter", "a_b"),
        ("/v1/images?base=coreos&replace_embedded=yes", "wrong-parameter", "replace_embedded"),
        ("/v1/images?base=coreos&karg_append=a%20b", "wrong-parameter", "karg_append"),
        ("/v1/images?base=coreos&karg_replace=a", "wrong-parameter", "KEY=OLD=NEW"),
        ("/v1/images?base=nope", "unknown-base", "coreos, ipa, plain"),
        ("/v1/images?base=plain", "image-refused", "no boot menu"),
        ("/v1/images?base=ipa", "image-refused", "initrd"),
        ("/v1/images?base=coreos&karg_delete=nope", "image-refused", "nope"),
        (
            "/v1/images?base=ipa&format=initrd&ssh_authorized_key=ssh-ed25519+AAAAC3NzaC1lZDI1NTE5AAAAIJ1wVd0KqKpJOmGwzjeqWKLGu7dSDPnzcDnFoSDCuKw5",
            "image-refused",
            "SSH",
        ),
    ];
    for (path, kind, reason) in query {
        let problem = Answer::of(dayone.post(path, NMSTATE)).await.problem(kind);
        assert!(problem["detail"].as_str().unwrap().contains(reason), "{path}: {problem}");
    }
    let long = "x".repeat(2000);
    let json = [
        (json!({"base": "coreos"}), "malformed-request", "neither documents nor nmstate"),
        (json!({"base": "coreos", "documents": NMSTATE, "nmstate": {}}), "malformed-request", "both"),
        (json!({"documents": NMSTATE}), "malformed-request", "base"),
        (json!({"base": "coreos", "documents": NMSTATE, "kargs": []}), "malformed-request", "kargs: unknown field"),
        (
            json!({"base": "coreos", "documents": NMSTATE, "files": [{"path": "/a", "contents": "hunter2"}]}),
            "malformed-request",
            "files[0].contents",
        ),
        (
            json!({"base": "coreos", "documents": NMSTATE, "files": [{"path": "a", "contents": ""}]}),
            "malformed-request",
            "files[0].path",
        ),
        (json!({"base": "coreos", "documents": ["hunter2"]}), "malformed-request", "documents"),
        (json!({"base": "coreos", "documents": NMSTATE, "units": "hunter2"}), "malformed-request", "units"),
        (
            json!({"base": "coreos", "documents": NMSTATE, "ssh_authorized_keys": ["hunter2"]}),
            "malformed-request",
            "ssh_authorized_keys[0]",
        ),
        (
            json!({"base": "coreos", "documents": NMSTATE, "ignition": {"ignition": {"version": "2.2.0"}}}),
            "documents-refused",
            "2.2.0",
        ),
        (
            json!({"base": "coreos", "documents": NMSTATE, "ignition": {"ignition": {"version": "3.2.0"}, "passwd": "hunter2"}}),
            "documents-refused",
            "Ignition",
        ),
        (
            json!({"base": "coreos", "documents": NMSTATE, "ignition": deep_config(125)}),
            "documents-refused",
            "more than 125 levels",
        ),
        (
            json!({"base": "coreos", "documents": NMSTATE, "kernel_arguments": {"append": [long]}}),
            "does-not-fit",
            "accept at most",
        ),
        (
            json!({"base": "coreos", "nmstate": {"interfaces": [{"name": "much-too-long-for-a-name", "type": "ethernet"}]}}),
            "documents-refused",
            "interfaces[0].name",
        ),
    ];
    for (body, kind, reason) in json {
        let answer = Answer::of(dayone.post_json("/v1/images", &body)).await;
        assert!(answer.status.is_client_error(), "{answer:?}");
        let problem = answer.problem(kind);
        assert!(problem["detail"].as_str().unwrap().contains(reason), "{body}: {problem}");
        assert!(!problem.to_string().contains("hunter2"), "{problem}");
    }
    let text = dayone.client.post(dayone.url("/v1/images")).header("content-type", "application/json");
    let problem = Answer::of(text.body("{\"base\": \"coreos\",\n oops}")).await;
    assert_eq!(problem.status, 400);
    let problem = problem.problem("malformed-request");
    assert!(problem["detail"].as_str().unwrap().contains("line 2, column 2"), "{problem}");
    assert!(dayone.place.records().is_empty());
}

/// serde reads the elements of a list as the members of a struct in their order, if nothing prevents it.
#[tokio::test]
async fn a_list_in_place_of_an_object_is_refused() {
    let dayone = Dayone::start().await;
    let order = |member: &str, value: Value| {
        let mut order = json!({"base": "coreos", "documents": NMSTATE});
        order[member] = value;
        order
    };
    for (path, body, place) in [
        ("/v1/images", order("kernel_arguments", json!([["a=b"], []])), "kernel_arguments"),
        ("/v1/images", order("files", json!([["/etc/x", "aGk="]])), "files[0]"),
        ("/v1/images", order("documents", json!([["hosts.yaml", NMSTATE]])), "documents[0]"),
        ("/v1/boots", order("bmc", json!(["redfish+http://192.0.2.200/redfish/v1/Systems/1"])), "bmc"),
        ("/v1/keyfiles", json!({"documents": [["hosts.yaml", NMSTATE]]}), "documents[0]"),
        ("/v1/bases", json!({"name": "new", "iso": [null, "/srv/live.iso"]}), "iso"),
    ] {
        let answer = Answer::of(dayone.post_json(path, &body)).await;
        assert_eq!(answer.status, 400, "{body}: {answer:?}");
        let problem = answer.problem("malformed-request");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.ends_with(&format!("{place}: this should be an object")), "{body}: {detail}");
    }
    assert!(dayone.place.records().is_empty());
}

/// A config with lists in lists, one level more than these.
fn deep_config(lists: usize) -> Value {
    let nested = (0..lists).fold(json!(1), |inner, _| json!([inner]));
    json!({"ignition": {"version": "3.2.0"}, "x": nested})
}

#[tokio::test]
async fn what_does_not_fit_is_refused_with_both_sizes() {
    let dayone = Dayone::start().await;
    // More than a kernel takes.
    let long = "x".repeat(1900);
    let order = json!({"base": "coreos", "documents": NMSTATE, "kernel_arguments": {"append": [long]}});
    let answer = Answer::of(dayone.post_json("/v1/images", &order)).await;
    assert_eq!(answer.status, 422);
    let problem = answer.problem("does-not-fit");
    assert_eq!(problem["available"], 1919);
    assert!(problem["needed"].as_u64().unwrap() > 1919, "{problem}");
    assert!(dayone.place.records().is_empty());
}

#[tokio::test]
async fn warnings_come_with_the_image() {
    let dayone = Dayone::start().await;
    let order = json!({"base": "coreos", "documents": NMSTATE,
        "ignition": {"ignition": {"version": "3.2.0"}, "storage": {"fils": []}}});
    let image = Answer::of(dayone.post_json("/v1/images", &order)).await.ok();
    let finding = &image["findings"][0];
    assert_eq!((&finding["severity"], &finding["code"]), (&json!("warning"), &json!("ignition-unused-key")));
    assert!(finding["message"].as_str().unwrap().contains("fils"), "{finding}");
}

#[tokio::test]
async fn curl_without_line_breaks_gets_a_hint() {
    let dayone = Dayone::start().await;
    let request = dayone.client.post(dayone.url(ORDER)).header("content-type", "application/x-www-form-urlencoded");
    let answer = Answer::of(request.body(NMSTATE.replace('\n', ""))).await;
    let problem = answer.problem("documents-refused");
    assert!(problem["detail"].as_str().unwrap().contains("--data-binary"), "{problem}");
}

/// A server whose base `ipa` has the initramfs of the Debian installer.
async fn with_installer() -> Dayone {
    let place = Place::new();
    let mut installer = Archive::new();
    installer.file("lib/debian-installer-startup.d/S10syslog".parse().unwrap(), 0o755, "").unwrap();
    installer.add_parents(0o755).unwrap();
    std::fs::write(place.path("initrd"), installer.to_bytes()).unwrap();
    let config = place.config();
    Dayone::start_with(place, config).await
}

/// The answer file of an installer comes with an order. Its passwords are in no answer of the server.
#[tokio::test]
async fn an_answer_file_is_for_its_installer_and_agrees_with_the_documents() {
    let dayone = with_installer().await;
    let order = |base: &str, text: &str| {
        let answers = json!({"kind": "preseed", "text": text});
        dayone.post_json(
            "/v1/images",
            &json!({"base": base, "format": "initrd", "documents": NMSTATE, "answers": answers}),
        )
    };
    let secret = "d-i passwd/root-password password hunter2\n";
    let image = Answer::of(order("ipa", secret)).await;
    assert_eq!(image.status, 201, "{image:?}");
    assert!(!String::from_utf8_lossy(&image.body).contains("hunter2"));
    let other = Answer::of(order("ipa", "d-i passwd/root-password password hunter3\n")).await;
    assert_ne!(other.ok()["id"], image.ok()["id"]);

    let contradicting = format!("{secret}d-i netcfg/get_ipaddress string 192.0.2.21\n");
    let refused = Answer::of(order("ipa", &contradicting)).await;
    assert_eq!(refused.status, 422);
    let problem = refused.problem("documents-refused");
    assert_eq!(
        problem["findings"].as_array().unwrap().last().unwrap()["code"],
        "answers-contradict-network",
        "{problem}"
    );
    assert!(!problem.to_string().contains("hunter2"), "{problem}");

    let no_installer = Answer::of(order("coreos", secret)).await;
    assert_eq!(no_installer.status, 422, "{no_installer:?}");
    for malformed in [
        json!({"base": "ipa", "documents": NMSTATE, "answers": {"kind": "windows", "text": ""}}),
        json!({"data": {"kind": "cidata"}, "documents": NMSTATE, "answers": {"kind": "preseed", "text": "hunter2"}}),
    ] {
        let answer = Answer::of(dayone.post_json("/v1/images", &malformed)).await;
        assert_eq!(answer.status, 400, "{answer:?}");
        assert!(!String::from_utf8_lossy(&answer.body).contains("hunter2"));
    }
}

#[tokio::test]
async fn warnings_about_an_answer_file_are_in_the_answer_for_one_host_and_for_all() {
    let dayone = with_installer().await;
    let documents = "interfaces:\n- {name: eth0, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}}\n";
    let mut order = json!({
        "base": "ipa", "format": "initrd", "documents": documents, "answers": {"kind": "preseed", "text": ""},
    });
    let codes = |image: &Value| {
        let findings = image["findings"].as_array().unwrap().iter();
        findings.map(|finding| finding["code"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let one = codes(&Answer::of(dayone.post_json("/v1/images", &order)).await.ok());
    assert!(one.iter().any(|code| code == "installed-without-resolver"), "{one:?}");
    order["hosts"] = json!("all");
    let all = Answer::of(dayone.post_json("/v1/images", &order)).await;
    assert_eq!(all.status, 207, "{all:?}");
    assert_eq!(codes(&all.ok()["hosts"][0]["image"]), one);
}
