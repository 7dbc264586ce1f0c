//! Any bytes as a record in the data directory: no panic, and a record that was read is written in one form, which is read again.
//! Any bytes as an encrypted record: no panic, and nothing that dayone has not encrypted is decrypted. What was encrypted is decrypted,
//! and a change of any byte is found.
#![no_main]

use dayone::fuzzing::{decrypt_record, encrypt_record, rewrite_base_record, rewrite_boot_record, rewrite_image_record};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((kind, json)) = data.split_first() else { return };
    if kind % 4 == 3 {
        return encrypted(json);
    }
    let rewrite = |json: &[u8]| match kind % 4 {
        // The id is that of the recipe, which a fuzzer cannot guess: the refusal says which one it would be.
        0 => match rewrite_image_record(json, &"0".repeat(64)) {
            Err(error) => match error.strip_prefix("its recipe belongs to the image ") {
                Some(id) => rewrite_image_record(json, id),
                None => Err(error),
            },
            read => read,
        },
        1 => match rewrite_boot_record(json, "") {
            Err(error) => match error.strip_prefix("it is the record of the boot ") {
                Some(id) => rewrite_boot_record(json, id),
                None => Err(error),
            },
            read => read,
        },
        _ => rewrite_base_record(json),
    };
    let Ok(written) = rewrite(json) else { return };
    assert_eq!(written.iter().filter(|byte| **byte == b'\n').count(), 1, "a record is one line");
    assert!(written.len() <= 8 * json.len() + 4096, "{} bytes of {}", written.len(), json.len());
    let again = rewrite(&written).expect("a record that dayone wrote can be read");
    assert!(again == written, "{}\n{}", String::from_utf8_lossy(&written), String::from_utf8_lossy(&again));
});

fn encrypted(data: &[u8]) {
    // The fuzzer does not know the key, so it cannot make an encrypted file.
    let decrypted = decrypt_record(data);
    assert!(decrypted.as_deref().map_or(true, |bytes| bytes == data), "decrypted bytes that were never encrypted");
    // The first bytes say which byte is changed, and how.
    let Some(([place, other, change], plain)) = data.split_first_chunk() else { return };
    let mut file = encrypt_record(plain);
    assert_eq!(decrypt_record(&file).as_deref(), Ok(plain));
    let at = (usize::from(*place) << 8 | usize::from(*other)) % file.len();
    file[at] ^= change;
    let changed = decrypt_record(&file);
    // What no longer begins like an encrypted file counts as one that is not encrypted.
    assert!(
        *change == 0 || changed.is_err() || (at < 26 && changed.as_deref() == Ok(file.as_slice())),
        "byte {at} was changed"
    );
}
