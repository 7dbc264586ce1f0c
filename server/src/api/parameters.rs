//! Query parameters, read strictly: unknown parameters, wrong values and repeated single values are errors.

use std::any::TypeId;
use std::fmt::Display;
use std::str::FromStr;

use axum::extract::FromRequestParts;
use http::request::Parts;
use percent_encoding::percent_decode_str;
use url::form_urlencoded;

use super::problem::{Problem, ProblemKind};
use crate::expected_value::expected_value;

/// The query of a request, whose parameters are taken one by one. [`Parameters::finish`] refuses the ones that are left.
#[derive(Debug)]
pub(super) struct Parameters {
    given: Vec<(String, String)>,
    known: Vec<&'static str>,
}

impl Parameters {
    /// The parameters of a query, percent-encoded as it came (`+` is a space).
    pub(super) fn new(query: Option<&str>) -> Result<Self, Problem> {
        let query = query.unwrap_or_default();
        // The parser would put another character in place of bytes that are not UTF-8.
        if percent_decode_str(query).decode_utf8().is_err() {
            return Err(wrong("a percent-encoded value in the query is not UTF-8".to_owned()));
        }
        let given = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        Ok(Self { given, known: Vec::new() })
    }

    /// Whether a parameter matches. Takes none.
    pub(super) fn any(&self, matches: impl Fn(&str, &str) -> bool) -> bool {
        self.given.iter().any(|(name, value)| matches(name, value))
    }

    /// The names of the parameters that nobody has taken, in their order.
    pub(super) fn names(&self) -> Vec<&str> {
        self.given.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// Takes a parameter: an `Option` has at most one value, a `Vec` any number.
    pub(super) fn take<T: Parameter>(&mut self, name: &'static str) -> Result<T, Problem> {
        T::take(self, name)
    }

    fn all<T: FromStr<Err: Display> + 'static>(&mut self, name: &'static str) -> Result<Vec<T>, Problem> {
        self.known.push(name);
        let taken = self.given.extract_if(.., |(given, _)| given == name);
        let parse = |value: String| {
            value.parse().map_err(|error| match expected_value(|known| known == TypeId::of::<T>()) {
                Some(expected) => wrong(format!("{name}: write {expected}")),
                None => wrong(format!("{name}: {error}")),
            })
        };
        taken.map(|(_, value)| parse(value)).collect()
    }

    /// Takes all parameters of `Q`, and refuses any others.
    pub(super) fn into_query<Q: QueryParameters>(mut self) -> Result<Q, Problem> {
        let query = Q::take(&mut self)?;
        self.finish()?;
        Ok(query)
    }

    /// Refuses the parameters that nobody has taken.
    fn finish(self) -> Result<(), Problem> {
        match self.given.first() {
            None => Ok(()),
            Some((name, _)) if self.known.is_empty() => {
                Err(wrong(format!("unknown parameter {name:?}; this request has no parameters in its query")))
            }
            Some((name, _)) => {
                Err(wrong(format!("unknown parameter {name:?}; known parameters: {}", self.known.join(", "))))
            }
        }
    }
}

fn wrong(detail: String) -> Problem {
    Problem::new(ProblemKind::WrongParameter, detail)
}

/// The type of a parameter.
pub(super) trait Parameter: Sized {
    /// Takes the parameter from a query.
    fn take(query: &mut Parameters, name: &'static str) -> Result<Self, Problem>;
}

impl<T: FromStr<Err: Display> + 'static> Parameter for Option<T> {
    fn take(query: &mut Parameters, name: &'static str) -> Result<Self, Problem> {
        let mut values = query.all(name)?;
        let value = values.pop();
        if values.is_empty() { Ok(value) } else { Err(wrong(format!("{name} is given twice; it takes one value"))) }
    }
}

impl<T: FromStr<Err: Display> + 'static> Parameter for Vec<T> {
    fn take(query: &mut Parameters, name: &'static str) -> Result<Self, Problem> {
        query.all(name)
    }
}

/// The parameters that a route takes; see [`query_parameters`].
pub(super) trait QueryParameters: Sized {
    /// Takes these parameters from a query, and leaves all others.
    fn take(query: &mut Parameters) -> Result<Self, Problem>;
}

