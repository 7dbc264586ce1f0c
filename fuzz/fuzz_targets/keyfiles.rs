//! Users' keyfiles: the bytes are the texts of one host's profiles, with `%` between them.

#![no_main]

use hosts::input::{Text, read_all};
use hosts::network::convert;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let names: Vec<String> = (0..8).map(|number| format!("host/{number}.nmconnection")).collect();
    let texts = names.iter().zip(data.split(|byte| *byte == b'%'));
    let input = read_all(texts.map(|(name, text)| Text { name: Some(name), text }));
    for host in &input.hosts {
        convert(host);
    }
});
