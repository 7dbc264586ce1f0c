"""Writes arbitrary profiles: right ones of every type, each with some properties changed, added or removed.

Arguments: the list of properties (hosts/src/check/profile/properties.txt), a seed, and how many profiles. Standard output:
a JSON object, name to content. The same arguments give the same profiles on every machine.
"""

import json
import random
import sys

UUID = "0523c0a1-5f5e-5603-bcf2-68155d5d322e"
IP = {"ipv4": {"method": "manual", "address1": "192.0.2.10/24"}, "ipv6": {"method": "disabled"}}
ETHERNET = "802-3-ethernet"


def base(kind, name="dev0", **groups):
    connection = {"id": "a", "uuid": UUID, "type": kind, "interface-name": name}
    groups = {group.replace("_", "-"): keys for group, keys in groups.items()}
    return {"connection": connection, **{k: dict(v) for k, v in IP.items()}, **groups}


def port(kind, **groups):
    profile = base("ethernet", **groups)
    profile["connection"].update({"master": "br0", "slave-type": kind})
    del profile["ipv4"], profile["ipv6"]
    return profile


TLS = {"eap": "tls;", "identity": "a", "client-cert": "/a.pem", "private-key": "/a.key", "private-key-password": "x"}
PEAP = {"eap": "peap;", "identity": "a", "phase2-auth": "mschapv2", "password": "x"}
BASES = [
    base("ethernet", **{ETHERNET: {"mtu": "1400"}}),
    base("ethernet", **{ETHERNET: {}, "802-1x": TLS}),
    base("ethernet", **{ETHERNET: {}, "802-1x": PEAP}),
    base("ethernet", sriov={"total-vfs": "2", "vf.0": "trust=true", "vf.1": "mac=52:54:00:12:34:56"}),
    base("ethernet", ethtool={"ring-rx": "512"}, match={"driver": "e1000;"}, user={"a.b": "c"}, proxy={"method": "1"}),
    base("ethernet", hostname={"priority": "5"}, link={"tx-queue-length": "5"}, dcb={"app-fcoe-flags": "1"}),
    port("bond", bond_port={"queue-id": "1"}),
    port("bridge", bridge_port={"priority": "5", "vlans": "10 pvid untagged"}),
    base("bond", bond={"mode": "active-backup", "miimon": "100"}),
    base("bond", bond={"mode": "802.3ad"}),
    base("bond", bond={"mode": "balance-rr", "arp_interval": "100", "arp_ip_target": "192.0.2.1", "miimon": "0"}),
    base("bridge", bridge={"stp": "true", "vlan-filtering": "true"}),
    base("bridge", bridge={"stp": "false"}),
    base("vlan", vlan={"id": "5", "parent": "eth0"}),
    base("vrf", vrf={"table": "100"}),
    base("vxlan", vxlan={"id": "5", "remote": "192.0.2.1", "local": "192.0.2.2", "parent": "eth0"}),
    base("veth", veth={"peer": "veth1"}),
    base("macvlan", macvlan={"mode": "2", "parent": "eth0"}),
    base("macsec", macsec={"mode": "0", "parent": "eth0", "mka-ckn": "ab" * 32, "mka-cak": "cd" * 16}),
    base("infiniband", infiniband={"transport-mode": "datagram"}),
    base("infiniband", "ib0.8001", infiniband={"transport-mode": "datagram", "p-key": "32769", "parent": "ib0"}),
    base("ip-tunnel", ip_tunnel={"mode": "2", "remote": "192.0.2.1", "parent": "eth0"}),
    base("ip-tunnel", ip_tunnel={"mode": "6", "remote": "2001:db8::1", "local": "2001:db8::2"}),
    base("dummy"),
    base("tun", tun={"mode": "2"}),
    {**base("loopback", "lo"), "ipv6": {"method": "auto"}},
    {**base("ethernet"), "ipv4": {"method": "auto"}, "ipv6": {"method": "auto"}},
    {**base("ethernet"), "ipv4": {"method": "disabled"}, "ipv6": {"method": "manual", "address1": "2001:db8::10/64"}},
]

