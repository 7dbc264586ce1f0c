//! The steps up to `booted`, each by itself.

use std::sync::Arc;
use std::time::Duration;

use media::Call;
use tokio::sync::watch;

use super::connection::connect;
use super::{Stop, refusals, show, stored_image, wait};
use crate::boots::boot::Boot;
use crate::boots::call_home;
use crate::boots::evidence::Evidence;
use crate::boots::reading;
use crate::boots::record::{AtBmc, BootState, Started};
use crate::boots::shared::Shared;
use crate::boots::step::Step;
use crate::store::StoredImage;
use redfish::bmc::{
    Bmc, BmcError, BootMode, BootOverride, BootSource, Plan, PowerAction, PowerChange, PowerState, Ready, Survey,
};

/// The steps of one boot, with the connection that they share.
pub(super) struct Steps<'a> {
    shared: &'a Arc<Shared>,
    boot: &'a Arc<Boot>,
    bmc: Option<Bmc>,
    /// Whether the step that is taken was begun before, and has not ended, as far as is known.
    resumed: bool,
    /// The host's call. Waited for from the moment at which it is switched on.
    call: Option<watch::Receiver<Option<Call>>>,
}

impl<'a> Steps<'a> {
    pub(super) fn new(shared: &'a Arc<Shared>, boot: &'a Arc<Boot>, resumed: bool) -> Self {
        Self { shared, boot, bmc: None, resumed, call: None }
    }

    /// Takes a step, and those that end with it.
    pub(super) async fn take(&mut self, step: Step) -> Result<(), Stop> {
        self.change(|record| record.begin(step)).await?;
        let taken = match step {
            Step::Image => self.image().await,
            Step::Insert => self.insert().await,
            Step::BootOverride => self.boot_override().await,
            Step::Power => self.power().await,
            Step::Reading | Step::Booted => {
                // Sessions are few at most BMCs, and a host may take long.
                self.close().await;
                self.expect_call()?;
                wait::wait(self.shared, self.boot, self.call.take()).await
            }
            Step::Ejected => Ok(()),
        };
        if taken.is_ok() {
            self.resumed = false;
        }
        taken
    }

    /// The step that failed will be taken again, by a connection of its own.
    pub(super) async fn try_again(&mut self) {
        self.close().await;
        self.resumed = true;
    }

    /// Ends the session, if there is one.
    pub(super) async fn close(&mut self) {
        if let Some(bmc) = self.bmc.take() {
            let requests = bmc.requests().len();
            tracing::debug!(boot = %self.boot.id(), requests, "done with the BMC of a boot for now");
            bmc.close().await;
        }
    }

    async fn image(&mut self) -> Result<(), Stop> {
        self.stored()?;
        self.change(|record| record.done(Step::Image, "published")).await
    }

    async fn insert(&mut self) -> Result<(), Stop> {
        let (_, url) = self.stored()?;
        let record = self.boot.record();
        show(self.boot, "looking at what the BMC has");
        let bmc = self.connected().await?;
        let survey = bmc.survey().await?;
        let mode = record.boot_mode.map(|mode| match mode {
            vocabulary::host::BootMode::Legacy => BootMode::Legacy,
            vocabulary::host::BootMode::Uefi | vocabulary::host::BootMode::UefiSecureBoot => BootMode::Uefi,
        });
        let plan = Bmc::plan(&survey, record.medium, mode)?;
        let resumed = self.resumed;
        let planned = plan.clone();
        self.change(|record| {
            for note in survey.notes.iter().chain(&plan.quirks) {
                record.remark(note.clone());
            }
            record.at_bmc = Some(AtBmc { plan: planned, slot: None, copied: false, before: None, started: None });
        })
        .await?;
        self.go_on()?;
        if resumed {
            self.take_out(&survey, &url).await?;
        }
        let (image, _) = self.stored()?;
        // What an earlier boot has read of the same image says nothing of this one.
        if !self.shared.is_shared(self.boot) {
            image.restart_reading();
        }
        show(self.boot, "inserting the image; some BMCs read it whole before they answer");
        let inserted = self.connected().await?.insert(&plan, &url).await?;
        let copied = reading::is_copied(&image, record.file_name());
        let detail = match (&inserted.form, inserted.replaced) {
            (None, _) => format!("it was in {} already", inserted.slot),
            (Some(_), true) => format!("in {}, after another medium was ejected", inserted.slot),
            (Some(_), false) => format!("in {}", inserted.slot),
        };
        self.change(|record| {
            for remark in refusals(&inserted.attempts).into_iter().chain(inserted.notes) {
                record.remark(remark);
            }
            if let Some(at_bmc) = &mut record.at_bmc {
                at_bmc.slot = Some(inserted.slot.clone());
                at_bmc.copied = copied;
            }
            record.done(Step::Insert, detail);
        })
        .await
    }

