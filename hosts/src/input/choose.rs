//! Selects one of several hosts.

use vocabulary::host::{HostName, HostSpec, MacAddress};

/// Why dayone cannot select a host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChooseError {
    /// There is no host.
    #[error("the documents describe no host that has a network")]
    NoHost,
    /// There are several hosts, and no name was given.
    #[error("an image is for one host, and the documents describe several; name one of: {}", .names.join(", "))]
    Several {
        /// The names of the hosts.
        names: Vec<String>,
    },
    /// No host has this name.
    #[error("no host in the documents has the name {name:?}; {}", known(.names))]
    Unknown {
        /// The given name.
        name: String,
        /// The names of the hosts.
        names: Vec<String>,
    },
    /// Several hosts have this name.
    #[error("more than one host in the documents has the name {name:?}; hand over only one of them")]
    Ambiguous {
        /// The given name.
        name: String,
    },
}

impl ChooseError {
    /// Returns the names that would select a host.
    pub fn names(&self) -> &[String] {
        match self {
            Self::Several { names } | Self::Unknown { names, .. } => names,
            Self::NoHost | Self::Ambiguous { .. } => &[],
        }
    }
}

fn known(names: &[String]) -> String {
    if names.is_empty() { "none has a name".to_owned() } else { format!("the names are: {}", names.join(", ")) }
}

/// Returns the only item, or the one whose host has the name `name`: the host's name, else the host name, else a MAC address.
/// Every host in an agent-config has a MAC address.
pub(crate) fn choose<T>(mut all: Vec<T>, host: impl Fn(&T) -> &HostSpec, name: Option<&str>) -> Result<T, ChooseError> {
    let names = || all.iter().map(&host).filter_map(|host| name_of(host).or_else(|| first_mac(host))).collect();
    let Some(name) = name else {
        return match all.len() {
            0 | 1 => all.pop().ok_or(ChooseError::NoHost),
            _ => Err(ChooseError::Several { names: names() }),
        };
    };
    let unknown = ChooseError::Unknown { name: name.to_owned(), names: names() };
    let is_meant = |item: &T| name_of(host(item)).as_deref() == Some(name);
    if all.iter().any(is_meant) {
        all.retain(is_meant);
    } else {
        let mac = name.parse::<MacAddress>().ok();
        all.retain(|item| host(item).macs().any(|own| Some(own) == mac));
    }
    match (all.pop(), all.is_empty()) {
        (Some(item), true) => Ok(item),
        (Some(_), false) => Err(ChooseError::Ambiguous { name: name.to_owned() }),
        (None, _) => Err(unknown),
    }
}

fn name_of(host: &HostSpec) -> Option<String> {
    host.name.clone().or_else(|| host.hostname.as_ref().map(HostName::to_string))
}

fn first_mac(host: &HostSpec) -> Option<String> {
    host.macs().next().map(|mac| mac.to_string())
}

#[cfg(test)]
mod tests {
    use super::choose as choose_by;
    use super::{ChooseError, HostSpec};
    use vocabulary::host::NmstateDocument;
    use vocabulary::report::DocumentPath;

    fn host(name: Option<&str>) -> HostSpec {
        HostSpec {
            name: name.map(str::to_owned),
            ..HostSpec::with_network(NmstateDocument::new(serde_yaml::Value::Null, DocumentPath::root()))
        }
    }

    fn choose(hosts: Vec<HostSpec>, name: Option<&str>) -> Result<HostSpec, ChooseError> {
        choose_by(hosts, |host| host, name)
    }

    #[test]
    fn the_only_host_needs_no_name_and_several_do() {
        assert_eq!(choose(vec![host(None)], None).unwrap().name, None);
        assert_eq!(choose(vec![], None), Err(ChooseError::NoHost));
        let several = || vec![host(Some("a")), host(Some("b")), host(Some("b"))];
        assert_eq!(choose(several(), Some("a")).unwrap().name.as_deref(), Some("a"));
        let message = |name| choose(several(), name).unwrap_err().to_string();
        assert_eq!(message(None), "an image is for one host, and the documents describe several; name one of: a, b, b");
        assert_eq!(message(Some("c")), "no host in the documents has the name \"c\"; the names are: a, b, b");
        assert_eq!(
            message(Some("b")),
            "more than one host in the documents has the name \"b\"; hand over only one of them"
        );
        let nameless = choose(vec![host(None)], Some("c")).unwrap_err().to_string();
        assert_eq!(nameless, "no host in the documents has the name \"c\"; none has a name");
    }

    #[test]
    fn a_host_without_a_name_is_called_by_a_mac_address() {
        let with = |mac: &str, name| HostSpec { boot_mac: Some(mac.parse().unwrap()), ..host(name) };
        let several = || vec![with("52:54:00:00:00:01", None), with("52:54:00:00:00:02", None), host(Some("a"))];
        let message = choose(several(), None).unwrap_err().to_string();
        assert!(message.ends_with("name one of: 52:54:00:00:00:01, 52:54:00:00:00:02, a"), "{message}");
        for name in ["52:54:00:00:00:02", "52-54-00-00-00-02"] {
            let found = choose(several(), Some(name)).unwrap();
            assert_eq!(found.boot_mac.unwrap().to_string(), "52:54:00:00:00:02");
        }
        assert!(matches!(choose(several(), Some("52:54:00:00:00:03")), Err(ChooseError::Unknown { .. })));
        let twins = vec![with("52:54:00:00:00:01", None), with("52:54:00:00:00:01", Some("b"))];
        assert!(matches!(choose(twins, Some("52:54:00:00:00:01")), Err(ChooseError::Ambiguous { .. })));
    }
}
