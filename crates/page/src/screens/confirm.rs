//! The confirmation of a harmful action, at the path of the action.

use askama::Template;
use async_trait::async_trait;
use http::StatusCode;

use crate::actions::{self, Confirmation, Given, Key};
use crate::address::Query;
use crate::context::{Context, Refusal};
use crate::screen::{Fragment, Part, Screen};
use crate::screens::planned;
use crate::text::Markup;

/// The form of an action, with what the action would do.
pub(crate) struct Confirm {
    key: Key,
    target: String,
    query: Query,
}

#[derive(Template)]
#[template(path = "confirm/confirm.html")]
struct Content {
    confirmation: Confirmation,
    plan: Option<Markup>,
}

impl Confirm {
    /// The confirmation at these decoded segments. Both decisions about an effect have the screen of the effect.
    pub(crate) fn at(segments: &[&str], query: Query) -> Option<Self> {
        let (key, target) = match segments {
            ["approvals", run] | ["approvals", run, "reject"] if *run != "approve" => {
                (Key::Approve, (*run).to_owned())
            }
            _ => actions::at(segments)?,
        };
        let found = Self { key, target, query };
        key.action().is_confirmed.then_some(found)
    }

    async fn confirmation(&self, context: &Context<'_>) -> Result<Confirmation, Refusal> {
        let attempt = context.attempt.as_ref().and_then(|attempt| {
            let (key, target) = actions::find(&attempt.path)?;
            let is_here = key == self.key || (key, self.key) == (Key::Reject, Key::Approve);
            (is_here && target == self.target).then_some((key, attempt))
        });
        let given = Given {
            address: &self.query,
            sent: attempt.map(|(_, attempt)| &attempt.values),
        };
        let key = attempt.map_or(self.key, |(key, _)| key);
        let mut confirmation = actions::confirmation((key, &self.target), given, context).await?;
        let form = &mut confirmation.form;
        let refusal = attempt.map(|(_, attempt)| attempt.refusal.message.clone());
        form.refusal = refusal.filter(|_| form.fault().is_none());
        Ok(confirmation)
    }
}

#[async_trait]
impl Screen for Confirm {
    fn title(&self) -> String {
        match (self.key, self.target.as_str()) {
            (Key::Approve, _) => "Consent to an effect".to_owned(),
            (key, "") => key.action().label.to_owned(),
            (key, target) => format!("{}: {target}", key.action().label),
        }
    }

    fn part(&self) -> Part {
        match self.key.action().path.split('/').next() {
            Some("tasks") => Part::Tasks,
            Some("runs") => Part::Runs,
            Some("approvals") => Part::Approvals,
            _ => Part::Cluster,
        }
    }

    async fn fragments(&self, context: &Context<'_>) -> Result<Vec<Fragment>, Refusal> {
        match self.confirmation(context).await {
            Err(refusal) if refusal.status == StatusCode::NOT_FOUND => Err(refusal),
            _ => Ok(self.fragment("confirm").into_iter().collect()),
        }
    }

    fn fragment(&self, id: &str) -> Option<Fragment> {
        let key = match self.part() {
            Part::Tasks => format!("task:{}", self.target),
            Part::Runs => format!("run:{}", self.target),
            Part::Approvals => "approvals".to_owned(),
            _ if self.target.is_empty() => "overview".to_owned(),
            _ => "workers".to_owned(),
        };
        (id == "confirm").then(|| Fragment::new(id, key, "confirm"))
    }

    async fn render(&self, _id: &str, context: &Context<'_>) -> Result<String, Refusal> {
        let confirmation = self.confirmation(context).await?;
        let plan = match &confirmation.plan {
            Some(run) => Some(planned::losses(run, context).await),
            None => None,
        };
        let content = Content { confirmation, plan };
        Ok(content.render().unwrap_or_default())
    }
}
