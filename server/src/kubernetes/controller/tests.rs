use std::collections::BTreeMap;
use std::convert::Infallible;

use http::{Request, Response};
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::watch;

use super::super::test_replica;
use super::*;

const OBJECTS: usize = 100;
/// How often an object gets its turn on average.
const ROUNDS: usize = 10;

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

#[tokio::test]
async fn every_object_gets_its_turn_even_if_all_are_queued_again_faster_than_they_are_reconciled() {
    let (queue, queued) = mpsc::unbounded_channel();
    let (enough, stopping) = (CancellationToken::new(), CancellationToken::new());
    // Some are queued that do not exist any more.
    for queued in ["gone-0", "gone-1", "gone-2", "gone-3", &name(0)] {
        queue.send(reference(queued)).unwrap();
    }
    let made = Arc::new(Mutex::new(BTreeMap::<String, usize>::new()));
    let (counted, end) = (Arc::clone(&made), enough.clone());
    let publishing = move |owner: &str| {
        let number = {
            let mut counted = counted.lock();
            *counted.entry(owner.to_owned()).or_default() += 1;
            counted.values().sum::<usize>()
        };
        if number >= OBJECTS * ROUNDS {
            end.cancel();
        } else {
            (0..OBJECTS).for_each(|number| drop(queue.send(reference(&name(number)))));
        }
        // Workers that are done at different times take one object after another. The scheduler then passes over the same objects each time.
        std::thread::sleep(Duration::from_millis(3 + number as u64 % 16));
    };
    let silent = tower::service_fn(|_: Request<Body>| std::future::pending::<Result<Response<Body>, Infallible>>());
    // A replica that does not lead writes nothing.
    let leads = watch::channel(false).1;
    let context = test_replica::context(Client::new(silent, "n"), (0..OBJECTS).map(object), leads, publishing);
    let working = tokio::spawn(work(Arc::new(context), queued, 8, stopping.clone()));
    let limit = Duration::from_mins(1);
    tokio::time::timeout(limit, enough.cancelled()).await.expect("deleted objects do not block others");
    stopping.cancel();
    working.abort();
    let made = made.lock();
    let fewest = (0..OBJECTS).map(|number| made.get(&object(number).owner()).copied().unwrap_or_default()).min();
    assert!(fewest.is_some_and(|fewest| fewest >= ROUNDS / 2), "{made:?}");
}
