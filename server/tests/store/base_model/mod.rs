//! A model of bases that come and go, explored in every order, and compared with the real store.
//!
//! The races between the arrival of a base, its replacement, its removal and publications over it depend on moments that no test of
//! the real server meets on purpose. The model has these steps without files and threads, so that all orders can be looked at. It
//! says something about dayone only because the real store does the same in random sequences of the same steps.

mod service;
mod store;

use std::collections::BTreeSet;
use std::fs;
use std::thread;
use std::time::Duration;

use dayone::store::{
    BaseRecord, BaseSource, BaseVersion, FinishBaseError, Finished, RemoveBaseError, Store, StoreError,
};
use imagelib::base::{BaseIdentity, Role};
use imagelib::recipe::RecipeId;

use self::service::{Mistake, Request, explore};
use self::store::{Content, ModelFinished, ModelPublished, ModelRemoved, ModelStore};
use super::support::*;

const NAME_OF_BASE: &str = "added";

/// Sets of requests that run at the same time.
fn scenarios() -> Vec<Vec<Request>> {
    use Request::{Add, Publish, Release, Remove};
    vec![
        vec![Add(1), Add(2), Remove, Publish(1)],
        vec![Add(1), Add(1), Remove, Remove],
        vec![Add(1), Add(2), Publish(1), Publish(2), Release(1)],
        vec![Add(1), Add(2), Add(1), Publish(1), Remove],
        vec![Add(1), Remove, Add(2), Publish(2), Release(2), Remove],
        vec![Add(1), Add(2), Add(1), Remove, Publish(1), Publish(2), Release(1)],
    ]
}

#[test]
fn in_every_order_no_image_loses_its_base_and_no_answer_is_a_lie() {
    let mut states = 0;
    for requests in scenarios() {
        match explore(&requests, None) {
            Ok(count) => states += count,
            Err(way) => panic!("{requests:?}:\n{}", way.join("\n")),
        }
    }
    assert!(states > 2_000, "only {states} states");
}

#[test]
fn the_exploration_finds_mistakes() {
    for mistake in
        [Mistake::ForgetsWhatHasArrived, Mistake::RemovesOnce, Mistake::LooksAtPresentFirst, Mistake::RemovesWhatIsUsed]
    {
        let found = scenarios().iter().any(|requests| explore(requests, Some(mistake)).is_err());
        assert!(found, "{mistake:?} is not found");
    }
}

/// The real store, with what the model calls versions and contents.
struct Real {
    place: Place,
    store: Store,
    identities: Vec<(Content, BaseIdentity)>,
    images: Vec<(Content, RecipeId)>,
}

impl Real {
    fn new() -> Self {
        let place = Place::new();
        let store = place.open_with(vec![]).unwrap();
        Self { place, store, identities: Vec::new(), images: Vec::new() }
    }

    fn begin(&self) -> BaseVersion {
        let source = |file: &str| {
            let location = self.place.path(file).display().to_string().parse().unwrap();
            BaseSource { location, sha256: None, signature: None }
        };
        let sources = [(Role::Kernel, source("kernel")), (Role::Initrd, source("initrd"))];
        self.store.begin_base(BaseRecord::new(NAME_OF_BASE.parse().unwrap(), None, sources.into())).unwrap()
    }

    fn finish(&mut self, version: BaseVersion, content: Content) -> ModelFinished {
        self.place.write_base(&[content; 100], 1);
        for (role, file) in [(Role::Kernel, "kernel"), (Role::Initrd, "initrd")] {
            fs::copy(self.place.path(file), self.store.base_file(version, role).unwrap()).unwrap();
        }
        let finished = loop {
            match self.store.finish_base(version) {
                Err(FinishBaseError::TooFresh) => thread::sleep(Duration::from_millis(100)),
                finished => break finished.unwrap(),
            }
        };
        if let Some(base) = self.store.base(NAME_OF_BASE).and_then(|base| base.available())
            && finished != Finished::Removed
        {
            self.identities.retain(|(known, _)| *known != content);
            self.identities.push((content, base.identity));
        }
        match finished {
            Finished::Added => ModelFinished::Added,
            Finished::Unchanged => ModelFinished::Unchanged,
            Finished::Removed => ModelFinished::Removed,
        }
    }

    fn publish(&mut self, content: Content) -> Option<ModelPublished> {
        let (_, identity) = self.identities.iter().find(|(known, _)| *known == content)?;
        Some(match self.store.publish(NAME_OF_BASE, recipe_over(*identity, 1).seal(), None) {
            Ok((image, _)) => {
                self.images.retain(|(known, _)| *known != content);
                self.images.push((content, image.id()));
                ModelPublished::Published
            }
            Err(StoreError::UnknownBase(_)) => ModelPublished::UnknownBase,
            Err(StoreError::BaseReplaced(_)) => ModelPublished::BaseReplaced,
            Err(error) => panic!("{error}"),
        })
    }

