//! Sessions from a played scheduler, and requests that know their cookies.

use std::pin::Pin;
use std::sync::Mutex;

use chrono::{DateTime, TimeDelta, Utc};
use cts_access::{Issuers, SessionSecret};
use cts_core::callers::{PlanValues, Role};
use cts_proto::access::v1::access_service_client::AccessServiceClient;
use cts_proto::access::v1::session_service_server::{SessionService, SessionServiceServer};
use cts_proto::time::timestamp_to_wire;
use cts_rpc::{Endpoints, memory_transport};
use cts_runtime::SystemClock;
use futures::future::join_all;
use tokio::sync::mpsc;
use tokio::task::{JoinSet, yield_now};
use tokio::time::{Instant, sleep};
use tokio_stream::Stream;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response};
use uuid::Uuid;

use super::*;
use crate::authorization::Access;
use crate::authorization::credential::Credential;
use crate::options::AccessOptions;
use crate::request_id::RequestId;
use crate::scheduler_client::on_behalf::OnBehalf;
use crate::scheduler_client::sessions::SessionClient;
use crate::scheduler_client::{CallError, ChangeError, Reason};

const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

const SOON: Duration = Duration::from_secs(5);

/// A time of the test.
#[derive(Debug)]
struct ManualClock(Mutex<DateTime<Utc>>);

impl Clock for ManualClock {
    fn now(&self) -> DateTime<Utc> {
        *self.0.lock().unwrap()
    }
}

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock(Mutex::new(SystemClock.now())))
}

fn access(clock: &Arc<ManualClock>) -> Arc<Access> {
    Arc::new(Access::new(AccessOptions {
        required: true,
        domain: None,
        plan_values: PlanValues::default(),
        issuers: Issuers::new(Vec::new()).unwrap(),
        logins: true,
        clock: Arc::<ManualClock>::clone(clock),
    }))
}

/// A session of an hour.
fn session(secret: &SessionSecret, clock: &ManualClock) -> proto::Session {
    let now = clock.now();
    proto::Session {
        sha256: secret.hash().0.to_vec(),
        kind: "user".to_owned(),
        name: "alice".to_owned(),
        issuer: "https://login.example".to_owned(),
        role: "operate".to_owned(),
        tasks: vec!["web-*".to_owned()],
        begun_at: Some(timestamp_to_wire(now)),
        ends_at: Some(timestamp_to_wire(now + TimeDelta::hours(1))),
    }
}

fn all(begun: Vec<proto::Session>) -> proto::FollowSessionsResponse {
    proto::FollowSessionsResponse {
        begun,
        ended: Vec::new(),
        complete: true,
    }
}

fn knows(access: &Access, sessions: &[proto::Session]) {
    let mut table = SessionTable::default();
    change(&mut table, all(sessions.to_vec()));
    let known = access.sessions.as_ref().unwrap();
    known.table.send_replace(Some(table));
}

fn secret() -> SessionSecret {
    SessionSecret::random().unwrap()
}

type Messages = mpsc::UnboundedSender<Result<proto::FollowSessionsResponse, Status>>;

/// Sends what the test sends, and notes the calls.
#[derive(Debug, Clone, Default)]
struct PlayedScheduler {
    followers: Arc<Mutex<Vec<Messages>>>,
    calls: Arc<Mutex<Vec<String>>>,
}

#[tonic::async_trait]
impl SessionService for PlayedScheduler {
    type FollowSessionsStream =
        Pin<Box<dyn Stream<Item = Result<proto::FollowSessionsResponse, Status>> + Send>>;

    async fn follow_sessions(
        &self,
        _request: Request<proto::FollowSessionsRequest>,
    ) -> Result<Response<Self::FollowSessionsStream>, Status> {
        let (sender, messages) = mpsc::unbounded_channel();
        self.followers.lock().unwrap().push(sender);
        Ok(Response::new(Box::pin(UnboundedReceiverStream::new(
            messages,
        ))))
    }

    async fn begin_session(
        &self,
        request: Request<proto::BeginSessionRequest>,
    ) -> Result<Response<proto::BeginSessionResponse>, Status> {
        assert!(request.metadata().contains_key("cts-caller-bin"));
        let request = request.into_inner();
        if !request.token_sha256.is_empty() {
            let mut status = Status::resource_exhausted("there are too many");
            let metadata = status.metadata_mut();
            metadata.insert("cts-reason", "busy".parse().unwrap());
            return Err(status);
        }
        let shown = format!(
            "{} {:?} {:?}",
            request.role,
            request.tasks,
            request.lasts.unwrap()
        );
        self.calls.lock().unwrap().push(shown);
        let session = Some(proto::Session {
            sha256: request.sha256,
            ..proto::Session::default()
        });
        Ok(Response::new(proto::BeginSessionResponse { session }))
    }

