//! Behaviours of sessions of the page.

use std::time::Duration;

use cts_core::callers::{AuditAction, CallerKind, Role};
use cts_store::{NewStoredSession, SessionError, SessionLimits, StoredSession};
use futures::future::join_all;

use super::access_store::{call, token};
use crate::Fixture;
use crate::scene::{Scene, seconds};

const LIMITS: SessionLimits = SessionLimits {
    of_person: 3,
    of_all: 5,
};

pub(super) const HOUR: Duration = Duration::from_hours(1);

/// A session of the user `name` for an hour, whose hash repeats `hash`.
pub(super) fn session(name: &str, hash: u8) -> NewStoredSession {
    NewStoredSession {
        sha256: [hash; 32],
        kind: CallerKind::User,
        name: name.to_owned(),
        issuer: "https://login.example".to_owned(),
        role: Role::OperateApprove,
        tasks: vec!["web-*".to_owned()],
        token: None,
        life: HOUR,
    }
}

/// A session of the token `name`.
pub(super) fn of_token(name: &str, hash: u8) -> NewStoredSession {
    NewStoredSession {
        kind: CallerKind::Token,
        issuer: String::new(),
        token: Some(token(name, None).sha256),
        ..session(name, hash)
    }
}

async fn try_begin<F: Fixture>(
    scene: &Scene<F>,
    new: &NewStoredSession,
) -> Result<StoredSession, SessionError> {
    scene.store().begin_session(new, LIMITS).await
}

pub(super) async fn begin<F: Fixture>(scene: &Scene<F>, new: &NewStoredSession) -> StoredSession {
    let begun = try_begin(scene, new).await;
    begun.expect("the session is within the limits")
}

pub(super) async fn create_token<F: Fixture>(scene: &Scene<F>, name: &str, life: Option<Duration>) {
    let created = scene.store().create_token(&token(name, life)).await;
    assert!(created.expect("a token can be stored"));
}

async fn all<F: Fixture>(scene: &Scene<F>) -> Vec<StoredSession> {
    let read = scene.store().sessions(None).await;
    let read = read.expect("sessions can be read");
    read.expect("no version is known").sessions
}

/// The first bytes of the hashes of all sessions.
pub(super) async fn hashes<F: Fixture>(scene: &Scene<F>) -> Vec<u8> {
    let sessions = all(scene).await;
    sessions.iter().map(|session| session.sha256[0]).collect()
}

pub async fn a_session_comes_back_as_it_was_stored_until_its_end<F: Fixture>() {
    let mut scene = Scene::<F>::new(&[]).await;
    let new = session("alice", 1);
    let begun = begin(&scene, &new).await;
    assert_eq!(begun.ends_at - begun.begun_at, chrono::TimeDelta::hours(1));
    assert_eq!(
        (begun.sha256, begun.kind, &begun.name, &begun.issuer),
        (new.sha256, new.kind, &new.name, &new.issuer)
    );
    assert_eq!((begun.role, &begun.tasks), (Some(new.role), &new.tasks));
    scene.restart().await;
    assert_eq!(all(&scene).await, [begun]);
    scene.advance(HOUR);
    assert_eq!(all(&scene).await, []);
}

pub async fn the_oldest_session_of_a_person_ends_when_one_too_many_begins<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    create_token(&scene, "alice", None).await;
    begin(&scene, &of_token("alice", 9)).await;
    for hash in 1..=4 {
        scene.advance(seconds(1));
        begin(&scene, &session("alice", hash)).await;
    }
    // The token of that name is another person.
    assert_eq!(hashes(&scene).await, [2, 3, 4, 9]);
}

pub async fn a_session_beyond_the_number_of_all_is_refused<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    for (name, hash) in [("a", 1), ("a", 2), ("a", 3), ("b", 4), ("c", 5)] {
        begin(&scene, &session(name, hash)).await;
    }
    let refused = try_begin(&scene, &session("d", 6)).await;
    assert!(
        matches!(refused, Err(SessionError::TooMany(5))),
        "{refused:?}"
    );
    // A session takes the place of an earlier one of its person.
    begin(&scene, &session("a", 7)).await;
    assert_eq!(hashes(&scene).await.len(), 5);
    scene.advance(HOUR);
    begin(&scene, &session("d", 6)).await;
    assert_eq!(hashes(&scene).await, [6]);
}

