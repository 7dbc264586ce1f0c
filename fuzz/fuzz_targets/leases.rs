//! Two replicas and an API server that loses, delays and doubles their requests: they never both lead. As long as no request times out,
//! however slow the answers are, a leader leads until it stops, and then releases the Lease. The real election runs on a simulated clock,
//! which stands still while code runs.
//!
//! Beside what the fuzzer makes of it, it tries everything that can happen to the first requests, in every order.
#![no_main]

use std::cell::RefCell;
use std::convert::Infallible;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dayone::kubernetes::Leadership;
use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

/// What happens to a request.
#[derive(Debug, Clone, Copy)]
enum Fate {
    /// It is answered at once.
    Prompt,
    /// The API server does not get it.
    Lost,
    /// It is carried out, and its answer is lost.
    AnswerLost,
    /// It arrives late. The replica has given up by then.
    Late,
    /// Its answer is late, but comes in time.
    AnswerLate,
    /// The API server is overloaded.
    Refused,
}

const FATES: [Fate; 6] = [Fate::Prompt, Fate::Lost, Fate::AnswerLost, Fate::Late, Fate::AnswerLate, Fate::Refused];
/// How many requests have every fate in every order.
const DEPTH: u32 = 5;
/// How many of these orders are tried beside each input, until all are tried.
const AT_ONCE: usize = 8;
/// How long a run is, in the time that stands still.
const LENGTH: Duration = Duration::from_mins(1);

fn fate(byte: u8) -> Fate {
    FATES[usize::from(byte) % FATES.len()]
}

/// The Lease, as the API server has it.
#[derive(Default)]
struct Server {
    lease: Option<Value>,
    version: u64,
    fates: Vec<u8>,
    requests: usize,
}

impl Server {
    fn fate(&mut self) -> Fate {
        let byte = self.fates.get(self.requests).copied().unwrap_or(0);
        self.requests += 1;
        fate(byte)
    }

    /// Who holds the Lease.
    fn holder(&self) -> &str {
        self.lease.as_ref().and_then(|lease| lease["spec"]["holderIdentity"].as_str()).unwrap_or_default()
    }

    fn carry_out(&mut self, method: &Method, body: &[u8]) -> Response<Body> {
        let mut given: Value = serde_json::from_slice(body).unwrap_or_default();
        let status = match (method, &self.lease) {
            (&Method::GET, Some(lease)) => return answer(StatusCode::OK, lease),
            (&Method::GET, None) => StatusCode::NOT_FOUND,
            (&Method::POST, Some(_)) => StatusCode::CONFLICT,
            (&Method::PUT, None) => StatusCode::NOT_FOUND,
            (&Method::PUT, Some(lease))
                if given["metadata"]["resourceVersion"] != lease["metadata"]["resourceVersion"] =>
            {
                StatusCode::CONFLICT
            }
            (&Method::POST | &Method::PUT, _) => {
                self.version += 1;
                given["metadata"]["resourceVersion"] = json!(self.version.to_string());
                self.lease = Some(given.clone());
                return answer(StatusCode::OK, &given);
            }
            _ => StatusCode::METHOD_NOT_ALLOWED,
        };
        refusal(status)
    }
}

fn answer(status: StatusCode, body: &Value) -> Response<Body> {
    let mut answer = Response::new(Body::from(body.to_string().into_bytes()));
    *answer.status_mut() = status;
    answer
}

fn refusal(status: StatusCode) -> Response<Body> {
    let reason = match status {
        StatusCode::NOT_FOUND => "NotFound",
        StatusCode::CONFLICT => "Conflict",
        _ => "ServiceUnavailable",
    };
    let (kind, code) = ("Status", status.as_u16());
    let body =
        json!({"kind": kind, "apiVersion": "v1", "status": "Failure", "message": "no", "reason": reason, "code": code});
    answer(status, &body)
}

