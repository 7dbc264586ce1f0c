use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::StreamExt as _;

use super::*;

/// A server of numbers, which counts how often it was asked.
#[derive(Default)]
struct Numbers {
    value: AtomicUsize,
    rendered: AtomicUsize,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Name(&'static str);

impl Subject for Name {
    type Server = Numbers;
    type Cache = ();
    const EVENT: &'static str = "number";

    fn render(server: &Numbers, (): &mut (), subjects: &[Self]) -> Vec<Option<Content>> {
        server.rendered.fetch_add(subjects.len(), Ordering::SeqCst);
        let value = server.value.load(Ordering::SeqCst);
        let content = |Self(name): &Self| {
            let piece = ("value".into(), value.to_string().into());
            (*name != "nothing").then(|| Content { elements: vec![piece], rows: None })
        };
        subjects.iter().map(content).collect()
    }

    fn encode(changes: &Changes<'_>) -> String {
        changes.elements.iter().map(|(_, text)| *text).collect()
    }
}

struct Fixture {
    publisher: Publisher<Name>,
    server: Arc<Numbers>,
    stopping: CancellationToken,
}

impl Fixture {
    fn new() -> Self {
        Self { publisher: Publisher::new(), server: Arc::default(), stopping: CancellationToken::new() }
    }

    fn follow(&self, name: &'static str) -> Option<axum::body::BodyDataStream> {
        let answer = self.publisher.follow(Name(name), &self.server, &self.stopping, || true)?;
        Some(answer.into_body().into_data_stream())
    }

    fn is_running(&self) -> bool {
        self.publisher.0.feeds.lock().is_running
    }
}

async fn event(stream: &mut axum::body::BodyDataStream) -> Option<String> {
    let bytes = stream.next().await?.unwrap();
    Some(String::from_utf8(bytes.to_vec()).unwrap())
}

#[tokio::test]
async fn a_subject_is_rendered_once_for_all_who_follow_it() {
    let fixture = Fixture::new();
    let mut streams: Vec<_> = (0..50).map(|_| fixture.follow("a").unwrap()).collect();
    for stream in &mut streams {
        assert_eq!(event(stream).await.unwrap(), "event: number\ndata: 0\n\n");
    }
    let before = fixture.server.rendered.load(Ordering::SeqCst);
    fixture.server.value.store(1, Ordering::SeqCst);
    for stream in &mut streams {
        assert_eq!(event(stream).await.unwrap(), "event: number\ndata: 1\n\n");
    }
    let rendered = fixture.server.rendered.load(Ordering::SeqCst) - before;
    assert!((1..=2).contains(&rendered), "{rendered}");
}

#[tokio::test]
async fn streams_end_with_their_subject_with_their_admission_and_with_the_server() {
    let fixture = Fixture::new();
    let mut missing = fixture.follow("nothing").unwrap();
    assert_eq!(event(&mut missing).await, None);
    let refused = fixture.publisher.follow(Name("a"), &fixture.server, &fixture.stopping, || false).unwrap();
    assert_eq!(event(&mut refused.into_body().into_data_stream()).await, None);
    let mut stream = fixture.follow("a").unwrap();
    event(&mut stream).await.unwrap();
    fixture.stopping.cancel();
    assert_eq!(event(&mut stream).await, None);
}

#[tokio::test]
async fn places_are_limited_and_the_task_ends_when_nobody_follows() {
    let fixture = Fixture::new();
    let streams: Vec<_> = (0..MAX_FOLLOWERS).map(|_| fixture.follow("a").unwrap()).collect();
    assert!(fixture.follow("a").is_none());
    drop(streams);
    while fixture.is_running() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(event(&mut fixture.follow("b").unwrap()).await.unwrap(), "event: number\ndata: 0\n\n");
}

#[tokio::test]
async fn a_client_gets_nothing_that_was_rendered_before_it_came() {
    let fixture = Fixture::new();
    let mut first = fixture.follow("a").unwrap();
    event(&mut first).await.unwrap();
    for value in 1..20 {
        fixture.server.value.store(value, Ordering::SeqCst);
        let mut stream = fixture.follow("a").unwrap();
        assert_eq!(event(&mut stream).await.unwrap(), format!("event: number\ndata: {value}\n\n"));
    }
}
