//! The controller: watches, a queue for each kind, and workers that reconcile what is queued. A bounded number of objects is
//! reconciled at a time, and each object only once at a time.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::StreamExt as _;
use k8s_openapi::NamespaceResourceScope;
use kube::runtime::controller::{self, ReconcileRequest};
use kube::runtime::reflector::{self, ObjectRef, store::Writer};
use kube::{Api, Client, Resource};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::client::patient;
use super::context::{Context, StaleVersions};
use super::data_image::DataImage;
use super::events::EventRecorder;
use super::failing::Failing;
use super::kind::Kind;
use super::leadership::{Leadership, changed};
use super::metrics::KubernetesMetrics;
use super::readiness::Readiness;
use super::reconcile::{self, Reconcile, ReconcileError};
use super::resources::PreprovisioningImage;
use super::retries::Retries;
use super::turns::Turns;
use super::unready::Unready;
use super::watching::{self, SecretListener, WorkQueue};
use crate::audit::Audit;
use crate::host_images::ImageProvider;

/// How long running work may take to finish when dayone stops.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a controller needs.
pub struct Config {
    /// The client of the API server, [`counted`](super::counted).
    pub client: Client,
    /// The namespace whose objects the controller reconciles; `None` for all namespaces.
    pub namespace: Option<String>,
    /// The name of this replica, for Events.
    pub identity: String,
    /// How many objects the controller reconciles at a time.
    pub concurrency: u16,
    /// Makes the images.
    pub images: Arc<dyn ImageProvider>,
    /// Whether this replica writes.
    pub leadership: Leadership,
    /// The controller's metrics.
    pub metrics: KubernetesMetrics,
    /// The audit log, or none.
    pub audit: Audit,
}

/// A running controller.
pub struct Controller {
    context: Arc<Context<PreprovisioningImage>>,
    drives: Arc<Context<DataImage>>,
    leadership: Leadership,
    stopping: CancellationToken,
    tasks: JoinSet<()>,
}

impl Controller {
    /// Starts the controller. If the API server does not answer, the controller tries again until it does.
    pub fn start(config: Config) -> Self {
        let client = config.client;
        let (objects, objects_writer) = reflector::store();
        let (secrets, secrets_writer) = reflector::store();
        let (events, publishing) = EventRecorder::new(client.clone(), &config.identity, config.metrics.clone());
        let context = Arc::new(Context {
            events,
            images: config.images,
            objects: objects.clone(),
            secrets,
            leads: config.leadership.watch(),
            failing: Arc::new(Failing::new(config.metrics.clone())),
            metrics: config.metrics,
            audit: config.audit,
            readiness: Readiness::default(),
            retries: Retries::new(config.concurrency),
            stale: StaleVersions::default(),
            contention: Arc::default(),
            owner_permission: Arc::default(),
            memory: Unready::default(),
            client,
        });
        let stopping = CancellationToken::new();
        let mut tasks = JoinSet::new();
        tasks.spawn(until(stopping.clone(), publishing));
        let runtime = Runtime { namespace: config.namespace, concurrency: config.concurrency, stopping: &stopping };
        let images = runtime.spawn(&context, objects_writer, &mut tasks);
        let (drives, drives_writer) = reflector::store();
        let drives = Arc::new(context.for_kind::<DataImage>(drives, config.concurrency));
        let data_images = runtime.spawn(&drives, drives_writer, &mut tasks);
        let listeners: Vec<Box<dyn SecretListener>> = vec![Box::new(images), Box::new(data_images)];
        let secrets = api(&context.client, runtime.namespace.as_deref());
        tasks.spawn(until(stopping.clone(), watching::secrets(secrets, secrets_writer, listeners)));
        Self { context, drives, leadership: config.leadership, stopping, tasks }
    }

    /// Whether the controller knows all objects and Secrets, and has reconciled every object that existed at the start.
    pub fn ready(&self) -> bool {
        self.readiness()()
    }

    /// Returns a function that answers what [`ready`](Self::ready) does, even after the controller has stopped.
    pub fn readiness(&self) -> impl Fn() -> bool + Send + Sync + use<> {
        let (images, drives) = (Arc::clone(&self.context), Arc::clone(&self.drives));
        move || images.readiness.is_ready() && drives.readiness.is_ready()
    }

    /// Whether this replica writes.
    pub fn is_leader(&self) -> bool {
        self.context.leads()
    }

