//! A round: faults, changes of the catalog, writes to the API, and a reader of the API.

use std::time::Duration;

use cts_tests::Api;
use tokio::sync::{Mutex, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::{BETWEEN_LOOKS, Suite};
use crate::between::Between;
use crate::campaign::Files;
use crate::observed::followers::follow;
use crate::observed::history::History;
use crate::plan::{Change, Place, Plan, Round};
use crate::random::Random;
use crate::report::say;
use crate::wanted::Wanted;
use crate::writes::Writes;

const READ_TIMEOUT: Duration = Duration::from_secs(5);

impl Suite<'_> {
    /// Returns when all processes are up again and every write has its answer.
    pub(super) async fn trouble(&mut self, round: &Round) {
        let apis = self.apis();
        let over = CancellationToken::new();
        let forgotten = self.campaign.forgotten.subscribe();
        let before = forgotten.borrow().len();
        let files = Files {
            plan: self.plan,
            site: &self.scene.site,
            terraform: &self.scene.terraform,
            server: self.scene.outside.server.as_deref(),
            wires: &self.scene.outside.wires,
            consul: self.scene.consul,
        };
        let both = async {
            tokio::join!(
                self.campaign
                    .run(&mut self.scene.system, &files, &round.faults),
                order(&self.scene.outside.wanted, &round.changes),
                write(&mut self.writes, round),
            );
            over.cancel();
        };
        let mut following = JoinSet::new();
        for number in 0..self.plan.setup.followers {
            let random = Random::new(self.plan.seed ^ number as u64);
            let (apis, over) = (apis.clone(), over.clone());
            following.spawn(async move { follow(&apis, random, over).await });
        }
        let braked = async {
            if self.plan.setup.brake {
                self.brakes.watch(&apis, &round.releases, &over).await;
            }
        };
        tokio::join!(
            both,
            braked,
            read(&apis, &mut self.history, &over, forgotten.clone())
        );
        while let Some(followed) = following.join_next().await {
            self.followed.add(followed.unwrap());
        }
        say("the trouble is over; waiting for quiet");
        self.writes.finish().await;
        self.scene.place = Place::of(self.campaign.rewrites.written.blocks);
        if let Some(version) = self.campaign.rewrites.versions.last() {
            self.writes.declare(self.plan, version.number);
        }
        // A decision of a person stands until the input changes.
        if let Some(server) = &self.scene.outside.server {
            for number in 0..self.plan.all_tasks() {
                if server.has_decided(&Plan::task(number)) {
                    self.writes.book.cancelled(number);
                }
            }
        }
        for [(from, _), (until, _)] in forgotten.borrow().iter().skip(before) {
            let lost = Between(*from, *until);
            self.writes.forget(lost);
            self.followed.forget(lost);
        }
    }
}

async fn order(wanted: &Mutex<Wanted>, changes: &[(Duration, Change)]) {
    let begun = Instant::now();
    for (at, change) in changes {
        sleep_until(begun + *at).await;
        wanted.lock().await.order(change).await;
    }
}

async fn write(writes: &mut Writes, round: &Round) {
    let begun = Instant::now();
    let (mut orders, mut cancels) = (round.writes.iter(), round.cancels.iter());
    let (mut order, mut cancel) = (orders.next(), cancels.next());
    while let Some(next) = [order.map(|one| one.0), cancel.map(|one| one.0)]
        .into_iter()
        .flatten()
        .min()
    {
        tokio::select! {
            () = sleep_until(begun + next) => {}
            () = writes.looked() => continue,
        }
        if let Some((_, due)) = order.filter(|(at, _)| *at == next) {
            writes.send(due);
            order = orders.next();
        } else if let Some((_, due)) = cancel {
            writes.look(due);
            cancel = cancels.next();
        }
    }
}

async fn read<T>(
    apis: &[Api],
    history: &mut History,
    over: &CancellationToken,
    mut forgotten: watch::Receiver<T>,
) {
    for api in apis.iter().cycle() {
        let ask = api.ask("/v1/status/tasks?include=events");
        let answer = timeout(READ_TIMEOUT, ask).await;
        // A failover may lose events that were shown before it.
        if forgotten.has_changed().unwrap_or_default() {
            forgotten.mark_unchanged();
            history.begin_anew();
        } else if let Ok(Ok((200, answer))) = answer {
            history.add(&answer);
        }
        tokio::select! {
            () = over.cancelled() => return,
            () = sleep(BETWEEN_LOOKS) => {}
        }
    }
}
