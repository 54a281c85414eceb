//! Journals of workers.

use cts_core::{JournalEntry, JournalPart, WorkerId};
use cts_proto::worker::v1 as proto;

use super::{
    ConversionError, invalid, lease_epoch, run_id, timestamp_from_wire, timestamp_to_wire,
};

/// Converts a part of a journal for the wire.
pub fn journal_to_wire(part: JournalPart) -> proto::WorkerJournal {
    proto::WorkerJournal {
        timeline: part.timeline,
        lives: part.lives.iter().map(WorkerId::to_string).collect(),
        entries: part
            .entries
            .into_iter()
            .map(journal_entry_to_wire)
            .collect(),
        last: part.last,
    }
}

/// Converts an attempt of a journal for the wire.
pub fn journal_entry_to_wire(entry: JournalEntry) -> proto::JournalEntry {
    proto::JournalEntry {
        task_name: entry.task.into(),
        run_id: entry.run.to_string(),
        epoch: entry.epoch.get(),
        input_hash: entry.input.to_string(),
        began_at: entry.began_at.map(timestamp_to_wire),
        outcome: entry.outcome.unwrap_or_default(),
    }
}

/// Converts a part of a journal from the wire.
pub fn journal_from_wire(part: proto::WorkerJournal) -> Result<JournalPart, ConversionError> {
    Ok(JournalPart {
        timeline: part.timeline,
        lives: part.lives.into_iter().map(WorkerId::new).collect(),
        entries: part
            .entries
            .into_iter()
            .map(journal_entry_from_wire)
            .collect::<Result<_, _>>()?,
        last: part.last,
    })
}

/// Converts an attempt of a journal from the wire.
pub fn journal_entry_from_wire(
    entry: proto::JournalEntry,
) -> Result<JournalEntry, ConversionError> {
    Ok(JournalEntry {
        run: run_id(&entry.run_id)?,
        epoch: lease_epoch(entry.epoch)?,
        input: entry
            .input_hash
            .parse()
            .map_err(|_error| invalid("JournalEntry.input_hash", &entry.input_hash))?,
        began_at: timestamp_from_wire(entry.began_at.as_ref()),
        outcome: Some(entry.outcome).filter(|outcome| !outcome.is_empty()),
        task: entry
            .task_name
            .parse()
            .map_err(|_error| invalid("JournalEntry.task_name", &entry.task_name))?,
    })
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use cts_core::{Digest, LeaseEpoch};

    use super::*;

    fn part() -> JournalPart {
        let entry = |outcome: Option<&str>| JournalEntry {
            task: "t".parse().unwrap(),
            run: run_id("0192f0c1-2b3c-7d4e-8f50-616263646566").unwrap(),
            epoch: LeaseEpoch::new(3),
            input: Digest::of(b"input"),
            began_at: outcome.and_then(|_| DateTime::from_timestamp(1_800_000_000, 5_000)),
            outcome: outcome.map(str::to_owned),
        };
        JournalPart {
            timeline: "1/00000002".to_owned(),
            lives: vec![WorkerId::new("w-1"), WorkerId::new("w-2")],
            entries: vec![entry(None), entry(Some("applied"))],
            last: true,
        }
    }

    #[test]
    fn a_journal_goes_over_the_wire() {
        assert_eq!(journal_from_wire(journal_to_wire(part())), Ok(part()));
    }

    #[test]
    fn an_entry_that_cannot_be_read_is_refused() {
        let refused = |change: fn(&mut proto::JournalEntry)| {
            let mut wire = journal_to_wire(part());
            change(&mut wire.entries[1]);
            assert!(journal_from_wire(wire).is_err());
        };
        refused(|entry| entry.task_name = "a b".to_owned());
        refused(|entry| entry.run_id = "r".to_owned());
        refused(|entry| entry.epoch = 0);
        refused(|entry| entry.input_hash.push('0'));
    }
}
