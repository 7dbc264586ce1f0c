//! The hosts of URLs as people write them.

use std::net::Ipv4Addr;

/// What to do about a URL whose IPv4 address is not [`is_written`] so.
pub const FIX: &str = "write the IPv4 address as four decimal numbers without leading zeros";

/// Whether the host of a URL is written as this IPv4 address, which a URL parser read from it. URL parsers also take octal and hexadecimal
/// numbers, and fewer than four: to them `10.0.0.010` is 10.0.0.8, which may be another machine than its writer means.
pub fn is_written(address: Ipv4Addr, url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    host.split(':').next().unwrap_or_default().parse::<Ipv4Addr>() == Ok(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_four_decimal_numbers_are_the_written_address() {
        let address = Ipv4Addr::new(10, 0, 0, 8);
        for plain in ["http://10.0.0.8", "https://10.0.0.8:8081/x", "http://a:b@10.0.0.8?c", "http://10.0.0.8\\x"] {
            assert!(is_written(address, plain), "{plain}");
        }
        for odd in
            ["http://10.0.0.010", "http://0xa000008", "http://167772168:80", "http://10.8/", "http://10.0.0.%38", ""]
        {
            assert!(!is_written(address, odd), "{odd}");
        }
    }
}