fn client(server: &Arc<Mutex<Server>>) -> Client {
    let server = Arc::clone(server);
    let service = tower::service_fn(move |request: Request<Body>| {
        let server = Arc::clone(&server);
        async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
            let fate = server.lock().expect("one thread").fate();
            let carried_out = Arc::clone(&server);
            let carry_out = move || carried_out.lock().expect("one thread").carry_out(&head.method, &body);
            let answer = match fate {
                Fate::Prompt => carry_out(),
                Fate::Lost => std::future::pending().await,
                Fate::AnswerLost => {
                    carry_out();
                    std::future::pending().await
                }
                Fate::Late => {
                    // The request is on its way, whether its sender waits or not.
                    tokio::spawn(async move {
                        sleep(Duration::from_secs(11)).await;
                        carry_out();
                    });
                    std::future::pending().await
                }
                Fate::AnswerLate => {
                    let answer = carry_out();
                    sleep(Duration::from_millis(3900)).await;
                    answer
                }
                Fate::Refused => refusal(StatusCode::SERVICE_UNAVAILABLE),
            };
            Ok::<_, Infallible>(answer)
        }
    });
    Client::new(service, "hosts")
}

/// Runs two replicas. `fates` are those of the requests; all later ones are answered. `stops` says after how many seconds replicas stop,
/// die and come again.
fn run(fates: &[u8], stops: &[u8]) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().expect("a runtime");
    runtime.block_on(async {
        let server = Arc::new(Mutex::new(Server { fates: fates.to_vec(), ..Server::default() }));
        let begin = Instant::now();
        let started = Rc::new(RefCell::new(0));
        let (_able, can_make_images) = tokio::sync::watch::channel(true);
        let elect = || {
            *started.borrow_mut() += 1;
            let identity = format!("replica-{}", started.borrow());
            let replica = Leadership::elect(client(&server), "hosts", "dayone", &identity, can_make_images.clone());
            (replica, identity)
        };
        let mut replicas = [elect(), elect()];
        let is_stopped = !stops.is_empty();
        let is_answered = fates.iter().all(|byte| matches!(fate(*byte), Fate::Prompt | Fate::AnswerLate));
        let mut led = [false; 2];
        let mut stops = stops.iter();
        let mut next_stop = begin + Duration::from_secs(5);
        let mut has_led = false;
        while begin.elapsed() < LENGTH {
            let mut leads = [replicas[0].0.watch(), replicas[1].0.watch()];
            let one = *leads[0].borrow_and_update();
            let two = *leads[1].borrow_and_update();
            assert!(!(one && two), "both lead after {:?}: {fates:?}", begin.elapsed());
            let has_lost = (led[0] && !one) || (led[1] && !two);
            assert!(!(is_answered && has_lost), "a leader gives up after {:?}: {fates:?}", begin.elapsed());
            led = [one, two];
            has_led |= one || two;
            let [first, second] = &mut leads;
            tokio::select! {
                _ = first.changed() => continue,
                _ = second.changed() => continue,
                () = tokio::time::sleep_until(next_stop) => {}
            }
            next_stop += Duration::from_secs(5);
            let Some(stop) = stops.next() else { continue };
            let which = usize::from(stop >> 7);
            match stop & 3 {
                1 => {
                    let (replica, identity) = &mut replicas[which];
                    let leads = *replica.watch().borrow();
                    replica.stop().await;
                    let is_held = server.lock().expect("one thread").holder() == identity.as_str();
                    assert!(!(is_answered && leads && is_held), "{identity} does not release the Lease: {fates:?}");
                    replicas[which] = elect();
                    led[which] = false;
                }
                // It dies, and another one begins.
                2 => {
                    replicas[which] = elect();
                    led[which] = false;
                }
                _ => {}
            }
        }
        // Few faults keep replicas from electing a leader for a minute.
        let faults = fates.iter().filter(|fate| **fate != 0).count();
        assert!(has_led || faults > 3 || is_stopped, "nobody has led: {fates:?}");
    });
}

fuzz_target!(|data: &[u8]| {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let orders = FATES.len().pow(DEPTH);
    let next = NEXT.fetch_add(AT_ONCE, Ordering::Relaxed);
    for number in (next..next.saturating_add(AT_ONCE)).take_while(|number| *number < orders) {
        let fates: Vec<u8> = (0..DEPTH).map(|place| (number / FATES.len().pow(place) % FATES.len()) as u8).collect();
        run(&fates, &[]);
    }
    let (fates, stops) = data.split_at(data.len().min(40));
    run(fates, &stops[..stops.len().min(30)]);
});
