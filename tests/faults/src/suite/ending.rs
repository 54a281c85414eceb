//! The end of the system: all processes are alive and well, leave when they should, and leave nothing running.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::{BETWEEN_LOOKS, Suite};
use crate::processes;
use crate::violation::{Rule, Violation};

/// Guards and Terraform processes end after their worker.
const LEAVING: Duration = Duration::from_secs(20);

impl Suite<'_> {
    pub(super) async fn end_all(&mut self) {
        self.campaign.look_after(&mut self.scene.system).await;
        for (index, api) in self.apis().into_iter().enumerate() {
            match api.ask("/v1/health").await {
                Ok((200, _)) => {}
                other => self.broken(format!("gateway-{index}"), format!("health: {other:?}")),
            }
        }
        // Order: from the outside in.
        for member in self.scene.members.clone().into_iter().rev() {
            let system = &mut self.scene.system;
            if !system.is_running(member) {
                self.broken(member.to_string(), "has ended by itself".to_owned());
            } else if let Some(process) = system.take(member) {
                let exit = process.terminate().await;
                if exit.code != Some(0) {
                    self.broken(member.to_string(), format!("ended with {:?}", exit.code));
                }
            }
        }
        let end = Instant::now() + LEAVING;
        loop {
            let terraform = self.scene.site.terraform_processes();
            let guards = processes::guards(self.scene.site.path());
            if terraform.is_empty() && guards.is_empty() {
                return;
            }
            if Instant::now() > end {
                let left = format!("terraform {terraform:?}, guards {guards:?}");
                return self.broken("left behind".to_owned(), left);
            }
            sleep(BETWEEN_LOOKS).await;
        }
    }

    fn broken(&mut self, subject: String, evidence: String) {
        let violation = Violation::new(Rule::NobodyDies, subject, evidence);
        self.report.violations.push(violation);
    }
}
