//! The picture of the network that an image's host will have.

use super::support::{Answer, Dayone, NMSTATE, assert_validated};

#[tokio::test]
async fn the_topology_of_an_image_is_drawn() {
    let dayone = Dayone::start().await;
    let image = Answer::of(dayone.post("/v1/images?base=coreos&hostname=worker-0", NMSTATE)).await.ok();
    let path = format!("/v1/images/{}/topology.svg", image["id"].as_str().unwrap());
    let picture = Answer::of(dayone.get(&path)).await;
    assert_eq!((picture.status.as_u16(), picture.header("content-type")), (200, "image/svg+xml"));
    assert!(picture.header("content-security-policy").starts_with("default-src 'none';"));
    assert_eq!(picture.header("x-content-type-options"), "nosniff");
    assert_eq!(picture.header("cache-control"), "private, no-cache");
    let svg = String::from_utf8(picture.body.clone()).unwrap();
    for text in ["<title id=\"title\">worker-0</title>", ">eth0<", ">192.0.2.20/24<", ">192.0.2.0/24<"] {
        assert!(svg.contains(text), "{text}\n{svg}");
    }
    assert!(!svg.contains("BMC"), "nobody has said what its BMC is");
    let etag = picture.header("etag").to_owned();
    assert_validated(&dayone, &path, &etag).await;
    let other = Answer::of(dayone.get(&path).header("if-none-match", "\"another\"")).await;
    assert_eq!((other.status.as_u16(), other.body), (200, picture.body));
}

#[tokio::test]
async fn an_image_without_keyfiles_has_no_topology_and_says_why() {
    let dayone = Dayone::start().await;
    let found_by_mac = "  state: up\n  identifier: mac-address\n  mac-address: 52:54:00:00:00:01\n";
    let nmstate = NMSTATE.replace("  state: up\n", found_by_mac);
    let data = Answer::of(dayone.post("/v1/images?format=data&data=config-2", nmstate)).await.ok();
    let path = format!("/v1/images/{}/topology.svg", data["id"].as_str().unwrap());
    let answer = Answer::of(dayone.get(&path)).await;
    assert_eq!(answer.status, 404);
    let problem = answer.problem("not-found");
    assert!(problem["detail"].as_str().unwrap().contains("data image"), "{problem}");
    let unknown = Answer::of(dayone.get(&format!("/v1/images/{}/topology.svg", "0".repeat(64)))).await;
    assert_eq!(unknown.status, 404);
    unknown.problem("not-found");
}
