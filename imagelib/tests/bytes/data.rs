//! From a recipe to a data image, over no base.
use std::collections::BTreeMap;

use imagelib::base::{Base, BaseIdentity, Format};
use imagelib::data_image::{DataKind, FileSystem};
use imagelib::digest::Digest;
use imagelib::ignition::Additions;
use imagelib::image::{DeliveredBy, FileName, Image, ImageError};
use imagelib::kernel_arguments::KernelArgumentEdits;
use imagelib::recipe::{DataDrive, Recipe, RecipeError, SealedRecipe};
use vocabulary::network_files::Keyfile;

fn keyfiles() -> Vec<Keyfile> {
    let content = "[connection]\nid=eth0\npsk=hunter2\n".to_owned();
    vec![Keyfile { name: "eth0.nmconnection".parse().unwrap(), content }]
}

fn recipe(drive: DataDrive) -> Recipe {
    let keyfiles = if drive.kind == DataKind::Combustion { keyfiles() } else { Vec::new() };
    let additions = Additions { keyfiles, hostname: Some("worker-0".parse().unwrap()), ..Additions::default() };
    Recipe { data: Some(drive), ..Recipe::new(BaseIdentity::of(&BTreeMap::new()), Format::Data, additions) }
}

fn drive(kind: DataKind, file_system: FileSystem) -> DataDrive {
    let network_data = match kind {
        DataKind::ConfigDrive => Some("{\"links\": []}".into()),
        DataKind::NoCloud => Some("version: 2\n".into()),
        DataKind::Combustion => None,
    };
    DataDrive { network_data, user_data: Some("#!/bin/sh\n# hunter2\n".into()), ..DataDrive::new(kind, file_system) }
}

fn plan(recipe: &Recipe) -> Result<Image, ImageError> {
    Image::plan(recipe, &Base::Nothing, recipe.base)
}

fn bytes(image: &Image) -> (FileName, Vec<u8>) {
    let (name, file) = image.main_file().unwrap();
    assert_eq!(image.files.len(), 1);
    let mut bytes = vec![0xAA; usize::try_from(file.size()).unwrap()];
    assert_eq!(file.read_at(&BTreeMap::<_, Vec<u8>>::new(), 0, &mut bytes).unwrap(), bytes.len());
    (name, bytes)
}

/// Their SHA-256 was taken when they were read back by the tests against real readers; another one means that images
/// that were published keep neither their entity tags nor their bytes.
const DRIVES: [(DataKind, FileSystem, FileName, &str); 6] = [
    (
        DataKind::ConfigDrive,
        FileSystem::Iso,
        FileName::DataIso,
        "6afdc649c7a8015775d661aa7346706ce493b815a4121b0bffba584eccdff9b0",
    ),
    (
        DataKind::ConfigDrive,
        FileSystem::Vfat,
        FileName::DataDisk,
        "f39af17ceb14184ee47dfda7a59465de29329b9107be42dad8823a67ef30e0d3",
    ),
    (
        DataKind::NoCloud,
        FileSystem::Iso,
        FileName::DataIso,
        "fb6f29606ea0bbb5796420312bbff3141725c8f7978028e3260e76f1aef38d3b",
    ),
    (
        DataKind::NoCloud,
        FileSystem::Vfat,
        FileName::DataDisk,
        "50680f6ebb7356234140d82eb7f3ce51899d80d07962025b05fbe106d3c2377f",
    ),
    (
        DataKind::Combustion,
        FileSystem::Iso,
        FileName::DataIso,
        "610cfbb5bc793aa4656aec835e45b0dff24e454b7529d8071dcb8aaf663c46f3",
    ),
    (
        DataKind::Combustion,
        FileSystem::Vfat,
        FileName::DataDisk,
        "5d2c796109ccb2186c09f8308262e0625db6e59a75d381141707fcda887d14f9",
    ),
];

