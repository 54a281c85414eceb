//! Logs of plans and applies, read by offset while they grow.
//!
//! The stream begins with the byte 0x02 and is complete with the byte 0x03. Offsets count both.

use reqwest::Method;
use serde::Deserialize;

use crate::document::Resource;
use crate::error::ApiError;
use crate::server::Server;
use crate::signed_url::SignedUrl;

const START: u8 = 0x02;
const END: u8 = 0x03;

/// Bytes of both markers, which may be sent beyond the limit of a piece.
const MARKERS: usize = 2;

/// A piece of a log, which may begin and end within a character.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPiece {
    /// Content without the markers of the stream.
    pub content: Vec<u8>,
    /// Offset of the next piece.
    pub next_offset: u64,
    /// Whether the log is complete with this piece. An empty piece that is not the last means: later.
    pub is_last: bool,
}

/// A plan or an apply, as far as its log needs it.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Stage {
    log_read_url: Option<SignedUrl>,
}

impl Server {
    /// Finds the log of a plan.
    pub async fn plan_log(&self, id: &str) -> Result<Option<SignedUrl>, ApiError> {
        self.log(&["plans", id]).await
    }

    /// Finds the log of an apply.
    pub async fn apply_log(&self, id: &str) -> Result<Option<SignedUrl>, ApiError> {
        self.log(&["applies", id]).await
    }

    async fn log(&self, path: &[&str]) -> Result<Option<SignedUrl>, ApiError> {
        let stage: Resource<Stage> = self.get(path).await?;
        Ok(stage.attributes.log_read_url)
    }

    /// Reads a log from `offset` on, at most `limit` bytes.
    pub async fn log_piece(
        &self,
        log: &SignedUrl,
        offset: u64,
        limit: u32,
    ) -> Result<LogPiece, ApiError> {
        let longest = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut request = self.signed(Method::GET, log)?;
        request.longest = longest.saturating_add(MARKERS);
        request
            .url
            .query_pairs_mut()
            .append_pair("limit", &limit.to_string())
            .append_pair("offset", &offset.to_string());
        request.timeout = self.limits().timeout;
        match self.exchange(&request).await {
            Ok(answer) => Ok(piece(answer.body, offset)),
            // Nothing at this offset yet.
            Err(ApiError::Refused(refusal)) if refusal.status == 416 => {
                Ok(piece(Vec::new(), offset))
            }
            Err(error) => Err(error),
        }
    }
}

fn piece(mut content: Vec<u8>, offset: u64) -> LogPiece {
    let end = content.iter().position(|&byte| byte == END);
    let length = end.map_or(content.len(), |end| end + 1);
    let next_offset = offset.saturating_add(length as u64);
    content.truncate(end.unwrap_or(length));
    if offset == 0 && content.first() == Some(&START) {
        content.remove(0);
    }
    LogPiece {
        content,
        next_offset,
        is_last: end.is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_counted_and_left_out() {
        let expected = |content: &[u8], next_offset, is_last| LogPiece {
            content: content.to_vec(),
            next_offset,
            is_last,
        };
        assert_eq!(piece(b"\x02ab".to_vec(), 0), expected(b"ab", 3, false));
        assert_eq!(piece(b"cd\x03".to_vec(), 3), expected(b"cd", 6, true));
        assert_eq!(piece(b"\x02\x03".to_vec(), 0), expected(b"", 2, true));
        assert_eq!(piece(b"".to_vec(), 7), expected(b"", 7, false));
        assert_eq!(piece(b"\x02x".to_vec(), 5), expected(b"\x02x", 7, false));
        assert_eq!(piece(b"a\x03rest".to_vec(), 1), expected(b"a", 3, true));
    }
}