pub async fn a_session_ends_with_its_token<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    create_token(&scene, "long", Some(2 * HOUR)).await;
    create_token(&scene, "short", Some(seconds(60))).await;
    let begun = begin(&scene, &of_token("long", 1)).await;
    assert_eq!(begun.ends_at - begun.begun_at, chrono::TimeDelta::hours(1));
    let begun = begin(&scene, &of_token("short", 2)).await;
    assert_eq!(
        begun.ends_at - begun.begun_at,
        chrono::TimeDelta::minutes(1)
    );
    begin(&scene, &session("long", 3)).await;
    scene.advance(seconds(60));
    assert_eq!(hashes(&scene).await, [1, 3]);
    let revoked = scene.store().revoke_token("long").await;
    assert!(revoked.expect("a token can be revoked"));
    assert_eq!(hashes(&scene).await, [3]);
    // A token that is made again has another secret.
    for ended in ["long", "short"] {
        let refused = try_begin(&scene, &of_token(ended, 4)).await;
        assert!(
            matches!(refused, Err(SessionError::TokenEnded)),
            "{refused:?}"
        );
    }
}

pub async fn sessions_end_one_by_one_and_by_the_name_of_their_person<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    create_token(&scene, "alice", None).await;
    for new in [
        session("alice", 1),
        session("alice", 2),
        session("bob", 3),
        of_token("alice", 4),
    ] {
        begin(&scene, &new).await;
    }
    for existed in [true, false] {
        let ended = scene.store().end_session(&[1; 32]).await;
        assert_eq!(ended.expect("a session can be ended"), existed);
    }
    let end = async |name: &str, kind| {
        let ended = scene.store().end_sessions_of(name, kind).await;
        ended.expect("sessions can be ended")
    };
    assert_eq!(end("alice", Some(CallerKind::Certificate)).await, 0);
    assert_eq!(end("alice", Some(CallerKind::Token)).await, 1);
    assert_eq!(hashes(&scene).await, [2, 3]);
    begin(&scene, &of_token("alice", 4)).await;
    assert_eq!(end("alice", None).await, 2);
    assert_eq!(hashes(&scene).await, [3]);
}

pub async fn logins_at_the_same_time_keep_the_limit_and_end_with_their_token<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    create_token(&scene, "ci", None).await;
    let limits = SessionLimits {
        of_all: 100,
        ..LIMITS
    };
    let store = &scene.store();
    let logins = (1..=6).flat_map(|hash| [session("alice", hash), of_token("ci", 10 + hash)]);
    let logins: Vec<_> = logins.collect();
    let begins = join_all(logins.iter().map(|new| store.begin_session(new, limits)));
    let logouts = join_all((11..=16).map(|hash| async move {
        let ended = store.end_session(&[hash; 32]).await;
        ended.expect("a session can be ended");
    }));
    let (begun, _, revoked) = tokio::join!(begins, logouts, store.revoke_token("ci"));
    assert!(revoked.expect("a token can be revoked"));
    for (login, begun) in logins.iter().zip(begun) {
        let is_late = matches!(begun, Err(SessionError::TokenEnded)) && login.token.is_some();
        assert!(begun.is_ok() || is_late, "{begun:?}");
    }
    let left = all(&scene).await;
    assert_eq!(left.len(), 3, "{left:?}");
    assert!(
        left.iter().all(|session| session.name == "alice"),
        "{left:?}"
    );
}

pub async fn sessions_are_read_again_only_if_they_have_changed<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    create_token(&scene, "ci", None).await;
    let store = scene.store();
    let mut known = None;
    let mut changed = async || {
        let read = store.sessions(known).await;
        let read = read.expect("sessions can be read");
        known = read.as_ref().map_or(known, |read| Some(read.version));
        read.is_some()
    };
    assert!(changed().await);
    for step in 0..4 {
        assert!(!changed().await, "before {step}");
        match step {
            0 => drop(begin(&scene, &of_token("ci", 1)).await),
            1 => drop(begin(&scene, &session("alice", 2)).await),
            2 => assert!(store.end_session(&[2; 32]).await.expect("it is there")),
            _ => assert!(store.revoke_token("ci").await.expect("it is there")),
        }
        assert!(changed().await, "after {step}");
    }
}

pub async fn logins_and_logouts_are_recorded_once<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    let recording = |action| scene.store().recording(call(action, ""));
    let recorded = recording(AuditAction::BeginSession);
    let begun = recorded.begin_session(&session("alice", 1), LIMITS).await;
    begun.expect("the session is within the limits");
    let recorded = recording(AuditAction::EndSession);
    for existed in [true, false] {
        let ended = recorded.end_session(&[1; 32]).await;
        assert_eq!(ended.expect("a session can be ended"), existed);
    }
    begin(&scene, &session("alice", 2)).await;
    let recorded = recording(AuditAction::RevokeSessions);
    for number in [1, 0] {
        let ended = recorded.end_sessions_of("alice", None).await;
        assert_eq!(ended.expect("sessions can be ended"), number);
    }
    let records = scene.store().audit_records_after(0, 10).await;
    let records = records.expect("records can be read");
    let actions: Vec<_> = records.iter().map(|stored| stored.record.action).collect();
    let expected = [
        AuditAction::BeginSession,
        AuditAction::EndSession,
        AuditAction::RevokeSessions,
    ];
    assert_eq!(actions, expected);
}