#[test]
fn a_data_image_is_a_drive_and_its_bytes_do_not_change() {
    let images = DRIVES.map(|(kind, file_system, ..)| plan(&recipe(drive(kind, file_system))).unwrap());
    let found = images.each_ref().map(bytes);
    let digests = found.each_ref().map(|(name, bytes)| (*name, Digest::of(bytes).to_string()));
    assert_eq!(digests, DRIVES.map(|(_, _, name, digest)| (name, digest.to_owned())));
    for ((kind, file_system, name, _), image) in DRIVES.iter().zip(&images) {
        let recipe = recipe(drive(*kind, *file_system));
        let again = SealedRecipe::from_canonical_json(recipe.clone().seal().canonical_json()).unwrap();
        assert_eq!((again.id(), bytes(&plan(again.recipe()).unwrap())), (recipe.id(), bytes(image)), "{kind}");
        let [change] = &image.changes[..] else { panic!("{:?}", image.changes) };
        assert_eq!((change.subject.as_str(), change.action.as_str()), (name.as_str(), "made"));
        assert_eq!((change.old_size, change.new_size), (None, image.main_file().map(|(_, file)| file.size())));
    }
}

#[test]
fn the_files_of_a_drive_are_shown_by_digest_only() {
    let recipe = recipe(drive(DataKind::ConfigDrive, FileSystem::Iso));
    let image = plan(&recipe).unwrap();
    let file = image.embedded.iter().find(|file| file.path == "/openstack/latest/user_data").unwrap();
    assert_eq!((file.delivered_by, file.mode.as_str(), file.size), (DeliveredBy::Drive, "0600", 20));
    assert_eq!(file.sha256, Digest::of(b"#!/bin/sh\n# hunter2\n"));
    let json = String::from_utf8(recipe.clone().seal().canonical_json().to_vec()).unwrap();
    let damaged = SealedRecipe::from_canonical_json(json.replace("IyEvYmluL3No", "hunter2!").as_bytes()).unwrap_err();
    assert!(matches!(damaged, RecipeError::Json { .. }));
    let shown = format!("{recipe:?} {image:?} {damaged}");
    assert!(!shown.contains("hunter2") && !shown.contains("IyEvYmluL3No"), "{shown}");
}

#[test]
fn what_has_no_place_on_a_drive_is_refused() {
    let config_drive = recipe(drive(DataKind::ConfigDrive, FileSystem::Iso));
    let seed = recipe(drive(DataKind::NoCloud, FileSystem::Iso));
    let combustion = recipe(drive(DataKind::Combustion, FileSystem::Iso));
    let on = |recipe: &Recipe, change: fn(&mut DataDrive)| {
        let mut recipe = recipe.clone();
        change(recipe.data.as_mut().unwrap());
        recipe
    };
    let with = |change: fn(&mut Recipe)| {
        let mut recipe = seed.clone();
        change(&mut recipe);
        recipe
    };
    for (recipe, reason) in [
        (
            on(&seed, |drive| drive.publisher = Some("x".into())),
            "a publisher has no effect on this image: a cidata drive has no place for it",
        ),
        (
            on(&config_drive, |drive| (drive.publisher, drive.file_system) = (Some("x".into()), FileSystem::Vfat)),
            "a publisher has no effect on this image: FAT",
        ),
        (on(&combustion, |drive| drive.network_data = Some("x".into())), "network data has no effect"),
        (on(&combustion, |drive| drive.meta_data = Some("x".into())), "meta data"),
        (on(&combustion, |drive| drive.vendor_data = Some("x".into())), "vendor data"),
        (on(&config_drive, |drive| drive.network_data = Some("[]".into())), "network_data.json is not a JSON object"),
        (with(|recipe| recipe.additions.keyfiles = keyfiles()), "a NetworkManager profile has no effect"),
        (with(|recipe| recipe.additions.no_auto_default = true), "a configuration of NetworkManager"),
        (with(|recipe| recipe.replace_embedded = true), "an embedded configuration has no effect"),
        (
            with(|recipe| {
                recipe.kernel_arguments =
                    KernelArgumentEdits { append: vec!["a".parse().unwrap()], ..KernelArgumentEdits::default() };
            }),
            "a kernel argument",
        ),
        (with(|recipe| recipe.format = Format::Iso), "an image of format 'iso'"),
        (with(|recipe| recipe.data = None), "an image of format 'data'"),
    ] {
        let message = plan(&recipe).unwrap_err().to_string();
        assert!(message.contains(reason), "{reason}: {message}");
    }
}

/// Recipes that were stored before there were data images stay what they were.
#[test]
fn a_recipe_without_a_drive_says_nothing_of_one() {
    let recipe = Recipe { data: None, ..recipe(drive(DataKind::NoCloud, FileSystem::Iso)) };
    let json = String::from_utf8(recipe.seal().canonical_json().to_vec()).unwrap();
    assert!(!json.contains("\"data\":{") && !json.contains("null,\"data\""), "{json}");
}
