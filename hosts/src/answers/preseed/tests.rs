use proptest::prelude::*;

use super::*;
use crate::answers::testing::{self, BOND, STATIC, file};
use vocabulary::answers::Installer;

fn completed(nmstate: &str, text: &str) -> (Option<Vec<InstallerFile>>, Vec<String>) {
    testing::completed(Installer::Preseed, nmstate, text)
}

#[test]
fn the_installer_gets_one_nic_and_the_installed_system_everything() {
    let (files, findings) = completed(STATIC, "d-i passwd/root-password password hunter2");
    assert_eq!(findings, [""; 0]);
    let files = files.unwrap();
    assert_eq!(
        file(&files, "/preseed.cfg"),
        "d-i passwd/root-password password hunter2\n\n\
         # Written by dayone: the network of the host.\n\
         d-i netcfg/target_network_config select loopback\n\
         d-i netcfg/choose_interface select 52:54:00:00:00:01\n\
         d-i netcfg/disable_autoconfig boolean true\n\
         d-i netcfg/get_ipaddress string 192.0.2.10/24\n\
         d-i netcfg/get_netmask string 255.255.255.0\n\
         d-i netcfg/get_gateway string 192.0.2.1\n\
         d-i netcfg/get_nameservers string 192.0.2.53 2001:db8::53\n\
         d-i netcfg/confirm_static boolean true\n\
         d-i netcfg/get_hostname string worker-0\n\
         d-i netcfg/get_domain string example.com\n\
         d-i netcfg/hostname string worker-0\n"
    );
    let installed = |path: &str| file(&files, &format!("{}{path}", installed::DIRECTORY));
    assert_eq!(installed("/etc/hostname"), "worker-0.example.com\n");
    let expected = "# Written by dayone.\nsearch example.com\nnameserver 192.0.2.53\nnameserver 2001:db8::53\n";
    assert_eq!(installed("/etc/resolv.conf"), expected);
    let units: String =
        files.iter().filter(|file| file.path.ends_with(".network")).map(|file| &*file.content).collect();
    for address in ["192.0.2.10/24", "2001:db8::10/64", "198.51.100.10/25", "Gateway=192.0.2.1"] {
        assert!(units.contains(address), "{address}: {units}");
    }
    assert!(!format!("{files:?}").contains("hunter2"));
}

#[test]
fn what_netcfg_cannot_do_only_the_installed_system_has() {
    let (files, findings) = completed(BOND, "");
    let expected = "preseed file: gives the installer itself no network: no single NIC of the host has an address, and netcfg \
                    knows neither bonds nor VLANs nor bridges. The packages must come from the medium \
                    [installer-without-network]";
    assert_eq!(findings, [expected]);
    let files = files.unwrap();
    assert!(file(&files, "/preseed.cfg").contains("d-i netcfg/enable boolean false\n"));
    assert!(files.iter().any(|file| file.path.ends_with(".netdev") && file.content.contains("Kind=bond")), "{files:?}");
}

#[test]
fn dhcp_needs_no_address_and_tells_no_name_servers() {
    let dhcp = "interfaces: [{name: eno1, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}}]";
    let (files, findings) = completed(dhcp, "");
    assert!(findings.len() == 1 && findings[0].ends_with("[installed-without-resolver]"), "{findings:?}");
    let files = files.unwrap();
    let written = file(&files, "/preseed.cfg");
    assert!(written.contains("choose_interface select eno1\n") && !written.contains("get_ipaddress"), "{written}");
    let alone = "interfaces: [{name: eno1, type: ethernet, state: up, ipv4: {enabled: true, address: [{ip: 192.0.2.1, \
                 prefix-length: 30}]}}]";
    assert!(file(&completed(alone, "").0.unwrap(), "/preseed.cfg").contains("netcfg/get_gateway string none\n"));
}

