//! Local modules on their way to workers.

use std::fs;
use std::path::{Path, PathBuf};

use cts_bundle::{Limits, ModuleRoots, unpack};
use cts_core::{BundleReference, TaskDefinition, TaskSpec, unusable_module};
use cts_proto::bundle::v1::GetBundleRequest;
use cts_proto::run::v1::LeaseProof;
use cts_proto::task::v1::{RunMode, Task};
use cts_rpc::admission::with_lease_proof;
use cts_scheduler::{Modules, Options};
use cts_store::Store as _;
use tonic::Code;

use crate::calls::{checked, declared, refused};
use crate::setup::{Setup, WORKER, bundles, instance, member, task};
use crate::site::Site;

impl Site {
    /// A task whose module has this source below the site.
    fn task(&self, name: &str, source: &str) -> TaskSpec {
        let mut task = task(name);
        task.definition.module_source = self.path(source).display().to_string();
        task
    }

    async fn start_bundling(&self, tasks: &[TaskSpec]) -> Setup {
        let mut options = Options::alone(tasks.to_vec(), member());
        options.modules = Modules::Bundled {
            excluded: vec![self.path("site/sync-tasks")],
            roots: ModuleRoots {
                named: Vec::new(),
                usual: vec![self.path("")],
            },
        };
        self.start(options).await
    }

    async fn stored(&self, name: &str) -> TaskSpec {
        let tasks = self.store.tasks().await.unwrap();
        let found = tasks
            .into_iter()
            .find(|task| task.spec.name().as_str() == name);
        found.unwrap().spec
    }

    async fn definition(&self, name: &str) -> TaskDefinition {
        self.stored(name).await.definition
    }

    async fn bundle(&self, name: &str) -> BundleReference {
        let definition = self.definition(name).await;
        let bundle = definition.bundle.unwrap();
        assert_eq!(definition.module_digest, Some(bundle.hash));
        bundle
    }
}

async fn fetch(setup: &Setup, bundle: &BundleReference) -> Vec<u8> {
    let request = GetBundleRequest {
        hash: bundle.hash.to_string(),
    };
    let mut client = setup.bundles.clone();
    let mut parts = client.get_bundle(request).await.unwrap().into_inner();
    let mut bytes = Vec::new();
    while let Some(part) = parts.message().await.unwrap() {
        bytes.extend(part.chunk);
    }
    bytes
}

fn unpacked(bytes: &[u8], bundle: &BundleReference, place: &Path) -> PathBuf {
    let hash = unpack(bytes, place, &Limits::default()).unwrap();
    assert_eq!(hash, bundle.hash);
    place.join(&bundle.module)
}

#[tokio::test]
async fn workers_can_fetch_the_bundles_of_local_modules() {
    let site = Site::new().await;
    let call = "module \"shared\" {\n  source = \"../shared\"\n}\n";
    site.write("modules/web/main.tf", call);
    site.write("modules/shared/main.tf", "# shared");
    let mut published = task("published");
    published.definition.module_source = "acme/web/any".into();
    let tasks = [
        site.task("one", "modules//web"),
        site.task("two", "modules/web"),
        published,
    ];
    let setup = site.start_bundling(&tasks).await;

    let bundle = site.bundle("one").await;
    assert_eq!(site.bundle("two").await, bundle);
    assert!(site.stored("one").await.requirement.bundle);
    let module = unpacked(
        &fetch(&setup, &bundle).await,
        &bundle,
        &site.path("unpacked"),
    );
    assert_eq!(fs::read_to_string(module.join("main.tf")).unwrap(), call);
    let shared = fs::read_to_string(module.join("../shared/main.tf")).unwrap();
    assert_eq!(shared, "# shared");

    let published = site.stored("published").await;
    assert_eq!(published.definition.bundle, None);
    assert_eq!(published.definition.module_digest, None);
    assert!(!published.requirement.bundle);
}

