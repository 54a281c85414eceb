//! From a complete input to the end of its run: the queue, attempts, losses, events and states.

pub(crate) mod after_run;
pub(crate) mod approval;
pub(crate) mod change_times;
pub(crate) mod complete_input;
pub(crate) mod current_state;
pub(crate) mod delivery;
pub(crate) mod effect;
pub(crate) mod event;
pub(crate) mod held_keys;
pub(crate) mod housekeeping;
pub(crate) mod input;
pub(crate) mod input_changes;
pub(crate) mod journal;
pub(crate) mod losses;
pub(crate) mod phase;
pub mod runs;
