//! A model of the decisions about the effects of one task, by docs/runs.md#consent.

use std::collections::BTreeMap;
use std::time::Duration;

use cts_core::{ApprovalRule, GONE_FOR, RunId};

/// Life of a consent.
const LIFE: Duration = Duration::from_hours(24);

/// An input, and what its plan does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Input {
    pub(super) text: &'static str,
    pub(super) effect: &'static str,
    harms: bool,
}

/// All inputs. Two have the same effect.
pub(super) const INPUTS: [Input; 5] = [
    input("full", "makes", false),
    input("more", "makes more", false),
    input("less", "destroys", true),
    input("fewer", "destroys", true),
    input("none", "destroys all", true),
];

const fn input(text: &'static str, effect: &'static str, harms: bool) -> Input {
    Input {
        text,
        effect,
        harms,
    }
}

impl Input {
    /// Whether its effect needs consent by this rule.
    pub(super) fn needs(self, rule: ApprovalRule) -> bool {
        rule == ApprovalRule::Always || rule == ApprovalRule::Destroy && self.harms
    }
}

/// Decision about an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision {
    Open,
    Approved,
    Rejected,
}

/// An effect that a person was asked about.
#[derive(Debug, Clone)]
struct Asked {
    /// The input whose plan had the effect last.
    text: &'static str,
    decision: Decision,
    expires: Duration,
    /// The run that has used the consent, and its input.
    used: Option<(RunId, &'static str)>,
    /// The data have not needed the effect since then.
    gone: Option<Duration>,
    /// No run may have needed the effect since then.
    idle: Option<Duration>,
    /// Nothing may have withdrawn the decision.
    sure: bool,
}

/// Duty of a store about an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Duty {
    Must,
    May,
    MustNot,
}

/// The decisions, by effect, and the time since the beginning.
#[derive(Debug, Default)]
pub(super) struct Decisions {
    now: Duration,
    asked: BTreeMap<&'static str, Asked>,
}

impl Decisions {
    pub(super) fn advance(&mut self, by: Duration) {
        self.now += by;
        let past = |since: Option<Duration>| since.is_some_and(|it| it + GONE_FOR <= self.now);
        for asked in self.asked.values_mut() {
            let is_unused = asked.used.is_none();
            if is_unused && (past(asked.gone) || past(asked.idle)) {
                asked.sure = false;
            }
            let expires = asked.decision == Decision::Approved && asked.expires <= self.now;
            let is_gone = asked.decision == Decision::Approved && is_unused && past(asked.gone);
            if expires || is_gone {
                asked.decision = Decision::Open;
                asked.used = None;
                asked.sure = false;
            }
        }
    }

    /// Whether the run may, or must, apply the input by a consent.
    pub(super) fn permits(&self, run: RunId, input: Input) -> Duty {
        let Some(asked) = self.asked.get(input.effect) else {
            return Duty::MustNot;
        };
        let is_own = asked.used.is_none_or(|user| user == (run, input.text));
        match (asked.decision, asked.sure) {
            (Decision::Approved, true) if is_own => Duty::Must,
            (Decision::Approved, false) if is_own => Duty::May,
            _ => Duty::MustNot,
        }
    }

    /// Whether the effect is rejected.
    pub(super) fn rejects(&self, effect: &str) -> Duty {
        match self.asked.get(effect) {
            Some(asked) if asked.decision == Decision::Rejected && asked.sure => Duty::Must,
            Some(asked) if asked.decision == Decision::Rejected => Duty::May,
            _ => Duty::MustNot,
        }
    }

    /// Whether the effect waits for a decision, or is approved if it `rejects`.
    pub(super) fn waits(&self, effect: &str, rejects: bool) -> Duty {
        let Some(asked) = self.asked.get(effect) else {
            return Duty::MustNot;
        };
        let is_open = asked.decision == Decision::Open
            || rejects && asked.decision == Decision::Approved && asked.used.is_none();
        match (is_open, asked.sure) {
            (true, true) => Duty::Must,
            (false, true) => Duty::MustNot,
            (_, false) => Duty::May,
        }
    }