NUMBERS = (
    "0 1 2 3 4 5 6 7 8 9 15 16 17 30 31 32 40 63 64 100 128 255 256 257 1000 1023 1024 4094 4095 4096 32768 32769 65520 65521 65535 "
    "65536 70000 1000000 1000001 2147483647 2147483648 4294967295 4294967296 18446744073709551615 18446744073709551616 -1 -2 -999 "
    "0x10 0x 010 08 1x 1.5 +5"
).split() + ["", "1 "]
WORDS = (
    "true false yes no True on off auto none abc default random stable preserve permanent manual disabled shared link-local ignore "
    "dhcp mac ll lease ifname zz half full tp 802.1Q 802.1ad enabled datagram connected eui64 stable-privacy tls peap ttls md5 leap "
    "mschapv2 pap gtc otp eth0 br0 ib0 a-name-that-is-too-long a%d a/b .. all lo fabric vn2vn qeth CS0 host.example.com https://a/b "
    "user:joe: joe mc1 eth0:1"
).split() + ["", "a b", "\\x", "a\\", "a;b;", "a;", ";", "é"]
ADDRESSES = (
    "192.0.2.1 192.0.2.1/24 192.0.2.1/33 192.0.2.300 192.0.2.1x 2001:db8::1 2001:db8::1/64 2001:db8::1/129 ::1 ::1:2 fe80::1%eth0 "
    "192.0.2.1; 192.0.2.1;2001:db8::1; 192.0.2.1#name 192.0.2.1,192.0.2.2 foo foo; 52:54:00:12:34:56 52-54-00-12-34-56 52:54:00 "
    "01:80:C2:00:00:00 01:80:C2:00:00:0E 01:80:C2:00:00:02 82;84;0;0;0;1; " + UUID + " 00:01:02:03 ab abc " + "ab" * 16 + " " + "ab" * 32
).split() + [""]
ROUTES = (
    "198.51.100.0/24 198.51.100.0/24,192.0.2.1 198.51.100.0/24,192.0.2.1,100 198.51.100.0/24,,100 198.51.100.0/33 foo 2001:db8:1::/48 "
    "2001:db8:1::/48,2001:db8::1,5 198.51.100.0/24,foo 198.51.100.0/24,192.0.2.1,abc 198.51.100.0 192.0.2.10/24,192.0.2.1 "
    "192.0.2.10/24,foo 192.0.2.10,192.0.2.1 192.0.2.10/24/192.0.2.1 192.0.2.10/24,192.0.2.1,5 192.0.2.10/24, 192.0.2.10/x"
).split() + [""]
OPTIONS = (
    "table=100 table=x mtu=1400,lock-mtu=true mtu=abc type=blackhole type=local,scope=254 type=local,scope=0 type=foo weight=2 weight=300 "
    "src=192.0.2.10 src=2001:db8::10 src=foo onlink=true onlink=maybe foo=1 table from=2001:db8::/32 tos=16 scope=200 window=5"
).split()
RULES = [
    "priority 5 from 192.0.2.0/24 table 100", "priority 5 from 2001:db8::/32 table 100", "from 192.0.2.0/24 table 100",
    "priority 5 from 192.0.2.0/24", "priority 5", "priority 5 table 0", "priority 5 fwmark 0x10/0xff table main", "priority 5 foo 6",
    "priority 5 type blackhole", "priority 5 type blackhole to 192.0.2.0/24", "priority x table 5", "priority 5 iif eth0 table 5",
    "priority 5 sport 10-20 table 5", "priority 5 sport 20-10 table 5", "priority 5 suppress_prefixlength 0 table 254",
    "priority 5 suppress_prefixlength 40 table 254", "priority 5 uidrange 5-10 table 7", "not priority 5 to 0.0.0.0/0 table 5",
    "priority 5 from all table 5", "priority 5 tos 10 table 5", "priority 5 ipproto 6 table 5", "priority 5 priority 6 table 5", "",
]
VLANS = ["10", "10 pvid untagged", "10-20", "20-10", "5 pvid,6 pvid", "5,5", "5 foo", "4095", "0", "1-3 pvid", "10,20-30 untagged", ""]
FUNCTIONS = [
    "trust=true", "mac=52:54:00:12:34:56", "mac=52:54:00", "mac=foo", "min-tx-rate=10 max-tx-rate=5", "min-tx-rate=5 max-tx-rate=10",
    "min-tx-rate=x", "vlans=100", "vlans=100.2.q", "vlans=5000", "vlans=100.2.x", "foo=1", "trust=maybe", "trust", "spoof-check=no", "",
]
BOND = {
    "mode": "balance-rr active-backup balance-xor broadcast 802.3ad balance-tlb balance-alb 0 1 4 7 active unknown".split(),
    "arp_validate": "none active filter_backup 6 7 foo".split(),
    "arp_ip_target": "192.0.2.1 192.0.2.1,192.0.2.2 2001:db8::1 foo 192.0.2.1,foo ,".split(),
    "xmit_hash_policy": "layer2 layer3+4 vlan+srcmac 5 6 foo".split(),
    "fail_over_mac": "none active follow 2 3 foo".split(),
    "primary_reselect": "always better failure 3 foo".split(),
    "ad_select": "stable bandwidth count 3 foo".split(),
    "arp_all_targets": "any all 2 foo".split(),
    "lacp_rate": "slow fast 0 1 2 foo".split(),
    "primary": ["eth0", "a-name-that-is-too-long", "a b", "a%d"],
    "active_slave": ["eth0", "a b"],
    "ad_actor_system": ["52:54:00:12:34:56", "52:54:00", "foo"],
    "balance-slb": "0 1 2".split(),
    "tlb_dynamic_lb": "0 1 2".split(),
    "foo": ["1"],
}
for option in (
    "ad_actor_sys_prio ad_user_port_key all_slaves_active arp_interval downdelay lp_interval miimon min_links num_grat_arp num_unsol_na "
    "packets_per_slave peer_notif_delay resend_igmp updelay use_carrier"
).split():
    BOND[option] = ["0", "1", "2", "50", "100", "200", "255", "256", "1023", "1024", "65535", "70000", "2147483647", "2147483648", "-1", "foo", ""]
