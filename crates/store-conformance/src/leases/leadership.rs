//! Behaviours of the leadership and of members.

use std::time::Duration;

use cts_core::LeaderEpoch;

use crate::Fixture;
use crate::scene::{MICROSECOND, Scene, life, member, seconds};
use cts_store::{Leadership, MemberState};

/// Life of a leadership.
const TTL: Duration = Duration::from_secs(15);

/// Longer than anything here takes.
const EVER: Duration = Duration::from_hours(365 * 24);

fn epoch(number: u64) -> LeaderEpoch {
    LeaderEpoch::new(number)
}

/// Expected answer for the first grant of the caller, or for the leadership of another replica.
fn leadership(number: u64, mine: bool, leader: &str, expires_in: Duration) -> Leadership {
    Leadership {
        epoch: epoch(number),
        mine,
        leader: leader.to_owned(),
        expires_in,
        resumed: false,
        id_in_use: None,
    }
}

/// The caller led last, and leads.
fn resumed(number: u64, leader: &str, expires_in: Duration) -> Leadership {
    Leadership {
        resumed: true,
        ..leadership(number, true, leader, expires_in)
    }
}

async fn members<F: Fixture>(scene: &Scene<F>, within: Duration) -> Vec<MemberState> {
    let members = scene.store().members(within).await;
    members.expect("replicas can be listed")
}

pub async fn an_expired_leadership_goes_to_the_next_who_asks<F: Fixture>() {
    let scene = Scene::<F>::unled().await;
    scene.lead_as("a", None, TTL).await;
    scene.advance(TTL.checked_sub(MICROSECOND).expect("it is longer"));
    let told = scene.lead_as("b", None, TTL).await;
    assert_eq!(told, leadership(1, false, "a", MICROSECOND));
    scene.advance(MICROSECOND);
    let taken = scene.lead_as("b", None, TTL).await;
    assert_eq!(taken, leadership(2, true, "b", TTL));
    let late = scene.lead_as("a", Some(epoch(1)), TTL).await;
    assert_eq!(late, leadership(2, false, "b", TTL));
}

/// Otherwise a write that began before the lease was over could go on after others saw that there is no
/// leader.
pub async fn a_leader_that_comes_back_after_its_expiry_gets_a_new_epoch<F: Fixture>() {
    let scene = Scene::<F>::unled().await;
    scene.lead_as("a", None, TTL).await;
    scene.advance(TTL);
    let back = scene.lead_as("a", Some(epoch(1)), TTL).await;
    assert_eq!(back, resumed(2, "a", TTL));
}

pub async fn an_id_belongs_to_the_life_that_was_seen<F: Fixture>() {
    let scene = Scene::<F>::unled().await;
    scene.lead_as("a", None, TTL).await;
    let second = life("a", 2);
    let refused = |silence| Leadership {
        id_in_use: Some(silence),
        ..leadership(1, false, "a", TTL.saturating_sub(silence))
    };
    for silence in [Duration::ZERO, seconds(5)] {
        scene.advance(silence);
        for known in [None, Some(epoch(1))] {
            let asked = scene.lead_in_life(&second, known, TTL).await;
            assert_eq!(asked, refused(silence));
        }
    }
    let seen = members(&scene, EVER).await;
    assert_eq!(seen[0].member, member("a"));
    assert_eq!(seen[0].silent_for, seconds(5));
    // The first life was alive.
    let renewed = scene.lead_as("a", Some(epoch(1)), TTL).await;
    assert_eq!(renewed, resumed(1, "a", TTL));
    let just_less = TTL.checked_sub(MICROSECOND).expect("it is longer");
    scene.advance(just_less);
    let asked = scene.lead_in_life(&second, None, TTL).await;
    assert_eq!(asked, refused(just_less));
    // The first life is dead or paused.
    scene.advance(MICROSECOND);
    let taken = scene.lead_in_life(&second, None, TTL).await;
    assert_eq!(taken, leadership(2, true, "a", TTL));
    assert_eq!(members(&scene, EVER).await[0].member, second);
    // The first life was paused and takes nothing back.
    let awake = scene.lead_as("a", Some(epoch(1)), TTL).await;
    let in_use = Leadership {
        id_in_use: Some(Duration::ZERO),
        ..leadership(2, false, "a", TTL)
    };
    assert_eq!(awake, in_use);
    scene.resign(&member("a")).await;
    let renewed = scene.lead_in_life(&second, Some(epoch(2)), TTL).await;
    assert_eq!(renewed, resumed(2, "a", TTL));
}

/// Processes may be configured with different lives.
pub async fn a_lease_outlives_the_use_of_its_id<F: Fixture>() {
    let scene = Scene::<F>::unled().await;
    let long = seconds(60);
    scene.lead_as("a", None, long).await;
    scene.advance(TTL);
    let second = life("a", 2);
    let asked = scene.lead_in_life(&second, None, TTL).await;
    assert_eq!(asked, leadership(1, false, "a", seconds(45)));
    assert_eq!(members(&scene, EVER).await[0].member, second);
    let renewed = scene.lead_as("a", Some(epoch(1)), long).await;
    let renewed_without_an_id = Leadership {
        id_in_use: Some(Duration::ZERO),
        ..resumed(1, "a", long)
    };
    assert_eq!(renewed, renewed_without_an_id);
    scene.advance(long);
    let asked = scene.lead_in_life(&second, None, TTL).await;
    assert_eq!(asked, leadership(2, true, "a", TTL));
}

pub async fn members_are_listed_by_id_with_their_silence<F: Fixture>() {
    let scene = Scene::<F>::unled().await;
    // In the order of bytes, not of a language.
    for id in ["b", "a-1", "ä", "B", "a", "a1", "B"] {
        scene.lead_as(id, None, TTL).await;
        scene.advance(seconds(1));
    }
    let listed = async |within| {
        let members = members(&scene, within).await;
        let told = members
            .into_iter()
            .map(|state| (state.member.id, state.silent_for.as_secs()));
        told.collect::<Vec<_>>()
    };
    let all = [
        ("B", 1),
        ("a", 3),
        ("a-1", 6),
        ("a1", 2),
        ("b", 7),
        ("ä", 5),
    ];
    let expected = |within: u64| {
        let lately = all.iter().filter(|(_, silence)| *silence <= within);
        let told = lately.map(|(id, silence)| ((*id).to_owned(), *silence));
        told.collect::<Vec<_>>()
    };
    for within in 0..8 {
        assert_eq!(listed(seconds(within)).await, expected(within));
    }
    assert_eq!(listed(EVER).await, expected(7));
}

pub async fn members_tell_what_they_are<F: Fixture>() {
    let scene = Scene::<F>::unled().await;
    let store = scene.store();
    let mut odd = member("quotes \" ' ` \\ ünïcödé ☃");
    odd.service_name = String::new();
    for address in [None, Some("[::1]:8558".to_owned()), None] {
        odd.address = address;
        let lead = store.lead(&odd, None, TTL).await;
        lead.expect("leadership can be asked for");
        let expected = MemberState {
            member: odd.clone(),
            silent_for: Duration::ZERO,
            leader: true,
        };
        assert_eq!(members(&scene, EVER).await, [expected]);
    }
}
