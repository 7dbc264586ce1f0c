//! Any bytes as a stored recipe: no panic, and a recipe has one form and one id.
#![no_main]

use imagelib::digest::Digest;
use imagelib::recipe::SealedRecipe;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|json: &[u8]| {
    let Ok(sealed) = SealedRecipe::from_canonical_json(json) else { return };
    let canonical = sealed.canonical_json();
    assert_eq!(sealed.id().to_string(), Digest::of(canonical).to_string());
    let again = SealedRecipe::from_canonical_json(canonical).expect("the canonical form can be read");
    assert!(again.canonical_json() == canonical && again.id() == sealed.id());
    // Escapes are what JSON can write in the most ways: six bytes for one.
    assert!(canonical.len() <= 8 * json.len() + 1024, "{} bytes of {}", canonical.len(), json.len());
    // Publishing the same content again gives one image.
    let sorted = sealed.recipe().clone().in_canonical_order();
    let id = sorted.id();
    assert_eq!(sorted.clone().seal().id(), id);
    assert_eq!(sorted.in_canonical_order().id(), id);
});