/// The installer reaches its packages by the NIC, and the router, that packets leave the installed system by.
#[test]
fn the_nic_of_the_installer_is_the_one_that_the_default_route_leads_to() {
    let address = |last: u8| format!("ipv4: {{enabled: true, address: [{{ip: 192.0.{last}.5, prefix-length: 24}}]}}");
    let route = |last: u8, rest: &str| {
        format!("{{destination: 0.0.0.0/0, next-hop-address: 192.0.{last}.1, next-hop-interface: eno{last}{rest}}}")
    };
    let dhcp = "ipv4: {enabled: true, dhcp: true, auto-gateway: false}".to_owned();
    for (first, routes, nic, gateway) in [
        (address(1), [route(1, ", table-id: 100"), route(2, "")], "eno2", "192.0.2.1"),
        (address(1), [route(1, ", metric: 500"), route(2, ", metric: 50")], "eno2", "192.0.2.1"),
        (address(1), [route(1, ""), route(2, ", metric: 50")], "eno1", "192.0.1.1"),
        (
            dhcp.clone(),
            [route(2, ", metric: 9"), route(2, ", metric: 50").replace("2.1,", "2.9,")],
            "eno2",
            "192.0.2.1",
        ),
        (dhcp, [route(2, ", metric: 50").replace("2.1,", "2.9,"), route(2, ", metric: 9")], "eno2", "192.0.2.1"),
    ] {
        let nmstate = format!(
            "interfaces: [{{name: eno1, type: ethernet, {first}}}, {{name: eno2, type: ethernet, {}}}]\nroutes: \
             {{config: [{}]}}\ndns-resolver: {{config: {{server: [192.0.2.53]}}}}",
            address(2),
            routes.join(", ")
        );
        let written = completed(&nmstate, "").0.unwrap_or_else(|| panic!("{nmstate}"));
        let written = file(&written, "/preseed.cfg");
        assert!(written.contains(&format!("netcfg/choose_interface select {nic}\n")), "{nmstate}: {written}");
        assert!(written.contains(&format!("netcfg/get_gateway string {gateway}\n")), "{nmstate}: {written}");
    }
}

/// netcfg asks again and again for a router that is not in the network of the address.
#[test]
fn the_address_of_the_installer_is_beside_its_router() {
    let written = |addresses: &str, router: &str| {
        let family = if router.contains(':') { "ipv6" } else { "ipv4" };
        let list: Vec<String> = addresses
            .split(' ')
            .filter_map(|address| address.split_once('/'))
            .map(|(ip, length)| format!("{{ip: '{ip}', prefix-length: {length}}}"))
            .collect();
        let (all, one) = if family == "ipv6" { ("::/0", 128) } else { ("0.0.0.0/0", 32) };
        // With a route to the router itself, the installed system reaches it in all cases.
        let nmstate = format!(
            "interfaces: [{{name: eno1, type: ethernet, state: up, {family}: {{enabled: true, address: [{}]}}}}]\nroutes: {{config: \
             [{{destination: '{all}', next-hop-address: '{router}', next-hop-interface: eno1}}, {{destination: '{router}/{one}', \
             next-hop-interface: eno1}}]}}",
            list.join(", ")
        );
        let (files, findings) = completed(&nmstate, "");
        let files = files.unwrap_or_else(|| panic!("{findings:?}"));
        let value = |question: &str| {
            let mut lines = file(&files, "/preseed.cfg").lines();
            lines.find_map(|line| line.strip_prefix(&format!("d-i netcfg/{question} string "))).unwrap().to_owned()
        };
        let is_reported = findings.iter().any(|finding| finding.ends_with("[installer-without-router]"));
        (value("get_ipaddress"), value("get_gateway"), is_reported)
    };
    for (addresses, router, address, gateway) in [
        ("10.0.0.5/24 192.0.2.10/24", "192.0.2.1", "192.0.2.10/24", "192.0.2.1"),
        ("10.0.0.5/24 10.0.1.5/32", "192.0.2.1", "10.0.1.5/32", "192.0.2.1"),
        ("2001:db8::5/64 2001:db8:1::5/64", "2001:db8:1::1", "2001:db8:1::5/64", "2001:db8:1::1"),
        ("2001:db8::5/64", "fe80::1", "2001:db8::5/64", "fe80::1"),
    ] {
        assert_eq!(written(addresses, router), (address.to_owned(), gateway.to_owned(), false), "{addresses} {router}");
    }
    assert_eq!(written("10.0.0.5/24 10.0.1.5/24", "192.0.2.1"), ("10.0.0.5/24".into(), "none".into(), true));
}

