//! `HostFleet`: templates, tables and inventories.

use super::Explanation;

const fn explanation(
    code: &'static str,
    title: &'static str,
    consequence: &'static str,
    mend: &'static str,
) -> Explanation {
    Explanation { code, title, consequence, mend, example: None }
}

const NO_HOSTS: &str = "None of the fleet's hosts is read.";

pub(super) const EXPLANATIONS: &[Explanation] = &[
    explanation(
        "fleet-column-unused",
        "a column that the template does not use",
        "What stands in it reaches no host.",
        "Write ${column} where it belongs, or remove the column. Often it is a name that is spelt in two ways.",
    ),
    explanation(
        "fleet-file-ambiguous",
        "several files have the name that the fleet gives",
        NO_HOSTS,
        "Write more of the file's path, or hand over only the one that is meant.",
    ),
    explanation(
        "fleet-file-missing",
        "a file that the fleet names is not there",
        NO_HOSTS,
        "Hand the file over together with the fleet: dayone check fleet.yaml hosts.csv. Over the API there is one text, so \
         write the table into it (values, csv or inventory).",
    ),
    explanation(
        "fleet-file-unused",
        "a table or an inventory that no fleet names",
        "No host is read from it.",
        "Name it in spec.hosts.csvFile or spec.hosts.inventoryFile, or leave it out.",
    ),
    Explanation {
        code: "fleet-hosts-missing",
        title: "a fleet that does not say where its hosts are",
        consequence: NO_HOSTS,
        mend: "Write one of values, csv, csvFile, inventory and inventoryFile below spec.hosts.",
        example: Some(
            "apiVersion: dayone.metal3.io/v1alpha1\nkind: HostFleet\nmetadata: {name: rack1}\nspec:\n  hosts:\n    csv: |\n      \
             name,address\n      worker-0,192.0.2.10\n  template:\n    network:\n      interfaces:\n      - name: eno1\n        \
             type: ethernet\n        state: up\n        ipv4: {enabled: true, address: [{ip: \"${address}\", prefix-length: \
             24}]}\n",
        ),
    },
    explanation(
        "fleet-inventory",
        "an Ansible inventory that cannot be read",
        NO_HOSTS,
        "ansible-inventory --list shows how Ansible reads it. Groups and hosts are read from the one file, without group_vars, \
         host_vars and plugins.",
    ),
    explanation(
        "fleet-inventory-key",
        "a part of an inventory that is not read",
        "What stands below it is no host and no variable, as to Ansible.",
        "A group has hosts, vars and children; indentation may have put it into the wrong place.",
    ),
    explanation("fleet-key-unknown", "a member that fleets do not have", NO_HOSTS, "Correct its name, or remove it."),
    explanation(
        "fleet-name-missing",
        "a fleet whose hosts have no names",
        "The host is not read: it could not be told from the others.",
        "Call a column name, or write name: ${column} in the template.",
    ),
    explanation(
        "fleet-network-missing",
        "a fleet without a network",
        "The hosts would come up without one, and are not read.",
        "Write the NMState of a host below spec.template.network.",
    ),
    explanation(
        "fleet-not-read-on",
        "many hosts of a fleet have errors",
        "The others have not been looked at.",
        "Correct those that are reported; the same is likely to be wrong with the rest.",
    ),
    explanation(
        "fleet-table-empty",
        "a table without hosts",
        NO_HOSTS,
        "The names of the columns are the first line of a table, and each further line is a host.",
    ),
    explanation(
        "fleet-table-line",
        "a line of a table that cannot be read",
        NO_HOSTS,
        "Correct the line. Values are separated by commas; one that holds a comma or a quotation mark is put in quotation marks, \
         and quotation marks inside it are doubled.",
    ),
    explanation(
        "fleet-template-missing",
        "a fleet without a template",
        NO_HOSTS,
        "Write what all hosts have in common below spec.template.",
    ),
    explanation(
        "fleet-too-large",
        "a fleet with too many hosts, or too large a network",
        NO_HOSTS,
        "Divide it into several: 10 000 hosts with 200 values each are read at once.",
    ),
    explanation(
        "fleet-value-missing",
        "a host without a value that the template uses",
        "The host is not read.",
        "Fill in the value. Lists, mappings, expressions of Jinja and encrypted values cannot be put into a text; write the \
         value itself.",
    ),
    explanation(
        "fleet-variable-in-key",
        "a variable in a key",
        NO_HOSTS,
        "Variables stand in values only, so that all hosts of a fleet have networks of one shape. Make two fleets of those \
         that have not.",
    ),
    explanation(
        "fleet-variable-invalid",
        "a variable that is not written as one",
        NO_HOSTS,
        "Write ${name}, where the name is of letters, digits, _, - and .; write $${ for a ${ that is meant as such.",
    ),
    explanation(
        "fleet-variable-unknown",
        "a variable that no host has",
        NO_HOSTS,
        "Correct the name, or add a column.",
    ),
];
