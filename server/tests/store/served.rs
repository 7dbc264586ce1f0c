//! Stores in memory behind a media plane, over real sockets.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dayone::store::{InMemory, Store};
use imagelib::image::FileName;
use media::listen::{Listener, Options};
use media::served::Published;
use media::{MediaMetrics, UrlForm};
use reqwest::{Client, Method, StatusCode};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::support::*;

/// The media plane of a store, for as long as the value lives.
pub(crate) struct Plane {
    pub(crate) address: String,
    pub(crate) client: Client,
    _stop: DropGuard,
}

impl Plane {
    pub(crate) async fn start(store: &Arc<Store>) -> Self {
        let listener = Listener::bind(([127, 0, 0, 1], 0).into(), Options::default()).await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let stop = CancellationToken::new();
        let service = media::service(Arc::clone(store) as Arc<dyn Published>, MediaMetrics::default());
        tokio::spawn(listener.serve(service, stop.clone()));
        let client = Client::builder().no_proxy().timeout(Duration::from_secs(30)).build().unwrap();
        Self { address, client, _stop: stop.drop_guard() }
    }

    /// Where a URL is that the store gave: the store's own address is one of documentation.
    fn at(&self, url: &str) -> String {
        let path = url.strip_prefix("http://192.0.2.1:8081").unwrap();
        format!("{}{}", self.address, path.strip_prefix("/media").unwrap_or(path))
    }

    async fn status(&self, method: Method, path: &str) -> StatusCode {
        self.client.request(method, format!("{}{path}", self.address)).send().await.unwrap().status()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn ranges_in_parallel_are_those_of_the_image_even_when_its_owner_has_another_one_by_now() {
    const READERS: usize = 8;
    let place = Place::new();
    // Many buffers long, and no two places in it alike.
    place.write_initrd((0..1_u64 << 17).flat_map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15)).to_be_bytes()).collect());
    for (form, urls) in [UrlForm::Capability, UrlForm::Uuid].into_iter().enumerate() {
        let store = Arc::new(place.in_memory(1, urls));
        let server = Arc::new(Plane::start(&store).await);
        let image = publish_for(&store, "a", 1);
        let Seen::File { bytes, etag, .. } = see(&store, &image, "initrd.img") else { panic!("not served") };
        let (bytes, url) = (Arc::new(bytes), server.at(&store.url("a", &image, FileName::Initrd)));
        let readers: Vec<_> = (0..READERS)
            .map(|reader| {
                let (server, bytes, url, etag) = (Arc::clone(&server), Arc::clone(&bytes), url.clone(), etag.clone());
                tokio::spawn(async move {
                    // Reproducible, and other cuts for each reader.
                    let mut number = 0x9E37_79B9_7F4A_7C15_u64.wrapping_mul((form * READERS + reader + 1) as u64);
                    let mut random = |below: usize| {
                        number ^= number << 13;
                        number ^= number >> 7;
                        number ^= number << 17;
                        usize::try_from(number % below as u64).unwrap()
                    };
                    for _ in 0..150 {
                        let first = random(bytes.len());
                        let longest = [50, 5000, 500_000][random(3)];
                        let last = first + random((bytes.len() - first).min(longest));
                        let request = server.client.get(&url).header("Range", format!("bytes={first}-{last}"));
                        let answer = request.header("If-Range", &etag).send().await.unwrap();
                        assert_eq!(answer.status(), 206);
                        assert!(answer.bytes().await.unwrap() == bytes[first..=last], "{first}-{last}");
                    }
                })
            })
            .collect();
        for number in 2..5 {
            publish_for(&store, "a", number);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        for reader in readers {
            reader.await.unwrap();
        }
    }
}

