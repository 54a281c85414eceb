//! The page in a real Chromium (docs/page.md). Tests that only look share one system ([`shown`]).
#![expect(clippy::unwrap_used, reason = "shared steps of tests")]

mod accessible;
mod calls;
mod cluster;
mod consent;
mod ended_sessions;
mod followed_log;
mod fragments;
mod freeze;
mod gateways;
mod harness;
mod history;
mod hostile_texts;
mod issuer;
mod login;
mod marks;
mod narrow;
mod other_servers;
mod people;
mod scene;
mod screens;
mod shown;
mod tabs;
mod ten_thousand;
mod without_scripts;
