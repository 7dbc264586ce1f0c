//! The audit log tells of images that the server no longer has: what was read of them, and that their time was over.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::audit::{assert_intact, config, entries, order, start, stop, until_recorded};
use super::support::{Answer, Dayone, NMSTATE, Place, TOKEN};

/// Larger than what a connection takes from the server while its client does not read.
const KERNEL: u64 = 64 << 20;

/// The entries with this event.
pub(super) fn of(log: &Path, event: &str) -> Vec<Value> {
    entries(log).into_iter().filter(|entry| entry["event"] == event).collect()
}

#[tokio::test]
async fn the_log_tells_that_the_time_of_an_image_was_over() {
    let dayone = start().await;
    let order = dayone.post("/v1/images?base=coreos&hostname=worker-7&ttl=3", NMSTATE).bearer_auth(TOKEN);
    let image = Answer::of(order).await.ok();
    let path = dayone.place.path("audit.jsonl");
    until_recorded(&path, "image-ended").await;
    let place = stop(dayone).await;
    let ended = entries(&path).into_iter().find(|entry| entry["event"] == "image-ended").unwrap();
    assert_eq!((&ended["image"], &ended["host"]), (&image["id"], &serde_json::json!("worker-7")));
    assert_eq!(ended["who"], "server");
    assert_intact(&place);
}

#[tokio::test]
async fn the_log_tells_that_the_time_of_an_image_was_over_while_the_server_did_not_run() {
    let dayone = start().await;
    let order = dayone.post("/v1/images?base=coreos&hostname=worker-7&ttl=2", NMSTATE).bearer_auth(TOKEN);
    let image = Answer::of(order).await.ok();
    let place = stop(dayone).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let again = config(&place, None);
    let place = stop(Dayone::start_with(place, again).await).await;
    let ended = of(&place.path("audit.jsonl"), "image-ended");
    assert_eq!(ended.len(), 1);
    assert_eq!((&ended[0]["image"], &ended[0]["host"]), (&image["id"], &json!("worker-7")));
    assert!(place.records().is_empty());
    assert_intact(&place);
}

/// A transfer of a deleted image goes on, also if the image was deleted as soon as it was made.
#[tokio::test]
async fn all_that_is_read_of_an_image_is_recorded_however_soon_it_is_deleted() {
    let place = Place::new();
    fs::File::options().write(true).open(place.path("kernel")).unwrap().set_len(KERNEL).unwrap();
    let settings = config(&place, None);
    let dayone = Dayone::start_with(place, settings).await;
    let made = dayone.post("/v1/images?base=ipa&format=initrd&hostname=worker-7", NMSTATE).bearer_auth(TOKEN);
    let image = Answer::of(made).await.ok();
    let mut kernel = dayone.client.get(image["files"]["vmlinuz"]["url"].as_str().unwrap()).send().await.unwrap();
    let mut read = kernel.chunk().await.unwrap().unwrap().len() as u64;
    let path = format!("/v1/images/{}", image["id"].as_str().unwrap());
    let deleted = dayone.client.delete(dayone.url(&path)).bearer_auth(TOKEN);
    assert_eq!(Answer::of(deleted).await.status, 204);
    // Longer than the server takes to look what was read.
    tokio::time::sleep(Duration::from_secs(3)).await;
    while let Some(chunk) = kernel.chunk().await.unwrap() {
        read += chunk.len() as u64;
    }
    assert_eq!(read, KERNEL);
    drop(kernel);
    let place = stop(dayone).await;
    let log = place.path("audit.jsonl");
    let recorded: u64 = of(&log, "image-read").iter().map(|read| read["sent"].as_u64().unwrap()).sum();
    assert_eq!(recorded, KERNEL);
    assert!(of(&log, "image-read").iter().all(|read| read["image"] == image["id"] && read["host"] == "worker-7"));
    assert_intact(&place);
}

#[tokio::test]
async fn the_deletion_of_an_image_whose_record_cannot_be_read_is_recorded() {
    let dayone = start().await;
    let image = order(&dayone, "worker-7").await;
    let id = image["id"].as_str().unwrap();
    let place = stop(dayone).await;
    // As a later version of dayone would write it.
    let record = place.path(&format!("data/images/{id}.json"));
    let later = fs::read_to_string(&record).unwrap().replacen(r#"{"version":1"#, r#"{"version":9"#, 1);
    fs::write(&record, later).unwrap();
    let again = config(&place, None);
    let dayone = Dayone::start_with(place, again).await;
    let path = format!("/v1/images/{id}");
    assert_eq!(Answer::of(dayone.get(&path).bearer_auth(TOKEN)).await.status, 404);
    let deleted = dayone.client.delete(dayone.url(&path)).bearer_auth(TOKEN);
    assert_eq!(Answer::of(deleted).await.status, 204);
    let place = stop(dayone).await;
    let deleted = of(&place.path("audit.jsonl"), "image-deleted");
    assert_eq!(deleted.len(), 1, "{deleted:?}");
    assert_eq!((&deleted[0]["image"], &deleted[0]["who"]["token"]), (&image["id"], &json!("DAYONE_API_TOKEN")));
    assert_intact(&place);
}
