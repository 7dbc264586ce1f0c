//! Any bytes as a keyring, and as a signature: no panic, and only what was signed is accepted.
#![no_main]

use std::sync::LazyLock;

use dayone::bases::Keyring;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((kind, rest)) = data.split_first() else { return };
    let end = rest.windows(2).position(|window| window == b"\0\0").unwrap_or(rest.len());
    let (keys, signature) = (&rest[..end], rest.get(end + 2..).unwrap_or_default());
    // Nobody has the secret keys.
    static BUNDLED: LazyLock<Keyring> = LazyLock::new(Keyring::bundled);
    let bundled = BUNDLED.verify(if kind & 1 == 0 { rest } else { signature }, &b"a file"[..]);
    let error = bundled.expect_err("a forged signature");
    assert!(error.to_string().len() < 4096, "{error}");
    let mut own = Keyring::default();
    if let Err(error) = own.add(keys) {
        assert!(error.to_string().len() < 4096, "{error}");
        return;
    }
    // A signature is good for one content at most.
    let one = own.verify(signature, &b"one content"[..]);
    let other = own.verify(signature, &b"another content"[..]);
    assert!(one.is_err() || other.is_err(), "a signature of two contents");
    let again = own.verify(signature, &b"one content"[..]);
    assert_eq!(one.is_ok(), again.is_ok());
});
