use super::*;

#[test]
fn the_bundled_keys_are_those_of_the_documentation() {
    let known: Vec<String> = Keyring::bundled().0.iter().map(Certificate::describe).collect();
    assert_eq!(
        known,
        [
            "567E347AD0044ADE55BA8A5F199E2F91FD431D51 (Red Hat, Inc. (release key 2) <security@redhat.com>)",
            "36F612DCF27F7D1A48A835E4DBFCF71C6D9F90A6 (Fedora (44) <fedora-44-primary@fedoraproject.org>)",
            "4F50A6114CD5C6976A7F1179655A4B02F577861E (Fedora (45) <fedora-45-primary@fedoraproject.org>)",
            "D924B10D3E810DABDD8B56B596E7E91491211FCE (Fedora (46) <fedora-46-primary@fedoraproject.org>)",
        ]
    );
    let page = include_str!("../../../../docs/bases.md");
    for line in known {
        let (fingerprint, _) = line.split_once(' ').unwrap();
        assert!(page.contains(fingerprint), "docs/bases.md does not name {fingerprint}");
    }
}

#[test]
fn errors_are_for_users() {
    let mut keys = Keyring::default();
    // A marker packet with other content than RFC 9580 §5.8 says, and a signature of an unknown version.
    for bytes in [&[0xca, 3, 46, 173, 96][..], &[0xc2, 2, 9, 9], &[0x99, 0xff, 0xff], &[0xff; 40]] {
        let read = keys.add(bytes).unwrap_err().to_string();
        let verified = Keyring::bundled().verify(bytes, &b"x"[..]).unwrap_err().to_string();
        for text in [read, verified] {
            assert!(text.len() < 200 && !text.contains('{') && !text.contains("backtrace"), "{text}");
        }
    }
}

#[test]
fn what_is_no_key_and_no_signature_is_refused() {
    let mut keys = Keyring::default();
    assert!(matches!(keys.add(b""), Err(KeyringError::Empty | KeyringError::Parse(_))));
    assert!(matches!(keys.add(b"hello"), Err(KeyringError::Empty | KeyringError::Parse(_))));
    for bad in [&b""[..], b"hello", BUNDLED.as_bytes()] {
        let error = Keyring::bundled().verify(bad, &b"x"[..]).unwrap_err();
        assert!(matches!(error, SignatureError::Parse(_)), "{error}");
    }
}

macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!("../../../../fixtures/openpgp/", $name)).as_slice()
    };
}

const IMAGE: &[u8] = fixture!("image");

/// What a signature is worth if these files of keys are trusted.
fn verified(files: &[&[u8]], signature: &[u8]) -> Result<String, SignatureError> {
    let mut keys = Keyring::default();
    for file in files {
        keys.add(file).unwrap();
    }
    keys.verify(signature, IMAGE)
}

/// The packets of an armored file.
fn binary(armored: &[u8]) -> Vec<u8> {
    let mut packets = Vec::new();
    Dearmor::new(armored).read_to_end(&mut packets).unwrap();
    packets
}

#[test]
fn an_older_copy_does_not_hide_that_a_key_was_revoked() {
    let (key, revocation) = (fixture!("retired.asc"), fixture!("retired.revocation.asc"));
    let signature = fixture!("image.retired.sig");
    assert!(verified(&[key], signature).is_ok());
    // gpg imports a revocation certificate only behind its key. dayone also takes it before the key in the same file.
    let one_file = [key, revocation].concat();
    let the_other_way = [revocation, key].concat();
    let in_binary = [binary(key), binary(revocation)].concat();
    for files in [
        &[key, revocation][..],
        &[one_file.as_slice()],
        &[the_other_way.as_slice()],
        &[in_binary.as_slice()],
        &[key, one_file.as_slice()],
        &[one_file.as_slice(), key],
    ] {
        assert!(matches!(verified(files, signature), Err(SignatureError::KeyRevoked(_))));
    }
    // It says nothing about other keys.
    let subkeys = fixture!("subkeys.extended.asc");
    assert!(verified(&[&[subkeys, revocation, key].concat()], fixture!("image.subkey.sig")).is_ok());
    assert!(matches!(Keyring::bundled().add(revocation), Err(KeyringError::Empty)));
}

#[test]
fn what_copies_say_of_subkeys_is_taken_together() {
    let [old, extended, revoked] =
        [fixture!("subkeys.asc"), fixture!("subkeys.extended.asc"), fixture!("subkeys.revoked.asc")];
    let signature = fixture!("image.subkey.sig");
    assert!(matches!(verified(&[old], signature), Err(SignatureError::KeyExpired(_))));
    for files in [[extended, extended], [old, extended], [extended, old]] {
        let who = verified(&files, signature).unwrap();
        assert!(who.ends_with("(Subkeys <subkeys@example.com>)"), "{who}");
    }
    for files in [&[revoked][..], &[extended, revoked], &[revoked, extended], &[old, extended, revoked]] {
        assert!(matches!(verified(files, signature), Err(SignatureError::KeyRevoked(_))));
    }
}

