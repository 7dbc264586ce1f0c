//! Names whose content changes: no client gets bytes of two images, and none keeps the old one for the new one.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use media::UrlForm;
use reqwest::header::{HeaderMap, LAST_MODIFIED};

use super::served::Plane;
use super::support::*;

/// The exit code of curl, and what it has written to the file.
async fn curl(file: &Path, arguments: &[&str]) -> (i32, Vec<u8>) {
    let mut command = Command::new("curl");
    command.args(["-sS", "--max-time", "20", "-o"]).arg(file).args(arguments);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    (output.status.code().unwrap(), fs::read(file).unwrap_or_default())
}

/// Just after a second has begun, so that what follows falls into it.
async fn a_second_begins() {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    tokio::time::sleep(Duration::from_nanos(u64::from(1_000_000_000 - now.subsec_nanos()))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn contents_that_change_within_a_second_are_neither_mixed_nor_mistaken() {
    let place = Place::new();
    let store = Arc::new(place.in_memory(1, UrlForm::Named));
    let media = Plane::start(&store).await;
    let url = format!("{}/worker-0.initramfs", media.address);
    let file = place.path("copy");
    let head = async || -> HeaderMap { media.client.head(&url).send().await.unwrap().headers().clone() };
    let date = |headers: &HeaderMap| headers.get(LAST_MODIFIED).map(|date| date.to_str().unwrap().to_owned());

    a_second_begins().await;
    let mut dates = vec![];
    let mut contents = vec![];
    for number in 1..=3 {
        publish_for(&store, "worker-0.initramfs", number);
        let headers = head().await;
        // A client may take the time of the answer for that of the content.
        dates.extend([date(&headers), headers.get("date").map(|date| date.to_str().unwrap().to_owned())]);
        let (code, content) = curl(&file, &[&url]).await;
        assert_eq!(code, 0);
        contents.push(content);
    }
    assert!(contents[0] != contents[1] && contents[1] != contents[2]);
    let new = contents.pop().unwrap();
    let etag = head().await["etag"].to_str().unwrap().to_owned();

    for date in dates.into_iter().flatten() {
        for old in &contents {
            let half = old.len() / 2;
            fs::write(&file, &old[..half]).unwrap();
            let (code, resumed) = curl(&file, &["-C", "-", "-H", &format!("If-Range: {date}"), &url]).await;
            assert!(code == 33 && resumed == old[..half] || resumed == new, "{date}: curl ended with {code}");
            fs::write(&file, old).unwrap();
            let (code, kept) = curl(&file, &["-z", &date, &url]).await;
            assert!(code == 0 && kept == new, "{date}: the old content was taken for the new one");
        }
    }

    // A strong validator still holds, and so does a date that came with the content, for the whole.
    fs::write(&file, &new[..1000]).unwrap();
    assert_eq!(curl(&file, &["-C", "-", "-H", &format!("If-Range: {etag}"), &url]).await, (0, new.clone()));
    for _ in 0..60 {
        if date(&head().await).is_some() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(curl(&file, &["-R", &url]).await, (0, new.clone()));
    let copy = file.to_str().unwrap();
    let status = place.path("unchanged");
    let (code, written) = curl(&status, &["-z", copy, "-w", "%{http_code}", &url]).await;
    assert_eq!((code, written), (0, vec![]), "304");
    let last_modified = date(&head().await).unwrap();
    let (code, _) = curl(&file, &["-C", "5", "-H", &format!("If-Range: {last_modified}"), &url]).await;
    assert_eq!(code, 33, "a date does not splice");
}
