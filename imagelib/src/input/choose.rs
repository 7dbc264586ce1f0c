//! Which of several hosts is meant.

use crate::host::{HostName, HostSpec};

/// Why it is not clear which host is meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChooseError {
    /// There are none.
    #[error("the documents describe no host that has a network")]
    NoHost,
    /// There are several, and no name was given.
    #[error("an image is for one host, and the documents describe several; name one of: {}", .names.join(", "))]
    Several {
        /// What they are called.
        names: Vec<String>,
    },
    /// None is called so.
    #[error("no host in the documents is called {name:?}; {}", there_are(.names))]
    Unknown {
        /// The name given.
        name: String,
        /// What the hosts are called.
        names: Vec<String>,
    },
    /// Several are called so.
    #[error("more than one host in the documents is called {name:?}; hand over only the one meant")]
    Ambiguous {
        /// The name given.
        name: String,
    },
}

impl ChooseError {
    /// The names that would be understood.
    pub fn names(&self) -> &[String] {
        match self {
            Self::Several { names } | Self::Unknown { names, .. } => names,
            Self::NoHost | Self::Ambiguous { .. } => &[],
        }
    }
}

fn there_are(names: &[String]) -> String {
    if names.is_empty() { "none has a name".to_owned() } else { format!("there are: {}", names.join(", ")) }
}

/// The only one of `hosts`, or the one called `name`: by what the documents call it, or else by its host name.
pub fn choose(mut hosts: Vec<HostSpec>, name: Option<&str>) -> Result<HostSpec, ChooseError> {
    let called = |host: &HostSpec| host.name.clone().or_else(|| host.hostname.as_ref().map(HostName::to_string));
    let names = || hosts.iter().filter_map(called).collect();
    let Some(name) = name else {
        return match hosts.len() {
            0 | 1 => hosts.pop().ok_or(ChooseError::NoHost),
            _ => Err(ChooseError::Several { names: names() }),
        };
    };
    let unknown = ChooseError::Unknown { name: name.to_owned(), names: names() };
    hosts.retain(|host| called(host).as_deref() == Some(name));
    match (hosts.pop(), hosts.is_empty()) {
        (Some(host), true) => Ok(host),
        (Some(_), false) => Err(ChooseError::Ambiguous { name: name.to_owned() }),
        (None, _) => Err(unknown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::NmstateDocument;
    use crate::report::DocumentPath;

    fn host(name: Option<&str>) -> HostSpec {
        HostSpec {
            name: name.map(str::to_owned),
            ..HostSpec::with_network(NmstateDocument::new(serde_yaml::Value::Null, DocumentPath::root()))
        }
    }

    #[test]
    fn the_only_host_needs_no_name_and_several_do() {
        assert_eq!(choose(vec![host(None)], None).unwrap().name, None);
        assert_eq!(choose(vec![], None), Err(ChooseError::NoHost));
        let several = || vec![host(Some("a")), host(Some("b")), host(Some("b"))];
        assert_eq!(choose(several(), Some("a")).unwrap().name.as_deref(), Some("a"));
        let message = |name| choose(several(), name).unwrap_err().to_string();
        assert_eq!(message(None), "an image is for one host, and the documents describe several; name one of: a, b, b");
        assert_eq!(message(Some("c")), "no host in the documents is called \"c\"; there are: a, b, b");
        assert_eq!(
            message(Some("b")),
            "more than one host in the documents is called \"b\"; hand over only the one meant"
        );
        let nameless = choose(vec![host(None)], Some("c")).unwrap_err().to_string();
        assert_eq!(nameless, "no host in the documents is called \"c\"; none has a name");
    }
}
