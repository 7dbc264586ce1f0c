//! A base that arrives in the moment in which another request about its name is answered.

use std::fmt::Debug;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dayone::services::Config;
use reqwest::StatusCode;
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

use super::added_bases::{add, allow, files, iso, next_release, settled, start, until_files_are};
use super::http_source::HttpSource;
use super::support::Answer;

/// Holds the thread that has read the files of the second base of a name, until somebody lets it go on.
struct HoldsSecond {
    name: &'static str,
    read: AtomicUsize,
    is_held: SyncSender<()>,
    go_on: Mutex<Receiver<()>>,
}

/// Whether an event says that a file of the base was read.
struct IsRead<'a> {
    name: &'a str,
    of_base: bool,
    after_reading: bool,
}

impl Visit for IsRead<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let value = format!("{value:?}");
        match field.name() {
            "base" => self.of_base = value.trim_matches('"') == self.name,
            "message" => self.after_reading = value.contains("read and digested"),
            _ => {}
        }
    }
}

impl<S: tracing::Subscriber> Layer<S> for HoldsSecond {
    fn on_event(&self, event: &tracing::Event<'_>, _context: Context<'_, S>) {
        let mut seen = IsRead { name: self.name, of_base: false, after_reading: false };
        event.record(&mut seen);
        if seen.of_base && seen.after_reading && self.read.fetch_add(1, Ordering::SeqCst) == 1 {
            self.is_held.send(()).unwrap();
            // If nobody lets it go on, the test fails elsewhere.
            let _ = self.go_on.lock().unwrap().recv_timeout(Duration::from_secs(20));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_request_counts_even_if_another_base_arrives_meanwhile() {
    let ((is_held, held), (go_on, go)) = (sync_channel(1), sync_channel(1));
    let layer = HoldsSecond { name: "arriving", read: AtomicUsize::new(0), is_held, go_on: Mutex::new(go) };
    // The store reads bases on threads of its own.
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer)).unwrap();
    let source = HttpSource::start().await;
    let dayone = Arc::new(start(&source).await);
    let first = iso(&dayone);
    let second = next_release(&first);
    let order = |path: &str, bytes: &[u8]| {
        let (url, sha256) = source.put(path, bytes);
        json!({"name": "arriving", "iso": {"url": url, "sha256": sha256}})
    };
    let (first, second) = (order("/first.iso", &first), order("/second.iso", &second));

    assert_eq!(add(&dayone, &first).await.status, StatusCode::ACCEPTED);
    let base = settled(&dayone, "arriving").await;
    assert_eq!(add(&dayone, &second).await.status, StatusCode::ACCEPTED);
    // All of the second one is there, and nothing stops it any more.
    tokio::task::spawn_blocking(move || held.recv_timeout(Duration::from_secs(30)).unwrap()).await.unwrap();
    let again = tokio::spawn({
        let dayone = Arc::clone(&dayone);
        let first = first.clone();
        async move { add(&dayone, &first).await.status }
    });
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(!again.is_finished(), "it waits until the second one has arrived or ended");
    go_on.send(()).unwrap();

    // The first one has been replaced, so it is fetched once more.
    assert_eq!(again.await.unwrap(), StatusCode::ACCEPTED);
    assert_eq!(settled(&dayone, "arriving").await["identity"], base["identity"]);
}

#[tokio::test]
async fn a_disk_of_a_virtual_machine_is_refused_when_its_first_bytes_arrive() {
    let source = HttpSource::start().await;
    let dayone = start(&source).await;
    let (url, sha256) = source.put("/cloud.img", &[b"QFI\xfb".to_vec(), vec![0; 1 << 20]].concat());
    // The rest never arrives.
    source.state().pause = Some(100_000);
    add(&dayone, &json!({"name": "cloud", "iso": {"url": url, "sha256": sha256}})).await.ok();
    let base = settled(&dayone, "cloud").await;
    let error = base["fetch"]["error"].as_str().unwrap();
    assert!(error.contains("format qcow2: convert it with qemu-img convert -O raw"), "{base}");
    assert_eq!(files(&dayone), [""; 0]);
}

#[tokio::test]
async fn a_base_that_is_configured_while_another_of_its_name_is_fetched_stays() {
    let source = HttpSource::start().await;
    let dayone = start(&source).await;
    let (url, sha256) = source.put("/live.iso", &iso(&dayone));
    let order = json!({"name": "fcos", "iso": {"url": url, "sha256": sha256}});
    source.state().pause = Some(1000);
    assert_eq!(add(&dayone, &order).await.status, StatusCode::ACCEPTED);

    let configured = format!("fcos={}", dayone.place.path("plain.iso").display());
    let configure = |config: &mut Config| {
        allow(config, &[source.url("/")]);
        config.bases.push(configured.parse().unwrap());
    };
    let dayone = dayone.restart_with(configure).await;
    let base = settled(&dayone, "fcos").await;
    assert_eq!((&base["state"], &base["origin"]), (&json!("available"), &json!("configured")), "{base}");
    assert_eq!(base["fetch"]["state"], "failed", "{base}");
    let error = base["fetch"]["error"].as_str().unwrap();
    assert!(error.contains("configuration") && error.contains("dayone base rm fcos --fetch-only"), "{error}");
    // The same request does not continue the attempt, either.
    add(&dayone, &order).await.problem("base-configured");

    // With two bases of one name, the server would not start.
    let dayone = dayone.restart_with(configure).await;
    assert_eq!(settled(&dayone, "fcos").await["fetch"]["state"], "failed");
    let stopped = Answer::of(dayone.client.delete(dayone.url("/v1/bases/fcos/fetch"))).await;
    assert_eq!(stopped.status, StatusCode::NO_CONTENT);
    let base = settled(&dayone, "fcos").await;
    assert_eq!((&base["origin"], &base["fetch"]), (&json!("configured"), &json!(null)), "{base}");
    until_files_are(&dayone, &[]).await;
}
