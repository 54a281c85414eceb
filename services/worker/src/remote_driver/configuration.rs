//! The configuration version of a run: the root module and its module, uploaded once as long as they stay the same
//! (docs/hcp-terraform.md#what-is-uploaded).

use std::time::Duration;

use bytes::Bytes;
use cts_bundle::UnpackedBundle;
use cts_core::{Digest, ModuleInterface, RemoteConfiguration, TaskDefinition};
use cts_hcp_terraform::{ApiError, ConfigurationVersion, Server};
use cts_terraform::{GeneratedFile, RenderSettings, render_configuration};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use super::RemoteDriver;
use super::archive::pack;
use super::error::RemoteError;

/// Most bytes of an archive.
const LONGEST_ARCHIVE: usize = 100 << 20;

/// Longest time in which a server takes an uploaded archive.
const TAKES: Duration = Duration::from_mins(2);

/// Between two looks at an uploaded archive.
const LOOKS: Duration = Duration::from_secs(1);

/// The file with values that are too long for variables.
const LONG_VALUES: &str = "inputs.auto.tfvars";

/// The files of a configuration version, as far as they are generated.
pub(crate) struct Configuration {
    files: Vec<GeneratedFile>,
    bundle: Option<UnpackedBundle>,
    place: String,
    digest: Digest,
}

impl Configuration {
    /// Renders the root module of a task for a server. A module that comes as a bundle is put below `modules`.
    /// Reads files.
    pub(crate) fn render(
        (mut definition, declared): (TaskDefinition, &ModuleInterface),
        settings: &RenderSettings,
        bundle: Option<UnpackedBundle>,
        long_values: Option<String>,
    ) -> Result<Self, RemoteError> {
        let place = format!("modules/{}", definition.name);
        let mut module = None;
        if let (Some(bundle), Some(reference)) = (&bundle, &definition.bundle) {
            module = Some(bundle.path().join(&reference.module));
            definition.module_source = match reference.module.to_str() {
                Some("") => format!("./{place}"),
                Some(inside) => format!("./{place}/{inside}"),
                None => return Err(RemoteError::ModulePath(reference.module.clone())),
            };
        }
        let mut configuration = render_configuration(&definition, settings, declared)?;
        configuration.declare_outputs(module.as_deref())?;
        let mut files = configuration.files;
        files.extend(long_values.map(|contents| GeneratedFile {
            name: LONG_VALUES,
            contents,
            secret: false,
            private: false,
        }));
        let hash = bundle.as_ref().map(|bundle| bundle.hash().to_string());
        let texts = files.iter().flat_map(|file| [file.name, &file.contents]);
        let parts = texts.chain(hash.as_deref());
        Ok(Self {
            digest: Digest::of_parts(parts.map(str::as_bytes)),
            files,
            bundle,
            place,
        })
    }

    pub(crate) fn pack(&self) -> Result<Vec<u8>, RemoteError> {
        let bundle = self.bundle.as_ref();
        let bundle = bundle.map(|bundle| (bundle.path(), self.place.as_str()));
        Ok(pack(&self.files, bundle, LONGEST_ARCHIVE)?)
    }
}

impl RemoteDriver {
    /// The configuration version for these files: the `known` version if it has the files and the server still has it,
    /// else a new version. With `is_speculative`, only runs that plan can use a new version: a run that a user starts
    /// on the server has the newest of the other versions.
    ///
    /// # Cancellation
    /// May be dropped at any time; an unused configuration version may be left.
    pub(crate) async fn configuration_version(
        &self,
        server: &Server,
        workspace_id: &str,
        configuration: Configuration,
        (known, is_speculative): (Option<&RemoteConfiguration>, bool),
    ) -> Result<RemoteConfiguration, RemoteError> {
        let digest = configuration.digest;
        if let Some(known) = known.filter(|known| known.digest == digest)
            && is_there(server, &known.id).await?
        {
            return Ok(known.clone());
        }
        // The semaphore is never closed.
        let _place = self.uploads.acquire().await.ok();
        let packing = spawn_blocking(move || configuration.pack());
        let archive = Bytes::from(packing.await??);
        let made = self.upload(server, workspace_id, is_speculative, &archive);
        let made = made.await?;
        Ok(RemoteConfiguration {
            id: made.id,
            digest,
        })
    }

    async fn upload(
        &self,
        server: &Server,
        workspace_id: &str,
        is_speculative: bool,
        archive: &Bytes,
    ) -> Result<ConfigurationVersion, RemoteError> {
        let made = server
            .create_configuration_version(workspace_id, is_speculative)
            .await?;
        if let Some(url) = &made.upload_url {
            server.upload_configuration(url, archive.clone()).await?;
        }
        let taken = timeout(TAKES, until_taken(server, &made.id)).await;
        taken.unwrap_or(Err(RemoteError::SlowConfiguration(TAKES)))
    }
}

/// Whether a configuration version can still be used for any run.
async fn is_there(server: &Server, id: &str) -> Result<bool, RemoteError> {
    match server.configuration_version(id).await {
        Ok(version) => Ok(version.status.as_str() == "uploaded" && !version.speculative),
        Err(ApiError::NotFound(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

async fn until_taken(server: &Server, id: &str) -> Result<ConfigurationVersion, RemoteError> {
    loop {
        let version = server.configuration_version(id).await?;
        match version.status.as_str() {
            "uploaded" => return Ok(version),
            "errored" => {
                let version = version.attributes;
                return Err(RemoteError::Configuration {
                    message: version.error_message.or(version.error),
                });
            }
            _ => sleep(LOOKS).await,
        }
    }
}
