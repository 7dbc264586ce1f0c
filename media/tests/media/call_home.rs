//! Hosts that call home.

use super::server::start;

const HOME: &str = "/h/abcdefghijklmnopqrstuvwxyz";

#[tokio::test]
async fn a_host_is_answered_when_its_call_is_recorded() {
    let server = start().await;
    let mut client = server.connect().await;
    assert_eq!(client.ask("GET", HOME, &[]).await.status, 404);

    let token = HOME.trim_start_matches("/h/");
    let mut waiting = server.call_homes.expect(token.parse().unwrap()).unwrap();
    assert_eq!(client.ask("POST", HOME, &["Content-Length: 0"]).await.status, 405);
    for other in ["/h/abcdefghijklmnopqrstuvwxya", "/h/abcdefghijklmnopqrstuvwxyz/", "/h/"] {
        assert_eq!(client.ask("GET", other, &[]).await.status, 404, "{other}");
    }
    assert_eq!(waiting.call(), None);

    let recorded = async {
        waiting.arrives().await;
        let call = waiting.call().unwrap();
        waiting.recorded();
        call
    };
    let (answer, call) = tokio::join!(client.ask("GET", HOME, &["User-Agent: host/1"]), recorded);
    assert_eq!((answer.status, answer.header("cache-control")), (204, "no-store"));
    assert_eq!((call.user_agent.as_deref(), call.tls), (Some("host/1"), None));
    assert_eq!(call.peer.map(|peer| peer.ip()), Some([127, 0, 0, 1].into()));
    assert_eq!(client.ask("HEAD", HOME, &[]).await.status, 204, "it is recorded");
}

#[tokio::test]
async fn a_host_whose_call_is_not_recorded_is_asked_to_call_again() {
    let server = start().await;
    let mut client = server.connect().await;
    let mut waiting = server.call_homes.expect(HOME.trim_start_matches("/h/").parse().unwrap()).unwrap();
    let stops = async {
        waiting.arrives().await;
        drop(waiting);
    };
    let (answer, ()) = tokio::join!(client.ask("GET", HOME, &[]), stops);
    let headers = (answer.header("retry-after"), answer.header("cache-control"));
    assert_eq!((answer.status, headers), (503, ("5", "no-store")));
    assert_eq!(client.ask("GET", HOME, &[]).await.status, 404, "nobody waits any longer");
}