    fn release(&self, content: Content) -> bool {
        let image = self.images.iter().find(|(known, _)| *known == content);
        image.is_some_and(|(_, id)| self.store.release(id).unwrap())
    }

    fn remove(&self) -> ModelRemoved {
        match self.store.remove_base(NAME_OF_BASE) {
            Ok(()) => ModelRemoved::Removed,
            Err(RemoveBaseError::Unknown) => ModelRemoved::Unknown,
            Err(RemoveBaseError::InUse { .. }) => ModelRemoved::InUse,
            Err(error) => panic!("{error}"),
        }
    }

    /// The versions with the contents that have arrived, the present and the replaced ones, and the contents with images.
    fn describe(&self, versions: &[(u8, BaseVersion)]) -> ModelView {
        let content =
            |identity| self.identities.iter().find(|(_, known)| *known == identity).map(|(content, _)| *content);
        let number = |version: BaseVersion| versions.iter().find(|(_, known)| *known == version).unwrap().0;
        let records = self.store.added_bases();
        ModelView {
            records: records
                .into_iter()
                .map(|(version, record)| {
                    (number(version), record.identity().map(|identity| content(identity).unwrap()))
                })
                .collect(),
            present: self.store.base(NAME_OF_BASE).map(|base| number(base.version().unwrap())),
            replaced: self.store.replaced_by(NAME_OF_BASE).iter().map(|base| number(base.version().unwrap())).collect(),
            images: self.store.images().iter().map(|image| content(image.base()).unwrap()).collect(),
        }
    }
}

#[derive(Debug, PartialEq)]
struct ModelView {
    records: Vec<(u8, Option<Content>)>,
    present: Option<u8>,
    replaced: BTreeSet<u8>,
    images: BTreeSet<Content>,
}

impl ModelView {
    fn of(model: &ModelStore) -> Self {
        Self {
            records: model.records.iter().map(|(version, content)| (*version, *content)).collect(),
            present: model.present,
            replaced: model.replaced.clone(),
            images: model.images.clone(),
        }
    }
}

/// Does the same to both, in an order that the number repeats.
fn compare(seed: u64, steps: usize) {
    let (mut model, mut real) = (ModelStore::default(), Real::new());
    let (mut versions, mut done) = (Vec::new(), Vec::new());
    let mut state = seed;
    let mut below = |bound: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % bound
    };
    for _ in 0..steps {
        let content = u8::try_from(1 + below(2)).unwrap();
        let (what, same) = match below(9) {
            0 | 1 => {
                let (expected, version) = (model.begin(), real.begin());
                versions.push((expected, version));
                ("begin".to_owned(), true)
            }
            2..=4 => {
                let unfinished = model.unfinished();
                let Some(version) = unfinished.get(below(unfinished.len().max(1))).copied() else { continue };
                let known = versions.iter().find(|(known, _)| *known == version).unwrap().1;
                let (expected, found) = (model.finish(version, content), real.finish(known, content));
                (format!("version {version} arrives with {content}: {expected:?}, {found:?}"), expected == found)
            }
            5 => {
                let Some((version, known)) = versions.get(below(versions.len().max(1))).copied() else { continue };
                let (expected, found) = (model.forget(version), real.store.forget_base(known).unwrap());
                (format!("forget version {version}: {expected}, {found}"), expected == found)
            }
            6 => {
                let (expected, found) = (model.remove(), real.remove());
                (format!("remove: {expected:?}, {found:?}"), expected == found)
            }
            7 => {
                let Some(found) = real.publish(content) else { continue };
                let expected = model.publish(content);
                (format!("publish over {content}: {expected:?}, {found:?}"), expected == found)
            }
            _ => {
                let (expected, found) = (model.release(content), real.release(content));
                model.release_replaced();
                real.store.recheck();
                (format!("release of {content}: {expected}, {found}"), expected == found)
            }
        };
        done.push(what);
        assert!(same, "seed {seed}: {done:#?}");
        assert_eq!(real.describe(&versions), ModelView::of(&model), "seed {seed}: {done:#?}");
    }
}

#[test]
fn the_real_store_does_what_the_model_does() {
    // Most of the time, each waits until the files of a base have settled.
    thread::scope(|scope| {
        for seed in 0..24 {
            scope.spawn(move || compare(seed, 40));
        }
    });
}
