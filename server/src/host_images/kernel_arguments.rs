//! The kernel arguments of one host, from the labels and annotations of its object in Kubernetes.

use std::collections::BTreeMap;

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

#[cfg(test)]
mod tests {
    use super::*;

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
