//! The texts that are handed over: YAML, JSON, and the documents in them.

use super::Explanation;

pub(super) const EXPLANATIONS: &[Explanation] = &[
    Explanation {
        code: "document-ambiguous",
        title: "a document that may be one of two things",
        consequence: "Which of them is meant is not guessed, and nothing of it reaches the host.",
        mend: "A document is one thing: an object with its kind, an install-config with its platform, NMState with its interfaces, \
               or OpenStack's network data with its links. Divide it, or take out what does not belong to it.",
        example: None,
    },
    Explanation {
        code: "document-not-mapping",
        title: "a document that is no mapping",
        consequence: "Nothing of it reaches the host.",
        mend: "Write documents as mappings: a key, a colon, a value. Documents are separated by a line of ---.",
        example: None,
    },
    Explanation {
        code: "document-not-read",
        title: "a document of a kind that is not read",
        consequence: "Nothing of it reaches the host. Where no other document describes a host, there is nothing to build.",
        mend: "Leave it out. If it was to describe a host, check kind and apiVersion: a document says what it is by them, and \
               NMState by its members (interfaces, routes, …).",
        example: None,
    },
    Explanation {
        code: "duplicate-key",
        title: "a key that stands twice in one mapping",
        consequence: "Most programs would take the last and forget the first: half of what is written would be lost. dayone reads \
                      neither. In a part of a document that dayone does not read, such as an annotation, it is no error.",
        mend: "Merge the two, or remove one.",
        example: None,
    },
    Explanation {
        code: "duplicate-object",
        title: "an object that is there twice",
        consequence: "Which one counts cannot be known. Hosts are told apart by their names alone, not by their namespaces.",
        mend: "Hand over only one of them. A Secret may be there several times if its content is the same.",
        example: None,
    },
    Explanation {
        code: "gzip-damaged",
        title: "a gzip stream that is damaged",
        consequence: "Nothing of it is read, lest a host goes without what stood in it.",
        mend: "Compress the text again (gzip -c), as one stream with nothing behind it, or hand it over as it is.",
        example: None,
    },
    Explanation {
        code: "input-too-large",
        title: "more than is read at once",
        consequence: "Nothing of it is read.",
        mend: "Hand over fewer hosts at once, and look for aliases that repeat large parts.",
        example: None,
    },
    Explanation {
        code: "invalid-yaml",
        title: "a text that is no YAML",
        consequence: "Nothing of this text is read, lest a host goes without what stood in it.",
        mend: "Correct the line that the finding names, or the one before it. Usual: a tab, a colon in a text without quotes, an \
               indentation that has slipped.",
        example: None,
    },
    Explanation {
        code: "nmstate-second-document",
        title: "two networks without a host's name",
        consequence: "NMState and network data name no host, nor do NetworkManager's profiles in a directory that no host can be \
                      called as: whose network is whose cannot be told.",
        mend: "Hand over one at a time, put each into the Secret of a BareMetalHost, or profiles into directories that are called \
               as their hosts (a-z, 0-9, '-' and '.').",
        example: None,
    },
    Explanation {
        code: "no-document",
        title: "an input without any document",
        consequence: "There is nothing to build.",
        mend: "Check the file, or what was piped in: it is empty, or holds comments only.",
        example: None,
    },
    Explanation {
        code: "no-host",
        title: "documents without a host that has a network",
        consequence: "There is nothing to build.",
        mend: "Hand over what describes the hosts, too: kubectl get baremetalhosts,secrets,nmstateconfigs -o yaml, or install-config.yaml \
               and agent-config.yaml with the networkConfig of each host.",
        example: None,
    },
    Explanation {
        code: "not-utf-8",
        title: "a text that is not UTF-8",
        consequence: "Nothing of this text is read.",
        mend: "Save the file as UTF-8; perhaps it is compressed, or another file than was meant.",
        example: None,
    },
    Explanation {
        code: "unknown-tag",
        title: "a YAML tag that means nothing here",
        consequence: "A tag (such as !vault) stands for something that only another program can fill in, so the value is not known. \
                      In a part of a document that dayone does not read, it is no error.",
        mend: "Let that program write the document first, or remove the tag.",
        example: None,
    },
];
