//! Kubernetes objects, and the members that all kinds have.

use super::Explanation;

pub(super) const EXPLANATIONS: &[Explanation] = &[
    Explanation {
        code: "api-version-old",
        title: "an API version that is no longer served",
        consequence: "dayone reads the document as one of the current version. The API server refuses it.",
        mend: "Write the current apiVersion that the finding names.",
        example: None,
    },
    Explanation {
        code: "api-version-not-read",
        title: "an object of a version that is not read",
        consequence: "The object is not read, and the host that it describes or belongs to is not built.",
        mend: "Write the apiVersion that the finding names.",
        example: None,
    },
    Explanation {
        code: "invalid-value",
        title: "a value that the member does not take",
        consequence: "The host is not built; the API server would refuse the object as well, or the host would never be found.",
        mend: "Correct the value; the finding says what belongs there.",
        example: None,
    },
    Explanation {
        code: "object-name-invalid",
        title: "a name that Kubernetes does not take",
        consequence: "The object is not read; the API server would refuse it as well.",
        mend: "Use a-z, 0-9, '-' and '.', beginning and ending with a letter or a digit, at most 253.",
        example: None,
    },
    Explanation {
        code: "object-name-missing",
        title: "an object without a name",
        consequence: "The object is not read: others refer to it by its name, and the host is called by it.",
        mend: "Add metadata.name.",
        example: Some("apiVersion: v1\nkind: Secret\nmetadata:\n  name: worker-0-network\n"),
    },
    Explanation {
        code: "spec-missing",
        title: "a host without a spec",
        consequence: "Nothing is said of the host: it is not built.",
        mend: "Add spec; the spec of an object that kubectl prints is complete.",
        example: None,
    },
    Explanation {
        code: "text-too-long",
        title: "a text that is longer than any name",
        consequence: "The member is not read.",
        mend: "Check for a value that belongs elsewhere: this member holds a name or an address.",
        example: None,
    },
    Explanation {
        code: "wrong-type",
        title: "a value of the wrong type",
        consequence: "The member is not read, and the host that it is about is not built.",
        mend: "Write what the finding says belongs there. NMState in a Secret is text: a '|' stands behind its key.",
        example: Some("stringData:\n  nmstate: |\n    interfaces:\n    - name: eth0\n      type: ethernet\n"),
    },
];
