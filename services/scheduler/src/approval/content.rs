//! The content of a plan as workers send it: a message that is compressed with zstd, and that may be hostile.

use std::io::{self, Read as _};

use cts_proto::run::v1::PlanData;
use prost::Message as _;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};
use zstd::stream::read::Decoder;

/// Largest compressed plan in bytes.
const COMPRESSED_BYTES: usize = 1 << 20;

/// Largest plan in bytes.
const BYTES: u64 = cts_rpc::PLAN_BYTES as u64;

/// Most members of a plan and of its changes together. A member of few bytes needs much more memory.
const PARTS: usize = 500_000;

/// Number of the field `PlanData.changes`.
const CHANGES: u32 = 7;

/// Largest window that the decompressor may ask for, as a power of two: 8 MiB.
const MAX_WINDOW_LOG: u32 = 23;

/// A content is no plan.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InvalidPlan {
    #[error("the plan has more than {COMPRESSED_BYTES} bytes")]
    Large,
    #[error("the plan has more than {BYTES} bytes before it is compressed")]
    Bomb,
    #[error("the plan has more than {PARTS} changes, attributes and other members")]
    Crowded,
    #[error("the plan cannot be decompressed")]
    Compression(#[from] io::Error),
    #[error("the plan is no message PlanData")]
    Message(#[from] prost::DecodeError),
}

/// Decodes a plan, within bounded memory.
pub(crate) fn decode(content: &[u8]) -> Result<PlanData, InvalidPlan> {
    if content.len() > COMPRESSED_BYTES {
        return Err(InvalidPlan::Large);
    }
    let mut decoder = Decoder::with_buffer(content)?;
    decoder.window_log_max(MAX_WINDOW_LOG)?;
    let mut bytes = Vec::new();
    decoder.take(BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > BYTES {
        return Err(InvalidPlan::Bomb);
    }
    if parts(&bytes, true)? > PARTS {
        return Err(InvalidPlan::Crowded);
    }
    Ok(PlanData::decode(bytes.as_slice())?)
}

/// Number of the members of a plan and of its changes.
fn parts(mut message: &[u8], has_changes: bool) -> Result<usize, prost::DecodeError> {
    let mut number = 0;
    while !message.is_empty() {
        let (tag, wire_type) = decode_key(&mut message)?;
        let mut field = message;
        skip_field(wire_type, tag, &mut message, DecodeContext::default())?;
        number += 1;
        if has_changes && tag == CHANGES && wire_type == WireType::LengthDelimited {
            decode_varint(&mut field)?;
            let length = field.len() - message.len();
            number += parts(field.get(..length).unwrap_or_default(), false)?;
        }
    }
    Ok(number)
}

#[cfg(test)]
mod tests {
    use cts_proto::run::v1::{PlannedAttribute, PlannedChange};

    use super::*;

    fn compressed(bytes: &[u8]) -> Vec<u8> {
        zstd::encode_all(bytes, 19).unwrap()
    }

    #[test]
    fn plans_are_decoded_within_their_bounds() {
        let plan = PlanData {
            engine_version: "1.9.8".into(),
            unclear: vec!["x".repeat(15 << 20)],
            ..PlanData::default()
        };
        let content = compressed(&plan.encode_to_vec());
        assert_eq!(decode(&content).unwrap(), plan);
        assert!(matches!(
            decode(&content[..content.len() - 1]),
            Err(InvalidPlan::Compression(_))
        ));
        let bomb = compressed(&vec![0; 100 << 20]);
        assert!(bomb.len() < 100_000);
        assert!(matches!(decode(&bomb), Err(InvalidPlan::Bomb)));
        let twice = [compressed(&vec![0; 16 << 20]), bomb].concat();
        assert!(matches!(decode(&twice), Err(InvalidPlan::Bomb)));
        let large = vec![0; COMPRESSED_BYTES + 1];
        assert!(matches!(decode(&large), Err(InvalidPlan::Large)));
        let change = PlannedChange {
            attributes: vec![PlannedAttribute::default(); PARTS - 1],
            ..PlannedChange::default()
        };
        let mut plan = PlanData {
            changes: vec![change],
            ..PlanData::default()
        };
        assert_eq!(decode(&compressed(&plan.encode_to_vec())).unwrap(), plan);
        plan.changes.push(PlannedChange::default());
        let crowded = decode(&compressed(&plan.encode_to_vec()));
        assert!(matches!(crowded, Err(InvalidPlan::Crowded)));
        let no_plan = compressed(b"no message");
        assert!(matches!(decode(&no_plan), Err(InvalidPlan::Message(_))));
        for garbage in [&b"garbage"[..], b"(\xb5/\xfd\x00\xff"] {
            assert!(matches!(decode(garbage), Err(InvalidPlan::Compression(_))));
        }
    }
}