#[tokio::test]
async fn names_are_found_behind_any_path_and_nothing_is_listed() {
    let place = Place::new();
    let bases = vec![place.base(NAME)];
    let settings = InMemory { bases, replicated: false, ..settings(1, UrlForm::Named) };
    let store = Arc::new(Store::in_memory(settings).unwrap());
    let server = Plane::start(&store).await;
    let image = publish_for(&store, "worker-0.initramfs", 0);
    let start = Instant::now();
    for (method, path, status) in [
        (Method::GET, "/worker-0.initramfs", 200),
        (Method::HEAD, "/images/a/worker-0.initramfs", 200),
        (Method::GET, "/worker-0.kernel", 200),
        (Method::GET, "/worker-0.iso", 404),
        (Method::GET, "/worker-1.initramfs", 404),
        (Method::GET, "/worker-0.initramfs/", 404),
        (Method::GET, "/%2e%2e/worker-0%2einitramfs", 404),
        (Method::GET, "/", 404),
        (Method::GET, "/images/", 404),
        (Method::POST, "/worker-0.initramfs", 405),
    ] {
        assert_eq!(server.status(method.clone(), path).await, status, "{method} {path}");
    }
    assert!(start.elapsed() < Duration::from_secs(2), "nothing is waited for");
    let answer = server.client.get(format!("{}/worker-0.initramfs", server.address)).send().await.unwrap();
    let Seen::File { bytes, .. } = see(&store, &image, "initrd.img") else { panic!("not served") };
    assert!(answer.bytes().await.unwrap() == bytes);
}

#[tokio::test]
async fn a_replica_waits_for_an_image_that_another_one_has_published_already() {
    let place = Place::new();
    for urls in [UrlForm::Capability, UrlForm::Uuid] {
        let (ahead, behind) = (place.in_memory(1, urls), Arc::new(place.in_memory(1, urls)));
        let server = Plane::start(&behind).await;
        let url = server.at(&ahead.url("a", &publish_for(&ahead, "a", 1), FileName::Initrd));
        for method in [Method::HEAD, Method::GET] {
            let asked = Instant::now();
            let request = tokio::spawn(server.client.request(method.clone(), &url).send());
            tokio::time::sleep(Duration::from_millis(200)).await;
            assert!(!request.is_finished());
            publish_for(&behind, "a", 1);
            assert_eq!(request.await.unwrap().unwrap().status(), 200, "{method}");
            assert!(asked.elapsed() < Duration::from_secs(1), "at once when it is there");
            behind.discard("a");
        }
        let asked = Instant::now();
        assert_eq!(server.client.get(&url).send().await.unwrap().status(), 404);
        assert!((2..4).contains(&asked.elapsed().as_secs()), "{:?}", asked.elapsed());

        // What is no URL of ours, and a file that an image has not, are not waited for.
        let image = publish_for(&behind, "a", 1);
        let asked = Instant::now();
        let no_file = format!("/i/{}/boot.iso", image.token().as_str());
        for path in ["/", "/i/short/boot.iso", "/a5a5", no_file.as_str()] {
            assert_eq!(server.status(Method::GET, path).await, 404, "{path}");
        }
        assert_eq!(server.client.post(&url).send().await.unwrap().status(), 405);
        assert!(asked.elapsed() < Duration::from_secs(1));
    }
}

#[tokio::test]
async fn whoever_guesses_at_urls_fills_the_places_to_wait_and_no_more() {
    let place = Place::new();
    let store = Arc::new(place.in_memory(1, UrlForm::Capability));
    let server = Plane::start(&store).await;
    let guess = |number: usize| {
        let letter = |shift: usize| char::from(b'a' + u8::try_from((number >> shift) % 16).unwrap());
        let token = format!("{}{}{}", letter(0), letter(4), "a".repeat(24));
        let request = server.client.get(format!("{}/i/{token}/boot.iso", server.address));
        tokio::spawn(async move {
            let start = Instant::now();
            assert_eq!(request.send().await.unwrap().status(), 404);
            start.elapsed()
        })
    };
    let guesses: Vec<_> = (0..80).map(guess).collect();
    let mut at_once = 0;
    for guess in guesses {
        at_once += usize::from(guess.await.unwrap() < Duration::from_secs(2));
    }
    assert!((1..=16).contains(&at_once), "{at_once} of 80 were answered at once");
}
