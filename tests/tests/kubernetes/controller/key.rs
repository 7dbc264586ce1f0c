//! The installation's key as a Secret.

use acceptance::kubernetes::ApiServer;
use base64::prelude::*;
use dayone::kubernetes::installation_key;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::fixture::{Namespace, RIGHTS, client};

fn read(namespace: &Namespace<'_>, user: &str) -> Result<Vec<u8>, String> {
    let kubeconfig = namespace.server.kubeconfig(user);
    Runtime::new().unwrap().block_on(async {
        let client = client(&kubeconfig).await;
        let key = installation_key(&client, &namespace.name, "dayone-key").await;
        key.map(|key| key.key().as_bytes().to_vec()).map_err(|error| error.to_string())
    })
}

#[test]
fn of_many_replicas_that_start_at_once_one_makes_the_key_and_all_have_it() {
    let namespace = Namespace::new(ApiServer::shared());
    let user = namespace.account("dayone", RIGHTS);
    let kubeconfig = namespace.server.kubeconfig(&user);
    let name = namespace.name.clone();
    let keys: Vec<Vec<u8>> = Runtime::new().unwrap().block_on(async {
        let client = client(&kubeconfig).await;
        let mut replicas = JoinSet::new();
        for _ in 0..8 {
            let (client, name) = (client.clone(), name.clone());
            replicas.spawn(async move {
                installation_key(&client, &name, "dayone-key").await.unwrap().key().as_bytes().to_vec()
            });
        }
        replicas.join_all().await
    });
    assert!(keys.iter().all(|key| *key == keys[0]));
    let secret = namespace.admin().get(&namespace.secret("dayone-key"));
    assert_eq!((&secret["immutable"], &secret["type"]), (&Value::Null, &json!("Opaque")));
    assert_eq!(secret["data"]["key"], BASE64_STANDARD.encode(&keys[0]));
    assert_eq!(read(&namespace, &user).unwrap(), keys[0]);
    let created = namespace.asked(&user).iter().filter(|one| *one == "create secrets").count();
    assert_eq!(created, 1);
}

#[test]
fn a_key_that_is_none_and_a_right_that_is_missing_are_told() {
    let namespace = Namespace::new(ApiServer::shared());
    let user = namespace.account("dayone", RIGHTS);
    namespace.create_secret("dayone-key", "key", "short", &json!({}));
    let error = read(&namespace, &user).unwrap_err();
    let place = format!("the Secret {}/dayone-key has 5 bytes under \"key\"", namespace.name);
    assert!(error.contains(&place) && error.contains("delete it and start dayone again"), "{error}");
    namespace.admin().delete(&namespace.secret("dayone-key"));
    namespace.create_secret("dayone-key", "other", "x", &json!({}));
    let error = read(&namespace, &user).unwrap_err();
    assert!(error.contains("has nothing under"), "{error}");

    let stranger = namespace.account("stranger", &[]);
    let error = read(&namespace, &stranger).unwrap_err();
    let rule = "cannot get resource \"secrets\" in API group \"\" in the namespace";
    assert!(error.contains(rule) && error.contains("a Role or ClusterRole with this rule is missing"), "{error}");
    namespace.admin().delete(&namespace.secret("dayone-key"));
    let reader = namespace.account("reader", &[("", "secrets", "get")]);
    let error = read(&namespace, &reader).unwrap_err();
    assert!(error.contains("cannot create resource \"secrets\""), "{error}");
}
