//! The text of a network document: its bounds, its keys, and what it holds.

use super::Explanation;

pub(super) const EXPLANATIONS: &[Explanation] = &[
    Explanation {
        code: "control-character",
        title: "a control character in a text",
        consequence: "A setting of a keyfile is one line; a line break would begin another setting on the host.",
        mend: "Write the text on one line. In YAML a folded or literal block (> or |) ends with a line break: >- and |- do not.",
        example: None,
    },
    Explanation {
        code: "document-not-a-mapping",
        title: "a network document that is no mapping",
        consequence: "It describes no interface.",
        mend: "Begin the document with interfaces:.",
        example: None,
    },
    Explanation {
        code: "document-too-deep",
        title: "a network document that is nested too deeply",
        consequence: "The document is not read. NMState's own schema is ten levels deep.",
        mend: "Check the indentation, and what aliases stand for.",
        example: None,
    },
    Explanation {
        code: "document-too-large",
        title: "a network document that is too large for one host",
        consequence: "The document is not read, and the host is not built.",
        mend: "Check for YAML aliases that repeat large parts; one document is for one host.",
        example: None,
    },
    Explanation {
        code: "key-not-text",
        title: "a key that is not text",
        consequence: "The member cannot be read.",
        mend: "Put quotes around the key: numbers, yes, no and null are not text to YAML.",
        example: None,
    },
    Explanation {
        code: "list-too-long",
        title: "a list that is longer than any host's",
        consequence: "The document is not read: the time to convert it would grow with the square of its length.",
        mend: "Check for repeated entries; one document is for one host.",
        example: None,
    },
    Explanation {
        code: "secret-hidden",
        title: "nmstate's placeholder instead of a secret",
        consequence: "The host would authenticate with the placeholder, and be refused by the switch or its peer.",
        mend: "Write the secret itself: `nmstatectl show` hides it, `nmstatectl show --show-secrets` does not.",
        example: None,
    },
    Explanation {
        code: "secret-not-text",
        title: "a password that is not text",
        consequence: "YAML reads it as a number, a truth value or a structure: the host would have another password.",
        mend: "Put quotes around it.",
        example: None,
    },
    Explanation {
        code: "secret-section-not-a-mapping",
        title: "a section with secrets that is no mapping",
        consequence: "It cannot be read, and what it holds is not shown.",
        mend: "Write the section as keys with values, one on each line, indented below it.",
        example: None,
    },
    Explanation {
        code: "yaml-tag",
        title: "a YAML tag in the network document",
        consequence: "A tag (such as !vault) stands for something that only another program can fill in.",
        mend: "Let that program write the document first, or remove the tag.",
        example: None,
    },
    Explanation {
        code: "number-octal",
        title: "a number with a zero before it, which readers of YAML 1.1 take for octal",
        consequence: "dayone and nmstate take 010 for 10. kubectl, kustomize and the installer of OpenShift take it for 8: the cluster gets another number than the image.",
        mend: "Write the number without the zero.",
        example: None,
    },
];
