use proptest::prelude::*;

use super::*;
use crate::model::Topology;
use vocabulary::report::DocumentPath;

fn topology(profiles: &[String]) -> Topology {
    let hostname = "worker-0".parse().unwrap();
    Topology::from_profiles(profiles.iter().map(|content| (DocumentPath::root(), content.as_str())), Some(&hostname))
}

fn picture(topology: &Topology) -> Picture<'_> {
    Picture { topology, bmc: Some("redfish://192.0.2.5/"), boot_mac: "52:54:00:00:00:01".parse().ok() }
}

/// A profile, with text that belongs to its group of settings and what follows that.
fn profile(name: &str, kind: &str, rest: &str) -> String {
    format!("[connection]\nid={name}\ntype={kind}\n{rest}")
}

/// Whether boxes have room for what is in them, and none is in the way of another or leaves the picture.
fn check(topology: &Topology) {
    let Laid { boxes, remarks, lines, width, height } = picture(topology).lay_out();
    let all: Vec<&Placed> = boxes.iter().chain(&remarks).collect();
    for (index, a) in all.iter().enumerate() {
        for line in &a.card.lines {
            assert!(line.font.width(&line.text) + 2 * card::PADDING <= a.card.width, "{}", line.text);
        }
        let tall: i64 = a.card.lines.iter().map(card::CardLine::height).sum();
        assert!(tall + card::PADDING <= a.card.height);
        assert!(a.x >= MARGIN && a.y >= HEADING && a.x + a.card.width <= width && a.y + a.card.height <= height);
        for b in &all[index + 1..] {
            let side_by_side = a.x + a.card.width <= b.x || b.x + b.card.width <= a.x;
            let above = a.y + a.card.height <= b.y || b.y + b.card.height <= a.y;
            assert!(side_by_side || above, "{} is in the way of {}", a.card.lines[0].text, b.card.lines[0].text);
        }
        for line in lines.iter().filter(|line| line.from.1 == line.to.1) {
            let inside = line.from.1 > a.y && line.from.1 < a.y + a.card.height;
            let passes = line.from.0 < a.x + a.card.width && line.to.0 > a.x;
            assert!(!(inside && passes), "a line goes through {}", a.card.lines[0].text);
        }
    }
}

#[test]
fn what_leads_over_others_goes_around_them() {
    let nic = |name: &str, to: &str| profile(name, "ethernet", &format!("master={to}\n"));
    let topology = topology(&[
        nic("a", "bond0"),
        nic("b", "bond0"),
        nic("c", "br0"),
        profile("bond0", "bond", "[ipv4]\nmethod=manual\naddress1=192.0.2.10/24,192.0.2.1\ngateway=203.0.113.1\n"),
        profile("v", "vlan", "master=br0\n[vlan]\nid=5\nparent=bond0\n"),
        profile("br0", "bridge", "[ipv4]\nmethod=auto\n"),
        profile("x", "vxlan", "[vxlan]\nid=7\nparent=nowhere\n"),
    ]);
    check(&topology);
    let svg = picture(&topology).to_svg();
    for text in ["no profile describes it", "gateway on no network of its interface", "from DHCPv4", ">VLAN 5<"] {
        assert!(svg.contains(text), "{text}\n{svg}");
    }
    assert_eq!(svg, picture(&topology).to_svg());
}

#[test]
fn gateways_that_are_on_the_link_are_no_warning() {
    let of = |ip: &str| picture(&topology(&[profile("a", "ethernet", ip)])).to_svg();
    let off_link = "gateway on no network of its interface";
    let link_local = of("[ipv6]\nmethod=manual\naddress1=2001:db8::10/64\ngateway=fe80::1\n");
    assert!(link_local.contains("link-local gateway") && !link_local.contains(off_link), "{link_local}");
    for ip in [
        "method=auto",
        "method=manual\naddress1=192.0.2.10/32",
        "method=manual\naddress1=192.0.2.10/24\nroute2=198.51.100.1",
    ] {
        let svg = of(&format!("[ipv4]\n{ip}\nroute1=10.0.0.0/8,198.51.100.1\n"));
        assert!(svg.contains("gateway on the link") && !svg.contains(off_link), "{ip}\n{svg}");
    }
    let off = of("[ipv4]\nmethod=manual\naddress1=192.0.2.10/24\nroute1=10.0.0.0/8,198.51.100.1\n");
    assert!(off.contains(off_link), "{off}");
}

