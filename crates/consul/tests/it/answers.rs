//! Answers that cannot be those of Consul are failures, whatever is asked for.

use std::collections::BTreeMap;

use cts_consul::Query;
use cts_core::{CatalogServicesView, KvQuery};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::{client, view};

fn queries() -> [Query; 4] {
    let key = |recurse| {
        Query::Kv(KvQuery {
            path: "a".to_owned(),
            recurse,
            ..KvQuery::default()
        })
    };
    let catalog = CatalogServicesView {
        regexp: String::new(),
        datacenter: String::new(),
        namespace: String::new(),
        node_meta: BTreeMap::new(),
    };
    [
        Query::health(view("web")),
        Query::catalog(&catalog),
        key(false),
        key(true),
    ]
}

/// Answers every request with these bytes and closes the connection.
async fn serve(answer: String) -> (String, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut request = [0; 4096];
            drop(socket.read(&mut request).await);
            drop(socket.write_all(answer.as_bytes()).await);
        }
    });
    (address, tasks)
}

async fn refused_by_all(what: &str, answer: String) {
    let (address, _server) = serve(answer).await;
    let client = client(&address);
    for query in queries() {
        for index in [0, 5] {
            let answer = client.read(&query, index).await;
            assert!(answer.is_err(), "{what}: {query} at {index}: {answer:?}");
        }
    }
}

fn http(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nConnection: close\r\n{headers}\r\n{body}")
}

#[tokio::test]
async fn answers_of_a_proxy_instead_of_consul_are_no_data() {
    const INDEX: &str = "X-Consul-Index: 7\r\n";
    const PAGE: &str = "<html><body>Sign in</body></html>";
    for (what, status, headers, body) in [
        ("a page", "200 OK", "Content-Type: text/html\r\n", PAGE),
        ("a page with an index", "200 OK", INDEX, PAGE),
        ("a page that is missing", "404 Not Found", "", PAGE),
        (
            "a page that is missing, with an index",
            "404 Not Found",
            INDEX,
            PAGE,
        ),
        ("nothing that is missing", "404 Not Found", "", ""),
        ("an empty body", "200 OK", INDEX, ""),
        ("no content", "204 No Content", INDEX, ""),
        ("null", "200 OK", INDEX, "null"),
        ("index 0", "200 OK", "X-Consul-Index: 0\r\n", "[]"),
        ("a redirection", "302 Found", "Location: /login\r\n", ""),
    ] {
        refused_by_all(what, http(status, headers, body)).await;
    }
}

#[tokio::test]
async fn a_body_that_is_cut_off_is_no_data() {
    for (what, headers, body) in [
        ("by its length", "Content-Length: 100\r\n", "[]"),
        ("nothing of it", "Content-Length: 2\r\n", ""),
        ("in chunks", "Transfer-Encoding: chunked\r\n", "2\r\n[]\r\n"),
        ("at the end of the connection", "", "[{\"Key\":\"a/1\"}"),
    ] {
        let headers = format!("X-Consul-Index: 7\r\n{headers}");
        refused_by_all(what, http("200 OK", &headers, body)).await;
    }
}

#[tokio::test]
async fn consul_without_a_key_says_so_with_an_index() {
    let missing = http(
        "404 Not Found",
        "X-Consul-Index: 7\r\nContent-Length: 0\r\n",
        "",
    );
    let (address, _server) = serve(missing).await;
    let [health, catalog, key, keys] = queries();
    let client = client(&address);
    for query in [key, keys] {
        let answer = client.read(&query, 0).await.unwrap();
        assert_eq!((answer.index, answer.items.len()), (Some(7), 0));
    }
    for query in [health, catalog] {
        assert!(client.read(&query, 0).await.is_err(), "{query}");
    }
}
