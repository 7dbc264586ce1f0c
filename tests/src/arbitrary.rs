//! NMState documents with arbitrary values: the good ones of `fixtures/nmstate`, which together have every option, with some
//! values changed and some members left out.

use serde_yaml::Value;

/// Numbers of a sequence that is the same at every run.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("31 bits") % end
    }

    fn of<'t>(&mut self, list: &[&'t str]) -> &'t str {
        list[self.below(list.len())]
    }
}

#[rustfmt::skip]
const NUMBERS: &[&str] = &[
    "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "15", "16", "17", "30", "31", "32", "40", "41", "50", "63", "64", "99", "100",
    "128", "255", "256", "257", "1000", "1023", "1024", "2048", "4094", "4095", "4096", "32768", "32769", "65520", "65521", "65535",
    "65536", "70000", "1000000", "1000001", "2000000", "2147483647", "2147483648", "4294967295", "4294967296", "-1", "-2",
];

#[rustfmt::skip]
const WORDS: &[&str] = &[
    "true", "false", "yes", "auto", "none", "all", "abc", "default", "random", "stable", "disabled", "enabled", "active", "backup", "follow",
    "fast", "slow", "always", "better", "failure", "stable-ssid", "ll", "llt", "mac", "zz", "full", "half", "802.1q", "802.1ad",
    "datagram", "connected", "tls", "peap", "ttls", "md5", "leap", "foo", "mschapv2", "pap", "gtc", "eth0", "eth1", "a%d", "a b", "",
    "802.3ad", "active-backup", "balance-rr", "balance-xor", "balance-tlb", "balance-alb", "broadcast", "layer2", "vlan+srcmac",
    "trunk", "access", "vepa", "bridge", "private", "passthru", "source", "strict", "check", "eui64", "stable-privacy", "::1", "::1:2",
    "192.0.2.1", "192.0.2.300", "198.51.100.7", "2001:db8::1", "2001:db8:5::7", "fe80::1", "192.0.2.0/24", "2001:db8::/32", "52:54:00:12:34:56",
    "52:54:00", "01:80:C2:00:00:00", "01:80:C2:00:00:02", "02:80:C2:00:00:00", "00:01:02:03", "00:01", "a-name-that-is-too-long",
    "f2b4297d39da7330910a74abc0449feb45b5c0b9fc23df1430e1898fcf1c4550", "50b71a8ef0bd5751ea76de6d6c98c03a", "50b7", "example.com",
];

/// Changes one to three plain values of `document`, or leaves out what holds them.
pub fn change(document: &mut Value, random: &mut Random) {
    for _ in 0..[1, 1, 1, 2, 3][random.below(5)] {
        let count = count(document);
        if count == 0 {
            return;
        }
        let mut place = random.below(count);
        visit(document, &mut place, random);
    }
}

/// What a document is built of; with another value here it is another document, or none.
const STRUCTURE: [&str; 4] = ["type", "state", "identifier", "enabled"];

/// How many plain values there are that may be changed.
fn count(value: &Value) -> usize {
    match value {
        Value::Sequence(list) => list.iter().map(count).sum(),
        Value::Mapping(map) => map.iter().map(|(key, value)| count_of(key, value)).sum(),
        _ => 1,
    }
}

fn count_of(key: &Value, value: &Value) -> usize {
    if key.as_str().is_some_and(|key| STRUCTURE.contains(&key)) { 0 } else { count(value) }
}

/// Goes to the plain value of this number. True where its holder is to leave it out.
fn visit(value: &mut Value, place: &mut usize, random: &mut Random) -> bool {
    match value {
        Value::Sequence(list) => {
            let Some(index) = child(list.iter().map(count), place) else { return false };
            let leave_out = visit(&mut list[index], place, random);
            if leave_out {
                list.remove(index);
            }
            leave_out && list.is_empty()
        }
        Value::Mapping(map) => {
            let Some(index) = child(map.iter().map(|(key, value)| count_of(key, value)), place) else { return false };
            let key = map.keys().nth(index).expect("there it is").clone();
            let is_name = key.as_str() == Some("name");
            let leave_out = visit(&mut map[&key], place, random);
            if leave_out && !is_name {
                map.remove(&key);
            }
            leave_out && map.is_empty()
        }
        plain => {
            let leave_out = random.below(6) == 0;
            *plain = other(plain, random);
            leave_out
        }
    }
}

/// Which of some values, of which these are the counts, holds the plain value of this number, which is then counted from its first.
fn child(counts: impl Iterator<Item = usize>, place: &mut usize) -> Option<usize> {
    for (index, count) in counts.enumerate() {
        if *place < count {
            return Some(index);
        }
        *place -= count;
    }
    None
}

fn other(value: &Value, random: &mut Random) -> Value {
    let number = |text: &str| text.parse::<i64>().expect("a number").into();
    match value {
        Value::Bool(value) if random.below(40) > 0 => (!value).into(),
        Value::Number(_) if random.below(40) > 0 => number(random.of(NUMBERS)),
        _ if random.below(8) == 0 => number(random.of(NUMBERS)),
        _ => random.of(WORDS).into(),
    }
}
