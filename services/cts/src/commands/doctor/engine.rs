//! Terraform or OpenTofu.

use cts_core::Chain;
use cts_terraform::{Executable, SUPPORTED_RANGE, is_tested};

use super::finding::Finding;
use super::subject::Subject;
use crate::services::engine::{Available, look_for_engine};
use crate::services::settings::worker_directory;

const TERRAFORM: &str = "terraform";

/// Checks the executable that a worker would run.
pub(super) async fn check(subject: Subject<'_>) -> Vec<Finding> {
    if !subject.needs.engine {
        return vec![Finding::skipped(TERRAFORM, "Terraform does not run here")];
    }
    let config = subject.config;
    let working_dir = worker_directory(config);
    let looked = look_for_engine(config, subject.process_env, &working_dir).await;
    vec![match looked {
        Ok(Available::Found(executable)) => found(subject, &executable),
        Ok(Available::Other { found, wanted }) => Finding::warning(
            TERRAFORM,
            format!(
                "{} is {}, and a start tries to install {wanted} first",
                found.path().display(),
                found.version()
            ),
            format!("install {wanted}, or change driver.terraform.version"),
        ),
        Ok(Available::Missing {
            version,
            site,
            directory,
        }) => Finding::warning(
            TERRAFORM,
            format!(
                "none is installed; a start installs {version} from {site} into {}",
                directory.display()
            ),
            "install it beforehand, so that a start does not depend on that site",
        ),
        Err(error) => Finding::error(
            TERRAFORM,
            Chain(&error).to_string(),
            format!(
                "install Terraform {SUPPORTED_RANGE} or OpenTofu, and name its directory in driver.terraform.path"
            ),
        ),
    }]
}

fn found(subject: Subject<'_>, executable: &Executable) -> Finding {
    let (engine, version) = (executable.engine(), executable.version());
    let text = format!(
        "{} {version}, {}",
        engine.title(),
        executable.path().display()
    );
    let driver = &subject.config.driver;
    if !executable.supports_backend(&driver.backend) {
        let backend = &driver.backend.kind;
        return Finding::error(
            TERRAFORM,
            format!("{text}: does not support backend {backend:?} in automation"),
            "install a newer version",
        );
    }
    let wanted = driver.version.as_deref();
    if let Some(wanted) = wanted.filter(|wanted| *wanted != version.to_string()) {
        return Finding::warning(
            TERRAFORM,
            format!("{text}: driver.terraform.version names {wanted}"),
            format!("install {wanted}, or change driver.terraform.version"),
        );
    }
    if is_tested(engine, version) {
        Finding::ok(TERRAFORM, text)
    } else {
        Finding::warning(
            TERRAFORM,
            format!("{text}: cts is not tested with it, it is newer"),
            "use a version in the supported range, or try the tasks with `cts start -inspect`",
        )
    }
}