    async fn end_session(
        &self,
        request: Request<proto::EndSessionRequest>,
    ) -> Result<Response<proto::EndSessionResponse>, Status> {
        let shown = format!("end {}", request.into_inner().sha256.len());
        self.calls.lock().unwrap().push(shown);
        Ok(Response::new(proto::EndSessionResponse {}))
    }
}

impl PlayedScheduler {
    /// A channel to this scheduler, or to a scheduler without sessions.
    fn serve(endpoints: Endpoints, parts: &mut JoinSet<()>) -> Channel {
        let (listener, channel) = memory_transport();
        let serving = endpoints.serve_memory(listener, std::future::pending());
        parts.spawn(async { serving.await.unwrap() });
        channel
    }

    /// Waits for the follower with this number, counted from 0.
    async fn follower(&self, number: usize) -> Messages {
        let come = async {
            loop {
                if let Some(follower) = self.followers.lock().unwrap().get(number) {
                    return follower.clone();
                }
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(SOON, come).await.unwrap()
    }
}

fn client(channel: Channel) -> SessionClient {
    let caller = principal().caller(None);
    let by = OnBehalf::of(caller, RequestId(Uuid::nil()), None);
    SessionClient::new(SessionServiceClient::new(channel), by)
}

fn principal() -> Principal {
    let session = from_wire(session(&secret(), &clock())).unwrap();
    Principal::clone(&session.principal)
}

#[tokio::test]
async fn sessions_come_and_go_and_stay_while_no_scheduler_sends_them() {
    let (clock, scheduler, mut parts) = (clock(), PlayedScheduler::default(), JoinSet::new());
    let endpoints = Endpoints::new().with(SessionServiceServer::new(scheduler.clone()));
    let channel = PlayedScheduler::serve(endpoints, &mut parts);
    let access = access(&clock);
    let following = Arc::clone(&access);
    let tokens = AccessServiceClient::new(channel.clone());
    let sessions = SessionServiceClient::new(channel);
    parts.spawn(async move {
        let shutdown = CancellationToken::new();
        following.follow(tokens, sessions, &shutdown).await;
    });
    let secrets = [(); 3].map(|()| secret());
    let begun = |number: usize| session(&secrets[number], &clock);
    let follower = scheduler.follower(0).await;
    let part = proto::FollowSessionsResponse {
        complete: false,
        ..all(vec![begun(0)])
    };
    follower.send(Ok(part)).unwrap();
    follower.send(Ok(all(vec![begun(1)]))).unwrap();
    for secret in &secrets[..2] {
        access.session(secret.expose(), CLIENT).await.unwrap();
    }
    let change = proto::FollowSessionsResponse {
        ended: vec![secrets[0].hash().0.to_vec()],
        ..all(vec![begun(2)])
    };
    follower.send(Ok(change)).unwrap();
    access.session(secrets[2].expose(), CLIENT).await.unwrap();
    access
        .session(secrets[0].expose(), CLIENT)
        .await
        .unwrap_err();
    follower
        .send(Err(Status::unavailable("the scheduler ends")))
        .unwrap();
    let follower = scheduler.follower(1).await;
    access.session(secrets[1].expose(), CLIENT).await.unwrap();
    follower.send(Ok(all(vec![begun(2)]))).unwrap();
    let gone = async {
        while access.session(secrets[1].expose(), CLIENT).await.is_ok() {
            yield_now().await;
        }
    };
    timeout(SOON, gone).await.unwrap();
    let (visitor, known) = access.session(secrets[2].expose(), CLIENT).await.unwrap();
    assert_eq!(visitor.role(), Some(Role::Operate));
    assert!(visitor.sees("web-1") && !visitor.sees("dns"));
    assert_eq!(
        visitor.credential().unwrap(),
        "user \"alice\" of https://login.example"
    );
    assert_eq!(known.ends_at - known.begun_at, TimeDelta::hours(1));
}

#[tokio::test(start_paused = true)]
async fn an_unknown_session_is_waited_for_and_an_ended_one_is_not() {
    let (clock, secret) = (clock(), secret());
    let access = access(&clock);
    let ask = async || {
        let begin = Instant::now();
        let answer = access.session(secret.expose(), CLIENT).await;
        let problem = answer
            .err()
            .and_then(|problem| problem.refusal().map(str::to_owned));
        (problem, begin.elapsed())
    };
    // No scheduler has sent the sessions: that is no refusal.
    assert_eq!(ask().await, (None, WAIT));
    knows(&access, &[]);
    let refused = Some("the session is not known or has ended".to_owned());
    assert_eq!(ask().await, (refused.clone(), WAIT));
    let later = Duration::from_secs(1);
    let begins = async {
        sleep(later).await;
        access.session_begun(session(&secret, &clock));
    };
    let (answer, ()) = tokio::join!(ask(), begins);
    assert_eq!(answer, (None, later));
    access.session_ended(secret.hash());
    assert_eq!(ask().await, (refused.clone(), Duration::ZERO));
    access.session_begun(session(&secret, &clock));
    *clock.0.lock().unwrap() += TimeDelta::hours(1);
    assert_eq!(ask().await, (refused.clone(), Duration::ZERO));
    for text in ["", "cts_1", "%", &secret.expose()[1..]] {
        let begin = Instant::now();
        access.session(text, CLIENT).await.unwrap_err();
        assert_eq!(begin.elapsed(), Duration::ZERO, "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn strangers_with_random_cookies_cannot_pile_up() {
    let (clock, known) = (clock(), secret());
    let access = access(&clock);
    knows(&access, &[session(&known, &clock)]);
    let stranger = async |client: IpAddr| {
        let begin = Instant::now();
        access.session(secret().expose(), client).await.unwrap_err();
        begin.elapsed()
    };
    let few = 0..u32::try_from(WAITING.total).unwrap() + 10;
    let addresses = few.map(|number| IpAddr::V4((number / 4).into()));
    let strangers = join_all(addresses.map(&stranger));
    let known = async {
        sleep(WAIT / 2).await;
        let begin = Instant::now();
        access.session(known.expose(), CLIENT).await.unwrap();
        assert_eq!(begin.elapsed(), Duration::ZERO);
    };
    let (waits, ()) = tokio::join!(strangers, known);
    let at_once = |waits: &[Duration]| waits.iter().filter(|wait| wait.is_zero()).count();
    assert_eq!(at_once(&waits), 10);
    let waits = join_all((0..WAITING.total).map(|_| stranger(CLIENT))).await;
    assert_eq!(at_once(&waits), WAITING.total - WAITING.per_client);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_goes_on_ends_with_its_session() {
    let (clock, secrets) = (clock(), [(); 2].map(|()| secret()));
    let access = access(&clock);
    knows(
        &access,
        &secrets.each_ref().map(|secret| session(secret, &clock)),
    );
    let credential = async |secret: &SessionSecret| -> Credential {
        let (_visitor, session) = access.session(secret.expose(), CLIENT).await.unwrap();
        access.session_credential(&session)
    };
    let mut logged_out = credential(&secrets[0]).await;
    let mut expiring = credential(&secrets[1]).await;
    let ends = Duration::from_secs(30);
    assert!(timeout(ends, logged_out.lapses()).await.is_err());
    access.session_ended(secrets[0].hash());
    let begin = Instant::now();
    logged_out.lapses().await;
    assert_eq!(begin.elapsed(), Duration::ZERO);
    assert!(timeout(ends, expiring.lapses()).await.is_err());
    *clock.0.lock().unwrap() += TimeDelta::hours(1);
    timeout(Duration::from_secs(10), expiring.lapses())
        .await
        .unwrap();
}

#[tokio::test]
async fn logins_and_logouts_are_calls_on_behalf_of_their_person() {
    let (scheduler, mut parts) = (PlayedScheduler::default(), JoinSet::new());
    let endpoints = Endpoints::new().with(SessionServiceServer::new(scheduler.clone()));
    let client = client(PlayedScheduler::serve(endpoints, &mut parts));
    let (hash, hour) = (secret().hash(), Duration::from_hours(1));
    let begun = client.begin(hash, &principal(), None, hour).await.unwrap();
    assert_eq!(begun.sha256, hash.0);
    client.end(hash).await.unwrap();
    let calls = scheduler.calls.lock().unwrap().clone();
    assert_eq!(
        calls,
        [
            "operate [\"web-*\"] Duration { seconds: 3600, nanos: 0 }",
            "end 32"
        ]
    );
    let refused = client.begin(hash, &principal(), Some(hash), hour).await;
    assert!(
        matches!(&refused, Err(ChangeError::Declined { reason: Reason::Busy, message }) if message == "there are too many"),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_scheduler_without_sessions_is_named_as_too_old() {
    let mut parts = JoinSet::new();
    let client = client(PlayedScheduler::serve(Endpoints::new(), &mut parts));
    let hash = secret().hash();
    let begun = client.begin(hash, &principal(), None, SOON).await;
    let is_too_old = matches!(
        begun,
        Err(ChangeError::Ask(CallError::TooOld("login sessions")))
    );
    assert!(is_too_old, "{begun:?}");
    let ended = client.end(hash).await;
    assert!(matches!(ended, Err(CallError::TooOld(_))), "{ended:?}");
}

#[test]
fn a_session_without_a_readable_limit_does_not_count() {
    let good = session(&secret(), &clock());
    assert!(from_wire(good.clone()).is_some());
    let with = |change: fn(&mut proto::Session)| {
        let mut session = good.clone();
        change(&mut session);
        from_wire(session)
    };
    assert!(with(|session| session.sha256 = vec![7; 31]).is_none());
    assert!(with(|session| session.kind = "passkey".into()).is_none());
    assert!(with(|session| session.role = "root".into()).is_none());
    assert!(with(|session| session.tasks = vec!["web-[".into()]).is_none());
    assert!(with(|session| session.ends_at = None).is_none());
}
