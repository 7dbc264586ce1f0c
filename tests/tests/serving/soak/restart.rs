//! The server is killed and started again: what it acknowledged is there, and what it acknowledged as deleted is not.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;

use super::api;
use super::orders::Phase;
use super::process::until;
use super::random::Random;
use super::world::{World, add};

pub(crate) fn kill_and_start_again(world: &World, random: &mut Random) {
    world.windows.down.open();
    world.process.kill();
    world.pause(Duration::from_millis(random.below(300)));
    // All requests have failed, or had their answers.
    let token = world.token.write().unwrap();
    world.process.start_again();
    if !until(Duration::from_secs(120), || api::is_ready(world)) {
        let answer = api::get(world, "/readyz", &token);
        let ended = world.process.ended();
        return world.fail(&format!("it does not start: {ended:?}, {answer:?}\n{}", world.process.log()));
    }
    add(&world.counts.restarts, 1);
    if let Err(wrong) = compare(world, &token) {
        world.fail(&format!("after a restart: {wrong}\n{}", world.process.log()));
    }
    drop(token);
    world.windows.down.close();
}

/// Compares the images that the server lists with those that it should have, and learns what became of the others.
fn compare(world: &World, token: &str) -> Result<(), String> {
    let (status, list) = api::get(world, "/v1/images", token)?;
    let images = list["images"].as_array().filter(|_| status == 200).ok_or_else(|| format!("{status}: {list}"))?;
    let mut listed: BTreeSet<&str> = images.iter().filter_map(|image| image["id"].as_str()).collect();
    if let Some(unavailable) = images.iter().find(|image| image["available"] != true) {
        return Err(format!("an image is not served: {unavailable}"));
    }
    let mut unknown = 0;
    for image in world.site.orders.iter().flat_map(|order| &order.images) {
        let state = image.state();
        let Some((id, beginning)) = &state.place else {
            unknown += usize::from(state.phase == Phase::Uncertain);
            continue;
        };
        let is_listed = listed.remove(id.as_str());
        match (state.phase, is_listed) {
            (Phase::Published, false) => return Err(format!("{} was acknowledged, and is lost", image.title)),
            (Phase::Absent, true) => return Err(format!("{} was deleted, and is back", image.title)),
            (Phase::Uncertain, true) => image.set(Phase::Published),
            (Phase::Uncertain, false) => image.set(Phase::Absent),
            _ => {}
        }
        if is_listed {
            let (_, shown) = api::get(world, &format!("/v1/images/{id}"), token)?;
            let url = shown["url"].as_str().unwrap_or_default();
            if url.rsplit_once('/').map(|(before, _)| before) != Some(beginning) {
                return Err(format!("{}: its URL was {beginning}/…, and is {}", image.title, shown["url"]));
            }
            if image.files.iter().any(|file| size(&shown, file.name).is_some_and(|size| size != file.expected.size())) {
                return Err(format!("{}: other sizes: {shown}", image.title));
            }
        }
    }
    // Orders that had no answer may have made images whose ids the test never learned.
    if listed.len() > unknown {
        return Err(format!("images that nobody ordered: {listed:?}"));
    }
    Ok(())
}

fn size(image: &Value, file: &str) -> Option<u64> {
    image["files"][file]["size"].as_u64()
}
