//! `/boots/{id}`: one boot with its steps, its remarks and what was read.

use std::sync::Arc;

use askama::Template;
use askama::filters::HtmlSafe;
use axum::Extension;
use axum::extract::{Path, State};
use axum::response::Response;

use super::moment::Moment;
use super::piece::single;
use super::reading::ReadView;
use super::row::{sign, tone};
use super::shell::{Shell, html, missing};
use crate::api::problem::Problem;
use crate::api::{Api, blocking};
use crate::boots::{Remark, StepRecord, View};
use crate::live::Content;

#[derive(Template)]
#[template(path = "boot.html")]
struct BootPage<'a> {
    shell: &'a Shell,
    current: &'static str,
    boot: &'a BootDetails,
}

/// A boot with all that is known about it.
#[derive(Template)]
#[template(path = "boot-details.html")]
struct BootDetails {
    id: String,
    name: String,
    state: String,
    tone: &'static str,
    reason: String,
    bmc: String,
    credentials: String,
    image: String,
    medium: String,
    wait_for: String,
    power_off: bool,
    addresses: String,
    created: Moment,
    steps: Vec<StepDetails>,
    remarks: Vec<(Moment, String)>,
    read: Option<ReadView>,
}

impl HtmlSafe for BootDetails {}

struct StepDetails {
    name: String,
    state: String,
    sign: &'static str,
    started: Option<Moment>,
    took: Option<String>,
    text: String,
    failed: bool,
}

/// Shows a boot.
pub(super) async fn boot(
    State(api): State<Arc<Api>>,
    Extension(shell): Extension<Shell>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    blocking(move || match BootDetails::find(&api, &id) {
        Some(boot) => html(&BootPage { shell: &shell, current: "boots", boot: &boot }),
        None => missing(&shell, "No boot has this id: it was never begun, or dayone has forgotten it."),
    })
    .await
}

/// The parts that change while the view is open.
pub(super) fn content(api: &Api, id: &str) -> Option<Content> {
    Some(single("boot", &BootDetails::find(api, id)?))
}

impl BootDetails {
    /// Waits for the disk: the first time, this reads directories of the image.
    fn find(api: &Api, id: &str) -> Option<Self> {
        let view = api.boots.find(id.parse().ok()?)?.view();
        let image = api.store.image(&view.record.image);
        Some(Self::new(&view, image.map(|image| ReadView::of(&image))))
    }

    fn new(view: &View, read: Option<ReadView>) -> Self {
        let record = &view.record;
        let join = |texts: Vec<String>| texts.join(", ");
        Self {
            id: record.id.to_string(),
            name: record.name(),
            state: record.state.to_string(),
            tone: tone(record.state),
            reason: view.reason(),
            bmc: record.bmc.address.to_string(),
            credentials: record.bmc.credentials.to_string(),
            image: record.image.to_string(),
            medium: record.medium.to_string(),
            wait_for: join(record.options.wait_for.iter().map(ToString::to_string).collect()),
            power_off: record.options.power_off,
            addresses: join(record.addresses.iter().map(ToString::to_string).collect()),
            created: record.created.into(),
            steps: record.steps().iter().map(step).collect(),
            remarks: record.remarks.iter().map(|Remark { at, text }| ((*at).into(), text.clone())).collect(),
            read,
        }
    }
}

fn step(record: &StepRecord) -> StepDetails {
    let took = record.started.zip(record.ended).map(|(started, ended)| started.until(ended).as_secs_f64());
    StepDetails {
        name: record.step.in_words(),
        state: record.state.to_string(),
        sign: sign(record.state),
        started: record.started.map(Moment::from),
        took: took.map(|seconds| format!("{seconds:.1} s")),
        text: record.error.as_ref().or(record.detail.as_ref()).cloned().unwrap_or_default(),
        failed: record.error.is_some(),
    }
}
