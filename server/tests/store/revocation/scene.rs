//! The store and the media plane, and what clients and operators do with them.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use dayone::store::{NewImage, Store};
use http::{Request, Response};
use http_body_util::BodyExt as _;
use imagelib::recipe::RecipeId;
use media::access::{Clock, Moment};
use media::served::Published;
use media::{MediaBody, MediaMetrics, MediaService};
use parking_lot::Mutex;
use serde_json::json;
use tower::Service as _;

use super::Step;
use crate::support::*;

type Asked = Pin<Box<dyn Future<Output = Response<MediaBody>>>>;

/// A client with its connection.
#[derive(Default)]
struct Client {
    asked: Option<Asked>,
    /// The answer, if the plane gave it at once.
    at_once: Option<Response<MediaBody>>,
    /// Whether the image was there all the time since the request was sent, and whether it was there at any time.
    always: bool,
    ever: bool,
    body: Option<MediaBody>,
    read: Vec<u8>,
}

pub(super) struct Scene {
    store: Arc<Store>,
    service: MediaService,
    now: Arc<Mutex<Moment>>,
    ids: Vec<RecipeId>,
    paths: Vec<String>,
    contents: Vec<Vec<u8>>,
    limits: serde_json::Value,
    /// How many requests had to wait for the file system.
    waits: AtomicUsize,
    _place: Place,
}

impl Scene {
    /// `ttl`: image 0 has a time to live.
    pub(super) fn new(ttl: bool, place: Place) -> Self {
        // Several pieces long, and no two places in it alike.
        place.write_initrd((0..50_000_u64).flat_map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()).collect());
        place.settle();
        let path = |file| format!("/proc/self/root{}", place.path(file).display());
        let base = format!("{NAME}=kernel:{},initrd:{},rootfs:{}", path("kernel"), path("initrd"), path("rootfs"));
        let now = Arc::new(Mutex::new(Moment { wall: SystemTime::now(), steady: Instant::now() }));
        let clock = Arc::clone(&now);
        let store = Arc::new(place.open_at(vec![base.parse().unwrap()], &Clock::new(move || *clock.lock())).unwrap());
        let service = media::service(Arc::clone(&store) as Arc<dyn Published>, MediaMetrics::default());
        let limits = if ttl { json!({"ttl": 3600}) } else { json!({}) };
        let mut scene = Self {
            store,
            service,
            now,
            ids: Vec::new(),
            paths: Vec::new(),
            contents: Vec::new(),
            limits,
            waits: AtomicUsize::new(0),
            _place: place,
        };
        for number in 0..2 {
            let image = scene.publish(number);
            scene.ids.push(image.id());
            scene.paths.push(format!("/i/{}/initrd.img", image.token().as_str()));
            let Seen::File { bytes, .. } = see(&scene.store, &image, "initrd.img") else { panic!("not served") };
            scene.contents.push(bytes);
        }
        assert_ne!(scene.contents[0], scene.contents[1]);
        scene
    }

    fn publish(&self, number: usize) -> Arc<dayone::store::StoredImage> {
        let limits = if number == 0 { self.limits.clone() } else { json!({}) };
        let image = NewImage { limits: serde_json::from_value(limits).unwrap(), ..new_image(&self.store, number) };
        self.store.publish_image(image).unwrap().0
    }

    /// Takes the steps. `is_there` says which images clients may learn of.
    async fn run(&self, order: &[Step]) -> Result<(), String> {
        let mut clients = [Client::default(), Client::default()];
        let mut is_there = true;
        self.publish(0);
        for step in order {
            match *step {
                Step::Ask(client) => {
                    let request = Request::get(&self.paths[client]).body(()).unwrap();
                    let mut answer = self.service.clone().call(request);
                    let mut asked: Asked = Box::pin(async move { (&mut answer).await.unwrap() });
                    let first = poll_fn(|cx| Poll::Ready(asked.as_mut().poll(cx))).await;
                    let there = is_there || client == 1;
                    let state = &mut clients[client];
                    (state.always, state.ever) = (there, there);
                    match first {
                        Poll::Pending => {
                            self.waits.fetch_add(1, Ordering::Relaxed);
                            state.asked = Some(asked);
                        }
                        Poll::Ready(answer) if (answer.status() == 200) == there => state.at_once = Some(answer),
                        Poll::Ready(answer) => return Err(format!("{} at once", answer.status())),
                    }
                }
                Step::Answer(client) => {
                    if let Some(answer) = clients[client].at_once.take() {
                        if answer.status() == 200 {
                            clients[client].body = Some(answer.into_body());
                        }
                        continue;
                    }
                    let Some(asked) = clients[client].asked.take() else { continue };
                    let answer = asked.await;
                    let there = is_there || client == 1;
                    let Client { always, ever, .. } = clients[client];
                    match answer.status().as_u16() {
                        200 if !there => return Err("an answer begins after the image was gone".to_owned()),
                        200 => clients[client].body = Some(answer.into_body()),
                        404 if always => return Err("the image was there, and is not found".to_owned()),
                        404 => {}
                        other => return Err(format!("{other}; it was there: {ever}")),
                    }
                }
                Step::Piece(client) => {
                    let Client { body: Some(body), read, .. } = &mut clients[client] else { continue };
                    match body.frame().await {
                        Some(Ok(frame)) => read.extend_from_slice(&frame.into_data().unwrap_or_else(|_| Bytes::new())),
                        Some(Err(error)) => return Err(format!("an answer that has begun ends: {error}")),
                        None => {}
                    }
                }
                Step::Delete => {
                    self.store.release(&self.ids[0]).unwrap();
                    is_there = false;
                }
                Step::End => {
                    let mut now = self.now.lock();
                    now.wall += Duration::from_hours(1);
                    now.steady += Duration::from_hours(1);
                    is_there = false;
                }
                Step::Publish => {
                    self.publish(0);
                    is_there = true;
                }
            }
            clients[0].always &= is_there;
            clients[0].ever |= is_there;
        }
        for (client, state) in clients.into_iter().enumerate() {
            let mut read = state.read;
            if let Some(body) = state.body {
                let rest = body.collect().await.map_err(|error| format!("an answer that has begun ends: {error}"))?;
                read.extend_from_slice(&rest.to_bytes());
                if read != self.contents[client] {
                    return Err(format!("client {client} got other bytes than those of its image"));
                }
            }
        }
        Ok(())
    }

    pub(super) async fn explore(&self, orders: &[Vec<Step>]) {
        for order in orders {
            if let Err(wrong) = self.run(order).await {
                panic!("{wrong}: {order:?}");
            }
        }
        // The kernel may know the path for once.
        let waits = self.waits.load(Ordering::Relaxed);
        assert!(waits > orders.len() / 2, "only {waits} requests had to wait in {} orders", orders.len());
    }
}
