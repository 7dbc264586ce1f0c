//! The controller: watches, a queue, and looks at what is in the queue, a bounded number at a time and never two at the
//! same object.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::StreamExt as _;
use k8s_openapi::NamespaceResourceScope;
use kube::runtime::controller::{self, ReconcileRequest};
use kube::runtime::reflector::{self, ObjectRef, store::Writer};
use kube::{Api, Client, Resource};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::context::{Context, Written};
use super::data_image::DataImage;
use super::events::Announcer;
use super::kind::Kind;
use super::leadership::Leadership;
use super::look::{self, Look, ReconcileError};
use super::metrics::KubernetesMetrics;
use super::provider::ImageProvider;
use super::readiness::Readiness;
use super::resources::PreprovisioningImage;
use super::retries::Retries;
use super::rivals::Rivals;
use super::waiting::Waiting;
use super::watching::{self, Concerned, Desk};

/// What is being done when dayone ends may take this long to come to its end.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a controller needs.
pub struct Config {
    /// The API server.
    pub client: Client,
    /// The namespace whose objects are looked at; all without one.
    pub namespace: Option<String>,
    /// The name of this replica, in Events.
    pub identity: String,
    /// How many objects are looked at at a time.
    pub concurrency: u16,
    /// Who makes images.
    pub images: Arc<dyn ImageProvider>,
    /// Whether this replica writes.
    pub leadership: Leadership,
    /// Counters.
    pub metrics: KubernetesMetrics,
}

/// A controller that runs.
pub struct Controller {
    context: Arc<Context<PreprovisioningImage>>,
    drives: Arc<Context<DataImage>>,
    leadership: Leadership,
    stopping: CancellationToken,
    tasks: JoinSet<()>,
}

impl Controller {
    /// Starts it. That the API server is away stops nothing: it is looked for until it is there.
    pub fn start(config: Config) -> Self {
        let client = super::client::counted(config.client, config.metrics.clone());
        let (objects, objects_writer) = reflector::store();
        let (secrets, secrets_writer) = reflector::store();
        let context = Arc::new(Context {
            events: Announcer::new(client.clone(), &config.identity),
            images: config.images,
            objects: objects.clone(),
            secrets,
            leads: config.leadership.watch(),
            metrics: config.metrics,
            readiness: Readiness::default(),
            retries: Retries::default(),
            written: Written::default(),
            rivals: Rivals::default(),
            owners: Arc::default(),
            memory: Waiting::default(),
            client,
        });
        let stopping = CancellationToken::new();
        let mut tasks = JoinSet::new();
        let runtime = Runtime { namespace: config.namespace, concurrency: config.concurrency, stopping: &stopping };
        let images = runtime.look_after(&context, objects_writer, &mut tasks);
        let (drives, drives_writer) = reflector::store();
        let drives = Arc::new(context.beside::<DataImage>(drives));
        let data_images = runtime.look_after(&drives, drives_writer, &mut tasks);
        let concerned: Vec<Box<dyn Concerned>> = vec![Box::new(images), Box::new(data_images)];
        let secrets = api(&context.client, runtime.namespace.as_deref());
        tasks.spawn(until(stopping.clone(), watching::secrets(secrets, secrets_writer, concerned)));
        Self { context, drives, leadership: config.leadership, stopping, tasks }
    }

    /// Whether everything is known, and every object that was there at first was looked at: its image is there, if it
    /// can be.
    pub fn ready(&self) -> bool {
        self.readiness()()
    }

    /// Tells what [`ready`](Self::ready) does, for as long as anybody asks.
    pub fn readiness(&self) -> impl Fn() -> bool + Send + Sync + use<> {
        let (images, drives) = (Arc::clone(&self.context), Arc::clone(&self.drives));
        move || images.readiness.is_ready() && drives.readiness.is_ready()
    }

    /// Whether this replica writes.
    pub fn is_leader(&self) -> bool {
        *self.context.leads.borrow()
    }

    /// Gives the Lease back, and follows from now on: for a replica that is about to end, and is still asked for images.
    pub async fn follow(&mut self) {
        self.leadership.stop().await;
    }

    /// Gives the Lease back, and ends. What is published stays with who publishes it.
    pub async fn stop(mut self) {
        self.leadership.stop().await;
        self.stopping.cancel();
        // What never came to run does not end by itself.
        let ended = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(PATIENCE, ended).await.is_err() {
            tracing::warn!("what was being done did not come to its end within {} s", PATIENCE.as_secs());
        }
    }
}

/// How objects are looked after, of whatever kind.
struct Runtime<'a> {
    namespace: Option<String>,
    concurrency: u16,
    stopping: &'a CancellationToken,
}

impl Runtime<'_> {
    /// Looks after the objects of a kind until dayone ends.
    fn look_after<K: Look>(&self, context: &Arc<Context<K>>, writer: Writer<K>, tasks: &mut JoinSet<()>) -> Desk<K> {
        let (queue, queued) = mpsc::unbounded_channel();
        let desk = Desk { context: Arc::clone(context), queue };
        let api = api(&context.client, self.namespace.as_deref());
        tasks.spawn(until(self.stopping.clone(), watching::objects(api, writer, desk.clone())));
        tasks.spawn(until(self.stopping.clone(), look_again(desk.clone())));
        tasks.spawn(work(Arc::clone(context), queued, self.concurrency, self.stopping.clone()));
        desk
    }
}

fn api<K: Resource<DynamicType = (), Scope = NamespaceResourceScope>>(
    client: &Client,
    namespace: Option<&str>,
) -> Api<K> {
    match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    }
}

async fn until(stopping: CancellationToken, task: impl Future<Output = ()>) {
    stopping.run_until_cancelled(task).await;
}

/// Has all objects looked at again when this replica begins to lead, and when there may be other images.
async fn look_again<K: Kind>(desk: Desk<K>) {
    let context = &desk.context;
    let (mut leads, mut images) = (context.leads.clone(), context.images.changed());
    context.metrics.leader(*leads.borrow_and_update());
    loop {
        let due = tokio::select! {
            () = changed(&mut leads) => {
                let leads = *leads.borrow_and_update();
                context.metrics.leader(leads);
                leads
            }
            () = changed(&mut images) => true,
        };
        if due {
            desk.send_all();
        }
    }
}

/// Waits for a change; for ever, where none can come.
async fn changed<T>(receiver: &mut watch::Receiver<T>) {
    if receiver.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}

async fn work<K: Look>(
    context: Arc<Context<K>>,
    mut queued: mpsc::UnboundedReceiver<ObjectRef<K>>,
    concurrency: u16,
    stopping: CancellationToken,
) {
    let queue = futures_util::stream::poll_fn(move |task| queued.poll_recv(task))
        .map(|object| Ok::<_, ReconcileError>(ReconcileRequest::from(object)))
        .take_until(stopping.cancelled_owned());
    let objects = context.objects.clone();
    let config = controller::Config::default().concurrency(concurrency);
    controller::applier(
        |object, context| Box::pin(look::reconcile(object, context)),
        look::after_error,
        context,
        objects,
        queue,
        config,
    )
    // Errors have been told by then; and that an object is gone before it is looked at is none.
    .for_each(|_| std::future::ready(()))
    .await;
}