#[test]
fn what_the_file_says_of_the_network_must_agree_with_the_documents() {
    for same in [
        "d-i netcfg/get_ipaddress string 192.0.2.10",
        "d-i netcfg/get_ipaddress string 192.0.2.10/24",
        "d-i  netcfg/get_nameservers\tstring  192.0.2.53   2001:db8:0::53",
        "d-i netcfg/get_nameservers string \\\n  192.0.2.53 \\\n  2001:db8::53",
        "#d-i netcfg/get_ipaddress string 192.0.2.99",
        "d-i netcfg/get_ipaddress string 192.0.2.99\nd-i netcfg/get_ipaddress string 192.0.2.10",
        "d-i netcfg/choose_interface select 52:54:00:00:00:01",
        "d-i netcfg/get_netmask string 255.255.255.0",
    ] {
        let (files, findings) = completed(STATIC, same);
        assert_eq!(findings, [""; 0], "{same}");
        // The last answer counts, and dayone adds none to a question that the file answers.
        let question = same.split_whitespace().nth(1).unwrap();
        let files = files.unwrap();
        let lines = file(&files, "/preseed.cfg").lines().filter(|line| line.contains(question));
        assert_eq!(
            lines.filter(|line| !line.starts_with('#')).count(),
            1.max(same.matches("192.0.2.99\nd-i").count() * 2),
            "{same}"
        );
    }
    for (line, question) in [
        ("d-i netcfg/get_ipaddress string 192.0.2.11", "netcfg/get_ipaddress"),
        ("d-i netcfg/get_ipaddress string 192.0.2.10/25", "netcfg/get_ipaddress"),
        ("d-i netcfg/get_netmask string 255.255.0.0", "netcfg/get_netmask"),
        ("d-i netcfg/get_gateway string none", "netcfg/get_gateway"),
        ("d-i netcfg/get_nameservers string 192.0.2.54", "netcfg/get_nameservers"),
        ("d-i netcfg/choose_interface select auto", "netcfg/choose_interface"),
        ("d-i netcfg/disable_autoconfig boolean false", "netcfg/disable_autoconfig"),
        ("d-i netcfg/get_hostname string other", "netcfg/get_hostname"),
        ("d-i netcfg/target_network_config select ifupdown", "netcfg/target_network_config"),
    ] {
        let (_, findings) = completed(STATIC, &format!("# a comment\n{line}\n"));
        let begun = format!("preseed file: line 2 says {question} is ");
        assert!(findings.len() == 1 && findings[0].starts_with(&begun), "{line}: {findings:?}");
        assert!(findings[0].ends_with("[answers-contradict-network]"), "{findings:?}");
    }
}

/// dayone writes none of these answers, because they are the installer's defaults. The user's own would change what it does.
#[test]
fn what_dayone_leaves_to_the_defaults_must_agree_with_the_documents_too() {
    let dhcp = "interfaces: [{name: eno1, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}}]\n\
                dns-resolver: {config: {server: [192.0.2.53]}}";
    for (nmstate, answer, wanted) in [
        (dhcp, "netcfg/get_ipaddress string 192.0.2.10", "what DHCP says"),
        (dhcp, "netcfg/get_netmask string 255.255.255.0", "what DHCP says"),
        (dhcp, "netcfg/get_gateway string 192.0.2.1", "what DHCP says"),
        (dhcp, "netcfg/disable_autoconfig boolean true", "\"false\""),
        (dhcp, "netcfg/use_autoconfig boolean false", "\"true\""),
        (dhcp, "netcfg/enable boolean false", "\"true\""),
        (STATIC, "netcfg/use_autoconfig boolean true", "\"false\""),
        (STATIC, "netcfg/enable boolean false", "\"true\""),
    ] {
        let (_, findings) = completed(nmstate, &format!("d-i {answer}\n"));
        let question = answer.split(' ').next().unwrap();
        assert_eq!(findings.len(), 1, "{answer}: {findings:?}");
        assert!(findings[0].starts_with(&format!("preseed file: line 1 says {question} is ")), "{findings:?}");
        assert!(findings[0].contains(&format!("by the host's documents it is {wanted}; ")), "{findings:?}");
    }
    for same in
        ["netcfg/disable_autoconfig boolean false", "netcfg/enable boolean true", "netcfg/use_autoconfig boolean true"]
    {
        assert_eq!(completed(dhcp, &format!("d-i {same}\n")).1, [""; 0], "{same}");
    }
}

