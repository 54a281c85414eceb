//! `page`: addresses and logins of the page.

use super::super::{Sandbox, assert_problems, config};

#[test]
fn wrong_settings_of_the_page_are_named() {
    let cases = r#"
        page { path_prefix = "ui/" } #~ "ui/" in `page.path_prefix` is no path such as "/ui/"
        page { path_prefix = "/ui" } #~ "/ui" in `page.path_prefix` is no path
        page { path_prefix = "/" } #~ is no path
        page { path_prefix = "//" } #~ is no path
        page { path_prefix = "/a//b/" } #~ is no path
        page { path_prefix = "/v1/" } #~ is not below "/v1/"
        page { path_prefix = "/v1/ui/" } #~ is not below "/v1/"
        page { path_prefix = "/a/../b/" } #~ is no path
        page { path_prefix = "/a%2fb/" } #~ is no path
        page { path_prefix = "/ü/" } #~ is no path
        page { url = "cts.example" } #~ "cts.example" in `page.url` is no origin
        page { url = "https://cts.example/ui/" } #~ in `page.url` is no origin
        page { color = "pink" } #~ `page.color` must be "slate" or
        page { session = "30s" } #~ `page.session` must be between 1m and 168h, not 30s
        page { session = "169h" } #~ `page.session` must be between 1m and 168h
        page { listen = "8559" } #~ "8559" in `page.listen` is no address and port such as "127.0.0.1:8559"
        page { prefix = "/ui/" } #~ unknown key `prefix` in `page`
        page { login { client_id = "c" } } #~ `page.login` needs a `issuer`
        page { login { issuer = "https://i" client_id = "c" } } #~ the issuer "https://i" of `page.login` has no `oidc` block
    "#;
    assert_problems(cases);
    let oidc =
        "security { oidc { issuer = \"https://i\" audience = \"c\" roles = { o = \"read\" } } }";
    let of_login = |keys: &str| {
        format!("{oidc} page {{ login {{ issuer = \"https://i\" client_id = \"c\" {keys} }} }}")
    };
    for (keys, message) in [
        (
            "scopes = [\"a b\"]",
            "\"a b\" in `page.login.scopes` is no scope",
        ),
        ("scopes = [\"\"]", "is no scope"),
        ("scopes = [\"profile\"]", "lacks \"openid\""),
        ("client_id = \"\"", "`page.login` needs a `client_id`"),
        ("client_id = \"d\"", "lacks the `client_id`"),
        ("token = \"refresh\"", "must be \"id\" or \"access\""),
    ] {
        let report = Sandbox::new().refused(&of_login(keys));
        let found = report
            .problems()
            .iter()
            .any(|it| it.message().contains(message));
        assert!(found, "{keys}: {report:?}");
    }
}

#[test]
fn a_login_without_authentication_has_no_effect() {
    let text = |required: bool| {
        format!(
            "security {{ require_auth = {required} oidc {{ issuer = \"https://i\" audience = \"c\" roles = {{ o = \"read\" }} }} }}
             page {{ login {{ issuer = \"https://i\" client_id = \"c\" }} }}"
        )
    };
    let warnings = |required| Sandbox::new().warnings(&text(required));
    assert_eq!(
        warnings(false),
        ["`page.login` has no effect without `security.require_auth`"]
    );
    assert_eq!(warnings(true), Vec::<String>::new());
}

#[test]
fn the_host_of_the_page_is_that_of_its_address() {
    let host = |text: &str| config(text).page.host();
    assert_eq!(
        host("page { url = \"https://CTS.example:8443\" }").as_deref(),
        Some("cts.example")
    );
    assert_eq!(
        host("page { url = \"http://[fd00::1]:80\" }").as_deref(),
        Some("[fd00::1]")
    );
    assert_eq!(host("port = 1"), None);
}
