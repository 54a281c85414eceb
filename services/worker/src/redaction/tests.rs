use std::sync::{Arc, Mutex};

use cts_terraform::{OutputLine, OutputSink, OutputStream};
use proptest::prelude::*;
use serde_json::{Value, json};

use cts_core::hidden::HIDDEN;

use super::forms::TOO_SHORT;
use super::*;

const SECRET: &str = "a\"b\\c ${d} <e>";

fn redactor<'s>(secrets: impl IntoIterator<Item = &'s str>) -> Redactor {
    Redactor::new(secrets).unwrap()
}

#[derive(Default)]
struct Lines(Mutex<Vec<String>>);

impl OutputSink for Lines {
    fn line(&self, line: OutputLine) {
        self.0.lock().unwrap().push(line.text);
    }
}

/// The output for one line that comes in these pieces.
fn in_pieces(redactor: Redactor, pieces: &[&str]) -> String {
    let lines = Arc::new(Lines::default());
    let sink = RedactingSink::new(Arc::new(redactor), Arc::clone(&lines) as _);
    for (index, piece) in pieces.iter().enumerate() {
        // The other stream does not come between the pieces.
        sink.line(OutputLine::new(OutputStream::Stderr, String::new()));
        sink.line(OutputLine {
            continues: index + 1 < pieces.len(),
            ..OutputLine::new(OutputStream::Stdout, (*piece).to_owned())
        });
    }
    let lines = lines.0.lock().unwrap();
    lines.concat()
}

#[test]
fn a_secret_is_found_however_it_is_escaped() {
    let redactor = redactor([SECRET]);
    let json = json!(SECRET).to_string();
    let hcl = hcl_of(SECRET);
    for text in [
        SECRET.to_owned(),
        json.clone(),
        json!(json).to_string(),
        json!(hcl).to_string(),
        hcl,
        json.replace('<', "\\u003c").replace('>', "\\u003e"),
        "https://h/a%22b%5Cc%20%24%7Bd%7D%20%3Ce%3E?x".to_owned(),
    ] {
        let shown = redactor.redact(&text);
        assert!(shown.contains(HIDDEN), "{text}: {shown}");
        assert!(!shown.contains("{d}"), "{text}: {shown}");
    }
}

fn hcl_of(text: &str) -> String {
    json!(text).to_string().replace("${", "$${")
}

#[test]
fn short_texts_are_no_secrets() {
    let text = "local abcde abcdef";
    assert_eq!(redactor(["local", "abcde"]).redact(text), text);
    assert_eq!(redactor(["abcdef"]).redact(text), "local abcde (hidden)");
}

#[test]
fn the_longest_of_several_secrets_is_hidden() {
    let redactor = redactor(["password", "password-of-edge"]);
    assert_eq!(
        redactor.redact("password-of-edge password"),
        "(hidden) (hidden)"
    );
}

#[test]
fn each_line_of_a_secret_is_one() {
    let redactor = redactor(["first line\n  second line\nx\n"]);
    assert_eq!(redactor.redact("> second line"), "> (hidden)");
    assert_eq!(redactor.redact("first line\\n  second line\\nx"), HIDDEN);
    assert_eq!(redactor.redact("x"), "x");
}

#[test]
fn the_password_of_a_connection_is_a_secret_by_itself() {
    for connection in [
        "postgres://cts:p4ssw0rd@db/cts",
        "host=db password=p4ssw0rd user=cts",
    ] {
        let redactor = redactor([connection]);
        assert_eq!(redactor.redact("wrong: p4ssw0rd"), "wrong: (hidden)");
    }
}

#[test]
fn hides_texts_with_the_shape_of_a_token() {
    let redactor = redactor([]);
    let a = |count: usize| "a".repeat(count);
    let token = format!("eyJ{}.{}.{}", a(20), a(20), a(20));
    for (text, shown) in [
        (format!("t hvs.{} t", a(24)), "t (hidden) t".to_owned()),
        (format!("t s.{} t", a(24)), "t (hidden) t".to_owned()),
        (
            format!("t {}.atlasv1.{} t", a(14), a(67)),
            "t (hidden) t".to_owned(),
        ),
        (format!("\"{token}\""), "\"(hidden)\"".to_owned()),
        (
            "key AKIAABCDEFGHIJKLMNOP.".to_owned(),
            "key (hidden).".to_owned(),
        ),
        (format!("ghp_{}", a(36)), HIDDEN.to_owned()),
        (
            format!("token=\"cts_{}-_A\"", a(40)),
            "token=\"(hidden)\"".to_owned(),
        ),
        (
            "Authorization: Basic dXNlcjpwYXNz\\n".to_owned(),
            "Authorization: Basic (hidden)\\n".to_owned(),
        ),
        (
            "dial postgres://u:p@db:1/x".to_owned(),
            "dial postgres://u:(hidden)@db:1/x".to_owned(),
        ),
        (
            "get \"git::https://t@h/x?ref=a&sshkey=k&z=1\" or http://t:x@h".to_owned(),
            "get \"git::https://(hidden)@h/x?ref=a&sshkey=(hidden)&z=1\" or http://(hidden)@h"
                .to_owned(),
        ),
        (
            "\"user=u password=p host=h\"".to_owned(),
            "\"user=u password=(hidden) host=h\"".to_owned(),
        ),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----".to_owned(),
            "(hidden) RSA PRIVATE KEY-----".to_owned(),
        ),
    ] {
        assert_eq!(redactor.redact(&text), shown);
    }
    for text in [
        "basic infrastructure-modules are read from https://h:1/x@2",
        "module.edge.terraform_data.instance[\"web-1.node.dc1\"]: Creation complete after 0s [id=0a1b]",
        "password = (sensitive value)",
        "terraform_data.cts_user_defined_meta",
    ] {
        assert_eq!(redactor.redact(text), text);
    }
}

