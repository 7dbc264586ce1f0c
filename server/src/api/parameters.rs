//! Query parameters, strictly: what is not known, not a value, or said twice is refused.

use std::fmt::Display;
use std::str::FromStr;

use url::form_urlencoded;

use super::problem::{Problem, ProblemKind};

/// The query of a request, whose parameters are taken one by one. [`Parameters::finish`] refuses what nobody took.
#[derive(Debug)]
pub(super) struct Parameters {
    given: Vec<(String, String)>,
    known: Vec<&'static str>,
}

impl Parameters {
    /// The parameters of a query, percent-encoded as it came (`+` is a space).
    pub(super) fn new(query: Option<&str>) -> Self {
        let given = form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned().collect();
        Self { given, known: Vec::new() }
    }

    /// Whether there is a parameter like this. It is not taken.
    pub(super) fn has(&self, like: impl Fn(&str, &str) -> bool) -> bool {
        self.given.iter().any(|(name, value)| like(name, value))
    }

    /// The names of the parameters that nobody has taken, in their order.
    pub(super) fn names(&self) -> Vec<&str> {
        self.given.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// All values of `name`, in their order.
    pub(super) fn all<T: FromStr<Err: Display>>(&mut self, name: &'static str) -> Result<Vec<T>, Problem> {
        self.known.push(name);
        let taken = self.given.extract_if(.., |(given, _)| given == name);
        taken.map(|(_, value)| value.parse().map_err(|error| wrong(format!("{name}: {error}")))).collect()
    }

    /// The value of `name`, if there is one. Two are refused.
    pub(super) fn one<T: FromStr<Err: Display>>(&mut self, name: &'static str) -> Result<Option<T>, Problem> {
        let mut values = self.all(name)?;
        let value = values.pop();
        if values.is_empty() { Ok(value) } else { Err(wrong(format!("{name} is given twice; it has one value"))) }
    }

    /// The names of the parameters that somebody has taken, or tried to.
    #[cfg(test)]
    pub(super) fn known(&self) -> &[&'static str] {
        &self.known
    }

    /// Refuses the parameters that were not taken.
    pub(super) fn finish(self) -> Result<(), Problem> {
        match self.given.first() {
            None => Ok(()),
            Some((name, _)) if self.known.is_empty() => Err(wrong(format!("there is no parameter {name:?} here"))),
            Some((name, _)) => {
                let known = self.known.join(", ");
                Err(wrong(format!("there is no parameter {name:?} here; there are: {known}")))
            }
        }
    }
}

fn wrong(detail: String) -> Problem {
    Problem::new(ProblemKind::WrongParameter, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_and_taken_once() {
        let mut query = Parameters::new(Some("a=1&k=x%3D1&k=y+z&flag=true"));
        assert_eq!(query.one::<u32>("a").unwrap(), Some(1));
        assert_eq!(query.all::<String>("k").unwrap(), ["x=1", "y z"]);
        assert_eq!(query.one::<bool>("flag").unwrap(), Some(true));
        assert_eq!(query.one::<String>("absent").unwrap(), None);
        query.finish().unwrap();
    }

    #[test]
    fn what_is_unknown_wrong_or_twice_is_refused() {
        let detail = |problem: Problem| problem.detail().to_owned();
        assert!(detail(Parameters::new(Some("a=x")).one::<u32>("a").unwrap_err()).starts_with("a: "));
        assert!(detail(Parameters::new(Some("a=1&a=2")).one::<u32>("a").unwrap_err()).contains("twice"));
        let mut query = Parameters::new(Some("bse=x"));
        query.one::<String>("base").unwrap();
        assert_eq!(detail(query.finish().unwrap_err()), "there is no parameter \"bse\" here; there are: base");
    }
}
