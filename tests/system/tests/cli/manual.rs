//! Manual pages.

use cts_testkit::assert_contains;

use crate::cli::calls::{ORIGINAL, OURS, Place};

#[tokio::test]
async fn every_command_has_a_page() {
    let place = Place::new();
    std::fs::create_dir(place.path().join("pages")).unwrap();
    let called = place.call(OURS, &["man", "--directory", "pages"]).await;
    assert_eq!((called.code, called.stderr.as_str()), (0, ""));
    for page in [
        "cts",
        "cts-start",
        "cts-task",
        "cts-task-create",
        "cts-workers-drain",
    ] {
        let text = std::fs::read_to_string(place.path().join(format!("pages/{page}.1"))).unwrap();
        assert!(text.contains(&format!(".TH {page} 1")), "{page}: {text}");
    }
    let start = std::fs::read_to_string(place.path().join("pages/cts-start.1")).unwrap();
    assert!(start.contains(r"\-\-inspect\-task"), "{start}");
    for words in [&["man", "cts-start"][..], &["man", "start"]] {
        assert_eq!(place.call(OURS, words).await.stdout, start, "{words:?}");
    }
    for words in [&["man", "task", "create"][..], &["man", "task create"]] {
        let nested = place.call(OURS, words).await.stdout;
        assert!(nested.contains(r"\-\-task\-file"), "{nested}");
    }
    let whole = place.call(OURS, &["man"]).await.stdout;
    assert!(whole.contains(".TH cts 1"), "{whole}");
}

#[tokio::test]
async fn a_page_or_directory_that_there_is_not_is_named() {
    let place = Place::new();
    let page = place.call(OURS, &["man", "nonsense"]).await;
    assert_eq!((page.code, page.stdout.as_str()), (11, ""));
    assert!(page.stderr.contains("\"nonsense\"") && page.stderr.contains("cts-start"));
    let directory = place.call(OURS, &["man", "-directory=nowhere"]).await;
    assert_eq!(directory.code, 11);
    assert_contains(&directory.stderr, ["nowhere/cts"]);
    assert_eq!(place.call(ORIGINAL, &["man"]).await.code, 127);
}
