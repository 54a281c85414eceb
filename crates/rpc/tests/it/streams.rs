//! Calls in progress that one connection may have (docs/configuration.md#limits).

use cts_rpc::admission::AccessRules;
use futures::future::join_all;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tonic::transport::Channel;
use tonic::{Code, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use crate::admission_stage::{DOMAIN, Stage, named};

const SERVICE: (u32, u32) = (8192, 1 << 20);

const OTHER: (u32, u32) = (100, USUAL_WINDOW);

/// Window of a call where the server announces none, in bytes.
const USUAL_WINDOW: u32 = 65_535;

/// Settings that the server announces: the number of calls in progress, and the unread bytes of one call.
async fn announced(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> (u32, u32) {
    const SETTINGS: u8 = 4;
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let empty_settings = [0, 0, 0, SETTINGS, 0, 0, 0, 0, 0];
    stream.write_all(preface).await.unwrap();
    stream.write_all(&empty_settings).await.unwrap();
    let mut head = [0; 9];
    stream.read_exact(&mut head).await.unwrap();
    assert_eq!(head[3], SETTINGS);
    let mut settings = vec![0; usize::from(head[2])];
    stream.read_exact(&mut settings).await.unwrap();
    let setting = |wanted: u8| {
        let mut all = settings.chunks(6);
        let found = all.find(|setting| setting[..2] == [0, wanted]);
        found.map(|setting| u32::from_be_bytes(setting[2..].try_into().unwrap()))
    };
    (setting(3).unwrap(), setting(4).unwrap_or(USUAL_WINDOW))
}

fn rules(service_roles: bool, require_auth: bool) -> AccessRules {
    AccessRules {
        service_roles,
        require_auth,
        domain: Some(DOMAIN.to_owned()),
        ..AccessRules::default()
    }
}

#[tokio::test]
async fn services_make_many_calls_on_a_connection_and_others_make_100() {
    let worker = named("worker");
    let (read, operator) = (named("read"), named("operator"));
    let both = [named("gateway"), named("admin")];
    let both: Vec<&str> = both.iter().map(String::as_str).collect();
    for (rules, expected) in [
        (
            rules(false, false),
            [SERVICE, OTHER, OTHER, SERVICE, SERVICE],
        ),
        (
            rules(false, true),
            [SERVICE, OTHER, OTHER, SERVICE, SERVICE],
        ),
        (rules(true, false), [SERVICE, OTHER, OTHER, SERVICE, OTHER]),
        (rules(true, true), [SERVICE, OTHER, OTHER, SERVICE, OTHER]),
    ] {
        let stage = Stage::with_tls(rules.clone()).await;
        let names = [
            &[&*worker][..],
            &[&*read],
            &[&*operator],
            &both,
            &["localhost"],
        ];
        for (names, expected) in names.into_iter().zip(expected) {
            let announced = announced(stage.raw_certified(names).await).await;
            assert_eq!(announced, expected, "{names:?} {rules:?}");
        }
    }
}

#[tokio::test]
async fn calls_of_all_other_connections_are_bounded() {
    let stage = Stage::with_tls(rules(true, true)).await;
    let watched = async |channel: Channel| {
        let request = HealthCheckRequest::default();
        HealthClient::new(channel).watch(request).await
    };
    let read = named("read");
    let mut held = Vec::new();
    for _ in 0..4096_u32.div_ceil(OTHER.0) {
        let reader = stage.certified(&[&read]).await;
        let calls = (0..OTHER.0).map(|_| watched(reader.clone()));
        held.push(join_all(calls).await);
    }
    let refused = held.pop().unwrap();
    let refused: Vec<&Status> = refused
        .iter()
        .filter_map(|call| call.as_ref().err())
        .collect();
    assert_eq!(refused.len(), 4);
    assert_eq!(refused[0].code(), Code::ResourceExhausted);
    assert_eq!(
        refused[0].message(),
        "no call is free: there are too many in total"
    );
    assert!(held.iter().flatten().all(Result::is_ok));
    watched(stage.certified(&[&named("worker")]).await)
        .await
        .unwrap();
}

#[tokio::test]
async fn strangers_are_limited_where_callers_are_checked() {
    for (rules, expected) in [(rules(false, false), SERVICE), (rules(false, true), OTHER)] {
        let stage = Stage::plain(rules.clone()).await;
        let announced = announced(stage.raw().await).await;
        assert_eq!(announced, expected, "{rules:?}");
    }
}
