//! The steps up to `booted`.

mod firmware;
mod insert;
mod medium;
mod power;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use media::ExpectedCall;

use super::{Stop, connect, http_boot, media_time, refusals, secure_boot, stored_image, wait};
use crate::boot_mode::redfish_boot_mode;
use crate::boots::boot::Boot;
use crate::boots::call_home;
use crate::boots::evidence::Evidence;
use crate::boots::method::BootMethod;
use crate::boots::record::{AtBmc, BootRecord, BootState};
use crate::boots::shared::Shared;
use crate::boots::step::Step;
use crate::store::StoredImage;
use redfish::bmc::{Attempt, Bmc, BmcError, BootMode, BootOverride, BootSource, Plan, PowerAction, Reception, Survey};

/// The steps of one boot. They share a connection.
pub(super) struct Steps<'a> {
    shared: &'a Arc<Shared>,
    boot: &'a Arc<Boot>,
    /// Boxed, because most of the time there is no connection.
    bmc: Option<Box<Bmc>>,
    /// Whether the step was begun before, and may not have ended.
    resumed: bool,
    /// The host's call, from the moment at which the host is switched on.
    call: Option<ExpectedCall>,
    /// Whether the host may be off because of this boot: dayone was about to switch the host off, and has not seen it start since.
    may_be_off: bool,
    /// Since when the BMC reported a running system before dayone switched the host off, by the BMC's clock.
    running_since: Option<String>,
}

/// A plan that is recorded.
struct Claimed {
    plan: Arc<Plan>,
    /// The slots that had the image before, by their paths, and the URL that each shows.
    inserted: Vec<(String, String)>,
}

impl<'a> Steps<'a> {
    pub(super) fn new(shared: &'a Arc<Shared>, boot: &'a Arc<Boot>, resumed: bool) -> Self {
        let (bmc, call, running_since) = (None, None, None);
        Self { shared, boot, bmc, resumed, call, may_be_off: false, running_since }
    }

    /// Takes a step, and the steps that end together with it.
    pub(super) async fn take(&mut self, step: Step) -> Result<(), Stop> {
        self.change(|record| record.begin(step)).await?;
        // On the heap, and only while they run: thousands of boots may wait for their turn or for their host.
        let taken = match step {
            Step::Image => self.image().await,
            Step::Insert => Box::pin(self.insert()).await,
            Step::BootOverride => Box::pin(self.boot_override()).await,
            Step::Power => Box::pin(self.power()).await,
            Step::Reading | Step::Booted => {
                // Most BMCs allow few sessions, and a host may take long.
                self.close().await;
                self.expect_call()?;
                Box::pin(wait::wait(self.shared, self.boot, self.call.take())).await
            }
            Step::Ejected => Ok(()),
        };
        if taken.is_ok() {
            self.resumed = false;
        }
        taken
    }

    /// Prepares for another attempt at the step, with a new connection.
    pub(super) async fn reset(&mut self) {
        self.close().await;
        self.resumed = true;
    }

    /// Ends the session, if there is one.
    pub(super) async fn close(&mut self) {
        if let Some(bmc) = self.bmc.take() {
            let requests = bmc.requests().len();
            tracing::debug!(boot = %self.boot.id(), requests, "closing the session at the BMC of a boot");
            Box::pin(bmc.close()).await;
        }
    }

    async fn image(&mut self) -> Result<(), Stop> {
        self.stored()?;
        self.change(|record| record.done(Step::Image, "published")).await
    }

