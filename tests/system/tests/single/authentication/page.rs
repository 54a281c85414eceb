//! A login on the page of a real cts (docs/page.md#login).

use cts_testkit::{assert_contains, eventually};
use cts_tests::DEADLINE;
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, Response};

use super::{cts, scene, token};

async fn send(request: RequestBuilder) -> Response {
    request.send().await.unwrap()
}

#[tokio::test]
async fn a_login_lasts_until_its_token_is_revoked() {
    let scene = scene().await;
    let secret = token(&scene, "anna", "operate", &[]).await;
    let client = Client::builder().redirect(Policy::none()).build().unwrap();
    let url = |path: &str| scene.instance.api.url(path);
    let (origin, page) = (url(""), url("/ui/"));

    let stranger = send(client.get(&page)).await;
    assert_eq!(stranger.status(), 303);
    assert_eq!(stranger.headers()["location"], "/ui/login");
    let form = client.post(url("/ui/login")).header("Origin", &origin);
    let form = form.header("Content-Type", "application/x-www-form-urlencoded");
    let login = send(form.body(format!("token={secret}&to=%3Fsearch%3Dx"))).await;
    assert_eq!(login.status(), 303);
    assert_eq!(login.headers()["location"], "/ui/?search=x");
    let cookie = login.headers()["set-cookie"].to_str().unwrap();
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let shown = async || send(client.get(&page).header("Cookie", &cookie)).await;
    assert_contains(shown().await.text().await.unwrap(), ["anna"]);

    let revoke = ["token", "revoke", "anna", "-config-file=cts.hcl"];
    let (code, _, messages) = cts(&scene, "", &revoke).await;
    assert_eq!(code, Some(0), "{messages}");
    eventually(DEADLINE, async || match shown().await.status().as_u16() {
        303 => Ok(()),
        status => Err(status.to_string()),
    })
    .await;
}
