//! Client certificates as credentials (docs/access.md#certificates).

use std::fs;
use std::sync::Arc;

use cts_testkit::Authority;
use cts_tls::Authorities;
use http::StatusCode;

use crate::access_service::{MemoryAccess, token};
use crate::clients::tls::{Guarded, named, path, trusting};
use crate::stage::Scene;
use crate::tasks::three_tasks;

async fn guarded(servers: &Authority, clients: &Authority, scene: Scene) -> Guarded {
    Guarded::set(servers, scene, |folder| {
        let file = path(folder, "clients.pem");
        fs::write(&file, clients.pem()).unwrap();
        Some(Authorities::File(file))
    })
    .await
}

fn scene() -> Scene {
    Scene {
        tasks: three_tasks(),
        access: MemoryAccess::with([token("cts_read", "read")]),
        require_auth: true,
        ..Scene::default()
    }
}

/// The status of a request, once the tokens are known.
async fn status(request: reqwest::RequestBuilder) -> u16 {
    loop {
        let request = request.try_clone().unwrap();
        match request.send().await.unwrap().status().as_u16() {
            503 => {}
            status => return status,
        }
    }
}

#[tokio::test]
async fn a_certificate_has_the_role_of_its_name() {
    let (servers, clients) = (Authority::new(), Authority::new());
    let api = guarded(&servers, &clients, scene()).await;
    for (names, allowed) in [
        (&["read.cts.example"][..], [true, false, false, false]),
        (&["operate.cts.example"], [true, true, false, false]),
        (&["admin.cts.example"], [true, true, true, true]),
        (&["operator.cts.example"], [true, true, true, true]),
        (
            &["read.cts.example", "operate.cts.example"],
            [true, true, false, false],
        ),
    ] {
        for builder in [trusting(&servers), trusting(&servers).http1_only()] {
            let client = builder.identity(named(&clients, names)).build().unwrap();
            let requests = [
                client.get(api.url("/v1/tasks")),
                client.patch(api.url("/v1/tasks/dns")),
                client.delete(api.url("/v1/tasks/dns")),
                client.get(api.url("/v1/audit")),
            ];
            for (request, allowed) in requests.into_iter().zip(allowed) {
                let what = format!("{names:?} {request:?}");
                let status = status(request).await;
                assert_ne!(status, 401, "{what}");
                assert_eq!(status != 403, allowed, "{what}: {status}");
            }
        }
    }
}

#[tokio::test]
async fn a_certificate_without_a_role_is_no_credential_and_a_token_counts_before_it() {
    let (servers, clients) = (Authority::new(), Authority::new());
    let api = guarded(&servers, &clients, scene()).await;
    let delete = async |names: &[&str], token: Option<&str>| {
        let identity = named(&clients, names);
        let client = trusting(&servers).identity(identity).build().unwrap();
        let request = client.delete(api.url("/v1/tasks/dns"));
        status(match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        })
        .await
    };
    for names in [
        &["127.0.0.1"][..],
        &["worker.cts.example"],
        &["gateway.cts.example"],
        &["admin.evil.example"],
        &["admin.x.cts.example"],
    ] {
        assert_eq!(delete(names, None).await, 401, "{names:?}");
        assert_eq!(delete(names, Some("cts_read")).await, 403, "{names:?}");
    }
    let admin = &["admin.cts.example"][..];
    assert_eq!(delete(admin, Some("cts_read")).await, 403);
    assert_eq!(delete(admin, Some("cts_wrong")).await, 401);
    assert_eq!(delete(admin, None).await, 202);
}

#[tokio::test]
async fn a_certificate_names_its_owner_with_authentication_off_too() {
    let (servers, clients) = (Authority::new(), Authority::new());
    let scene = Scene {
        require_auth: false,
        ..scene()
    };
    let callers = Arc::clone(&scene.access.callers);
    let api = guarded(&servers, &clients, scene).await;
    let identity = named(&clients, &["laptop.example"]);
    let client = trusting(&servers).identity(identity).build().unwrap();
    let answer = client
        .delete(api.url("/v1/tasks/dns"))
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), StatusCode::ACCEPTED);
    let caller = callers.lock().unwrap().pop().unwrap();
    assert_eq!(caller.kind, "certificate");
    assert!(!caller.name.is_empty());
}
