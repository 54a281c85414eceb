//! The lines of a log that contain a text.

use askama::Template;
use cts_proto::log::v1::{LogExcerpt, LogSearchState, SearchLogResponse};

use super::answer::RunCalls;
use super::log_lines::without_colours;
use crate::address::{Query, escape};
use crate::context::{Context, Refusal, read};
use crate::text::Foreign;

/// Bytes of a found line that are shown before the found text, and at all.
const BEFORE: usize = 60;
const EXCERPT: usize = 200;

#[derive(Template)]
#[template(path = "run/found.html")]
struct Found<'a> {
    text: &'a str,
    /// Lines in their order.
    lines: Vec<&'a LogExcerpt>,
    /// Why older lines were not searched; empty if all were.
    end: &'static str,
    searched_from: u64,
    /// Address of the screen.
    screen: String,
    query: &'a Query,
}

pub(super) async fn render(
    calls: &RunCalls,
    query: &Query,
    context: &Context<'_>,
) -> Result<String, Refusal> {
    let text = query.get("search");
    let attempt = match query.get("attempt").parse() {
        Ok(number @ 1_u32..) => format!("&attempt={number}"),
        _ => String::new(),
    };
    let call = calls.log(&format!("search={}{attempt}", escape(text)));
    let body = context.bytes(&call).await?;
    let messages = body
        .split(|byte| *byte == b'\n')
        .filter(|it| !it.is_empty());
    let messages: Vec<SearchLogResponse> = messages.map(read).collect::<Result<_, _>>()?;
    let (end, searched_from) = messages
        .last()
        .map_or((LogSearchState::Searching, 0), |it| {
            (it.state(), it.searched_from)
        });
    let newest_first = messages.iter().flat_map(|message| &message.lines);
    let mut lines: Vec<_> = newest_first.collect();
    lines.reverse();
    let template = Found {
        text,
        lines,
        end: match end {
            LogSearchState::Complete => "",
            LogSearchState::Full => "1000 lines are found",
            LogSearchState::TimedOut => "60 seconds are over",
            LogSearchState::Replaced => "a newer search has ended this search",
            LogSearchState::Searching | LogSearchState::Unspecified => "the search broke off",
        },
        searched_from,
        screen: calls.address(context),
        query,
    };
    Ok(template.render().unwrap_or_default())
}

impl Found<'_> {
    /// The part of a line around the first place of the text.
    fn excerpt(&self, line: &str) -> String {
        let at = line.find(self.text).unwrap_or(0);
        let rest = &line[line.floor_char_boundary(at.saturating_sub(BEFORE))..];
        without_colours(&rest[..rest.floor_char_boundary(EXCERPT)]).into_owned()
    }
}
