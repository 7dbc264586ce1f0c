//! Orders and deletes images, and adds, replaces and removes the base that comes and goes.

use std::sync::RwLock;
use std::time::Duration;

use serde_json::{Value, json};

use super::orders::{Image, Order, Phase};
use super::process::until;
use super::random::Random;
use super::world::{World, add};
use super::{api, readers};

/// Publishes and deletes until the run ends.
pub(crate) fn publish_and_delete(world: &World, number: usize) {
    let mut random = world.random(&format!("publisher {number}"));
    while !world.is_over() {
        let Some(order) = random.pick(&world.site.orders) else { return };
        if let Ok(_alone) = order.changing.try_lock() {
            let published: Vec<&Image> =
                order.images.iter().filter(|image| image.state().phase == Phase::Published).collect();
            match random.pick(&published) {
                Some(image) if random.percent(40) => delete(world, image),
                _ => publish(world, order),
            }
        }
        world.pause(Duration::from_millis(30 + random.below(300)));
    }
}

/// Orders what a run begins with.
pub(crate) fn publish_all(world: &World) {
    for order in &world.site.orders {
        publish(world, order);
    }
}

fn publish(world: &World, order: &Order) {
    let configured = order.images.first().and_then(|image| image.configured);
    let base = configured.and_then(|base| world.bases.get(base)).map(RwLock::try_read);
    // Who disturbs the base may want this order, which the caller holds.
    if !matches!(base, Some(Err(_))) {
        publish_now(world, order);
    }
}

/// Publishes once the base of an order is available, if it is before long.
pub(crate) fn publish_patiently(world: &World, order: &Order, limit: Duration) -> bool {
    let _alone = order.changing.lock().unwrap();
    until(limit, || {
        publish_now(world, order);
        world.failure().is_some() || order.images.iter().any(|image| image.state().phase == Phase::Published)
    })
}

fn publish_now(world: &World, order: &Order) {
    let token = world.token.read().unwrap();
    let (before, full) = (world.windows.look(), world.disk.look());
    let phases: Vec<Phase> = order.images.iter().map(|image| image.state().phase).collect();
    for image in order.images.iter().filter(|image| image.state().phase != Phase::Published) {
        image.set(Phase::Uncertain);
    }
    let was_down = || world.windows.was_down_since(before);
    let configured = order.images.first().and_then(|image| image.configured);
    let is_disturbed = || world.windows.was_disturbed_since(before, configured);
    match api::order(world, &order.query, &order.document, &token) {
        Ok((200 | 201, body)) => {
            let size = body["size"].as_u64().unwrap_or_default();
            let (id, url) = (text(&body["id"]), text(&body["url"]));
            let of_size = |image: &&Image| image.files.first().is_some_and(|file| file.expected.size() == size);
            let Some(made) = order.images.iter().find(of_size) else {
                return world.fail(&format!("{}: no image of {size} bytes was ordered: {body}", order.query));
            };
            if !url.starts_with(&world.media_url) {
                return world.fail(&format!("{}: the URL is {url:?}", made.title));
            }
            if let Err(wrong) = made.place(id, url) {
                return world.fail(&wrong);
            }
            if made.state().phase != Phase::Published {
                made.set(Phase::Published);
            }
            // Of the other version of the base, nothing was ordered.
            restore(order, &phases, |image| !std::ptr::eq(image, made));
            add(&world.counts.published, 1);
        }
        // No version of the base is there.
        Ok((404 | 409 | 422, _)) if order.is_rolling => restore(order, &phases, |_| true),
        Ok((503, _)) if is_disturbed() => add(&world.counts.refused, 1),
        Ok((503 | 507, _)) if was_down() || world.disk.was_open_since(full) => add(&world.counts.refused, 1),
        // The base has not been taken into service again after a restart.
        Ok((500.., _)) | Err(_) if was_down() => add(&world.counts.refused, 1),
        other => world.fail(&format!("{}: {other:?}", order.query)),
    }
}

/// Puts back what a request that had no effect has made uncertain.
fn restore(order: &Order, phases: &[Phase], which: impl Fn(&Image) -> bool) {
    for (image, phase) in order.images.iter().zip(phases) {
        if which(image) && image.state().phase != *phase {
            image.set(*phase);
        }
    }
}

