//! Options that had other names in earlier releases. Their old names still work, and are in no help text.

use std::ffi::OsString;

/// A command line in today's spelling, and what to tell the user about it.
pub(super) struct Spelled {
    pub(super) arguments: Vec<OsString>,
    pub(super) notices: Vec<String>,
}

/// The option that takes the place of `option` in a command; `value` is its value.
fn renamed(command: &str, option: &str, value: &str) -> Option<&'static str> {
    Some(match (command, option) {
        // `dayone build` still has this option, for documents that the old --host names.
        ("boot" | "bmc" | "eject" | "manifests", "--host-name") => "--host",
        ("boot" | "build", "--hostname") => "--set-hostname",
        ("boot", "--output") => "--format",
        ("boot", "--format") if !matches!(value, "text" | "json") => "--image-format",
        _ => return None,
    })
}

/// Replaces old spellings.
pub(super) fn replace(arguments: Vec<OsString>) -> Spelled {
    let command = arguments.get(1).and_then(|command| command.to_str()).unwrap_or_default().to_owned();
    let mut spelled = Spelled { arguments: Vec::with_capacity(arguments.len()), notices: Vec::new() };
    let mut arguments = arguments.into_iter().peekable();
    while let Some(argument) = arguments.next() {
        // Behind two hyphens are no options.
        if argument == "--" {
            spelled.arguments.push(argument);
            spelled.arguments.extend(arguments);
            break;
        }
        let text = argument.to_str().unwrap_or_default();
        let (option, own_value) = text.split_once('=').map_or((text, None), |(option, value)| (option, Some(value)));
        let value = own_value.or_else(|| arguments.peek().and_then(|next| next.to_str())).unwrap_or_default();
        let Some(new) = renamed(&command, option, value) else {
            spelled.arguments.push(argument);
            continue;
        };
        spelled.notices.push(format!("note: {option} is now {new}; the old name still works\n"));
        spelled.arguments.push(own_value.map_or_else(|| new.to_owned(), |value| format!("{new}={value}")).into());
    }
    spelled
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(line: &str) -> (String, usize) {
        let Spelled { arguments, notices } = replace(line.split(' ').map(OsString::from).collect());
        let words: Vec<_> = arguments.iter().map(|word| word.to_str().unwrap()).collect();
        (words.join(" "), notices.len())
    }

    #[test]
    fn old_spellings_become_new_ones() {
        let cases = [
            ("dayone boot a --host-name b --hostname=c", "dayone boot a --host b --set-hostname=c", 2),
            ("dayone boot a --format usb --output json", "dayone boot a --image-format usb --format json", 2),
            ("dayone bmc probe a --host-name b", "dayone bmc probe a --host b", 1),
        ];
        for (old, new, notices) in cases {
            assert_eq!(replaced(old), (new.to_owned(), notices));
            assert_eq!(replaced(new), (new.to_owned(), 0));
        }
    }

    #[test]
    fn everything_else_stays_as_it_is() {
        for line in
            ["dayone build a --format iso -o b", "dayone build --host-name a", "dayone boot -- --hostname", "dayone"]
        {
            assert_eq!(replaced(line), (line.to_owned(), 0));
        }
    }
}
