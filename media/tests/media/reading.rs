//! What is noted of what was read.

use std::time::Duration;

use super::server::{ISO, SIZE, start};

#[tokio::test]
async fn sent_ranges_are_recorded_with_their_clients() {
    let server = start().await;
    assert!(!server.reading().is_asked_for());
    let mut client = server.connect().await;
    client.ask("HEAD", ISO, &["User-Agent: bmc/1"]).await;
    let asked = server.reading();
    assert_eq!((asked.is_asked_for(), asked.sent, asked.first_read, asked.idle), (true, 0, None, None));

    // Over patches of every kind, and over the base.
    for range in ["99990-400009", "400010-500000", "1199990-1200009,0-9", "0-9"] {
        client.ask("GET", ISO, &["User-Agent: bmc/2", &format!("Range: bytes={range}")]).await;
    }
    client.ask("GET", ISO, &["If-None-Match: *"]).await;
    let read = server.reading();
    assert_eq!(read.ranges, [0..10, 99_990..500_001, 1_199_990..1_200_010]);
    assert_eq!(read.read, 10 + 400_011 + 20);
    assert_eq!(read.sent, 10 + 400_011 + 20 + 10, "what is read again counts again");
    assert_eq!((read.active, read.more_clients, read.approximate), (0, 0, false));
    assert!(read.rate > 0 && read.idle.unwrap() < Duration::from_secs(5));
    assert!(read.first_read.unwrap() <= read.last_read.unwrap());
    let [bmc] = read.clients.as_slice() else { panic!("{:?}", read.clients) };
    assert_eq!((bmc.gets, bmc.heads, bmc.range_requests, bmc.sent), (5, 1, 4, read.sent));
    assert_eq!((bmc.user_agent.as_deref(), bmc.tls), (None, None), "the last request had none");
}

#[tokio::test]
async fn a_transfer_is_recorded_while_it_runs() {
    let server = start().await;
    let mut client = server.connect().await;
    client.send(&format!("GET {ISO} HTTP/1.1\r\nHost: bmc\r\n\r\n")).await;
    client.head().await.unwrap();
    client.body(SIZE / 2).await.unwrap();
    let read = server.reading();
    assert_eq!(read.active, 1);
    assert_eq!(read.ranges.len(), 1);
    // What was received, and what may be on its way.
    assert!((SIZE / 2..SIZE / 2 + (10 << 20)).contains(&usize::try_from(read.sent).unwrap()), "{}", read.sent);
    drop(client);
    server.metric_becomes("media_active_transfers", "0").await;
    let ended = server.reading();
    assert_eq!(ended.active, 0);
    assert!(ended.sent < SIZE as u64, "it was broken off");

    server.reading.restart();
    assert!(!server.reading().is_asked_for());
}