/// Deletes an image while nobody else changes it.
pub(crate) fn delete_alone(world: &World, order: &Order, image: &Image) {
    let _alone = order.changing.lock().unwrap();
    if image.state().phase == Phase::Published {
        delete(world, image);
    }
}

fn delete(world: &World, image: &Image) {
    let token = world.token.read().unwrap();
    let (before, full) = (world.windows.look(), world.disk.look());
    let Some((id, _)) = image.state().place else { return };
    image.set(Phase::Uncertain);
    match api::delete(world, &format!("/v1/images/{id}"), &token) {
        Ok((204, _)) => {
            image.set(Phase::Absent);
            add(&world.counts.deleted, 1);
            readers::is_gone(world, image);
        }
        Ok((503 | 507, _)) if world.disk.was_open_since(full) || world.windows.was_down_since(before) => {}
        Ok((500.., _)) | Err(_) if world.windows.was_down_since(before) => {}
        other => world.fail(&format!("{}: DELETE: {other:?}", image.title)),
    }
}

/// Adds, replaces and removes the base until the run ends.
pub(crate) fn change_base(world: &World) {
    let mut random = world.random("base");
    let mut version = 0;
    while !world.is_over() {
        if random.percent(25) {
            if random.percent(70) {
                delete_all_over_it(world);
            }
            remove_base(world);
        } else {
            version = if random.percent(70) { 1 - version } else { version };
            add_base(world, version, &mut random);
        }
        world.pause(Duration::from_millis(1000 + random.below(5000)));
    }
}

pub(crate) fn add_base(world: &World, version: usize, random: &mut Random) {
    let Some((path, digest)) = world.site.rolling.get(version) else { return };
    let url = world.nginx.url(path.file_name().unwrap().to_str().unwrap());
    let body = json!({"name": "rolling", "iso": {"url": url, "sha256": digest.to_string()}});
    let (before, full) = (world.windows.look(), world.disk.look());
    let excused = || world.windows.was_down_since(before) || world.disk.was_open_since(full);
    let reply = api::add_base(world, &body, &world.token.read().unwrap());
    match reply {
        Ok((200 | 202, _)) => {}
        Ok((500.., _)) | Err(_) if excused() => return,
        other => return world.fail(&format!("the base cannot be added: {other:?}")),
    }
    if random.percent(20) {
        // The next request finds it half fetched.
        return;
    }
    let settled = until(Duration::from_secs(60), || {
        world.is_over() || excused() || api::base_is_settled(world, "rolling", &world.token.read().unwrap())
    });
    if settled {
        add(&world.counts.bases_added, 1);
    } else {
        let base = api::get(world, "/v1/bases/rolling", &world.token.read().unwrap());
        world.fail(&format!("the base does not arrive: {base:?}"));
    }
}

/// Deletes the images over the base that comes and goes. Others may order some again.
fn delete_all_over_it(world: &World) {
    for order in world.site.orders.iter().filter(|order| order.is_rolling) {
        let _alone = order.changing.lock().unwrap();
        for image in order.images.iter().filter(|image| image.state().phase == Phase::Published) {
            delete(world, image);
        }
    }
}

fn remove_base(world: &World) {
    let (before, full) = (world.windows.look(), world.disk.look());
    let images = || world.site.orders.iter().filter(|order| order.is_rolling).flat_map(|order| &order.images);
    let used: Vec<(&Image, u64)> = images()
        .map(|image| (image, image.state()))
        .filter(|(_, state)| state.phase == Phase::Published)
        .map(|(image, state)| (image, state.changes))
        .collect();
    let reply = api::delete(world, "/v1/bases/rolling", &world.token.read().unwrap());
    match reply {
        Ok((204, _)) => {
            if let Some((image, _)) = used.iter().find(|(image, changes)| image.state().changes == *changes) {
                return world.fail(&format!("the base was removed from under {}", image.title));
            }
            add(&world.counts.bases_removed, 1);
        }
        Ok((404 | 409, _)) => {}
        Ok((500.., _)) | Err(_) if world.windows.was_down_since(before) || world.disk.was_open_since(full) => {}
        other => world.fail(&format!("the base cannot be removed: {other:?}")),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
