//! Logins whose connection or caller goes away.

use std::time::Duration;

use redfish::{Client, ClientOptions, Credentials, Target, Verification};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

const SESSIONS: &str = "/redfish/v1/SessionService/Sessions";
const GRANTED: &[u8] = b"HTTP/1.1 201 Created\r\nX-Auth-Token: t\r\nLocation: /s/1\r\nContent-Length: 2\r\n\r\n{}";

/// A listener, and the target with its address.
async fn listen() -> (TcpListener, Target) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    let credentials = Some(Credentials::new("root".to_owned(), "hunter2".to_owned().into()).unwrap());
    (listener, Target { address, credentials, verification: Verification::System })
}

async fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut text = Vec::new();
    while !text.ends_with(end.as_bytes()) {
        text.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(text).unwrap()
}

/// Reads the request for the service root, and answers it.
async fn answer_root(stream: &mut TcpStream, headers: &str) {
    read_until(stream, "\r\n\r\n").await;
    let root = json!({"Links": {"Sessions": {"@odata.id": SESSIONS}}}).to_string();
    let answer = format!("HTTP/1.1 200 OK\r\n{headers}Content-Length: {}\r\n\r\n{root}", root.len());
    stream.write_all(answer.as_bytes()).await.unwrap();
}

/// Answers for the service root, and reads the login.
async fn asked_for_session(listener: &TcpListener) -> TcpStream {
    let (mut stream, _) = listener.accept().await.unwrap();
    answer_root(&mut stream, "").await;
    read_until(&mut stream, "\"}").await;
    stream
}

async fn until_ended(stream: &mut TcpStream, options: &ClientOptions) {
    let ended = read_until(stream, "\r\n\r\n").await;
    assert!(ended.starts_with("DELETE /s/1 ") && ended.contains("x-auth-token: t\r\n"), "{ended}");
    stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.unwrap();
    options.unfinished.finished().await;
}

#[tokio::test]
async fn a_session_that_begins_after_its_client_was_dropped_is_ended() {
    let (listener, target) = listen().await;
    let options = ClientOptions::default();
    // Drops the client while it waits for its session.
    let mut stream = tokio::select! {
        _ = Client::connect(&target, &options) => panic!("there is no session yet"),
        stream = asked_for_session(&listener) => stream,
    };
    stream.write_all(GRANTED).await.unwrap();
    until_ended(&mut stream, &options).await;
}

#[tokio::test]
async fn a_session_that_its_client_does_not_take_is_ended() {
    let (listener, target) = listen().await;
    let options = ClientOptions::default();
    let mut connecting = Box::pin(Client::connect(&target, &options));
    let mut stream = tokio::select! {
        _ = &mut connecting => panic!("there is no session yet"),
        stream = asked_for_session(&listener) => stream,
    };
    stream.write_all(GRANTED).await.unwrap();
    // The session waits for the client, which is not polled again.
    options.unfinished.finished().await;
    drop(connecting);
    until_ended(&mut stream, &options).await;
}

#[tokio::test]
async fn a_busy_bmc_gets_no_second_login_of_a_dropped_client() {
    let (listener, target) = listen().await;
    let options = ClientOptions::default();
    let mut stream = tokio::select! {
        _ = Client::connect(&target, &options) => panic!("there is no session yet"),
        stream = asked_for_session(&listener) => stream,
    };
    stream.write_all(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n").await.unwrap();
    stream.read_u8().await.expect_err("the password was sent once more");
    options.unfinished.finished().await;
}

#[tokio::test]
async fn a_login_is_tried_again_if_the_bmc_refuses_the_connection() {
    let (listener, target) = listen().await;
    let bmc = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let address = listener.local_addr().unwrap();
        // From here on, the kernel refuses connections.
        drop(listener);
        // Bound without listening, the port goes to no other test.
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_reuseaddr(true).unwrap();
        socket.bind(address).unwrap();
        answer_root(&mut stream, "Connection: close\r\n").await;
        drop(stream);
        // Between these waits, the client has its turn on the same thread, so it has been refused before the last one.
        for _ in 0..5 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let (mut stream, _) = socket.listen(1).unwrap().accept().await.unwrap();
        read_until(&mut stream, "\"}").await;
        let answer = "HTTP/1.1 201 Created\r\nX-Auth-Token: t\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}";
        stream.write_all(answer.as_bytes()).await.unwrap();
    };
    let options = ClientOptions::default();
    let (client, ()) = tokio::join!(Client::connect(&target, &options), bmc);
    let tried: Vec<_> = client.unwrap().requests().iter().map(|request| request.status).collect();
    assert_eq!(tried, [Some(200), None, Some(201)]);
}
