//! Ranges in the names of hosts: `node[01:20]`, `rack[a:d]-[1:9:2]`, with an optional port behind the name.

/// How long a pattern may be, in bytes. A host name has at most 253.
const MAX_PATTERN: usize = 1024;

/// Returns the names that a pattern stands for, at most `most`, and the port.
pub(super) fn expand(pattern: &str, most: usize) -> Result<(Vec<String>, Option<String>), String> {
    let (pattern, port) = split_port(pattern);
    if pattern.is_empty() {
        return Err("has a host without a name".to_owned());
    }
    if pattern.len() > MAX_PATTERN {
        return Err(format!("has a host whose name has more than {MAX_PATTERN} bytes"));
    }
    let mut names = vec![String::new()];
    let mut rest = pattern;
    while let Some((before, behind)) = rest.split_once('[') {
        let Some((range, behind)) = behind.split_once(']') else {
            return Err(format!("has the host {pattern:?} with [ and no ] behind it"));
        };
        let values = values(range, most).map_err(|why| format!("has the host {pattern:?}, whose range {why}"))?;
        if names.len().saturating_mul(values.len()) > most {
            return Err(format!("has the host {pattern:?}, which stands for more than {most}"));
        }
        names =
            names.iter().flat_map(|name| values.iter().map(move |value| format!("{name}{before}{value}"))).collect();
        rest = behind;
    }
    for name in &mut names {
        name.push_str(rest);
    }
    Ok((names, port.map(str::to_owned)))
}

/// Splits a name from the port behind it. An IPv6 address has more colons, and is a name.
fn split_port(pattern: &str) -> (&str, Option<&str>) {
    let outside = pattern.rfind(']').map_or(0, |at| at + 1);
    let colons = pattern.get(outside..).unwrap_or_default().matches(':').count();
    match pattern.rsplit_once(':') {
        Some((name, port)) if colons == 1 && !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => {
            (name, Some(port))
        }
        _ => (pattern, None),
    }
}

fn values(range: &str, most: usize) -> Result<Vec<String>, String> {
    let parts: Vec<&str> = range.split(':').collect();
    let (first, last, step) = match parts.as_slice() {
        [first, last] => (*first, *last, "1"),
        [first, last, step] => (*first, *last, *step),
        _ => return Err("is not of the form [first:last] or [first:last:step]".to_owned()),
    };
    let first = if first.is_empty() { "0" } else { first };
    let step: usize = step.parse().ok().filter(|step| *step > 0).ok_or("has a step that is not a number")?;
    let letter = |text: &str| match text.as_bytes() {
        [letter] if letter.is_ascii_alphabetic() => Some(*letter),
        _ => None,
    };
    if let (Some(first), Some(last)) = (letter(first), letter(last)) {
        if first > last || first.is_ascii_uppercase() != last.is_ascii_uppercase() {
            return Err("ends before it begins".to_owned());
        }
        return Ok((first..=last).step_by(step).map(|letter| char::from(letter).to_string()).collect());
    }
    let number =
        |text: &str| -> Option<u64> { text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten() };
    let (Some(from), Some(to)) = (number(first), number(last)) else {
        return Err("has ends that are neither numbers nor letters".to_owned());
    };
    let padded = first.len() > 1 && first.starts_with('0');
    if padded && first.len() != last.len() {
        return Err("begins with a zero, and its ends have different lengths".to_owned());
    }
    if from > to {
        return Err("ends before it begins".to_owned());
    }
    if (to - from) / step as u64 >= most as u64 {
        return Err(format!("has more than {most} values"));
    }
    let width = if padded { first.len() } else { 0 };
    Ok((from..=to).step_by(step).map(|value| format!("{value:0width$}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(pattern: &str) -> Vec<String> {
        expand(pattern, 100).unwrap().0
    }

    #[test]
    fn ranges_are_those_of_ansible() {
        assert_eq!(
            names("node[08:11].example"),
            ["node08.example", "node09.example", "node10.example", "node11.example"]
        );
        assert_eq!(names("r[a:b]n[1:3:2]"), ["ran1", "ran3", "rbn1", "rbn3"]);
        assert_eq!(names("x[:2]"), ["x0", "x1", "x2"]);
        assert_eq!(names("2001:db8::1"), ["2001:db8::1"]);
        assert_eq!(expand("node[1:2]:2222", 9).unwrap(), (vec!["node1".into(), "node2".into()], Some("2222".into())));
        for bad in [
            "",
            "a[1:2",
            "a[1]",
            "a[1:2:0]",
            "a[3:1]",
            "a[c:a]",
            "a[01:100]",
            "a[x:9]",
            "a[0:99999999999]",
            "a[1:99][1:99]",
        ] {
            assert!(expand(bad, 1000).is_err(), "{bad}");
        }
    }
}
