//! Views.

use cts_core::{CatalogServicesView, KvQuery, ServiceView, ServicesView, View};
use cts_proto::watch::v1 as proto;

use super::ConversionError;
use super::macros::same_fields;

same_fields!(
    ServiceView,
    ServiceView,
    service_to_wire,
    service_from_wire {
        name,
        datacenter,
        namespace,
        filter
    }
);
same_fields!(
    ServicesView,
    ServicesView,
    services_to_wire,
    services_from_wire {
        regexp,
        datacenter,
        namespace,
        filter
    }
);
same_fields!(
    CatalogServicesView,
    CatalogServicesView,
    catalog_to_wire,
    catalog_from_wire {
        regexp,
        datacenter,
        namespace,
        node_meta
    }
);
same_fields!(
    KvQuery,
    ConsulKvView,
    keys_to_wire,
    keys_from_wire {
        path,
        recurse,
        datacenter,
        namespace
    }
);

/// The request for these views, for the wire. `id` is what the receiver calls the subscription.
pub fn subscribe_to_wire(views: impl IntoIterator<Item = View>, id: u64) -> proto::Subscribe {
    let mut subscribe = proto::Subscribe {
        subscription_id: id,
        ..Default::default()
    };
    for view in views {
        match view {
            View::Service(view) => subscribe.views.push(service_to_wire(view)),
            View::Services(view) => subscribe.services_views.push(services_to_wire(view)),
            View::CatalogServices(view) => {
                subscribe.catalog_services_views.push(catalog_to_wire(view));
            }
            View::ConsulKv(query) => subscribe.consul_kv_views.push(keys_to_wire(query)),
        }
    }
    subscribe
}

/// The views of a request; a view without a name cannot be watched.
pub fn views_from_wire(subscribe: proto::Subscribe) -> Result<Vec<View>, ConversionError> {
    let mut views = Vec::new();
    for view in subscribe.views {
        if view.name.is_empty() {
            return Err(ConversionError::Missing {
                field: "ServiceView.name",
            });
        }
        views.push(View::Service(service_from_wire(view)));
    }
    let services = subscribe.services_views.into_iter();
    let services = services.map(|view| View::Services(services_from_wire(view)));
    let catalog = subscribe.catalog_services_views.into_iter();
    let catalog = catalog.map(|view| View::CatalogServices(catalog_from_wire(view)));
    let keys = subscribe.consul_kv_views.into_iter();
    let keys = keys.map(|view| View::ConsulKv(keys_from_wire(view)));
    views.extend(services.chain(catalog).chain(keys));
    Ok(views)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn every_view_arrives_as_it_was_sent() {
        let [name, datacenter, namespace, filter] =
            ["web", "dc", "ns", "a == b"].map(str::to_owned);
        let views = [
            View::Service(ServiceView {
                name: name.clone(),
                datacenter: datacenter.clone(),
                namespace: namespace.clone(),
                filter: filter.clone(),
            }),
            View::Services(ServicesView {
                regexp: "^w".into(),
                datacenter: datacenter.clone(),
                namespace: namespace.clone(),
                filter,
            }),
            View::CatalogServices(CatalogServicesView {
                regexp: String::new(),
                datacenter: datacenter.clone(),
                namespace: namespace.clone(),
                node_meta: BTreeMap::from([("k".into(), "v".into())]),
            }),
            View::ConsulKv(KvQuery {
                path: "a/b".into(),
                recurse: true,
                datacenter,
                namespace,
            }),
        ];
        let wire = subscribe_to_wire(views.clone(), 7);
        assert_eq!(wire.subscription_id, 7);
        assert_eq!(views_from_wire(wire).unwrap(), views);
        let nameless = subscribe_to_wire(
            [View::Service(ServiceView {
                name: String::new(),
                datacenter: name.clone(),
                namespace: name.clone(),
                filter: name,
            })],
            1,
        );
        assert!(views_from_wire(nameless).is_err());
    }
}
