#![allow(clippy::format_push_string)] // Plainer, and fast enough for tests.

use super::*;
use crate::input;

/// The place that `path` has in `text`: `line:column`, and the place within where there is one.
fn place(text: &str, path: &DocumentPath) -> Option<String> {
    let mut input = input::read(text.as_bytes());
    input.report = {
        let mut report = Report::new();
        for (name, place) in input.report.names() {
            report.name_document(name, place);
        }
        report.error("wrong-type", path, "is wrong");
        report
    };
    locate([Text { name: None, text: text.as_bytes() }], &mut input.report);
    let Position { line, column, within, .. } = input.report.findings()[0].position.clone()?;
    Some(match within {
        Some(LineColumn { line: inner, column: column_inside }) => format!("{line}:{column} {inner}:{column_inside}"),
        None => format!("{line}:{column}"),
    })
}

const SECRET: &str = "\
# a comment
---
apiVersion: metal3.io/v1alpha1
kind: BareMetalHost
metadata:
  name: worker-0
spec:
  preprovisioningNetworkDataName: net
---
kind: Secret
apiVersion: v1
metadata: {name: net}
stringData:
  folded: >
    interfaces: []
  quoted: \"interfaces:\\n- name: eth0\\n\"
  nmstate: |

    interfaces:
    - name: eth0
      ipv4:
        address:
        - {ip: 192.0.2.1, prefix-length: 33}
data:
  other: aW50ZXJmYWNlczoKLSBuYW1lOiBldGgwCg==
";

#[test]
fn places_of_a_secret_are_those_of_the_file() {
    let secret = DocumentPath::document("Secret/net");
    let held = |key: &str| secret.key("stringData").key(key).embedded_document().key("interfaces").index(0);
    let at = |path: &DocumentPath| place(SECRET, path).unwrap();
    let address = held("nmstate").key("ipv4").key("address").index(0);
    assert_eq!(at(&address.key("prefix-length")), "23:42");
    assert_eq!(at(&address), "23:11");
    assert_eq!(at(&held("nmstate").key("ipv4").key("address")), "22:9");
    assert_eq!(at(&held("nmstate").key("ipv4").key("dhcp")), "21:7", "what is missing is missing there");
    assert_eq!(at(&held("nmstate")), "20:7");
    assert_eq!(at(&held("quoted").key("name")), "16:11 2:9");
    assert_eq!(at(&held("folded").key("name")), "14:3 1:13");
    let data = secret.key("data").key("other").embedded_document();
    assert_eq!(at(&data.key("interfaces").index(0).key("name")), "25:10 2:9");
    assert_eq!(at(&secret), "10:1");
    assert_eq!(at(&secret.key("metadata").key("name")), "12:18");
    assert_eq!(at(&secret.key("stringData").key("missing")), "13:1");
    let host = DocumentPath::document("BareMetalHost/worker-0");
    assert_eq!(at(&host.key("spec").key("preprovisioningNetworkDataName")), "8:35");
    assert_eq!(at(&host.key("spec").key("bootMACAddress")), "7:1");
    assert_eq!(place(SECRET, &DocumentPath::document("Secret/none").key("data")), None);
}

#[test]
fn documents_are_counted_as_the_reader_counts_them() {
    let text = "---\n# nothing\n---\n~\n---\r\na: 1\n--- \n# x\nb: [1,\n  2]\n---\n'---': 3\n";
    let at = |number, key: &str| place(text, &DocumentPath::root().numbered_document(number).key(key));
    assert_eq!(at(1, "a").as_deref(), Some("6:4"));
    assert_eq!(at(2, "b").as_deref(), Some("9:4"));
    assert_eq!(at(3, "---").as_deref(), Some("12:8"));
    assert_eq!(at(4, "c"), None);
    for odd in ["%YAML 1.1\n---\na: 1\n...\n%YAML 1.1\n---\nb: 2\n", "a: 1\n...\n---\n...\n---\n\n\nb: 2\n"] {
        let at = |number, key: &str| place(odd, &DocumentPath::root().numbered_document(number).key(key));
        assert!(at(1, "a").is_some_and(|at| at == "1:4" || at == "3:4"), "{odd}");
        assert!(at(2, "b").is_some_and(|at| at == "7:4" || at == "8:4"), "{odd} {:?}", at(2, "b"));
    }
}

