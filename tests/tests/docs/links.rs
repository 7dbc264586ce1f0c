//! Links between the documents, to files of the repository, and to their headings.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use acceptance::bases::fixtures;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// A document: where its links lead, and the names of its headings.
#[derive(Default)]
struct Document {
    links: Vec<String>,
    headings: BTreeSet<String>,
}

impl Document {
    fn parse(text: &str) -> Self {
        let (mut document, mut heading) = (Self::default(), None);
        for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    document.links.push(dest_url.to_string());
                }
                Event::Html(html) | Event::InlineHtml(html) => {
                    for attribute in [" src=\"", " srcset=\""] {
                        let values = html.split(attribute).skip(1).filter_map(|rest| rest.split('"').next());
                        document.links.extend(values.map(str::to_owned));
                    }
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::Text(text) | Event::Code(text) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&text);
                    }
                }
                Event::End(TagEnd::Heading(_)) => document.name(&heading.take().unwrap()),
                _ => {}
            }
        }
        document
    }

    /// Names a heading as GitHub and mdBook do. A second heading of the same text has a number.
    fn name(&mut self, heading: &str) {
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        let name: String = kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect();
        let numbered = (1..).map(|number| format!("{name}-{number}"));
        let name = [name.clone()].into_iter().chain(numbered).find(|name| !self.headings.contains(name));
        self.headings.extend(name);
    }
}

fn documents(root: &Path) -> BTreeMap<PathBuf, Document> {
    let mut found = BTreeMap::new();
    let mut directories = vec![root.join("docs"), root.join("deploy")];
    let top = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    let mut files: Vec<_> = top.collect();
    while let Some(directory) = directories.pop() {
        for path in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() { directories.push(path) } else { files.push(path) }
        }
    }
    for path in files.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "md")) {
        let text = fs::read_to_string(&path).unwrap();
        found.insert(path, Document::parse(&text));
    }
    found
}

#[test]
fn every_link_leads_somewhere() {
    let root = fs::canonicalize(fixtures("..")).unwrap();
    let documents = documents(&root);
    let (mut wrong, mut followed) = (Vec::new(), 0);
    for (path, document) in &documents {
        let links = document.links.iter().filter(|link| !link.contains("://") && !link.starts_with("mailto:"));
        for link in links {
            followed += 1;
            let (file, heading) = link.split_once('#').map_or((link.as_str(), None), |(file, name)| (file, Some(name)));
            let target = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            let Ok(target) = fs::canonicalize(&target) else {
                wrong.push(format!("{}: {link} does not exist", path.display()));
                continue;
            };
            let known = documents.get(&target);
            if heading.is_some_and(|name| known.is_some_and(|document| !document.headings.contains(name))) {
                wrong.push(format!("{}: {link}: no such heading", path.display()));
            }
            if path.starts_with(root.join("docs")) && !target.starts_with(root.join("docs")) {
                wrong.push(format!("{}: {link} is not in the book", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(followed > 150, "{followed}");
}
