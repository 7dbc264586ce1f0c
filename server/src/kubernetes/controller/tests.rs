use std::collections::BTreeMap;
use std::convert::Infallible;

use http::{Request, Response};
use imagelib::recipe::RecipeId;
use k8s_openapi::api::core::v1::Secret;
use kube::client::Body;
use kube::runtime::watcher::Event;
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::watch;

use super::*;
use crate::host_images::{BuildError, DriveRequest, ImageRequest, PublishedImage, Support};

const OBJECTS: usize = 100;
/// How often an object gets its turn on average.
const ROUNDS: usize = 10;

/// Counts the images that it makes, by owner, and takes some time for each. Whenever it makes one, all objects are queued again.
struct Images {
    queue: mpsc::UnboundedSender<ObjectRef<PreprovisioningImage>>,
    made: Mutex<BTreeMap<String, usize>>,
    enough: CancellationToken,
}

impl ImageProvider for Images {
    fn supports(&self, _: &str) -> Support {
        Support::Supported
    }

    fn publish(&self, request: &ImageRequest<'_>) -> Result<PublishedImage, BuildError> {
        let number = {
            let mut made = self.made.lock();
            *made.entry(request.owner.to_owned()).or_default() += 1;
            made.values().sum::<usize>()
        };
        if number >= OBJECTS * ROUNDS {
            self.enough.cancel();
        } else {
            (0..OBJECTS).for_each(|number| drop(self.queue.send(reference(&name(number)))));
        }
        // Workers that are done at different times take one object after another. The scheduler then passes over the same objects each time.
        std::thread::sleep(Duration::from_millis(3 + number as u64 % 16));
        Ok(PublishedImage { url: "http://192.0.2.1/i/a/boot.iso".to_owned(), ..PublishedImage::default() })
    }

    fn publish_drive(&self, _: &DriveRequest<'_>) -> Result<PublishedImage, BuildError> {
        Err(BuildError::invalid("there are no drives here"))
    }

    fn drive(&self, _: &str) -> Option<PublishedImage> {
        None
    }

    fn discard(&self, _: &str) -> Option<RecipeId> {
        None
    }

    fn retain(&self, _: &dyn Fn(&str) -> bool) {}

    fn changed(&self) -> watch::Receiver<u64> {
        watch::channel(0).1
    }
}

fn name(number: usize) -> String {
    format!("worker-{number}")
}

fn reference(name: &str) -> ObjectRef<PreprovisioningImage> {
    ObjectRef::new(name).within("n")
}

fn object(number: usize) -> PreprovisioningImage {
    let object = json!({
        "metadata": {"namespace": "n", "name": name(number), "uid": number.to_string(), "resourceVersion": "1"},
        "spec": {"architecture": "x86_64", "acceptFormats": ["iso"]},
    });
    serde_json::from_value(object).unwrap()
}

/// The context of a replica that does not lead, and so writes nothing.
fn context(images: Arc<Images>) -> Context<PreprovisioningImage> {
    let client = Client::new(
        tower::service_fn(|_: Request<Body>| std::future::pending::<Result<Response<Body>, Infallible>>()),
        "n",
    );
    let (objects, mut known) = reflector::store();
    let (secrets, mut secrets_known) = reflector::store::<Secret>();
    known.apply_watcher_event(&Event::Init);
    (0..OBJECTS).for_each(|number| known.apply_watcher_event(&Event::InitApply(object(number))));
    known.apply_watcher_event(&Event::InitDone);
    secrets_known.apply_watcher_event(&Event::Init);
    secrets_known.apply_watcher_event(&Event::InitDone);
    let metrics = KubernetesMetrics::unexported();
    let (events, _) = EventRecorder::new(client.clone(), "dayone-0", metrics.clone());
    Context {
        client,
        images,
        objects,
        secrets,
        leads: watch::channel(false).1,
        events,
        failing: Arc::new(Failing::new(metrics.clone())),
        metrics,
        audit: Audit::default(),
        readiness: Readiness::default(),
        retries: Retries::new(2),
        stale: StaleVersions::default(),
        contention: Arc::default(),
        owner_permission: Arc::default(),
        memory: Unready::default(),
    }
}

#[tokio::test]
async fn every_object_gets_its_turn_even_if_all_are_queued_again_faster_than_they_are_reconciled() {
    let (queue, queued) = mpsc::unbounded_channel();
    let (enough, stopping) = (CancellationToken::new(), CancellationToken::new());
    let images = Arc::new(Images { queue, made: Mutex::default(), enough: enough.clone() });
    // Some are queued that do not exist any more.
    for queued in ["gone-0", "gone-1", "gone-2", "gone-3", &name(0)] {
        images.queue.send(reference(queued)).unwrap();
    }
    let context = Arc::new(context(Arc::clone(&images)));
    let working = tokio::spawn(work(context, queued, 8, stopping.clone()));
    let limit = Duration::from_mins(1);
    tokio::time::timeout(limit, enough.cancelled()).await.expect("objects that are gone hold up nobody");
    stopping.cancel();
    working.abort();
    let made = images.made.lock();
    let fewest = (0..OBJECTS).map(|number| made.get(&object(number).owner()).copied().unwrap_or_default()).min();
    assert!(fewest.is_some_and(|fewest| fewest >= ROUNDS / 2), "{made:?}");
}
