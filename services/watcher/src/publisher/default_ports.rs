//! Instances with named ports but without the default port: a view is warned about once.

use cts_core::{Item, ServiceInstance, ViewId, ViewSnapshot, excerpt};

/// Characters of a name that are shown.
const NAME_SHOWN: usize = 100;

/// Whether the last snapshot had instances without the default port.
#[derive(Debug, Default)]
pub(super) struct DefaultPorts {
    are_missing: bool,
}

impl DefaultPorts {
    /// Warns when such instances appear in the view. Returns whether it has warned.
    pub(super) fn note(&mut self, view: &ViewId, snapshot: &ViewSnapshot) -> bool {
        let mut lacking = lacking(snapshot);
        let first = lacking.next();
        let was_missing = std::mem::replace(&mut self.are_missing, first.is_some());
        let Some(first) = first.filter(|_| !was_missing) else {
            return false;
        };
        let port = first.default_port().map(|port| port.name.as_str());
        tracing::warn!(
            view.id = %view,
            instances = lacking.count() + 1,
            first = excerpt(&first.id, NAME_SHOWN),
            port = excerpt(port.unwrap_or_default(), NAME_SHOWN),
            "consul has instances with named ports of which none is the default: `port` of each is its first port by name; mark one with \"default\" in the registration"
        );
        true
    }
}

fn lacking(snapshot: &ViewSnapshot) -> impl Iterator<Item = &ServiceInstance> {
    let items = snapshot.items.values();
    let instances = items.filter_map(|item| match item {
        Item::Instance(instance) => Some(&**instance),
        Item::Service(_) | Item::Key(_) | Item::UnreadableKey(_) => None,
    });
    instances.filter(|instance| instance.lacks_default_port())
}

#[cfg(test)]
mod tests {
    use cts_core::ServicePort;
    use cts_testkit::fixtures;

    use super::*;

    #[test]
    fn a_view_is_warned_about_once_until_each_instance_has_a_default_port() {
        let view = ViewId::new("v");
        let mut ports = DefaultPorts::default();
        let mut note = |instances: &[(&str, Option<bool>)]| {
            let instances = instances.iter().map(|&(id, default)| ServiceInstance {
                ports: Vec::from_iter(default.map(|default| ServicePort {
                    name: "http".into(),
                    port: 80,
                    default,
                })),
                ..fixtures::instance("web", id, 80)
            });
            ports.note(&view, &ViewSnapshot::new(1, instances))
        };
        assert!(!note(&[("plain", None), ("marked", Some(true))]));
        assert!(note(&[("plain", None), ("a", Some(false))]));
        assert!(!note(&[("a", Some(false)), ("b", Some(false))]));
        assert!(!note(&[("a", Some(true))]));
        assert!(note(&[("a", Some(false))]));
    }
}