#[test]
fn lists_json_aliases_and_merge_keys_are_seen_through() {
    let list = r#"{"kind": "List", "items": [{"a": 1},
        {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "s"}, "data": {"x y": [0, {"é": "𝄞", "z": 1}]}}]}"#;
    let path = DocumentPath::document("Secret/s").key("data").key("x y").index(1);
    assert_eq!(place(list, &path.key("z")).as_deref(), Some("2:111"));
    let first = DocumentPath::root().numbered_document(1).key("items").index(0).embedded_document();
    assert_eq!(place(list, &first.key("a")).as_deref(), Some("1:34"));
    let text = "base: &base\n  mtu: 9000\n  ipv4: {dhcp: true}\ninterfaces:\n- <<: *base\n  name: eth0\n- &second\n  \
                <<: [*base, {state: up}]\n  mtu: 1\n- *second\n";
    let at = |index, key: &str| place(text, &DocumentPath::root().key("interfaces").index(index).key(key)).unwrap();
    assert_eq!([at(0, "mtu"), at(0, "name"), at(1, "mtu"), at(1, "state")], ["2:8", "6:9", "9:8", "8:23"]);
    assert_eq!([at(2, "mtu"), at(2, "ipv4")], ["9:8", "3:9"]);
    assert_eq!(place(text, &DocumentPath::root().key("interfaces").index(2)).as_deref(), Some("10:3"));
}

#[test]
fn merges_of_merges_end() {
    let mut text = "a0: &a0 {k: 1}\n".to_owned();
    for i in 1..40 {
        text += &format!("a{i}: &a{i} {{<<: [*a{0}, *a{0}, *a{0}]}}\n", i - 1);
    }
    let mut tree = Trees::of(&text, 500_000).read(0).unwrap();
    let mut find = |key: &str| {
        let path = DocumentPath::root().key("a39").key(key);
        let way: Vec<Step> = path.steps_from(&DocumentPath::root()).unwrap().into_iter().cloned().collect();
        tree.find(&way, None)
    };
    assert!(find("none").is_some());
    assert_eq!(find("k").unwrap().at, LineColumn { line: 1, column: 13 });
}

#[test]
fn what_is_no_yaml_has_its_place_as_well() {
    let position = |text: &str| {
        let mut report = input::read(text.as_bytes()).report;
        locate([Text { name: None, text: text.as_bytes() }], &mut report);
        report.in_file("a.yaml");
        report.findings()[0].position.as_ref().unwrap().to_string()
    };
    assert_eq!(position("interfaces:\n- a: 1\n  a: 2\n"), "a.yaml:3:6");
    let broken = SECRET.replace("    - name: eth0\n", "    - name: [\n").replace("\\n- name", "\\n- name: [");
    assert_eq!(position(&broken), "a.yaml:22:16");
    let quoted =
        SECRET.replace("nmstate:", "unused:").replace("quoted:", "nmstate:").replace("\\n- name", "\\n- name: [");
    assert_eq!(position(&quoted), "a.yaml:16:12 (line 2, column 9 of the text there)");
}

#[test]
fn lines_of_texts_that_are_no_documents_are_found() {
    let fleet = |hosts: &str| {
        format!(
            "apiVersion: dayone.metal3.io/v1alpha1\nkind: HostFleet\nmetadata: {{name: f}}\nspec:\n  \
             template: {{network: {{}}}}\n  hosts:\n{hosts}"
        )
    };
    let position = |texts: &[(&str, &str)]| {
        let texts = || texts.iter().map(|(name, text)| Text { name: Some(name), text: text.as_bytes() });
        let input = input::read_all(texts());
        let mut report = input.report;
        for host in &input.hosts {
            report.append(crate::network::convert(host).1);
        }
        locate(texts(), &mut report);
        report.findings()[0].position.as_ref().unwrap().to_string()
    };
    let file = |key: &str, name: &str| fleet(&format!("    {key}: {name}\n"));
    assert_eq!(position(&[("f.yaml", &file("csvFile", "h.csv")), ("h.csv", "name\na\nb,c\n")]), "h.csv:3:1");
    let inventory = file("inventoryFile", "h.ini");
    assert_eq!(position(&[("f.yaml", &inventory), ("h.ini", "a\n[b]\nc d\n")]), "h.ini:3:1");
    assert_eq!(position(&[("f.yaml", &inventory), ("h.ini", "[b:vars]\n")]), "h.ini:1:1");
    assert_eq!(position(&[("f.yaml", &fleet("    csv: |\n      name\n      b,c\n"))]), "f.yaml:9:7");
    assert_eq!(position(&[("a.nmconnection", "[connection]\nid=a\nwhat\n")]), "a.nmconnection:3:1");
}

