use super::*;

fn hcl(text: &str) -> Vec<String> {
    let mut sources = Vec::new();
    sources_in_hcl(text, &mut sources);
    sources
}

fn json(text: &str) -> Vec<String> {
    let mut sources = Vec::new();
    sources_in_json(text, &mut sources);
    sources
}

#[test]
fn module_blocks_name_their_sources() {
    let text = r#"
# module "no" { source = "../comment" }
module "a" {
  source = "../a" // the first
}
module "b" { source = "./b\u0020c" }
resource "x" "y" { source = "../not_a_module" }
locals { source = "../not_either" }
module "remote" {
  source  = "hashicorp/consul/aws"
  version = "1.0"
}
"#;
    assert_eq!(hcl(text), ["../a", "./b c", "hashicorp/consul/aws"]);
}

#[test]
fn text_that_is_no_hcl_is_searched_by_line() {
    let text = "module \"a\" {\n  source =\"../a\"\n  sourced = \"../no\"\n  broken =\n}\n";
    assert_eq!(hcl(text), ["../a"]);
}

#[test]
fn text_that_is_nested_without_end_is_not_parsed() {
    let text = format!("source = \"../a\"\nx = {}", "(".repeat(1_000_000));
    assert_eq!(hcl(&text), ["../a"]);
}

#[test]
fn json_syntax_has_blocks_as_objects_and_arrays() {
    assert_eq!(
        json(r#"{"module": {"a": {"source": "../a"}, "b": [{"source": "./b"}]}}"#),
        ["../a", "./b"]
    );
    assert_eq!(
        json(r#"{"module": [{"a": {"source": "../a"}}, {"b": {"source": "./b"}}]}"#),
        ["../a", "./b"]
    );
    assert_eq!(json(r#"[{"module": {"a": {"source": "../a"}}}]"#), ["../a"]);
    assert!(json(r#"{"module": {"a": {"source": 1}, "b": null}, "source": "../x"}"#).is_empty());
    assert!(json("{").is_empty());
}

#[test]
fn only_local_sources_of_files_that_terraform_reads_count() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
    write(
        "main.tf",
        "module \"a\" {\n  source = \"../a\"\n}\nmodule \"r\" {\n  source = \"x/y/z\"\n}\n",
    );
    write(".hidden.tf", "module \"h\" {\n  source = \"../h\"\n}\n");
    write("notes.txt", "module \"n\" {\n  source = \"../n\"\n}\n");
    fs::create_dir(directory.path().join("directory.tf")).unwrap();
    assert_eq!(local_sources(directory.path(), 1000).unwrap(), ["../a"]);
}
