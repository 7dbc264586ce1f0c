//! More than one replica, and restarts.

use std::time::{Duration, Instant};

use acceptance::kubernetes::ApiServer;
use serde_json::json;

use super::fixture::{Namespace, RIGHTS, Running, condition, wait_for};
use super::spec;

fn lease(namespace: &Namespace<'_>) -> String {
    format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases/dayone", namespace.name)
}

#[test]
fn all_replicas_have_every_image_one_writes_and_another_follows_it_at_once() {
    let namespace = Namespace::new(ApiServer::shared());
    let (one, two) = (namespace.account("one", RIGHTS), namespace.account("two", RIGHTS));
    let mut first = Running::start(&namespace, &one, Some("one"));
    wait_for("the first leads", Duration::from_secs(10), || first.leads());
    let second = Running::start(&namespace, &two, Some("two"));
    namespace.create_secret("net", "nmstate", "a", &json!({}));
    namespace.create_image("worker-0", &json!({}), &spec("net"));
    namespace.accepted("worker-0");
    wait_for("both have it", Duration::from_secs(5), || {
        second.is_ready() && first.images.urls() == second.images.urls() && first.images.urls().len() == 1
    });
    assert!(!second.leads());
    let writes = |user: &str| {
        let of_objects = |one: &&String| !one.contains("leases") && !one.starts_with("get");
        namespace.asked(user).iter().filter(of_objects).count()
    };
    assert_eq!(writes(&two), 0);

    first.stop();
    let taken = wait_for("the second leads", Duration::from_secs(5), || second.leads());
    println!("the other replica leads {taken:?} after the first was stopped");
    assert_eq!(namespace.admin().get(&lease(&namespace))["spec"]["holderIdentity"], "two");
    namespace.create_image("worker-1", &json!({}), &spec("net"));
    namespace.accepted("worker-1");
    assert!(writes(&two) > 0);
}

#[test]
fn a_lease_whose_holder_died_is_taken_when_it_has_run_out_whatever_the_clocks_say() {
    let namespace = Namespace::new(ApiServer::shared());
    let user = namespace.account("dayone", RIGHTS);
    // Renewed by a clock that is an hour ahead; and one by a clock that is behind is not taken at once.
    let leases = lease(&namespace).rsplit_once('/').unwrap().0.to_owned();
    let spec = json!({"holderIdentity": "dead", "leaseDurationSeconds": 3, "renewTime": "2099-01-01T00:00:00.000000Z"});
    namespace.admin().create(&leases, &json!({"metadata": {"name": "dayone"}, "spec": spec}));
    let begun = Instant::now();
    let running = Running::start(&namespace, &user, Some("alive"));
    wait_for("leads", Duration::from_secs(22), || running.leads());
    let taken = begun.elapsed();
    assert!(taken >= Duration::from_secs(3), "{taken:?}");
    let lease = namespace.admin().get(&lease(&namespace));
    assert_eq!((&lease["spec"]["holderIdentity"], &lease["spec"]["leaseTransitions"]), (&json!("alive"), &json!(1)));
}

#[test]
fn who_has_lost_the_lease_stops_writing() {
    let namespace = Namespace::new(ApiServer::shared());
    let user = namespace.account("dayone", RIGHTS);
    let running = Running::start(&namespace, &user, Some("alive"));
    wait_for("leads", Duration::from_secs(10), || running.leads());
    namespace.admin().patch(&lease(&namespace), &json!({"spec": {"holderIdentity": "thief"}}));
    wait_for("does not lead", Duration::from_secs(8), || !running.leads());
    namespace.create_image("worker-0", &json!({}), &spec(""));
    wait_for("has the image", Duration::from_secs(5), || running.images.urls().len() == 1);
    std::thread::sleep(Duration::from_secs(1));
    assert!(condition(&namespace.admin().get(&namespace.image("worker-0")), "Ready").is_null());
}

#[test]
fn a_restart_writes_nothing_and_keeps_the_url() {
    let namespace = Namespace::new(ApiServer::shared());
    let (one, two) = (namespace.account("one", RIGHTS), namespace.account("two", RIGHTS));
    namespace.create_secret("net", "nmstate", "a", &json!({}));
    namespace.create_image("worker-0", &json!({}), &spec("net"));
    let mut running = Running::start(&namespace, &one, None);
    let before = namespace.accepted("worker-0");
    running.stop();
    let running = Running::start(&namespace, &two, None);
    wait_for("ready", Duration::from_secs(10), || running.is_ready());
    assert_eq!(running.images.urls().len(), 1, "who is ready has looked at everything");
    std::thread::sleep(Duration::from_secs(1));
    let after = namespace.admin().get(&namespace.image("worker-0"));
    assert_eq!(before["metadata"]["resourceVersion"], after["metadata"]["resourceVersion"]);
    assert_eq!(namespace.asked(&two), Vec::<String>::new());
}