    async fn insert(&mut self) -> Result<(), Stop> {
        let (image, url) = self.stored()?;
        let method = self.boot.record().method;
        // After a rotation of the installation key, an earlier attempt has inserted another URL.
        let mut ours = vec![url.clone(), self.shared.inserted_url(&self.boot.record())];
        ours.dedup();
        let Claimed { plan, inserted } = self.survey_and_claim(&image, &url, &ours).await?;
        self.check_not_deleted()?;
        if method == BootMethod::Http {
            self.restart_reading(&image);
        }
        if let Some(settings) = &plan.firmware {
            let earlier = ours.iter().find(|earlier| **earlier != url);
            return Box::pin(self.firmware(settings, &url, earlier.map(String::as_str))).await;
        }
        if method == BootMethod::Http {
            let nothing = "nothing is inserted: the host's firmware fetches the image itself";
            return self.change(|record| record.skip(Step::Insert, nothing)).await;
        }
        if self.resumed {
            for (slot, url) in &inserted {
                self.eject_earlier(slot, url).await?;
            }
        }
        self.restart_reading(&image);
        self.boot.set_sent_before(Some(0));
        self.insert_planned(&plan, &image, &url).await
    }

    /// Reads what the BMC has, and records the plan. `ours` are the URLs of the image, which the BMC may have already.
    async fn survey_and_claim(
        &mut self,
        image: &Arc<StoredImage>,
        url: &str,
        ours: &[String],
    ) -> Result<Claimed, Stop> {
        let record = self.boot.record();
        self.boot.show_progress("reading the state of the BMC");
        let survey = self.connected().await?.survey().await?;
        let mut plan = self.plan(&record, &survey, url).await?;
        self.check_image(&record, &survey, image).await?;
        self.claim(&record, &survey, &mut plan, url).await?;
        let mut inserted = Vec::new();
        for url in ours {
            let slots = survey.slots.iter().filter(|slot| slot.state.is_connected() && slot.state.names(url));
            inserted.extend(slots.map(|slot| (slot.path.clone(), url.clone())));
        }
        Ok(Claimed { plan, inserted })
    }

    /// Plans the requests to the BMC.
    async fn plan(&mut self, record: &BootRecord, survey: &Survey, url: &str) -> Result<Arc<Plan>, Stop> {
        let mode = record.boot_mode.map(redfish_boot_mode);
        if record.method != BootMethod::Http {
            return Ok(Arc::new(Bmc::plan(survey, record.medium, mode)?));
        }
        // What an earlier attempt has found there. By now, the settings may be those that it has staged.
        let earlier = record.at_bmc.as_ref().and_then(|at_bmc| at_bmc.plan.firmware.as_ref());
        let network = record.firmware_network.as_ref();
        let bmc = self.connected().await?;
        Ok(Arc::new(Box::pin(bmc.plan_http_boot(survey, record.medium, mode, url, network, earlier)).await?))
    }

    /// Checks whether the host can boot from the image, and records what may go wrong.
    async fn check_image(
        &mut self,
        record: &BootRecord,
        survey: &Survey,
        image: &Arc<StoredImage>,
    ) -> Result<(), Stop> {
        let by_http = record.method == BootMethod::Http;
        if by_http && let Some(remark) = http_boot::check(image)? {
            self.change(|record| record.remark(remark)).await?;
        }
        if record.boot_mode.map(redfish_boot_mode) != Some(BootMode::Legacy) {
            let ignored = record.options.ignore_secure_boot;
            let shared = self.shared;
            let bmc = self.connected().await?;
            if let Some(remark) = secure_boot::check(shared, bmc, survey, Arc::clone(image), ignored).await? {
                self.change(|record| record.remark(remark)).await?;
            }
        }
        if !by_http {
            let (store, image, address) =
                (Arc::clone(&self.shared.store), Arc::clone(image), record.bmc.address.clone());
            let found = self.shared.blocking.run(move || media_time::remark(&store, &image, &address)).await;
            if let Ok(Some(remark)) = found {
                self.change(|record| record.remark(remark)).await?;
            }
        }
        Ok(())
    }

