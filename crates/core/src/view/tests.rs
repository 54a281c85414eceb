use proptest::prelude::*;

use super::*;
use crate::{HealthStatus, Labels, ServiceInstance};

fn instance(node: &str, id: &str, port: i64) -> ServiceInstance {
    ServiceInstance {
        id: id.into(),
        name: "web".into(),
        kind: String::new(),
        address: "10.0.0.1".into(),
        port,
        meta: Labels::default(),
        tags: Vec::new(),
        namespace: String::new(),
        status: HealthStatus::Passing,
        node: node.into(),
        node_id: String::new(),
        node_address: "10.0.0.1".into(),
        node_datacenter: "dc1".into(),
        node_tagged_addresses: Labels::default(),
        node_meta: Labels::default(),
        ports: Vec::new(),
    }
}

fn view(name: &str, datacenter: &str, filter: &str) -> ServiceView {
    ServiceView {
        name: name.into(),
        datacenter: datacenter.into(),
        namespace: String::new(),
        filter: filter.into(),
    }
}

#[test]
fn the_id_names_every_option_that_is_set() {
    assert_eq!(view("web", "", "").id().as_str(), "health.service(web)");
    let full = ServiceView {
        namespace: "team".into(),
        ..view("web", "dc2", "a == b")
    };
    assert_eq!(
        full.id().as_str(),
        "health.service(web@dc2?ns=team&filter=a == b)"
    );
}

#[test]
fn no_two_views_share_an_id() {
    let tricky = view("web?filter=x", "", "");
    assert_ne!(tricky.id(), view("web", "", "x").id());
    assert_ne!(view("web@dc2", "", "").id(), view("web", "dc2", "").id());
    let namespace = |namespace: &str, filter| ServiceView {
        namespace: namespace.into(),
        ..view("web", "", filter)
    };
    assert_ne!(namespace("a&filter=b", "").id(), namespace("a", "b").id());
}

#[test]
fn every_kind_of_view_has_an_id_of_its_own() {
    let id = |view: View| view.id().as_str().to_owned();
    let services = |regexp: &str, filter: &str| ServicesView {
        regexp: regexp.into(),
        datacenter: "dc2".into(),
        namespace: String::new(),
        filter: filter.into(),
    };
    assert_eq!(
        id(View::Services(services("^a|b?", ""))),
        "service.regex(regexp=^a|b%3F&dc=dc2)"
    );
    assert_ne!(
        id(View::Services(services("a&filter=b", ""))),
        id(View::Services(services("a", "b")))
    );
    let catalog = CatalogServicesView::default();
    assert_eq!(
        id(View::CatalogServices(catalog.clone())),
        "catalog.services.registration"
    );
    let meta = |pairs: &[(&str, &str)]| {
        let pairs = pairs.iter().map(|&(key, value)| (key.into(), value.into()));
        id(View::CatalogServices(CatalogServicesView {
            regexp: "^web".into(),
            node_meta: pairs.collect(),
            ..catalog.clone()
        }))
    };
    assert_eq!(
        meta(&[("k", "v"), ("l", "w:x")]),
        "catalog.services.registration(node-meta=k:v&node-meta=l:w:x&regexp=^web)"
    );
    assert_ne!(meta(&[("a:b", "c")]), meta(&[("a", "b:c")]));
    let key = |path: &str, recurse, datacenter: &str| {
        id(View::ConsulKv(KvQuery {
            path: path.into(),
            recurse,
            datacenter: datacenter.into(),
            namespace: "n".into(),
        }))
    };
    assert_eq!(key("a/b", false, "dc2"), "kv.exists.get(a/b?dc=dc2&ns=n)");
    assert_eq!(key("a/b", true, "dc2"), "kv.list(a/b@dc2?ns=n)");
    assert_ne!(key("a?dc=x", false, ""), key("a", false, "x"));
}

#[test]
fn a_filter_on_check_states_lifts_the_passing_rule() {
    assert!(view("web", "", "\"blue\" in Service.Tags").passing_only());
    assert!(!view("web", "", "Checks.Status != \"\"").passing_only());
}

#[test]
fn a_delta_on_another_revision_is_refused() {
    let first = ViewSnapshot::new(1, [instance("n", "a", 1)]);
    let third = ViewSnapshot::new(3, [instance("n", "a", 3)]);
    let delta = ViewSnapshot::new::<Item>(4, []).delta_from(Some(&third));
    let refused = ViewSnapshot::after(Some(first), delta.clone());
    assert_eq!(
        refused,
        Err(UnknownRevision {
            base: 3,
            at_hand: Some(1)
        })
    );
    assert_eq!(
        ViewSnapshot::after(None, delta),
        Err(UnknownRevision {
            base: 3,
            at_hand: None
        })
    );
}

#[test]
fn unchanged_instances_are_not_sent_again() {
    let first = ViewSnapshot::new(1, [instance("n", "a", 1), instance("n", "b", 2)]);
    let second = ViewSnapshot::new(2, [instance("n", "a", 1), instance("n", "b", 3)]);
    let delta = second.delta_from(Some(&first));
    assert_eq!(delta.upserts, [instance("n", "b", 3).into()]);
    assert!(delta.removals.is_empty());
    assert!(!first.gets_other_keys(&delta));
    for other in [vec![], vec![instance("n", "c", 2), instance("n", "a", 1)]] {
        let delta = ViewSnapshot::new(2, other).delta_from(Some(&first));
        assert!(first.gets_other_keys(&delta));
    }
}

fn any_instances() -> impl Strategy<Value = Vec<ServiceInstance>> {
    prop::collection::vec(("[ab]", "[a-e]", 1i64..4), 0..8).prop_map(|rows| {
        rows.into_iter()
            .map(|(node, id, port)| instance(&node, &id, port))
            .collect()
    })
}

proptest! {
    #[test]
    fn a_delta_leads_to_the_snapshot_it_was_made_from(
        before in any_instances(), after in any_instances(),
    ) {
        let before = ViewSnapshot::new(7, before);
        let after = ViewSnapshot::new(8, after);
        let stepwise = ViewSnapshot::after(Some(before.clone()), after.delta_from(Some(&before)));
        prop_assert_eq!(stepwise, Ok(after.clone()));
        let afresh = ViewSnapshot::after(Some(before), after.delta_from(None));
        prop_assert_eq!(afresh, Ok(after));
    }
}
