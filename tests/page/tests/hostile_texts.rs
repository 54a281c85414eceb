//! Foreign texts stay texts: tags and keys of Consul, addresses and values of plans, output and errors of Terraform, and
//! what is in addresses of the page.

use cts_page_tests::{Browser, Browsers, Look};
use cts_tests::{Site, task as block};

use crate::scene::{MODULE, Scene, text};

/// Markup, and a mark that turns the direction of the text around.
const HOSTILE: &str = "<img src=x onerror=window.isHit=1>\u{202e}'\"&";

/// The hostile text as text of HCL and of a shell.
const ESCAPED: &str = r#"<img src=x onerror=window.isHit=1>\u202e'\"&"#;

/// Makes an object whose address and values are hostile, and prints hostile lines, a very long one too.
const MODULE_TEXT: &str = r#"
variable "services" {
  type = any
}

resource "terraform_data" "object" {
  for_each = toset(["@TEXT@"])
  input    = { (each.key) = var.services }

  provisioner "local-exec" {
    command     = "sh ./say.sh"
    working_dir = path.module
  }
}

output "said" {
  value = "@TEXT@"
}
"#;

const SCRIPT: &str = r"
cat <<'END'
@TEXT@
</span></section><script>window.isHit=1</script>
END
printf '\033[31mred\033[0m \033]0;title\007\n'
head -c 1000000 /dev/zero | tr '\0' x
echo
";

const FAILING: &str = r#"
variable "services" {
  type = any
}

resource "terraform_data" "object" {
  lifecycle {
    precondition {
      condition     = length(var.services) > 100
      error_message = "There is no @TEXT@."
    }
  }
}
"#;

/// Elements and marks that only a foreign text could have brought.
const FOREIGN: &str = r"
const found = [...document.querySelectorAll('img, iframe, object, style, base, script:not([src]), [onerror], [onload], [style]')];
const marks = /[\u202a-\u202e\u2066-\u2069]/.test(document.documentElement.textContent);
return [...found.map(it => it.outerHTML.slice(0, 200)), ...(marks ? ['a mark of direction'] : []), ...(window.isHit ? ['hit'] : [])];
";

async fn assert_texts(browser: &Browser, path: &str) {
    browser.until("document.querySelector('main')").await;
    let found = browser.run(FOREIGN, &[]).await;
    assert_eq!(found, serde_json::json!([]), "{path}");
}

async fn scene() -> Scene {
    let site = Site::new();
    let of = |text: &str, hostile| text.replace("@TEXT@", hostile);
    site.write("modules/hostile/main.tf", &of(MODULE_TEXT, ESCAPED));
    site.write("modules/hostile/say.sh", &of(SCRIPT, HOSTILE));
    site.write("modules/failing/main.tf", &of(FAILING, ESCAPED));
    let description = format!("description = \"{ESCAPED}\"");
    let tasks = [
        block("applied", "./modules/hostile", &["web"], &description),
        block(
            "asking",
            "./modules/hostile",
            &["web"],
            "approval = \"always\"",
        ),
        block("failing", "./modules/failing", &["db"], ""),
        block("recording", MODULE, &["web"], ""),
    ];
    let scene = Scene::start(site, &tasks.concat()).await;
    let api = &scene.instance.api;
    for task in ["applied", "failing", "recording"] {
        api.wait_for_events(task, 1).await;
    }
    let tags = [HOSTILE];
    scene
        .consul
        .register_service("web", "web-2", 1, &[("owner", HOSTILE)], &tags)
        .await;
    for task in ["applied", "recording"] {
        api.wait_for_events(task, 2).await;
    }
    scene
}

/// The newest run of a task.
async fn newest(scene: &Scene, task: &str) -> String {
    let runs = scene
        .instance
        .api
        .get(&format!("/v1/runs?task={task}&limit=1"))
        .await;
    runs["runs"][0]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn texts_of_others_become_neither_elements_nor_scripts_nor_directions() {
    let scene = scene().await;
    let waiting = scene.waiting("", "asking", "").await;
    let asked = text(&waiting, "run_id");
    let oldest = scene.instance.api.get("/v1/runs?task=applied").await;
    let first = oldest["runs"].as_array().unwrap().last().unwrap()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let browsers = Browsers::start().await;
    let browser = browsers.open(&scene.origin(), &Look::default()).await;
    let shown = "<img src=x onerror=window.isHit=1>U+202E";
    for (path, text) in [
        ("tasks/applied".to_owned(), shown),
        (format!("runs/{first}"), shown),
        (format!("runs/{first}"), "</span></section><script>"),
        (format!("runs/{first}"), "U+001B"),
        (format!("runs/{}", newest(&scene, "recording").await), shown),
        (format!("runs/{}", newest(&scene, "failing").await), shown),
        ("tasks/failing".to_owned(), "failed"),
        (format!("approvals/{asked}"), "asking"),
        ("approvals".to_owned(), "asking"),
        (String::new(), "failing"),
        ("runs".to_owned(), "failing"),
    ] {
        browser.go(&format!("/ui/{path}")).await;
        if text == "U+001B" {
            // Escapes of terminals are left out, or are words.
            let log = browser.until_text(".log", "red").await;
            assert!(!log.contains('\u{1b}'), "{log:.200}");
        } else {
            browser.until_text("main", text).await;
        }
        assert_texts(&browser, &path).await;
    }

    // What the address has comes back as text, too.
    let hostile = "%3Cimg%20src%3Dx%20onerror%3Dwindow.isHit%3D1%3E%E2%80%AE%22%27";
    for path in [
        format!("tasks?view=list&search={hostile}"),
        format!("tasks/{hostile}"),
        format!("runs?task={hostile}&status={hostile}"),
        format!("runs/{first}?search={hostile}"),
        format!("approvals?task={hostile}"),
        format!("{hostile}/{hostile}"),
    ] {
        browser.go(&format!("/ui/{path}")).await;
        assert_texts(&browser, &path).await;
    }
    browser
        .close_tolerating(&["the server responded with a status of 40"])
        .await;
    scene.instance.stop().await;
}