#[test]
fn the_nic_that_a_host_boots_from_is_marked() {
    let boots = topology(&[profile("a", "ethernet", "[ethernet]\nmac-address=52:54:00:00:00:01\n")]);
    let svg = picture(&boots).to_svg();
    assert!(svg.contains("boots from this NIC") && !svg.contains("boots from the NIC with MAC"), "{svg}");
    let unknown = topology(&[profile("a", "ethernet", "")]);
    assert!(picture(&unknown).to_svg().contains("boots from the NIC with MAC 52:54:00:00:00:01"));
    let nothing = Picture { topology: &Topology::default(), bmc: None, boot_mac: None }.to_svg();
    assert!(nothing.contains("0 interfaces") && !nothing.contains("BMC"));
}

#[test]
fn names_are_text_and_nothing_else() {
    let name = "</title><script>alert(1)</script>&\"'\u{7}\u{202e}\u{fffe}x";
    let hostile = topology(&[profile(name, "bond", &format!("[bond]\nmode=<b>{}\n", "m".repeat(9000)))]);
    check(&hostile);
    let svg = picture(&hostile).to_svg();
    assert!(svg.len() < 5000, "{}", svg.len());
    let document = roxmltree::Document::parse(&svg).unwrap();
    assert!(document.descendants().all(|node| !node.has_tag_name(("http://www.w3.org/2000/svg", "script"))));
    let texts: Vec<&str> = document.descendants().filter_map(|node| node.text()).collect();
    assert!(texts.contains(&"</title><script>alert(1)</script>&\"'\u{fffd}\u{fffd}\u{fffd}x"), "{texts:?}");
}

#[test]
fn the_largest_picture_is_bounded() {
    let mut profiles: Vec<String> = (0..1100).map(|n| profile(&format!("n{n}"), "ethernet", "master=b0\n")).collect();
    profiles.push(profile("b0", "bond", ""));
    // A chain that is longer than any picture is wide, and goes in a circle.
    for n in 0..100 {
        profiles.push(profile(
            &format!("c{n}"),
            "vlan",
            &format!("[vlan]\nid=1\nparent=c{}\n[ipv4]\nmethod=manual\naddress1=10.0.{n}.1/24\n", (n + 1) % 100),
        ));
    }
    let large = topology(&profiles);
    let svg = picture(&large).to_svg();
    assert!(svg.contains("1201 interfaces, of which the first 1000 are drawn") && svg.len() < 2 << 20, "{}", svg.len());
    check(&large);
}

/// What an arbitrary interface is: its type, the interface that it stands on, that of which it is a port, and its network.
type Thing = (usize, usize, Option<usize>, u8);

fn arbitrary(things: impl IntoIterator<Item = Thing>) -> Topology {
    let profiles = things.into_iter().enumerate().map(|(own, (kind, parent, controller, address))| {
        let controller = controller.map(|to| format!("master=i{to}\nslave-type=vrf\n")).unwrap_or_default();
        let ip = match address {
            0 => "[ipv4]\nmethod=auto\n".to_owned(),
            n => format!("[ipv4]\nmethod=manual\naddress1=10.0.{n}.{own}/24,10.0.0.1\n[ipv6]\nmethod=disabled\n"),
        };
        let (kind, settings) = match kind {
            0 => ("ethernet", String::new()),
            1 => ("bond", String::new()),
            2 => ("vlan", format!("[vlan]\nid=7\nparent=i{parent}\n")),
            _ => ("vrf", "[vrf]\ntable=7\n".to_owned()),
        };
        profile(&format!("i{own}"), kind, &format!("{controller}{settings}{ip}"))
    });
    topology(&profiles.collect::<Vec<_>>())
}

#[test]
fn a_line_below_all_boxes_is_above_the_remarks() {
    check(&arbitrary([
        (0, 0, Some(4), 0),
        (0, 0, None, 2),
        (3, 0, Some(2), 1),
        (2, 7, Some(3), 3),
        (0, 0, None, 1),
        (2, 2, None, 3),
        (2, 2, None, 4),
        (0, 0, None, 1),
        (0, 0, Some(7), 3),
        (2, 0, None, 1),
        (0, 0, None, 1),
        (0, 0, Some(3), 3),
        (0, 0, None, 4),
    ]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]
    #[test]
    fn boxes_are_never_in_each_others_way(
        things in proptest::collection::vec((0..4_usize, 0..12_usize, proptest::option::of(0..12_usize), 0..6_u8), 1..20)
    ) {
        check(&arbitrary(things));
    }
}
