//! `openapi/openapi.json` is what the code says.

use std::path::Path;

use super::support::{Answer, Dayone};

#[test]
fn the_description_in_the_repository_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../openapi/openapi.json");
    let document = dayone::api::document();
    if std::env::var_os("UPDATE_OPENAPI").is_some() {
        std::fs::write(&path, &document).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == document,
        "openapi/openapi.json is out of date: run UPDATE_OPENAPI=1 cargo test -p dayone openapi"
    );
}

/// A misspelt parameter must not be ignored, least of all one of a DELETE.
#[tokio::test]
async fn every_route_refuses_parameters_that_it_does_not_know() {
    let dayone = Dayone::start().await;
    let document: serde_json::Value = serde_json::from_str(&dayone::api::document()).unwrap();
    let mut tried = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        // Programs that watch the server request these as they like.
        if ["/healthz", "/readyz", "/metrics"].contains(&path.as_str()) {
            continue;
        }
        let url = dayone.url(&format!("{}?dry_run=true", path.replace(['{', '}'], "")));
        for method in ["get", "delete"].into_iter().filter(|method| operations.get(method).is_some()) {
            let request = dayone.client.request(method.to_uppercase().parse().unwrap(), &url);
            let answer = Answer::of(request).await;
            assert_eq!(answer.status, 400, "{method} {path}");
            answer.problem("wrong-parameter");
            let documented = &operations[method]["responses"]["400"];
            assert!(documented.is_object(), "{method} {path} has no 400 in its description");
            tried += 1;
        }
    }
    assert!(tried > 15, "{tried}");
}

#[test]
fn every_reference_leads_somewhere() {
    let document: serde_json::Value = serde_json::from_str(&dayone::api::document()).unwrap();
    let mut references = Vec::new();
    collect(&document, &mut references);
    assert!(references.len() > 20, "{references:?}");
    for reference in references {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
}

/// Otherwise, a client takes an answer to a change that is made for a refusal.
#[test]
fn every_change_may_fail_with_the_audit_log() {
    let document: serde_json::Value = serde_json::from_str(&dayone::api::document()).unwrap();
    let mut changes = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        let changes_nothing = ["/v1/check", "/v1/keyfiles"].contains(&path.as_str());
        for (method, operation) in operations.as_object().unwrap() {
            let described = operation["responses"]["503"]["description"].as_str().unwrap_or_default();
            let is_change = method != "get" && !changes_nothing;
            assert_eq!(described.contains("`audit-unavailable`"), is_change, "{method} {path}: {described}");
            changes += usize::from(is_change);
        }
    }
    assert!(changes >= 7, "{changes}");
}

/// Clients that are generated from the description know only the headers in it.
#[test]
fn headers_that_a_client_has_to_act_on_are_described() {
    let document: serde_json::Value = serde_json::from_str(&dayone::api::document()).unwrap();
    let mut problems = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            for status in ["429", "503"] {
                let answer = &operation["responses"][status];
                if answer["content"]["application/problem+json"].is_object() {
                    let schema = &answer["headers"]["Retry-After"]["schema"];
                    assert_eq!(schema["type"], "integer", "{method} {path}: {status}");
                    problems += 1;
                }
            }
        }
    }
    assert!(problems > 30, "{problems}");
    let later = &document["paths"]["/v1/images/{id}/sha256"]["get"]["responses"]["202"];
    assert!(later["headers"]["Retry-After"].is_object(), "{later}");
    let picture = &document["paths"]["/v1/images/{id}/topology.svg"]["get"];
    let parameters = picture["parameters"].as_array().unwrap();
    assert!(parameters.iter().any(|parameter| parameter["name"] == "If-None-Match"), "{parameters:?}");
    for status in ["200", "304"] {
        assert!(picture["responses"][status]["headers"]["ETag"].is_object(), "{status}");
    }
}

/// Clients that are generated from the description take int32 for numbers up to 2147483647.
#[test]
fn unsigned_numbers_of_32_bits_are_described_with_their_maximum() {
    let document: serde_json::Value = serde_json::from_str(&dayone::api::document()).unwrap();
    let schemas = &document["components"]["schemas"];
    let members = [
        ("ImageRequest", "max_reads"),
        ("BootRequest", "max_reads"),
        ("ImageAccess", "max_reads"),
        ("ExtraFile", "user"),
        ("ExtraFile", "group"),
    ]
    .map(|(schema, member)| &schemas[schema]["properties"][member]);
    let parameters = ["/v1/images", "/v1/boots"].map(|path| {
        let mut parameters = document["paths"][path]["post"]["parameters"].as_array().unwrap().iter();
        &parameters.find(|parameter| parameter["name"] == "max_reads").unwrap()["schema"]
    });
    for schema in members.into_iter().chain(parameters) {
        assert_eq!(schema["format"], "int64", "{schema}");
        assert_eq!(schema["maximum"], 4_294_967_295_u64, "{schema}");
    }
}

fn collect<'a>(value: &'a serde_json::Value, references: &mut Vec<&'a str>) {
    match value {
        serde_json::Value::Object(members) => {
            references.extend(members.get("$ref").and_then(|reference| reference.as_str()));
            members.values().for_each(|member| collect(member, references));
        }
        serde_json::Value::Array(elements) => elements.iter().for_each(|element| collect(element, references)),
        _ => {}
    }
}

#[test]
fn operations_have_ids_of_their_own() {
    let document: serde_json::Value = serde_json::from_str(&dayone::api::document()).unwrap();
    let mut ids = std::collections::BTreeSet::new();
    for operations in document["paths"].as_object().unwrap().values() {
        for operation in operations.as_object().unwrap().values() {
            assert!(ids.insert(operation["operationId"].as_str().unwrap()), "{operation}");
        }
    }
}

/// Who adds a route has to decide who may use it.
#[test]
fn every_operation_says_which_role_it_needs() {
    let document: serde_json::Value = serde_json::from_str(&dayone::api::document()).unwrap();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let security = operation["security"].as_array().map(Vec::as_slice).unwrap_or_default();
            let roles = ["read", "build", "boot"].map(|role| serde_json::json!({"token": [role]}));
            let is_open = security == [serde_json::json!({})] && path.ends_with('z');
            assert!(
                is_open || roles.iter().any(|role| security == [role.clone()]),
                "{method} {path} needs security((\"token\" = [\"ROLE\"])) in its #[utoipa::path], with the role read, build or boot"
            );
        }
    }
}

/// The pages say of every parameter of a query what it is for.
#[test]
fn every_parameter_of_a_query_is_on_a_page() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let mut pages = String::new();
    for directory in [docs.clone(), docs.join("how-to")] {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "md") {
                pages += &std::fs::read_to_string(path).unwrap();
            }
        }
    }
    let document: serde_json::Value = serde_json::from_str(&dayone::api::document()).unwrap();
    let mut known = std::collections::BTreeSet::new();
    for operation in document["paths"].as_object().unwrap().values().flat_map(|path| path.as_object().unwrap().values())
    {
        let parameters = operation["parameters"].as_array().map(Vec::as_slice).unwrap_or_default();
        known.extend(parameters.iter().filter(|one| one["in"] == "query").map(|one| one["name"].as_str().unwrap()));
    }
    assert!(known.len() > 30, "{known:?}");
    for name in known {
        let is_named = [format!("`{name}"), format!("{name}=")].iter().any(|text| pages.contains(text));
        assert!(is_named, "no page says what {name} is for");
    }
}
