//! Images whose hosts call home.

use dayone::boots::call_home;
use imagelib::base::{DeliveryProfile, Format};

use super::support::{NAME, Place, recipe};

#[test]
fn the_same_recipe_gives_the_same_token_and_image_and_others_do_not() {
    let place = Place::new();
    let url = "http://192.0.2.1:8081".parse().unwrap();
    let with_script = |number: usize| {
        let store = place.open();
        let base = store.base(NAME).unwrap().available().unwrap();
        let mut recipe = recipe(&store, number);
        assert!(call_home::token(&recipe).is_none());
        let token = call_home::add(&mut recipe, &base.base, &store, &url).unwrap().unwrap();
        assert_eq!(call_home::token(&recipe), Some(token));
        let once = recipe.clone();
        assert_eq!(call_home::add(&mut recipe, &base.base, &store, &url).unwrap(), Some(token));
        assert_eq!(recipe, once, "there is one script");
        let (image, _) = store.publish(NAME, recipe.seal(), None).unwrap();
        let embedded = image.available().unwrap().image.embedded.clone();
        let script = embedded.iter().find(|file| file.path.starts_with("/etc/NetworkManager/dispatcher.d/")).unwrap();
        assert_eq!(script.mode, "0755");
        assert_ne!(token, image.token());
        (image.id(), token)
    };
    let one = with_script(1);
    assert_eq!(one, with_script(1), "after a restart, too");
    assert_ne!(one.1, with_script(2).1);
}

#[test]
fn systems_without_network_manager_do_not_call() {
    let place = Place::new();
    let store = place.open();
    let base = store.base(NAME).unwrap().available().unwrap();
    let url = "http://192.0.2.1:8081".parse().unwrap();
    let plain = recipe(&store, 1);
    let mut networkd = plain.clone();
    networkd.delivery = Some(DeliveryProfile::Networkd);
    let mut data = plain;
    data.format = Format::Data;
    for mut recipe in [networkd, data] {
        let before = recipe.clone();
        assert_eq!(call_home::add(&mut recipe, &base.base, &store, &url).unwrap(), None);
        assert_eq!(recipe, before);
    }
}