    /// Releases the Lease, and goes on without writing: for a replica that is about to stop, and still serves images.
    pub async fn follow(&mut self) {
        self.leadership.stop().await;
    }

    /// Releases the Lease, and stops. The image provider keeps what is published.
    pub async fn stop(mut self) {
        self.leadership.stop().await;
        self.stopping.cancel();
        let ended = async { while self.tasks.join_next().await.is_some() {} };
        // Not every task ends by itself, so this waits for a bounded time.
        if tokio::time::timeout(PATIENCE, ended).await.is_err() {
            tracing::warn!("running reconciliations did not finish within {} s", PATIENCE.as_secs());
        }
    }
}

/// How the controller runs, for objects of every kind.
struct Runtime<'a> {
    namespace: Option<String>,
    concurrency: u16,
    stopping: &'a CancellationToken,
}

impl Runtime<'_> {
    /// Starts the tasks that watch and reconcile the objects of a kind.
    fn spawn<K: Reconcile>(
        &self,
        context: &Arc<Context<K>>,
        writer: Writer<K>,
        tasks: &mut JoinSet<()>,
    ) -> WorkQueue<K> {
        let (sender, queued) = mpsc::unbounded_channel();
        let queue = WorkQueue { context: Arc::clone(context), sender };
        let api = api(&context.client, self.namespace.as_deref());
        tasks.spawn(until(self.stopping.clone(), watching::objects(api, writer, queue.clone())));
        tasks.spawn(until(self.stopping.clone(), requeue_on_change(queue.clone())));
        tasks.spawn(work(Arc::clone(context), queued, self.concurrency, self.stopping.clone()));
        queue
    }
}

/// The objects to watch.
fn api<K: Resource<DynamicType = (), Scope = NamespaceResourceScope>>(
    client: &Client,
    namespace: Option<&str>,
) -> Api<K> {
    let client = patient(client.clone());
    match namespace {
        Some(namespace) => Api::namespaced(client, namespace),
        None => Api::all(client),
    }
}

async fn until(stopping: CancellationToken, task: impl Future<Output = ()>) {
    stopping.run_until_cancelled(task).await;
}

/// Queues all objects again when this replica begins to lead, and when the same requests may give other images.
async fn requeue_on_change<K: Kind>(queue: WorkQueue<K>) {
    let context = &queue.context;
    let (mut leads, mut images) = (context.leads.clone(), context.images.changed());
    // A replica that can make no images takes the Lease for some seconds, again and again, to write the reason into the objects. An
    // alert about a missing leader would end with each of these turns.
    let show = |leads: bool| context.metrics.leader(leads && context.images.can_make_images());
    let leads_now = *leads.borrow_and_update();
    show(leads_now);
    context.failing.lead(leads_now);
    loop {
        let due = tokio::select! {
            () = changed(&mut leads) => {
                let leads = *leads.borrow_and_update();
                show(leads);
                context.failing.lead(leads);
                context.contention.clear();
                leads
            }
            () = changed(&mut images) => {
                show(context.leads());
                true
            }
        };
        if due {
            queue.send_all();
        }
    }
}

async fn work<K: Reconcile>(
    context: Arc<Context<K>>,
    queued: mpsc::UnboundedReceiver<ObjectRef<K>>,
    concurrency: u16,
    stopping: CancellationToken,
) {
    let turns = Turns::new(concurrency);
    let queue = turns
        .objects(queued)
        .map(|object| Ok::<_, ReconcileError>(ReconcileRequest::from(object)))
        .take_until(stopping.cancelled_owned());
    let objects = context.objects.clone();
    let config = controller::Config::default().concurrency(concurrency);
    let workers = turns.clone();
    controller::applier(
        move |object: Arc<K>, context| {
            let turn = workers.begin(ObjectRef::from_obj(&*object));
            Box::pin(async move {
                let _turn = turn;
                reconcile::run(object, context).await
            })
        },
        reconcile::after_error,
        context,
        objects,
        queue,
        config,
    )
    // `after_error` has logged all errors, except that an object was deleted while it was queued, which is none.
    .for_each(|result| {
        if let Err(controller::Error::ObjectNotFound(gone)) = result {
            turns.gone(&ObjectRef::new(&gone.name).within(gone.namespace.as_deref().unwrap_or_default()));
        }
        std::future::ready(())
    })
    .await;
}

#[cfg(test)]
mod tests;
