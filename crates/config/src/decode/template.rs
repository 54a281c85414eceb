//! Finds dynamic templates, `{{ key "x" }}` and the like (docs/configuration.md#dynamic-values).

use cts_hcl1::{Value, ValueKind};
use cts_template::{Recognised, Template, recognise};

use crate::decode::tree::{Entry, Part};
use crate::report::location::SourceLocation;
use crate::report::original::ProblemKind;
use crate::report::sink::Sink;

/// Where text that looks like a template is text: a module's variable may well hold one for a different
/// program. The original takes more places literally, because its check does not see them, but a template in
/// those has no use (docs/compatibility.md).
const LITERAL: [&[&str]; 1] = [&["task", "variables"]];

/// Where a template may stand besides `terraform_provider` and `webhook`.
const CLOUD_TOKEN: &[&str] = &["driver", "terraform-cloud", "token"];

/// The keys of a `webhook` that may be a template.
const OF_WEBHOOK: [&str; 2] = ["url", "secret"];

/// Looks for templates in the files, and collects those for which Vault is needed.
#[derive(Debug)]
pub(crate) struct Templates<'a> {
    sink: &'a Sink,
    of_vault: Vec<SourceLocation>,
}

impl<'a> Templates<'a> {
    pub(crate) fn new(sink: &'a Sink) -> Self {
        Self {
            sink,
            of_vault: Vec::new(),
        }
    }

    /// Looks through one file: where templates are allowed they must be ones that can be evaluated, elsewhere they are
    /// wrong.
    pub(crate) fn look_through(&mut self, part: &Part<'_>) {
        for entry in &part.entries {
            self.walk(entry, &mut Vec::new());
        }
    }

    /// To be called when all files have been read.
    pub(crate) fn finish(self, vault_enabled: bool) {
        if vault_enabled {
            return;
        }
        for place in &self.of_vault {
            let message = "a template reads a secret, but Vault is not configured";
            let help = "add a `vault` block with an `address`, or set VAULT_ADDR".to_owned();
            self.sink.error_with_help(place, message, Some(help));
            self.sink.classify(ProblemKind::NoVault);
        }
    }

    fn walk<'t>(&mut self, entry: &Entry<'t>, path: &mut Vec<&'t str>) {
        path.push(entry.name());
        if !is_one_of(path, &LITERAL) {
            match entry.plain_value() {
                Some(value) => self.walk_value(value, entry, path),
                None => {
                    for part in entry.bodies().into_iter().flatten() {
                        for inner in &part.entries {
                            self.refuse_label(inner, path);
                            self.walk(inner, path);
                        }
                    }
                }
            }
        }
        path.pop();
    }

    fn walk_value<'t>(&mut self, value: &'t Value, entry: &Entry<'t>, path: &mut Vec<&'t str>) {
        match &value.kind {
            ValueKind::String(text) => {
                let place = || SourceLocation::new(entry.source(), value.span.clone());
                self.look_at(text, place, path);
            }
            ValueKind::List(values) => {
                for value in values {
                    self.walk_value(value, entry, path);
                }
            }
            ValueKind::Object(body) => {
                for inner in &Part::of_body(entry.source(), body, entry.key_place()).entries {
                    self.refuse_label(inner, path);
                    self.walk(inner, path);
                }
            }
            ValueKind::Number(_) | ValueKind::Bool(_) | ValueKind::Null => {}
        }
    }

    fn look_at(&mut self, text: &str, place: impl Fn() -> SourceLocation, path: &[&str]) {
        let Some(recognised) = recognise(text) else {
            return;
        };
        let allowed = is_provider(path) || is_of_webhook(path) || is_one_of(path, &[CLOUD_TOKEN]);
        match recognised {
            Recognised::Unlike if allowed => {
                let message = "this looks like a dynamic template but is passed on as it is: only \
                               `{{ env \"…\" }}`, `{{ key \"…\" }}` and `{{ with secret \"…\" }}` are recognised";
                self.sink.warning(&place(), message);
            }
            Recognised::Unlike => {}
            Recognised::Template { reads_secret } if allowed => {
                let place = place();
                if let Err(error) = Template::new(text) {
                    self.sink.error(&place, error.to_string());
                }
                if reads_secret {
                    self.of_vault.push(place);
                }
            }
            Recognised::Template { .. } => self.report_misplaced(&place()),
        }
    }

    /// The labels of provider blocks may not be templates; other keys are not checked.
    fn refuse_label(&self, entry: &Entry<'_>, path: &[&str]) {
        let is_label = is_provider(path) && path.len() == 1;
        if is_label && matches!(recognise(entry.name()), Some(Recognised::Template { .. })) {
            self.report_misplaced(&entry.key_place());
        }
    }

    fn report_misplaced(&self, place: &SourceLocation) {
        let message = "dynamic templates (`{{ … }}`) are only allowed in the values of `terraform_provider` blocks, \
                       in `url` and `secret` of `webhook` blocks, and in `token` of `driver \"terraform-cloud\"`";
        self.sink.error(place, message);
        self.sink.classify(ProblemKind::MisplacedTemplate);
    }
}

fn is_provider(path: &[&str]) -> bool {
    path.first()
        .is_some_and(|first| first.eq_ignore_ascii_case("terraform_provider"))
}

fn is_of_webhook(path: &[&str]) -> bool {
    let [block, _name, key] = path else {
        return false;
    };
    let mut known = OF_WEBHOOK.iter();
    block.eq_ignore_ascii_case("webhook") && known.any(|known| key.eq_ignore_ascii_case(known))
}

fn is_one_of(path: &[&str], known: &[&[&str]]) -> bool {
    known.iter().any(|known| {
        known.len() == path.len()
            && known
                .iter()
                .zip(path)
                .all(|(a, b)| a.eq_ignore_ascii_case(b))
    })
}