/// netcfg takes an empty answer for no domain, and everything else for the domain of the host.
#[test]
fn a_host_name_without_a_domain_leaves_the_domain_to_the_file() {
    let short = STATIC.replace("worker-0.example.com", "worker-0");
    let answers = |text: &str| {
        let (files, findings) = completed(&short, text);
        assert_eq!(findings, [""; 0], "{text}");
        let files = files.unwrap();
        let lines = file(&files, "/preseed.cfg").lines().filter(|line| line.contains("get_domain"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(answers(""), ["d-i netcfg/get_domain string "]);
    for own in ["d-i netcfg/get_domain string example.com", "d-i netcfg/get_domain string"] {
        assert_eq!(answers(own), [own]);
    }
    let (_, findings) = completed(STATIC, "d-i netcfg/get_domain string\n");
    assert!(findings.len() == 1 && findings[0].ends_with("[answers-contradict-network]"), "{findings:?}");
    // netcfg takes the domain from a name that has one.
    assert_eq!(completed(STATIC, "d-i netcfg/get_hostname string worker-0.example.com").1, [""; 0]);
}

/// The installer's own program is the oracle of this in the acceptance tests.
#[test]
fn lines_are_joined_as_the_installer_joins_them() {
    for (text, line, value) in [
        ("d-i netcfg/get_ipaddress string \\\n# 192.0.2.10\n\n 192.0.2.11\n", 1, "192.0.2.11"),
        ("\\\nd-i netcfg/get_ipaddress string 192.0.2.12", 2, "192.0.2.12"),
        ("d-i netcfg/get_ipaddress string 192.0.2.13\r\n", 1, "192.0.2.13"),
        ("d-i netcfg/get_ipaddress string a\\\\\nb\n", 1, "a\\\\ b"),
        ("d-i netcfg/get_ipaddress seen true\nd-i netcfg/get_ipaddress string \u{b}1", 2, "1"),
    ] {
        let (_, findings) = completed(STATIC, text);
        let begun = format!("preseed file: line {line} says netcfg/get_ipaddress is \"{value}\"");
        assert!(findings.len() == 1 && findings[0].starts_with(&begun), "{text}: {findings:?}");
    }
    assert_eq!(completed(STATIC, "d-i netcfg/get_ipaddress seen true").1, [""; 0]);
    // Without a slash in its name, too.
    assert_eq!(completed(STATIC, "d-i question string").1, [""; 0]);
    assert_eq!(completed(STATIC, "\\").1, [""; 0]);
    // The installer would read a question about the network.
    let (_, findings) = completed(STATIC, "# a\0b\nd-i net\0cfg/get_gateway string hunter2\n");
    assert!(findings.len() == 1 && findings[0].contains("line 2 has a NUL byte"), "{findings:?}");
    assert!(!findings[0].contains("hunter2"), "{findings:?}");
    // The installer would read dayone's first line as the end of this one.
    for text in ["d-i a/b string c\\", "d-i a/b string c \\\n\n# d\n"] {
        let (_, findings) = completed(STATIC, text);
        assert!(findings.len() == 1 && findings[0].contains("line 1 ends with a backslash"), "{text}: {findings:?}");
    }
}

/// The installer reads them after this file, so they can change what it says.
#[test]
fn what_the_installer_reads_elsewhere_is_reported() {
    for question in ["include", "include_command", "run", "early_command", "file", "url"] {
        let text = format!("# x\nd-i preseed/{question} string hunter2\n");
        let (files, findings) = completed(STATIC, &text);
        assert!(files.is_some() && findings.len() == 1, "{question}: {findings:?}");
        assert!(
            findings[0].starts_with(&format!("preseed file: line 2 has the answer preseed/{question}, ")),
            "{findings:?}"
        );
        assert!(findings[0].ends_with("[answers-unchecked]") && !findings[0].contains("hunter2"), "{findings:?}");
        assert_eq!(completed(STATIC, &format!("{text}d-i preseed/{question} string\n")).1, [""; 0], "{question}");
    }
    assert_eq!(completed(STATIC, "d-i preseed/include seen true\nd-i preseed/late_command string x\n").1, [""; 0]);
}

#[test]
fn a_byte_order_mark_makes_an_answer_of_a_comment() {
    let answer = "\u{feff}d-i netcfg/get_ipaddress string 192.0.2.11\n";
    assert!(completed(STATIC, answer).1[0].contains("line 1 says netcfg/get_ipaddress"));
    for text in ["\u{feff}#_preseed_V1\n", "\u{feff}# a b c\n", "\u{feff}\n"] {
        let (files, findings) = completed(STATIC, text);
        assert!(files.is_none() && findings.len() == 1, "{findings:?}");
        assert!(findings[0].contains("line 1 begins with a byte order mark"), "{findings:?}");
    }
}

#[test]
fn findings_show_nothing_of_lines_that_may_be_secret() {
    let lines = [
        "d-i hunter2",
        "passwd/root-password hunter2",
        "hunter2",
        "  # hunter2",
        "d-i hunter2 \\",
        "# x\nd-i hunter2\\",
    ];
    for line in lines {
        let (files, findings) = completed(STATIC, line);
        assert!(files.is_none() && findings.len() == 1 && findings[0].contains(" line "), "{findings:?}");
        assert!(!findings[0].contains("hunter2"), "{findings:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5 * ProptestConfig::default().cases / 4, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is in a file, dayone keeps it, and asks for nothing twice.
    #[test]
    fn any_file_is_kept_or_refused(lines in prop::collection::vec("(d-i )?(netcfg/get_[a-z]{0,9}|[a-z/]{0,6}|#)[ \\\\a-z0-9./]{0,12}", 0..6)) {
        let text = lines.join("\n");
        let (files, findings) = completed(STATIC, &text);
        match files {
            Some(files) => prop_assert!(file(&files, "/preseed.cfg").starts_with(&text)),
            None => prop_assert!(!findings.is_empty()),
        }
    }
}
