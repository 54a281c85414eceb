//! `tls` of the API and `syslog`.

use super::{Sandbox, assert_problem, config, only, problems};
use crate::ApiTls;

/// A sandbox with `cert.pem` and `key.pem`, which belong together, and `other.pem`, another key.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    sandbox.write("cert.pem", certified.cert.pem());
    sandbox.write("key.pem", certified.signing_key.serialize_pem());
    sandbox.write(
        "other.pem",
        rcgen::KeyPair::generate().unwrap().serialize_pem(),
    );
    sandbox.write("text.pem", "no certificate");
    sandbox
}

/// Line and message of the only problem.
fn problem(sandbox: &Sandbox, text: &str) -> (usize, String) {
    let report = sandbox.refused(text);
    let problem = only(&report);
    (problem.line().unwrap(), problem.message().to_owned())
}

#[test]
fn the_api_has_tls_as_soon_as_a_file_is_named() {
    let sandbox = sandbox();
    let plain = [
        "",
        "tls { }",
        "tls { cert = \"\" key = \"\" ca_cert = \"\" ca_path = \"\" }",
        "tls { enabled = false cert = \"cert.pem\" key = \"key.pem\" }",
    ];
    for text in plain {
        assert_eq!(sandbox.config(text).tls, None, "{text}");
    }
    let text = "tls { cert = \"./cert.pem\" key = \"m/../key.pem\" }";
    let expected = ApiTls {
        cert: sandbox.path().join("cert.pem"),
        key: sandbox.path().join("key.pem"),
        verify_incoming: false,
        ca_cert: None,
        ca_path: None,
    };
    assert_eq!(sandbox.config(text).tls, Some(expected.clone()));

    let text = "tls { enabled = true cert = \"cert.pem\" key = \"key.pem\" verify_incoming = true ca_path = \"cas\" }";
    let expected = ApiTls {
        verify_incoming: true,
        ca_path: Some(sandbox.path().join("cas")),
        ..expected
    };
    assert_eq!(sandbox.config(text).tls, Some(expected));
}

#[test]
fn the_health_check_goes_where_the_api_is() {
    let sandbox = sandbox();
    let tls = "tls { cert = \"cert.pem\" key = \"key.pem\" }";
    let elsewhere =
        "consul { service_registration { default_check { address = \"http://b:1/c\" } } }";
    for (text, expected) in [
        ("port = 1".to_owned(), "http://localhost:1"),
        (format!("port = 1\n{tls}"), "https://localhost:1"),
        (format!("{tls}\n{elsewhere}"), "http://b:1/c"),
    ] {
        let registration = sandbox.config(&text).consul.service_registration;
        assert_eq!(registration.default_check.address, expected, "{text}");
    }
}

#[test]
fn tls_that_is_on_needs_certificate_and_key() {
    for (inside, missing) in [
        ("enabled = true", "`cert` and `key`"),
        ("verify_incoming = false", "`cert` and `key`"),
        ("ca_cert = \"x\"", "`cert` and `key`"),
        ("cert = \"x\"", "`key`"),
        ("key = \"x\"", "`cert`"),
    ] {
        let text = format!("port = 1\ntls {{\n {inside}\n}}");
        let expected = (2, format!("`tls` is enabled and needs {missing}"));
        assert_eq!(problems(&text), [expected], "{inside}");
    }
}

#[test]
fn files_that_the_api_cannot_use_are_named_where_they_are_written() {
    let sandbox = sandbox();
    let cases = [
        (
            "none.pem",
            "key.pem",
            2,
            "cannot read the TLS file /cwd/none.pem: No such file",
        ),
        (
            "cert.pem",
            "none.pem",
            3,
            "cannot read the TLS file /cwd/none.pem: No such file",
        ),
        (
            "text.pem",
            "key.pem",
            2,
            "/cwd/text.pem holds no certificate in PEM form",
        ),
        (
            "cert.pem",
            "text.pem",
            3,
            "/cwd/text.pem holds no private key in PEM form",
        ),
        (
            "cert.pem",
            "other.pem",
            3,
            "the key /cwd/other.pem does not belong to the certificate /cwd/cert.pem",
        ),
    ];
    for (cert, key, line, expected) in cases {
        let text = format!("tls {{\n cert = \"{cert}\"\n key = \"{key}\"\n}}");
        let (at, message) = problem(&sandbox, &text);
        let message = message.replace(sandbox.path().to_str().unwrap(), "/cwd");
        assert_eq!(at, line, "{message}");
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn a_disabled_block_is_checked_but_its_files_need_not_exist() {
    let text = "tls { enabled = false cert = \"none.pem\" key = \"none.pem\" }";
    assert_eq!(config(text).tls, None);
    assert_problem(
        "tls {\n enabled = false\n cert = \"x\"\n}",
        3,
        "`tls.cert` needs a `key` beside it",
    );
    assert_problem(
        "tls {\n enabled = false\n verify_incoming = true\n}",
        3,
        "`tls.verify_incoming` needs `ca_cert` or `ca_path`",
    );
}

#[test]
fn one_kind_of_authorities_is_enough() {
    let sandbox = sandbox();
    let on = "cert = \"cert.pem\" key = \"key.pem\" verify_incoming = true";
    let text = format!("tls {{ {on} ca_cert = \"a\" ca_path = \"b\" }}");
    let warnings = sandbox.warnings(&text);
    assert_eq!(
        warnings,
        ["`tls.ca_path` has no effect beside `ca_cert`, which counts alone"]
    );
    let text = format!("tls {{ {on} ca_path = \"b\" }}");
    assert!(sandbox.warnings(&text).is_empty());
}

#[test]
fn every_facility_has_its_number() {
    let names = "KERN USER MAIL DAEMON AUTH SYSLOG LPR NEWS UUCP CRON AUTHPRIV FTP \
                 LOCAL0 LOCAL1 LOCAL2 LOCAL3 LOCAL4 LOCAL5 LOCAL6 LOCAL7";
    for (name, code) in names.split(' ').zip((0..12).chain(16..24)) {
        let syslog = config(&format!("syslog {{ facility = \"{name}\" }}")).syslog;
        let facility = syslog.unwrap().facility;
        assert_eq!((facility.name(), facility.code()), (name, code));
    }
}

#[test]
fn an_unknown_facility_is_refused_with_all_that_there_are() {
    let (line, message) = problems("syslog {\n facility = \"LOCAL8\"\n}").remove(0);
    assert_eq!(line, 2);
    assert!(
        message.contains("KERN, USER") && message.contains("LOCAL7"),
        "{message}"
    );
    assert_problem(
        "syslog { enabled = true\n facility = \"\" }",
        2,
        "`syslog.facility` must be one of",
    );
    assert_problem("syslog { tag = \"x\" }", 1, "unknown key `tag`");
    let report = Sandbox::new().refused("syslog { facility = \"deamon\" }");
    assert_eq!(report.problems()[0].help(), Some("did you mean `daemon`?"));
}
