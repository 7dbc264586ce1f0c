//! The ways in which a server of images can be wrong, and the findings that each must give.

use super::server::{Reply, Request, right};

/// A way to be wrong, and the findings that it must give, and no others.
pub type Case = (&'static str, Box<dyn Fn(&Request, &[u8]) -> Reply + Send + Sync>, &'static [&'static str]);

fn case(
    name: &'static str,
    behaviour: impl Fn(&Request, &[u8]) -> Reply + Send + Sync + 'static,
    findings: &'static [&'static str],
) -> Case {
    (name, Box::new(behaviour), findings)
}

pub fn cases() -> Vec<Case> {
    let ranged = |reply: &Reply| reply.status == 206;
    vec![
        case("right", right, &[]),
        case(
            "whole file for every range",
            |request, image| {
                let ranged = request.header("range").is_some();
                if ranged { right(request, image).into_whole(image) } else { right(request, image) }
            },
            &[
                "nbdkit: range-ignored",
                "qemu: range-ignored",
                "many-ranges: range-ignored",
                "range-forms: range-ignored",
                "content: content-not-read",
            ],
        ),
        case(
            "HEAD refused",
            |request, image| match &*request.method {
                "HEAD" => Reply { status: 405, ..right(request, &image[..9]) },
                _ => right(request, image),
            },
            &[
                "nbdkit: head-refused",
                "qemu: head-refused",
                "ironic: head-refused",
                "uefi-http: head-refused",
                "many-ranges: head-refused",
            ],
        ),
        case(
            "HEAD without a length",
            |request, image| match &*request.method {
                "HEAD" => right(request, image).without("content-length"),
                _ => right(request, image),
            },
            &[
                "nbdkit: head-without-length",
                "qemu: head-without-length",
                "ironic: head-without-length",
                "uefi-http: head-without-length",
            ],
        ),
        case(
            "HEAD with two lengths",
            |request, image| {
                let mut reply = right(request, image);
                if request.method == "HEAD" {
                    reply.headers.push(("Content-Length".to_owned(), (image.len() + 1).to_string()));
                }
                reply
            },
            &[
                "nbdkit: head-without-length",
                "qemu: head-without-length",
                "ironic: head-without-length",
                "uefi-http: head-without-length",
            ],
        ),
        case(
            "HEAD with the length of an empty file",
            |request, image| match &*request.method {
                "HEAD" => right(request, image).with("Content-Length", "0"),
                _ => right(request, image),
            },
            &["nbdkit: sizes-differ", "qemu: sizes-differ", "ironic: sizes-differ", "uefi-http: sizes-differ"],
        ),
        case(
            "Accept-Ranges in small letters",
            |request, image| right(request, image).without("accept-ranges").with("accept-ranges", "bytes"),
            &["nbdkit: accept-ranges-letters", "qemu: accept-ranges-letters"],
        ),
        case(
            "no Content-Range",
            move |request, image| {
                let reply = right(request, image);
                if ranged(&reply) { reply.without("content-range") } else { reply }
            },
            &["many-ranges: content-range-missing", "range-forms: content-range-missing", "content: content-not-read"],
        ),
        case(
            "wrong Content-Range",
            move |request, image| {
                let reply = right(request, image);
                if ranged(&reply) { reply.with("Content-Range", "bytes 0-5/6") } else { reply }
            },
            &["many-ranges: content-range-wrong", "range-forms: content-range-wrong", "content: content-not-read"],
        ),
        case(
            "Content-Range without the size",
            move |request, image| {
                let reply = right(request, image);
                let range =
                    reply.headers.iter().find(|(name, _)| name == "Content-Range").map(|(_, value)| value.clone());
                match range.as_deref().and_then(|range| range.split_once('/')) {
                    Some((range, _)) if ranged(&reply) => reply.with("Content-Range", &format!("{range}/*")),
                    _ => reply,
                }
            },
            &["many-ranges: content-range-without-size", "range-forms: content-range-without-size"],
        ),
        case(
            "an ETag for each answer",
            |request, image| right(request, image).with("ETag", &format!("\"{}\"", request.number)),
            &["range-forms: etag-changes"],
        ),
        case(
            "changing date",
            |request, image| {
                let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs() % 60;
                right(request, image).with("Last-Modified", &format!("Sun, 06 Nov 1994 08:49:{now:02} GMT"))
            },
            &["ironic: last-modified-changes"],
        ),
        case(
            "no date",
            |request, image| right(request, image).without("last-modified"),
            &["ironic: last-modified-missing"],
        ),
        case(
            "no-store",
            |request, image| right(request, image).with("Cache-Control", "no-store"),
            &["ironic: no-store"],
        ),
        case(
            "compression on the way",
            |request, image| match request.header("accept-encoding") {
                Some(_) => right(request, &image[..image.len() / 2]).with("Content-Encoding", "gzip"),
                None => right(request, image),
            },
            &["sushy-tools: content-encoding", "ironic: sizes-differ"],
        ),
        case(
            "a file name with quotation marks",
            |request, image| right(request, image).with("Content-Disposition", "inline; filename=\"a.iso\"; x=\"b\""),
            &["sushy-tools: content-disposition"],
        ),
        case(
            "no chance to ask twice",
            |request, image| Reply { close: true, ..right(request, image) }.with("Connection", "close"),
            &["many-ranges: no-keep-alive"],
        ),
        case(
            "closes without a word",
            |request, image| Reply { close: true, ..right(request, image) },
            &["many-ranges: no-keep-alive"],
        ),
        case(
            "credentials judged",
            |request, image| match request.header("authorization") {
                Some(_) => Reply { status: 403, ..right(request, &image[..9]) },
                None => right(request, image),
            },
            &["credentials: credentials-refused"],
        ),
        case(
            "HTTP/1.0 refused",
            |request, image| match &*request.version {
                "HTTP/1.0" => Reply { status: 426, ..right(request, &image[..9]) },
                _ => right(request, image),
            },
            &["protocol: http-1-0", "protocol: http-1-0-without-host"],
        ),
        case(
            "a virtual host",
            |request, image| match request.header("host").is_none_or(|host| host.contains(':')) {
                true => right(request, image),
                false => Reply { status: 421, ..right(request, &image[..9]) },
            },
            &["uefi-http: head-refused", "protocol: host-without-port"],
        ),
        case(
            "the whole file refused",
            |request, image| match request.header("user-agent") {
                Some("UefiHttpBoot/1.0") if request.method == "GET" => {
                    Reply { status: 403, ..right(request, &image[..9]) }
                }
                _ => right(request, image),
            },
            &["uefi-http: get-refused"],
        ),
        case(
            "416 without a size",
            |request, image| {
                let reply = right(request, image);
                if reply.status == 416 { reply.without("content-range") } else { reply }
            },
            &["range-forms: range-past-the-end"],
        ),
        case(
            "If-Range ignored",
            |request, image| {
                let mut request = request.clone();
                request.forget("if-range");
                right(&request, image)
            },
            &["range-forms: if-range-ignored"],
        ),
    ]
}