    /// Effects that may be listed.
    pub(super) fn effects(&self) -> impl Iterator<Item = &'static str> {
        self.asked.keys().copied()
    }

    pub(super) fn is_gone(&self, effect: &str) -> bool {
        let asked = self.asked.get(effect);
        asked.is_some_and(|asked| asked.gone.is_some() || asked.idle.is_some())
    }

    /// A person is asked about the effect of an input.
    pub(super) fn ask(&mut self, input: Input) {
        let asked = Asked {
            text: input.text,
            decision: Decision::Open,
            expires: Duration::ZERO,
            used: None,
            gone: None,
            idle: None,
            sure: true,
        };
        self.asked.insert(input.effect, asked);
    }

    pub(super) fn decide(&mut self, effect: &str, rejects: bool) {
        if let Some(asked) = self.asked.get_mut(effect) {
            asked.expires = self.now + LIFE;
            asked.sure = true;
            asked.decision = if rejects {
                Decision::Rejected
            } else {
                Decision::Approved
            };
        }
    }

    /// The effect of the input is applied: a consent to it is used up.
    pub(super) fn apply(&mut self, run: RunId, input: Input) {
        if let Some(asked) = self.asked.get_mut(input.effect) {
            (asked.gone, asked.idle) = (None, None);
            if asked.decision == Decision::Approved {
                asked.used = Some((run, input.text));
            }
        }
    }

    /// The data need only this effect, or none, and that of a queued input.
    pub(super) fn others_are_gone(&mut self, needed: Option<&str>, queued: Option<&str>) {
        for (effect, asked) in &mut self.asked {
            if Some(*effect) == needed {
                (asked.gone, asked.idle) = (None, None);
            } else if asked.used.is_none() && Some(asked.text) != queued {
                asked.gone.get_or_insert(self.now);
            }
        }
    }

    /// The task has no run.
    pub(super) fn are_idle(&mut self) {
        for asked in self.asked.values_mut() {
            if asked.used.is_none() && asked.decision != Decision::Rejected {
                asked.idle.get_or_insert(self.now);
            }
        }
    }

    /// The newest data are this input.
    pub(super) fn is_back(&mut self, text: &str) {
        for asked in self.asked.values_mut() {
            if asked.text == text && asked.used.is_none() {
                (asked.gone, asked.idle) = (None, None);
            }
        }
    }

    /// The run gets this input.
    pub(super) fn replace(&mut self, run: RunId, text: &str) {
        self.asked.retain(|_effect, asked| {
            asked
                .used
                .is_none_or(|(user, used)| user != run || used == text)
        });
    }

    /// Another run tries the input of the run again.
    pub(super) fn pass_on(&mut self, run: RunId, retry: RunId) {
        let used = self.asked.values_mut().filter_map(|it| it.used.as_mut());
        used.filter(|used| used.0 == run)
            .for_each(|used| used.0 = retry);
    }

    /// Withdraws consents that no run has used. Rejections stay.
    pub(super) fn withdraw(&mut self) {
        let stays = |asked: &Asked| asked.used.is_some() || asked.decision == Decision::Rejected;
        self.asked.retain(|_effect, asked| stays(asked));
    }

    /// Consents may have been withdrawn.
    pub(super) fn doubt(&mut self) {
        let unused = self.asked.values_mut().filter(|it| it.used.is_none());
        unused.for_each(|asked| asked.sure = false);
    }

    /// The newest plan of a rejected effect is of this input.
    pub(super) fn plan(&mut self, input: Input) {
        if let Some(asked) = self.asked.get_mut(input.effect) {
            asked.text = input.text;
        }
    }

    pub(super) fn remove(&mut self, effect: &str) {
        self.asked.remove(effect);
    }

    /// Rejections are forgotten; returns their least and greatest number.
    pub(super) fn reopen(&mut self) -> (usize, usize) {
        let is_rejected = |asked: &&Asked| asked.decision == Decision::Rejected;
        let rejected = self.asked.values().filter(is_rejected);
        let sure = rejected.clone().filter(|asked| asked.sure).count();
        let all = rejected.count();
        self.asked.retain(|_effect, asked| !is_rejected(&&*asked));
        (sure, all)
    }

    pub(super) fn clear(&mut self) {
        self.asked.clear();
    }
}