#[tokio::test]
async fn the_holder_of_a_lease_gets_the_bundle_of_its_task() {
    let site = Site::new().await;
    site.write("modules/web/main.tf", "# web");
    site.write("modules/db/main.tf", "# db");
    let [web, db] = ["web", "db"].map(|name| site.task(name, &format!("modules/{name}")));
    let setup = site.start_bundling(&[web, db]).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let lease = setup.acquired_by(bundles()).await;
    let proof = LeaseProof {
        run_id: lease.run_id.clone(),
        epoch: lease.epoch,
        worker_id: WORKER.into(),
        secret: lease.secret.clone(),
    };
    for name in ["web", "db"] {
        let hash = site.bundle(name).await.hash.to_string();
        let request = with_lease_proof(GetBundleRequest { hash }, &proof);
        let answer = setup.bundles.clone().get_bundle(request).await;
        let refused = answer.err().map(|status| status.code());
        let expected = (lease.task_name != name).then_some(Code::PermissionDenied);
        assert_eq!(refused, expected, "{name}");
    }
}

#[tokio::test]
async fn a_module_that_is_gone_keeps_its_last_bundle() {
    let site = Site::new().await;
    site.write("modules/web/main.tf", "# one");
    drop(site.start_bundling(&[site.task("t", "modules/web")]).await);
    let first = site.bundle("t").await;

    site.write("modules/web/main.tf", "# two");
    drop(site.start_bundling(&[site.task("t", "modules/web")]).await);
    let second = site.bundle("t").await;
    assert_ne!(second.hash, first.hash);

    fs::remove_dir_all(site.path("modules")).unwrap();
    // Written in the other way it is still the same directory.
    let tasks = [
        site.task("t", "modules//web"),
        site.task("new", "modules/web"),
    ];
    let setup = site.start_bundling(&tasks).await;
    assert_eq!(site.bundle("t").await, second);
    assert!(!fetch(&setup, &second).await.is_empty());
    assert_eq!(site.definition("new").await.bundle, None);
    assert!(site.stored("new").await.requirement.bundle);
}

#[tokio::test]
async fn runs_do_not_change_a_module_that_the_working_directory_is_in() {
    let site = Site::new().await;
    site.write("site/main.tf", "# a module");
    drop(site.start_bundling(&[site.task("t", "site")]).await);
    let before = site.bundle("t").await;

    site.write("site/sync-tasks/t/main.tf", "# generated");
    drop(site.start_bundling(&[site.task("t", "site")]).await);
    assert_eq!(site.bundle("t").await, before);

    site.write("site/other/main.tf", "# another part");
    drop(site.start_bundling(&[site.task("t", "site")]).await);
    assert_ne!(site.bundle("t").await, before);
}

#[tokio::test]
async fn modules_of_tasks_of_the_api_are_packed_too() {
    let site = Site::new().await;
    site.write("modules/web/main.tf", "# web");
    let setup = site.start_bundling(&[]).await;
    setup.watcher.show(Vec::new());
    let of_module = |name: &str, module: &str| Task {
        module: site.path(module).to_str().unwrap().to_owned(),
        ..declared(name)
    };
    let task = of_module("made", "modules/web");
    let (created, ()) = tokio::join!(setup.create(task, RunMode::Unspecified), async {
        let lease = setup.acquired_by(bundles()).await;
        setup.complete(&lease, checked()).await.unwrap();
    });
    created.unwrap();
    let bundle = site.bundle("made").await;
    assert!(!fetch(&setup, &bundle).await.is_empty());

    let task = of_module("missing", "modules/none");
    let unusable = unusable_module("./m");
    let refusal = setup.create(task.clone(), RunMode::Now).await.unwrap_err();
    assert_eq!(refused(&refusal), (Code::FailedPrecondition, "run_failed"));
    assert!(refusal.message().contains(&unusable), "{refusal}");
    let other = Task {
        name: "made".into(),
        ..task
    };
    let refusal = setup.replace("made", other, 0, RunMode::Now).await;
    let refusal = refusal.unwrap_err();
    assert_eq!(refused(&refusal), (Code::InvalidArgument, "invalid"));
    assert_eq!(setup.names().await, ["made"]);
}