#[test]
fn files_are_told_apart() {
    let (a, b) = ("a: 1\n", SECRET);
    let texts =
        || [("dir/a: b.yaml", a), ("b.yaml", b)].map(|(name, text)| Text { name: Some(name), text: text.as_bytes() });
    let mut report = input::read_all(texts()).report;
    report.error("wrong-type", &DocumentPath::document("dir/a: b.yaml").numbered_document(1).key("a"), "is wrong");
    report.error("wrong-type", &DocumentPath::document("Secret/net").key("data"), "is wrong");
    locate(texts(), &mut report);
    let positions: Vec<_> =
        report.findings().iter().rev().take(2).map(|f| f.position.as_ref().unwrap().to_string()).collect();
    assert_eq!(positions, ["b.yaml:24:1", "dir/a: b.yaml:1:4"]);
}

#[test]
fn objects_of_two_namespaces_are_told_apart() {
    let secret = |namespace: &str, network: &str| {
        format!(
            "kind: Secret\napiVersion: v1\nmetadata: {{name: net, namespace: {namespace}}}\nstringData:\n  nmstate: |\n\
             {network}"
        )
    };
    let bad = secret("a", "    interfaces: []\n    interfaces: []\n");
    let good = secret("b", "    interfaces:\n    - {name: eth0, type: ethernet, ipv4: {enabled: true, dhcp: true}}\n");
    let hosts = ["a", "b"].map(|namespace| {
        format!(
            "---\napiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {{name: worker-{namespace}, namespace: \
             {namespace}}}\nspec: {{preprovisioningNetworkDataName: net}}\n"
        )
    });
    for (secrets, line, path) in [
        ([&bad, &good], 7, "Secret/net: stringData.nmstate"),
        ([&good, &bad], 15, "Secret/net (namespace a): stringData.nmstate"),
    ] {
        let text = format!("{}---\n{}{}", secrets[0], secrets[1], hosts.concat());
        let mut input = input::read(text.as_bytes());
        let is_of_a = |host: &input::DescribedHost| host.name.as_deref() == Some("worker-a");
        let refused: Vec<bool> = input.described.hosts.iter().map(|host| host.is_refused == is_of_a(host)).collect();
        assert_eq!(refused, [true, true], "{:?}", input.described);
        locate([Text { name: None, text: text.as_bytes() }], &mut input.report);
        let found = input.report.findings().iter().find(|finding| finding.code == "duplicate-key").unwrap();
        assert_eq!(found.position.as_ref().unwrap().line, line, "{text}");
        assert!(found.path.to_string().starts_with(path), "{}", found.path);
    }
}

/// A stream with marks of document ends stays in one piece.
#[test]
#[expect(clippy::disallowed_methods, reason = "the library has no clock; this test has one")]
fn documents_of_one_piece_are_read_once() {
    let document = |number| format!("---\nk{number}: [a, b, c, d, e, f]\n...\n");
    let text: String = (0..8000).map(document).collect();
    let mut report = Report::new();
    for number in 0..8000 {
        let document = DocumentPath::root().numbered_document(number + 1);
        report.error("wrong-type", &document.key(&format!("k{number}")).index(5), "is wrong");
    }
    let begun = std::time::Instant::now();
    locate([Text { name: None, text: text.as_bytes() }], &mut report);
    for (number, finding) in report.findings().iter().enumerate() {
        assert_eq!(finding.position.as_ref().unwrap().line, 3 * number + 2);
    }
    assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
}

#[test]
fn what_stands_for_an_object_leads_to_it() {
    let text = "a: 1\n---\nspec:\n  template: {mtu: 7}\n";
    let mut report = Report::new();
    let host = DocumentPath::row("HostFleet/racks", &["worker-0", "hosts.csv: row 3"]);
    report.name_document(&host, &DocumentPath::document("HostFleet/racks"));
    report.name_document(&DocumentPath::document("HostFleet/racks"), &DocumentPath::root().numbered_document(2));
    report.name_document(&DocumentPath::root(), &DocumentPath::root().numbered_document(1));
    report.error("wrong-type", &host.key("spec").key("template").key("mtu"), "is wrong");
    locate([Text { name: None, text: text.as_bytes() }], &mut report);
    assert_eq!(report.findings()[0].position.as_ref().unwrap().to_string(), "line 4, column 19");
}

mod property;