/// Defines a struct of query parameters, with its description for OpenAPI.
macro_rules! query_parameters {
    ($(#[$attribute:meta])* $vis:vis struct $name:ident { $($(#[$of_field:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$attribute])*
        #[derive(Debug, Default, utoipa::IntoParams)]
        #[into_params(parameter_in = Query)]
        $vis struct $name { $($(#[$of_field])* $vis $field: $type,)* }

        impl $crate::api::parameters::QueryParameters for $name {
            fn take(
                query: &mut $crate::api::parameters::Parameters,
            ) -> Result<Self, $crate::api::problem::Problem> {
                Ok(Self { $($field: query.take(stringify!($field))?,)* })
            }
        }
    };
}
pub(super) use query_parameters;

/// Extracts the whole query of a request.
pub(super) struct StrictQuery<Q>(pub(super) Q);

impl<Q: QueryParameters, S: Sync> FromRequestParts<S> for StrictQuery<Q> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Parameters::new(parts.uri.query())?.into_query().map(Self)
    }
}

/// For routes without parameters in the query.
pub(super) struct NoQuery;

impl<S: Sync> FromRequestParts<S> for NoQuery {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Parameters::new(parts.uri.query())?.finish().map(|()| Self)
    }
}

/// How many entries a page of a list has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit(usize);

impl Limit {
    const DEFAULT: Self = Self(100);
    const MAX_ENTRIES: usize = 1000;
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let limit = text.parse().ok().filter(|limit| (1..=Self::MAX_ENTRIES).contains(limit));
        limit.map(Self).ok_or_else(|| format!("a page has 1 to {} entries", Self::MAX_ENTRIES))
    }
}

/// Returns the first page of `entries`, and whether there are more.
pub(super) fn page<T>(mut entries: impl Iterator<Item = T>, limit: Option<Limit>) -> (Vec<T>, bool) {
    let page = entries.by_ref().take(limit.unwrap_or(Limit::DEFAULT).0).collect();
    (page, entries.next().is_some())
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    #[test]
    fn parameters_are_decoded_and_taken_once() {
        let mut query = Parameters::new(Some("a=1&k=x%3D1&k=y+z&flag=true")).unwrap();
        assert_eq!(query.take::<Option<u64>>("a").unwrap(), Some(1_u64));
        assert_eq!(query.take::<Vec<String>>("k").unwrap(), ["x=1", "y z"]);
        assert_eq!(query.take::<Option<bool>>("flag").unwrap(), Some(true));
        assert_eq!(query.take::<Option<String>>("absent").unwrap(), None);
        query.finish().unwrap();
    }

    #[test]
    fn unknown_wrong_and_repeated_parameters_are_refused() {
        let detail = |problem: Problem| problem.detail().to_owned();
        let one = |query: &str| Parameters::new(Some(query)).unwrap().take::<Option<u64>>("a").unwrap_err();
        assert!(detail(one("a=1&a=2")).contains("twice"));
        for not_utf8 in ["a=%ff", "%ff=a", "a=x%C3", "a=1&b=%ed%a0%80"] {
            assert!(detail(Parameters::new(Some(not_utf8)).unwrap_err()).contains("UTF-8"), "{not_utf8}");
        }
        assert_eq!(detail(one("a=x")), "a: write a whole number from 0");
        let flag = Parameters::new(Some("a=yes")).unwrap().take::<Option<bool>>("a").unwrap_err();
        assert_eq!(detail(flag), "a: write true or false");
        let reads = Parameters::new(Some("a=0")).unwrap().take::<Option<NonZeroU32>>("a").unwrap_err();
        assert_eq!(detail(reads), "a: write a whole number from 1 to 4294967295");
        let mut query = Parameters::new(Some("bse=x")).unwrap();
        query.take::<Option<String>>("base").unwrap();
        assert_eq!(detail(query.finish().unwrap_err()), "unknown parameter \"bse\"; known parameters: base");
    }

    #[test]
    fn a_page_has_at_most_1000_entries() {
        assert!(["0", "1001", "x", ""].iter().all(|limit| limit.parse::<Limit>().is_err()));
        assert_eq!(page(0..3, "2".parse().ok()), (vec![0, 1], true));
        assert_eq!(page(0..2, "2".parse().ok()), (vec![0, 1], false));
        assert_eq!(page(0..1000, None).0.len(), 100);
    }
}