# What a property can be beside what fits its kind.
OWN = {
    "connection.type": "ethernet bond vlan bridge dummy foo".split(),
    "connection.slave-type": "bond bridge team vrf foo".split(),
    "connection.interface-name": "dev0 a%d a/b lo all a-name-that-is-too-long eth0:1".split() + ["a b", ""],
    "connection.permissions": ["", "user:joe:;", "user:joe;", "joe;", "group:a:;"],
    "connection.mud-url": ["none", "https://example.com/a", "http://example.com", "", "foo"],
    "vlan.ingress-priority-map": ["1:2;", "1:2;3:4;", "8:1;", "foo;", "1;"],
    "vlan.egress-priority-map": ["1:2;", "1:8;", "foo;"],
    "ipv4.dhcp-reject-servers": ["192.0.2.1;", "192.0.2.0/24;", "foo;", "2001:db8::1;"],
    "802-1x.eap": ["tls;", "peap;", "ttls;", "md5;", "foo;", "tls;peap;", "", "external;", "sim;", "pwd;"],
    "802-1x.phase2-auth": "mschapv2 pap tls foo".split() + [""],
    "802-1x.phase2-autheap": "mschapv2 tls foo".split(),
    "802-1x.client-cert": ["/a.pem", "file:///a.pem", "", "file://a", "data:;base64,AAAA", "data:;base64,A", "a.pem"],
    "802-1x.private-key": ["/a.pem", "", "file://a"],
    "802-1x.ca-cert": ["/a.pem", "", "pkcs11:foo"],
    "bridge.vlans": VLANS,
    "bridge-port.vlans": VLANS,
    "dcb.priority-flow-control": ["1;1;1;1;0;0;0;0;", "2;0;0;0;0;0;0;0;", "1;1;", "foo"],
    "ipv6.dhcp-duid": "ll llt zz 00:01 00:01:02 00-01-02 stable-uuid lease".split() + ["", ":".join(["00"] * 130), ":".join(["00"] * 131)],
    "ipv4.dhcp-iaid": "mac stable 5 0x5 00:01:02:03 zz 4294967296".split() + [""],
    "ipv6.token": "::1 ::1:2 2001:db8::1 foo 0::0:5".split() + ["::", ""],
    "ipv6.addr-gen-mode": "eui64 stable-privacy default 0 1 2 3 4 foo default-or-eui64".split() + [""],
    "user.a.b": ["c", ""],
}
for family in ("ipv4", "ipv6"):
    OWN[family + ".dns"] = ["192.0.2.1;", "2001:db8::1;", "foo;", "192.0.2.1;foo;", "192.0.2.1#a;", ""]
    OWN[family + ".dns-search"] = ["example.com;", "", "a b;"]
    OWN[family + ".gateway"] = ["192.0.2.1", "2001:db8::1", "foo", "", "192.0.2.1 "]
    OWN[family + ".method"] = "auto manual disabled link-local shared ignore dhcp foo".split() + [""]