    /// Records the plan before dayone changes anything at the BMC.
    async fn record_plan(
        &mut self,
        earlier: &BootRecord,
        survey: &Survey,
        plan: &Arc<Plan>,
        url: &str,
    ) -> Result<(), Stop> {
        let mut recorded = Arc::clone(plan);
        // An earlier attempt may have inserted the image, which is ejected only later.
        if let Some(at_bmc) = &earlier.at_bmc {
            let (planned, earlier) = (Arc::make_mut(&mut recorded), &at_bmc.plan);
            planned.shown_as.clone_from(&earlier.shown_as);
            // The undo compares the slots with their state before the first attempt.
            for slot in &mut planned.slots {
                if let Some(before) = earlier.slots.iter().find(|before| before.path == slot.path) {
                    slot.state.clone_from(&before.state);
                }
            }
        }
        self.change(|record| {
            for note in survey.notes.iter().chain(&plan.quirks) {
                record.remark(note.clone());
            }
            if let Some(remark) = firmware::network_remark(record, plan) {
                record.remark(remark);
            }
            // Decided while the record is locked: a rotation that begins later finds the record, and one before it is seen.
            let url = self.shared.recorded_url(record, url);
            record.at_bmc = Some(Arc::new(AtBmc {
                plan: recorded,
                url,
                slot: None,
                pending: None,
                copied: false,
                boot_override: None,
                started: None,
            }));
        })
        .await
    }

    async fn boot_override(&mut self) -> Result<(), Stop> {
        self.check_not_deleted()?;
        let (plan, before) = self.record_override().await?;
        self.boot.show_progress("setting the boot override");
        let mut set = match self.set_boot(&plan).await? {
            Err(BmcError::BootRefused { attempts }) if attempts.iter().any(Attempt::may_need_host_off) => {
                Box::pin(self.boot_override_while_off(&plan)).await?
            }
            // It may show the URL later, so the undo must not rely on what it shows.
            Err(error @ BmcError::HttpUriNotKept { .. }) => {
                let accepted = |at_bmc: &mut AtBmc| {
                    if let Some(set) = &mut at_bmc.boot_override {
                        set.reception = Reception::Accepted;
                    }
                };
                self.change_at_bmc(accepted).await?;
                return Err(error.into());
            }
            set => set?,
        };
        (set.previous, set.http_uri, set.order) = (before.previous, before.http_uri, before.order.or(set.order));
        set.first_device = before.first_device;
        let (image, _) = self.stored()?;
        // sushy-tools, whose machines have no such firmware, reads the whole image here.
        let copied = set.form.is_http() && self.is_copied(&image);
        let (target, notes) = (set.shown.target.clone(), set.notes.clone());
        let for_how_long = if set.once { "once" } else { "until it is restored" };
        let refused = refusals(&set.attempts);
        (set.notes, set.attempts) = (Vec::new(), Vec::new());
        self.change_at_bmc(|at_bmc| {
            at_bmc.boot_override = Some(set);
            at_bmc.copied |= copied;
        })
        .await?;
        self.change(|record| {
            for remark in refused.into_iter().chain(notes) {
                record.remark(remark);
            }
            let detail = match target {
                Some(target) => format!("{target}, {for_how_long}"),
                None => for_how_long.to_owned(),
            };
            record.done(Step::BootOverride, detail);
        })
        .await
    }

    /// Records that dayone may set the boot override, before dayone sets anything. Returns the plan and the recorded override. If the record
    /// has an override already, from before a restart, its earlier values stay.
    async fn record_override(&mut self) -> Result<(Arc<Plan>, Box<BootOverride>), Stop> {
        let at_bmc = self.at_bmc()?;
        let plan = &at_bmc.plan;
        let Some(form) = plan.boot.first().cloned() else {
            return Err(Stop::Failed("the BMC offers no way to boot from the image".into()));
        };
        let first_device = match &at_bmc.boot_override {
            Some(set) => set.first_device.clone(),
            None => self.connected().await?.planned_first_boot_device(plan).await?,
        };
        let boot = &plan.system.boot;
        let (previous, http_uri, order) = match &at_bmc.boot_override {
            Some(set) => (&set.previous, &set.http_uri, set.order.clone()),
            None => (&boot.source, &boot.http_uri, None),
        };
        let set = Box::new(BootOverride {
            system: plan.system.path.clone(),
            previous: previous.clone(),
            once: form.is_once(),
            form,
            http_uri: http_uri.clone(),
            order,
            first_device,
            shown: BootSource::default(),
            reception: Reception::Unknown,
            notes: Vec::new(),
            attempts: Vec::new(),
        });
        self.change_at_bmc(|at_bmc| at_bmc.boot_override = Some((*set).clone())).await?;
        Ok((Arc::clone(plan), set))
    }