#[test]
fn a_token_across_two_pieces_is_hidden() {
    let token = format!("hvs.{}", "A1b2".repeat(10));
    let long = " ".repeat(60_000);
    let (one, other) = token.split_at(10);
    let begin = format!("{long}{one}");
    let rest = format!("{other} end");
    let shown = in_pieces(redactor([]), &[&begin, &rest]);
    assert_eq!(shown, format!("{long}{HIDDEN} end"));
}

#[test]
fn a_line_without_end_is_not_kept() {
    let lines = Arc::new(Lines::default());
    let sink = RedactingSink::new(Arc::new(redactor([])), Arc::clone(&lines) as _);
    let endless = format!("hvs.{}", "a".repeat(60_000));
    for _ in 0..10 {
        sink.line(OutputLine {
            continues: true,
            ..OutputLine::new(OutputStream::Stdout, endless.clone())
        });
        let kept: usize = sink.kept_bytes();
        assert!(kept < 3 * 64 * 1024, "{kept}");
    }
}

proptest! {
    #[test]
    fn no_cut_shows_a_secret(
        secret in "[a-zé\"\\\\<$ ]{6,40}",
        before in "[a-z \n]{0,6000}",
        after in "[a-z ]{0,6000}",
        cuts in prop::collection::vec(0.0..1.0_f64, 0..4),
    ) {
        prop_assume!(secret.trim().chars().count() > TOO_SHORT);
        let text = format!("{before}{}{after}", secret.trim());
        let mut places: Vec<usize> = cuts
            .iter()
            .map(|part| text.floor_char_boundary(place(*part, text.len())))
            .collect();
        places.sort_unstable();
        let mut pieces = Vec::new();
        let mut from = 0;
        for place in places {
            pieces.push(&text[from..place]);
            from = place;
        }
        pieces.push(&text[from..]);
        let redactor = redactor([secret.as_str()]);
        let expected = redactor.redact(&text).into_owned();
        prop_assert!(!expected.contains(secret.trim()));
        prop_assert_eq!(in_pieces(redactor, &pieces), expected);
    }

    /// A secret with marks of JSON may be JSON itself.
    #[test]
    fn text_of_json_stays_json(
        secret in r#"[\PC&&[^{}\[\]",:]]{6,40}"#,
        key in "[a-z]{0,10}",
    ) {
        let text = json!({ &key: &secret, "b": [format!("x{secret}y")] }).to_string();
        let shown = redactor([secret.as_str()]).redact(&text).into_owned();
        prop_assert!(serde_json::from_str::<Value>(&shown).is_ok(), "{}", shown);
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a place in a short text"
)]
fn place(part: f64, length: usize) -> usize {
    (part * length as f64) as usize
}

#[test]
fn runs_with_the_same_secrets_share_a_redactor() {
    let redactors = Redactors::default();
    let first = redactors.of(["password", "user-name"]).unwrap();
    let second = redactors.of(["user-name", "password", "password"]).unwrap();
    assert!(Arc::ptr_eq(&first, &second));
    let other = redactors.of(["passworduser-name"]).unwrap();
    assert!(!Arc::ptr_eq(&first, &other));
    assert_eq!(other.redact("a password"), "a password");
}

#[test]
fn a_long_password_of_a_url_is_hidden() {
    let long = "p".repeat(2000);
    let text = format!("https://{}:{long}@host", "u".repeat(200));
    assert!(!redactor([]).redact(&text).contains(&long));
    let text = format!("host=db password={long} user=cts");
    assert_eq!(
        redactor([]).redact(&text),
        "host=db password=(hidden) user=cts"
    );
}