#[test]
fn one_of_several_signatures_is_enough_wherever_it_is_in_the_file() {
    let (key, both) = (fixture!("several.asc"), fixture!("image.several.sig"));
    let [first, second] = blocks(both)[..] else { panic!("two blocks") };
    assert!(matches!(verified(&[key], first), Err(SignatureError::UnknownKey(..))));
    let damaged = b"-----BEGIN PGP SIGNATURE-----\n\nAAAA\n-----END PGP SIGNATURE-----\n".as_slice();
    let files = [
        second.to_vec(),
        both.to_vec(),
        [second, first].concat(),
        [damaged, both].concat(),
        [binary(first), binary(second)].concat(),
    ];
    for file in files {
        assert!(verified(&[key], &file).unwrap().ends_with("(Several <several@example.com>)"));
    }
    // What is said of several that are refused: of those that can be read.
    assert!(matches!(verified(&[key], &[first, damaged].concat()), Err(SignatureError::UnknownKey(..))));
    // The data can be read only once: the first that could be good decides.
    let mut keys = Keyring::default();
    keys.add(key).unwrap();
    assert!(matches!(keys.verify(both, &b"other"[..]), Err(SignatureError::Forged(_))));
}

#[test]
fn the_first_signature_by_a_trusted_key_decides() {
    let keys = [fixture!("several.asc"), fixture!("subkeys.extended.asc")];
    let [_, good] = blocks(fixture!("image.several.sig"))[..] else { panic!("two blocks") };
    let (good, mut wrong) = (binary(good), fixture!("image.subkey.sig").to_vec());
    *wrong.last_mut().unwrap() ^= 1;
    assert!(verified(&keys, &[good.clone(), wrong.clone()].concat()).is_ok());
    assert!(matches!(verified(&keys, &[wrong, good].concat()), Err(SignatureError::Forged(_))));
    let page = include_str!("../../../../docs/bases.md");
    assert!(page.contains("The first of the others decides"), "docs/bases.md says something else");
}

#[test]
fn an_armored_file_may_begin_with_other_text() {
    let (key, signature) = (fixture!("retired.asc"), fixture!("image.retired.sig"));
    assert!(key.starts_with(b"-----BEGIN PGP ") && verified(&[key], signature).is_ok());
    let packets = binary(key);
    for before in
        [&b"\xef\xbb\xbf"[..], "\u{feff}Schlüssel\r\n".as_bytes(), "Über uns\n".as_bytes(), b"\xdcber uns\n", b"Key: "]
    {
        let text = [before, key].concat();
        assert!(verified(&[&text], signature).is_ok(), "{}", text.escape_ascii());
        assert!(verified(&[&[before, key, key].concat()], signature).is_ok());
    }
    assert!(verified(&[&packets], signature).is_ok());
    let both = [b"\xef\xbb\xbf".as_slice(), fixture!("image.several.sig")].concat();
    assert!(verified(&[fixture!("several.asc")], &both).is_ok());
}

#[test]
fn a_digest_and_a_key_that_dayone_does_not_support_are_told_as_such() {
    let error = verified(&[fixture!("several.asc")], fixture!("image.sha224.sig")).unwrap_err().to_string();
    assert!(error.contains("SHA224; dayone accepts SHA-256") && !error.contains("forged"), "{error}");
    for (key, signature, curve) in [
        (fixture!("brainpool.asc"), fixture!("image.brainpool.sig"), "brainpoolP256r1"),
        (fixture!("secp256k1.asc"), fixture!("image.secp256k1.sig"), "secp256k1"),
    ] {
        let error = verified(&[key], signature).unwrap_err();
        assert!(matches!(error, SignatureError::UnsupportedKey(..)) && error.to_string().contains(curve), "{error}");
    }
    let page = include_str!("../../../../docs/bases.md");
    assert!(page.contains("SHA-256, SHA-384, SHA-512, SHA3-256 and SHA3-512"), "docs/bases.md names other digests");
}

#[test]
fn a_key_that_is_added_twice_is_one_key() {
    let mut keys = Keyring::bundled();
    let before: Vec<String> = keys.0.iter().map(Certificate::describe).collect();
    keys.add(BUNDLED.as_bytes()).unwrap();
    assert_eq!(keys.0.iter().map(Certificate::describe).collect::<Vec<_>>(), before);
}
