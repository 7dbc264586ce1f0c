//! Which role each operation needs. Its OpenAPI description says so, and nothing else: an operation that does not say so needs the
//! greatest role, and a test does not let it pass.

use std::collections::BTreeMap;

use http::Method;
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::{OpenApi, PathItem, path::Operation};

use super::clients::Role;

/// The name of the security scheme of bearer tokens. Its requirements name the role.
pub(super) const SCHEME: &str = "token";

/// What an operation needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Needed {
    /// Nothing: anybody may request it.
    Nothing,
    /// A client with this role or a greater one.
    Role(Role),
    /// Its description does not say.
    Untold,
}

impl Needed {
    /// Reads what an operation needs from its description.
    pub(super) fn of(operation: &Operation) -> Self {
        let [requirement] = operation.security.as_deref().unwrap_or_default() else { return Self::Untold };
        if *requirement == SecurityRequirement::default() {
            return Self::Nothing;
        }
        let is_that = |role: &Role| *requirement == SecurityRequirement::new(SCHEME, [role.word()]);
        Role::ALL.into_iter().find(is_that).map_or(Self::Untold, Self::Role)
    }
}

/// The operations of a path with their methods, for all methods that the API has.
pub(super) fn operations(item: &mut PathItem) -> impl Iterator<Item = (Method, &mut Operation)> {
    let PathItem { get, post, delete, .. } = item;
    let all = [(Method::GET, get), (Method::POST, post), (Method::DELETE, delete)];
    all.into_iter().filter_map(|(method, operation)| Some((method, operation.as_mut()?)))
}

/// The roles that the operations of an API need, by path and method.
#[derive(Debug, Clone)]
pub(super) struct Permissions(BTreeMap<String, Vec<(Method, Role)>>);

impl Permissions {
    /// Reads the roles from the description of an API.
    pub(super) fn of(description: &OpenApi) -> Self {
        let mut permissions = BTreeMap::new();
        for (path, item) in &description.paths.paths {
            let mut item = item.clone();
            let needed = operations(&mut item).filter_map(|(method, operation)| match Needed::of(operation) {
                Needed::Role(role) => Some((method, role)),
                Needed::Nothing | Needed::Untold => None,
            });
            permissions.insert(path.clone(), needed.collect());
        }
        Self(permissions)
    }

    /// Adds a route that is not in the description.
    pub(super) fn with(mut self, method: Method, path: &str, role: Role) -> Self {
        self.0.entry(path.to_owned()).or_default().push((method, role));
        self
    }

    /// The role that a request needs. `path` is that of its route.
    pub(super) fn needed(&self, method: &Method, path: &str) -> Role {
        // axum answers HEAD by the handler of GET.
        let method = if method == Method::HEAD { &Method::GET } else { method };
        let known = self.0.get(path).and_then(|known| known.iter().find(|(known, _)| known == method));
        known.map_or(Role::Boot, |(_, role)| *role)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_told_needs_the_greatest_role() {
        let description = super::super::protected().into_openapi();
        let permissions = Permissions::of(&description).with(Method::GET, "/v1/openapi.json", Role::Read);
        for (method, path, role) in [
            (Method::GET, "/v1/images", Role::Read),
            (Method::HEAD, "/v1/images/{id}", Role::Read),
            (Method::POST, "/v1/images", Role::Build),
            (Method::DELETE, "/v1/images/{id}", Role::Build),
            (Method::POST, "/v1/boots", Role::Boot),
            (Method::GET, "/v1/openapi.json", Role::Read),
            (Method::PUT, "/v1/images", Role::Boot),
            (Method::GET, "/v1/nothing", Role::Boot),
        ] {
            assert_eq!(permissions.needed(&method, path), role, "{method} {path}");
        }
        let mut untold = Operation::new();
        assert_eq!(Needed::of(&untold), Needed::Untold);
        untold.security = Some(vec![SecurityRequirement::new(SCHEME, ["root"])]);
        assert_eq!(Needed::of(&untold), Needed::Untold);
        untold.security = Some(vec![SecurityRequirement::new("another", ["read"])]);
        assert_eq!(Needed::of(&untold), Needed::Untold);
    }
}
