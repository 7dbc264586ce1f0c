//! Tests of encrypted files.

use proptest::prelude::*;

use super::*;

const KINDS: [RecordKind; 5] =
    [RecordKind::Image, RecordKind::Boot, RecordKind::Base, RecordKind::InstallationKey, RecordKind::Damaged];

fn cipher(byte: u8) -> RecordCipher {
    RecordCipher::new(&[byte; KEY_LENGTH]).unwrap()
}

/// A file as another implementation makes it (`AESGCMSIV` and HMAC of pyca/cryptography 48, with OpenSSL). dayone must be able to read such
/// files as long as their records exist.
#[test]
fn the_format_of_encrypted_files_has_not_changed() {
    let written = concat!(
        r#"{"version":3,"encrypted":"OqMOE7oUXmwAAQIDBAUGBwgJCgu3xLZZKhbsmdaYQ4dLW+77f/6TPW1nqqqVwVfMxGQ="}"#,
        "\n"
    );
    assert_eq!(cipher(1).decrypt(RecordKind::Image, "name", written.as_bytes()).unwrap(), b"{\"version\":1}\n");
}

#[test]
fn a_file_is_decrypted_only_as_what_it_is_and_with_its_key() {
    let plain = b"{\"version\":1,\"psk\":\"hunter2\"}\n";
    for kind in KINDS {
        let file = cipher(1).encrypt(kind, "one", plain).unwrap();
        assert_ne!(file, cipher(1).encrypt(kind, "one", plain).unwrap(), "the nonce is drawn anew");
        assert_eq!(cipher(1).decrypt(kind, "one", &file).unwrap(), plain);
        assert_eq!(Form::of(&file), Form::Encrypted(Some(cipher(1).id())));
        assert_eq!(Form::of(&file[..HEADER]), Form::of(&file));
        assert_eq!(cipher(1).decrypt(kind, "other", &file), Err(Changed));
        assert_eq!(cipher(2).decrypt(kind, "one", &file), Err(Changed));
        for other in KINDS.into_iter().filter(|other| *other != kind) {
            assert_eq!(cipher(1).decrypt(other, "one", &file), Err(Changed));
        }
        let text = String::from_utf8(file).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["version"], 3);
        let bytes = BASE64_STANDARD.decode(json["encrypted"].as_str().unwrap()).unwrap();
        assert!(!bytes.windows(7).any(|window| window == b"hunter2"));
    }
}

#[test]
fn nothing_that_is_shown_reveals_a_key() {
    let shown = format!("{:?} {}", cipher(7), cipher(7).id());
    assert!(!shown.contains("0707") && !shown.contains("7, 7"), "{shown}");
    assert_ne!(cipher(7).id(), cipher(8).id());
}

proptest! {
    #[test]
    fn what_was_encrypted_is_decrypted(plain: Vec<u8>, name: String, kind in 0..KINDS.len()) {
        let file = cipher(1).encrypt(KINDS[kind], &name, &plain).unwrap();
        prop_assert_eq!(file.split(|byte| *byte == b'\n').count(), 2, "one line");
        prop_assert_eq!(cipher(1).decrypt(KINDS[kind], &name, &file), Ok(plain));
    }

    #[test]
    fn no_other_file_is_accepted(plain in proptest::collection::vec(any::<u8>(), 0..40), place: prop::sample::Index, byte: u8) {
        let file = cipher(1).encrypt(RecordKind::Boot, "name", &plain).unwrap();
        let mut changed = file.clone();
        changed[place.index(file.len())] = byte;
        prop_assume!(changed != file);
        // Such a file counts as one that is not encrypted, and no record begins like that.
        if Form::of(&changed) == Form::Plain {
            prop_assert!(place.index(file.len()) < BEGIN.len());
        }
        prop_assert_eq!(cipher(1).decrypt(RecordKind::Boot, "name", &changed), Err(Changed));
        let cut = &file[..place.index(file.len())];
        prop_assert_eq!(cipher(1).decrypt(RecordKind::Boot, "name", cut), Err(Changed));
        let longer = [&file[..], &[byte]].concat();
        prop_assert_eq!(cipher(1).decrypt(RecordKind::Boot, "name", &longer), Err(Changed));
    }

    #[test]
    fn any_bytes_have_a_form(bytes: Vec<u8>) {
        let with_beginning = [BEGIN, &bytes].concat();
        prop_assert!(matches!(Form::of(&with_beginning), Form::Encrypted(_)));
        prop_assert_eq!(cipher(1).decrypt(RecordKind::Boot, "name", &with_beginning), Err(Changed));
        Form::of(&bytes);
    }
}