    /// Takes out what was inserted before a restart, or by a try that failed: how much of it the BMC has read since is
    /// not known any more, and that it has ended is not either.
    async fn take_out(&mut self, survey: &Survey, url: &str) -> Result<(), Stop> {
        let ours = survey.slots.iter().filter(|slot| slot.state.is_connected() && slot.state.names(url));
        for slot in ours {
            let ejected = self.connected().await?.eject(&slot.path, Some(url)).await?;
            let remark = format!("{}: ejected what had been inserted before, to insert it anew", ejected.slot);
            self.change(|record| record.remark(remark)).await?;
        }
        Ok(())
    }

    async fn boot_override(&mut self) -> Result<(), Stop> {
        self.go_on()?;
        let at_bmc = self.at_bmc()?;
        let Some(form) = at_bmc.plan.boot.first().cloned() else {
            return Err(Stop::Failed("the BMC offers no way to boot from virtual media".into()));
        };
        // Written before anything is set. After a restart, what was before is what was written first.
        let source = at_bmc.plan.system.boot.source.clone();
        let before = at_bmc.before.map_or(source, |set| set.before);
        let set = BootOverride {
            system: at_bmc.plan.system.path.clone(),
            before: before.clone(),
            once: form.is_once(),
            form,
            shown: BootSource::default(),
            notes: Vec::new(),
            attempts: Vec::new(),
        };
        self.keep_override(set).await?;
        show(self.boot, "setting what the host boots from");
        let mut set = match self.connected().await?.boot_once(&at_bmc.plan).await {
            Err(BmcError::BootRefused { attempts }) if attempts.iter().any(|attempt| attempt.status == Some(409)) => {
                self.boot_override_while_off(&at_bmc.plan).await?
            }
            set => set?,
        };
        set.before = before;
        let (target, notes) = (set.shown.target.clone(), set.notes.clone());
        let for_how_long = if set.once { "once" } else { "until it is restored" };
        let refused = refusals(&set.attempts);
        (set.notes, set.attempts) = (Vec::new(), Vec::new());
        self.keep_override(set).await?;
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

    /// Some BMCs take an override only while the host is off. It shall start anew anyway.
    async fn boot_override_while_off(&mut self, plan: &Plan) -> Result<BootOverride, Stop> {
        self.go_on()?;
        let remark =
            "the BMC refuses the boot override with 409, as some do while the host is on: it is switched off first";
        self.change(|record| record.remark(remark)).await?;
        let graceful = Duration::from_secs(self.boot.record().options.shutdown_within);
        let bmc = self.connected().await?;
        bmc.power(PowerAction::Off { graceful }).await?;
        Ok(bmc.boot_once(plan).await?)
    }

    async fn keep_override(&self, set: BootOverride) -> Result<(), Stop> {
        self.change(|record| {
            if let Some(at_bmc) = &mut record.at_bmc {
                at_bmc.before = Some(set);
            }
        })
        .await
    }

    async fn power(&mut self) -> Result<(), Stop> {
        self.go_on()?;
        let graceful = Duration::from_secs(self.boot.record().options.shutdown_within);
        let mut is_off = false;
        if self.resumed {
            if let Some(detail) = self.was_started().await? {
                self.boot.starts_now();
                self.call = None;
                return self.change(|record| record.done(Step::Power, detail)).await;
            }
            // What the BMC was told before may happen only now. A host that starts late uses the override up, so it is
            // set anew while the host is off; and one that is on by then has started with it.
            show(self.boot, "switching the host off, and setting the boot override again");
            is_off = match self.connected().await?.power(PowerAction::Off { graceful }).await {
                Ok(_) => true,
                // It is switched off together with the start.
                Err(BmcError::PowerUnsupported { .. }) => false,
                Err(error) => return Err(error.into()),
            };
            self.boot_override().await?;
        }
        show(self.boot, "switching the host off and on");
        let bmc = self.connected().await?;
        let ready = if is_off { bmc.ready_to_switch_on().await? } else { bmc.ready_to_restart(graceful).await? };
        let change = self.start(ready).await?;
        let detail = match (change.before, change.graceful) {
            (PowerState::Off, _) => "switched on".to_owned(),
            (_, Some(true)) => "it shut down, and was switched on".to_owned(),
            (_, Some(false)) => {
                format!("it did not shut down within {} s and was switched off, and on again", graceful.as_secs())
            }
            (_, None) => "switched off and on".to_owned(),
        };
        self.change(|record| record.done(Step::Power, detail)).await
    }

    /// Starts the host. Nothing that was seen before shows anything of it, and from here on it may read its medium.
    async fn start(&mut self, ready: Ready) -> Result<PowerChange, Stop> {
        let running = ready.boot_progress().filter(|progress| progress.is_running());
        let started = Started {
            was_off: ready.is_off(),
            os_running: running.is_some(),
            os_running_since: running
                .and_then(|progress| progress.last_state_time.clone())
                .filter(|time| is_time(time)),
        };
        let was_off = started.was_off;
        self.keep_started(Some(started)).await?;
        self.expect_anew()?;
        let change = match self.connected().await?.start(ready).await {
            Ok(change) => change,
            Err(error) => {
                self.keep_if_started(&error).await?;
                return Err(error.into());
            }
        };
        if !was_off {
            // Until now it may have been the system from before.
            self.expect_anew()?;
        }
        Ok(change)
    }

    /// What is seen from now on counts.
    fn expect_anew(&mut self) -> Result<(), Stop> {
        let (image, _) = self.stored()?;
        if !self.shared.is_shared(self.boot) {
            image.restart_reading();
        }
        self.boot.starts_now();
        self.call = None;
        self.expect_call()
    }

    async fn keep_started(&self, started: Option<Started>) -> Result<(), Stop> {
        self.change(|record| {
            if let Some(at_bmc) = &mut record.at_bmc {
                at_bmc.started = started;
            }
        })
        .await
    }

    /// A host that the BMC refused to start, and that is off, was not started.
    async fn keep_if_started(&mut self, error: &BmcError) -> Result<(), Stop> {
        if !matches!(error, BmcError::PowerRefused { .. }) {
            return Ok(());
        }
        // Where that is not known either, it counts as started.
        let Ok(bmc) = self.connected().await else { return Ok(()) };
        if matches!(bmc.power_state().await, Ok(PowerState::Off)) { self.keep_started(None).await } else { Ok(()) }
    }

    /// Whether the host was started anew already, before a restart or by a try that failed, as far as can be seen: it is
    /// on, and the boot override, which is for one boot, is used up. Then it must not be started again, for it would boot
    /// from somewhere else.
    async fn was_started(&mut self) -> Result<Option<String>, Stop> {
        let at_bmc = self.at_bmc()?;
        let survey = self.connected().await?.survey().await?;
        let used_up = at_bmc.before.as_ref().is_some_and(|set| set.once)
            && survey.system.boot.source.enabled.as_deref() == Some("Disabled");
        let started = survey.system.power_state == PowerState::On && used_up;
        Ok(started.then(|| "it had been started already: the boot override is used up".to_owned()))
    }

    /// Waits for the host's call from now on, if it is one that calls.
    fn expect_call(&mut self) -> Result<(), Stop> {
        let record = self.boot.record();
        if self.call.is_some() || !record.options.wait_for.contains(&Evidence::CallHome) {
            return Ok(());
        }
        let (image, _) = self.stored()?;
        let Some(token) = call_home::token(image.recipe(), &self.shared.store) else { return Ok(()) };
        let expected = self.shared.call_homes.expect(token).map_err(|error| Stop::Failed(error.to_string().into()))?;
        self.call = Some(expected);
        Ok(())
    }

    /// The image, and what the BMC finds it under.
    fn stored(&self) -> Result<(Arc<StoredImage>, String), Stop> {
        stored_image::of(self.shared, self.boot)
    }

    fn at_bmc(&self) -> Result<AtBmc, Stop> {
        let at_bmc = self.boot.record().at_bmc.clone();
        at_bmc.ok_or_else(|| Stop::Failed("the record does not say what was inserted; begin the boot anew".into()))
    }

    /// Whether nobody has deleted the boot meanwhile.
    fn go_on(&self) -> Result<(), Stop> {
        if self.boot.record().state == BootState::Running { Ok(()) } else { Err(Stop::Deleted) }
    }

    async fn connected(&mut self) -> Result<&Bmc, Stop> {
        let bmc = match self.bmc.take() {
            Some(bmc) => bmc,
            None => connect(self.shared, self.boot).await?,
        };
        Ok(self.bmc.insert(bmc))
    }

    async fn change(&self, change: impl FnOnce(&mut crate::boots::record::BootRecord)) -> Result<(), Stop> {
        self.shared.change(self.boot, change).await?;
        Ok(())
    }
}

/// Whether a BMC's text has the form of a time, and may be kept as such.
fn is_time(text: &str) -> bool {
    text.len() <= 40 && text.bytes().all(|byte| byte.is_ascii_digit() || b"TZ:+-.".contains(&byte))
}
