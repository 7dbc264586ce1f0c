//! The kernel arguments of one host, from the labels and annotations of its object in Kubernetes.

use std::collections::BTreeMap;

use imagelib::delivery::DeliveryProfile;
use imagelib::kernel_arguments::{KernelArgument, KernelArgumentError, KernelArguments};

/// The annotation with the arguments to append, separated by spaces.
pub const ANNOTATION: &str = "dayone.metal3.io/kernel-arguments";

/// The prefix of labels that are one argument each, such as `karg.dayone.metal3.io/console: ttyS0`. With an empty value,
/// the key alone is the argument. The baremetal-operator copies a host's labels to its PreprovisioningImage, but not its
/// annotations.
pub const LABEL_PREFIX: &str = "karg.dayone.metal3.io/";

/// Returns the arguments from the labels, in the order of their keys, and then those from the annotation.
pub fn of(
    labels: &BTreeMap<String, String>,
    annotations: &BTreeMap<String, String>,
) -> Result<Vec<KernelArgument>, KernelArgumentError> {
    let labelled = labels.iter().filter_map(|(name, value)| Some((name.strip_prefix(LABEL_PREFIX)?, value)));
    let labelled = labelled.map(|(key, value)| match value.as_str() {
        "" => key.parse(),
        value => format!("{key}={value}").parse(),
    });
    let mut arguments = labelled.collect::<Result<Vec<KernelArgument>, _>>()?;
    if let Some(line) = annotations.get(ANNOTATION) {
        let annotated: KernelArguments = line.split_whitespace().collect::<Vec<_>>().join(" ").parse()?;
        for argument in annotated.iter() {
            arguments.push(argument.parse()?);
        }
    }
    Ok(arguments)
}

/// Returns the arguments without which a system that boots from the network ignores what dayone added to its initramfs. Leaves out those
/// whose keys are in the host's own arguments.
pub(super) fn for_network_boot(profile: DeliveryProfile, own: &[KernelArgument]) -> Vec<KernelArgument> {
    // Ironic's settings have those of CoreOS.
    if profile != DeliveryProfile::Flatcar {
        return Vec::new();
    }
    profile.missing_for_ignition(own.iter().map(KernelArgument::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flatcar_needs_an_argument_unless_the_host_has_one_of_its_key() {
        for (profile, own, expected) in [
            (DeliveryProfile::Flatcar, "quiet", "flatcar.first_boot=1"),
            (DeliveryProfile::Flatcar, "flatcar.first_boot=detected", ""),
            (DeliveryProfile::Coreos, "quiet", ""),
            (DeliveryProfile::RootInInitramfs, "quiet", ""),
        ] {
            let needed = for_network_boot(profile, &[own.parse().unwrap()]);
            let needed: Vec<&str> = needed.iter().map(KernelArgument::as_str).collect();
            assert_eq!(needed.join(" "), expected, "{profile}, {own}");
        }
    }

    fn read(labels: &[(&str, &str)], annotation: Option<&str>) -> Result<Vec<String>, String> {
        let labels = labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let annotations = annotation.map(|line| (ANNOTATION.to_owned(), line.to_owned())).into_iter().collect();
        let arguments = of(&labels, &annotations).map_err(|error| error.to_string())?;
        Ok(arguments.into_iter().map(String::from).collect())
    }

    #[test]
    fn labels_come_before_the_annotation() {
        let labels =
            [("karg.dayone.metal3.io/nomodeset", ""), ("rack", "7"), ("karg.dayone.metal3.io/console", "ttyS0")];
        let arguments = read(&labels, Some(" ip=dhcp  console=ttyS1,115200n8 \n"));
        assert_eq!(arguments.unwrap(), ["console=ttyS0", "nomodeset", "ip=dhcp", "console=ttyS1,115200n8"]);
        assert_eq!(read(&[], None).unwrap(), Vec::<String>::new());
        assert!(read(&[], Some("a;b")).is_err());
        assert!(read(&[], Some("a=\"b c")).is_err());
        assert_eq!(read(&[], Some("a=\"b c\"")).unwrap(), ["a=\"b c\""]);
    }
}