    /// Switches the host off, because some BMCs accept an override only then. The host is to be restarted anyway.
    async fn boot_override_while_off(&mut self, plan: &Plan) -> Result<BootOverride, Stop> {
        self.check_not_deleted()?;
        let remark = "the BMC refuses the boot override, as some do while the host is on or in POST, so dayone switches the host off first";
        self.change(|record| record.remark(remark)).await?;
        self.note_running().await?;
        let graceful = Duration::from_secs(self.boot.record().options.shutdown_within);
        self.may_be_off = true;
        self.connected().await?.power(PowerAction::Off { graceful }).await?;
        Ok(self.set_boot(plan).await??)
    }

    /// Sets the boot override of a plan.
    async fn set_boot(&mut self, plan: &Plan) -> Result<Result<BootOverride, BmcError>, Stop> {
        let (_, url) = self.stored()?;
        let by_http = self.boot.record().method == BootMethod::Http;
        let bmc = self.connected().await?;
        Ok(if by_http { bmc.boot_http_once(plan, &url).await } else { bmc.boot_once(plan).await })
    }

    /// Waits for the host's call from now on, if the host calls home.
    fn expect_call(&mut self) -> Result<(), Stop> {
        let record = self.boot.record();
        if self.call.is_some() || !record.options.wait_for.contains(&Evidence::CallHome) {
            return Ok(());
        }
        let (image, _) = self.stored()?;
        let recipe = image.recipe().map_err(|error| Stop::Failed(error.to_string().into()))?;
        let Some(token) = call_home::token(recipe.recipe()) else { return Ok(()) };
        let expected = self.shared.call_homes.expect(token).map_err(|error| Stop::Failed(error.to_string().into()))?;
        self.call = Some(expected);
        Ok(())
    }

    /// The image, and the URL that the BMC gets.
    fn stored(&self) -> Result<(Arc<StoredImage>, String), Stop> {
        stored_image(self.shared, self.boot)
    }

    fn at_bmc(&self) -> Result<Arc<AtBmc>, Stop> {
        let at_bmc = self.boot.record().at_bmc.clone();
        at_bmc.ok_or_else(|| Stop::Failed("the record does not say what was inserted; start the boot again".into()))
    }

    /// Stops if somebody has deleted the boot meanwhile.
    fn check_not_deleted(&self) -> Result<(), Stop> {
        if self.boot.record().state == BootState::Running { Ok(()) } else { Err(Stop::Deleted) }
    }

    async fn connected(&mut self) -> Result<&Bmc, Stop> {
        let bmc = if let Some(bmc) = self.bmc.take() {
            bmc
        } else {
            let boot = Arc::clone(self.boot);
            let bmc = Box::pin(connect(self.shared, self.boot)).await?;
            // A restart takes minutes, and must not start the host from the medium of a deleted boot.
            Box::new(bmc.interruptible(move || boot.record().state != BootState::Running))
        };
        Ok(self.bmc.insert(bmc))
    }

    fn change<'b>(
        &'b self,
        change: impl FnOnce(&mut BootRecord) + Send + 'b,
    ) -> impl Future<Output = Result<(), Stop>> + 'b {
        let changed = self.shared.change(self.boot, change);
        async move {
            changed.await?;
            Ok(())
        }
    }

    fn change_at_bmc<'b>(
        &'b self,
        change: impl FnOnce(&mut AtBmc) + Send + 'b,
    ) -> impl Future<Output = Result<(), Stop>> + 'b {
        self.change(move |record| {
            if let Some(at_bmc) = record.at_bmc_mut() {
                change(at_bmc);
            }
        })
    }
}
