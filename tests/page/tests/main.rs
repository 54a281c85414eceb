//! The page in a real Chromium (docs/page.md). Tests that only look share one system ([`shown`]).
#![expect(clippy::unwrap_used, reason = "shared steps of tests")]

mod accessible;
mod calls;
mod cluster;
mod followed_log;
mod forms;
mod fragments;
mod freeze;
mod gateways;
mod harness;
mod history;
mod hostile_texts;
mod marks;
mod narrow;
mod people;
mod remote_runs;
mod scene;
mod screens;
mod sessions;
mod shown;
mod tabs;
mod ten_thousand;
mod versions;
mod without_scripts;