EXTRA = {
    "ipv4": {"address2": ROUTES, "addresses": ROUTES, "route1": ROUTES, "routes2": ROUTES, "routing-rule1": RULES},
    "ipv6": {"address2": ROUTES + ADDRESSES, "route1": ROUTES, "routing-rule1": RULES},
    "bond": BOND,
    "sriov": {"vf.0": FUNCTIONS, "vf.2": FUNCTIONS, "vf.x": ["trust=true"]},
    "ethtool": {"feature-foo": ["true"], "foo": ["1"], "feature-gro": ["true", "false", "yes", "1", "foo"]},
    "user": {"a.b": ["c", ""], "foo": ["c"], "a..b": ["c"], ".a": ["c"], "a.é": ["c"]},
}


def read(path):
    groups = {}
    for line in open(path):
        name, kind = line.strip().split(" ", 1)
        group, key = name.split(".", 1)
        groups.setdefault(group, {})[key] = kind
    return groups


def values(group, key, kind):
    own = OWN.get("%s.%s" % (group, key))
    if own and random.random() < 0.8:
        return own
    kind, *numbers = kind.split(" ")
    if numbers and random.random() < 0.5 and kind == "int":
        least, greatest = int(numbers[0]), int(numbers[1])
        return [str(n) for n in (least - 1, least, least + 1, (least + greatest) // 2, greatest - 1, greatest, greatest + 1)]
    if kind == "bool" and random.random() < 0.7:
        return ["true", "false", "yes", "1", "0", "True", ""]
    numeric = kind in ("int", "enum", "flags")
    return random.choice([NUMBERS, NUMBERS, WORDS] if numeric else [WORDS, ADDRESSES, NUMBERS])


def change(profile, groups):
    group = random.choice(list(profile) * 2 + [ETHERNET])
    keys = profile.setdefault(group, {})
    if keys and random.random() < 0.12:
        del keys[random.choice(list(keys))]
        return
    extra = EXTRA.get(group)
    if extra and random.random() < (0.9 if group in ("bond", "sriov", "user") else 0.35):
        key = random.choice(list(extra))
        keys[key] = random.choice(extra[key])
        if key.startswith("route") and not key.startswith("routing") and random.random() < 0.6:
            keys[key + "_options"] = random.choice(OPTIONS)
        return
    known = groups.get(group)
    if known:
        key = random.choice(list(known))
        if not known[key].startswith("other"):
            keys[key] = random.choice(values(group, key, known[key]))


def text(profile):
    parts = []
    for group, keys in profile.items():
        parts.append("[%s]\n" % group + "".join("%s=%s\n" % pair for pair in keys.items()))
    return "\n".join(parts)


def main(path, seed, count):
    random.seed(seed)
    groups = read(path)
    profiles = {"base%d" % number: text(profile) for number, profile in enumerate(BASES)}
    for number in range(count):
        profile = {group: dict(keys) for group, keys in random.choice(BASES).items()}
        for _ in range(random.choice([1, 1, 1, 1, 2, 2, 3, 5])):
            change(profile, groups)
        profiles["%d" % number] = text(profile)
    json.dump(profiles, sys.stdout)


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
