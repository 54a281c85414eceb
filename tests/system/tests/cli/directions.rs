//! Files and modules of a crate import in one direction, and folders are small (CONTRIBUTING.md#rules).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Most sources in a folder.
const SOURCES: usize = 25;

/// Comments, and items of tests up to the brace below their begin.
static NOT_PRODUCT: LazyLock<Regex> = LazyLock::new(|| {
    let test = r"#\[cfg\(test\)\]\n[^{;]*";
    let items = format!(r"^ *{test};|^{test}\{{.*?^\}}|^    {test}\{{.*?^    \}}");
    Regex::new(&format!(r"(?ms)^ *//.*?$|{items}")).unwrap()
});
static GROUP: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"((?:\w+::)+)\{([^{}]*)\}").unwrap());
static CHILD: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^(?:pub\S* )?mod (\w+);").unwrap());
static IMPORT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^ *(pub\S* )?use ([^;{}]*);").unwrap());
static PATH: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?:^|[^:\w])((?:\w+::)+\w+)").unwrap());

/// The modules of a crate by their paths, with their texts without tests, comments and imports.
#[derive(Default)]
struct Modules {
    texts: BTreeMap<String, String>,
    /// By the path that an import makes: its module, the imported path, and whether it is a re-export.
    imports: BTreeMap<String, (String, String, bool)>,
}

impl Modules {
    fn load(&mut self, module: &str, file: &Path, folder: &Path) {
        let text = fs::read_to_string(file).unwrap();
        let mut text = NOT_PRODUCT.replace_all(&text, "").into_owned();
        while GROUP.is_match(&text) {
            let listed = |group: &Captures<'_>| {
                let names = group[2].trim().trim_end_matches(',');
                format!(
                    "{}{}",
                    &group[1],
                    names.replace(',', &format!(",{}", &group[1]))
                )
            };
            text = GROUP.replace_all(&text, listed).into_owned();
        }
        for child in CHILD.captures_iter(&text) {
            let path = folder.join(&child[1]);
            self.load(
                &format!("{module}::{}", &child[1]),
                &path.with_extension("rs"),
                &path,
            );
        }
        for import in IMPORT.captures_iter(&text) {
            for path in import[2].split(',') {
                let (path, alias) = path.split_once(" as ").unwrap_or((path, ""));
                let path = path.split_whitespace().collect::<String>();
                let path = path.trim_end_matches("::self");
                let name = match alias {
                    "" => path.rsplit("::").next().unwrap(),
                    "_" => path,
                    alias => alias,
                };
                let is_public = import.get(1).is_some();
                let import = (module.to_owned(), path.to_owned(), is_public);
                self.imports.insert(format!("{module}::{name}"), import);
            }
        }
        let text = IMPORT.replace_all(&text, "");
        let text = CHILD.replace_all(&text, "").into_owned();
        self.texts.insert(module.to_owned(), text);
    }

    /// The module that defines what a path names, unless that is a module.
    fn defining<'m>(&'m self, module: &'m str, path: &str) -> Option<&'m str> {
        let (first, rest) = path.split_once("::").unwrap_or((path, ""));
        let name = match first {
            "crate" => "crate".to_owned(),
            "self" => module.to_owned(),
            "super" => module.rsplit_once("::")?.0.to_owned(),
            name => format!("{module}::{name}"),
        };
        match (self.texts.get_key_value(&name), self.imports.get(&name)) {
            (Some((child, _)), import) if !rest.is_empty() || import.is_none() => {
                (!rest.is_empty()).then(|| self.defining(child, rest))?
            }
            (_, Some((from, import, _))) if import.split("::").next() != Some(first) => {
                self.defining(from, format!("{import}::{rest}").trim_end_matches("::"))
            }
            _ => Some(module),
        }
    }

    /// Pairs of a module and one from which it imports.
    fn pairs(&self) -> BTreeSet<(&str, &str)> {
        let mut pairs = BTreeSet::new();
        for (name, (module, path, is_public)) in &self.imports {
            let name = &name[module.len() + 2..];
            let mut words =
                self.texts[module].split(|c: char| !"_.".contains(c) && !c.is_alphanumeric());
            if !is_public || words.any(|word| word == name) {
                pairs.extend(self.defining(module, path).map(|other| (&**module, other)));
            }
        }
        for (module, text) in &self.texts {
            let paths = PATH.captures_iter(text);
            let others = paths.filter_map(|path| self.defining(module, &path[1]));
            pairs.extend(others.map(|other| (&**module, other)));
        }
        pairs
    }
}

/// The pairs that circles consist of, and those between two circles.
fn in_circles<'m>(mut pairs: BTreeSet<(&'m str, &'m str)>) -> BTreeSet<(&'m str, &'m str)> {
    pairs.retain(|(one, other)| one != other);
    loop {
        let (from, to): (BTreeSet<_>, BTreeSet<_>) = pairs.iter().copied().unzip();
        let before = pairs.len();
        pairs.retain(|(one, other)| to.contains(one) && from.contains(other));
        if pairs.len() == before {
            return pairs;
        }
    }
}

#[test]
fn files_and_modules_import_in_one_direction_and_folders_are_small() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = BTreeSet::new();
    let mut folders = ["crates", "services", "tests"].map(PathBuf::from).to_vec();
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(root.join(&folder)).unwrap();
        let names: Vec<_> = entries
            .map(|entry| folder.join(entry.unwrap().file_name()))
            .collect();
        let is_source = |path: &&PathBuf| path.extension().is_some_and(|kind| kind == "rs");
        let sources = names.iter().filter(is_source).count();
        if sources > SOURCES {
            found.insert(format!("{}: {sources} sources", folder.display()));
        }
        for file in ["lib.rs", "main.rs"].map(|file| folder.join(file)) {
            if !folder.ends_with("src") || folder.starts_with("tests") || !names.contains(&file) {
                continue;
            }
            let mut modules = Modules::default();
            modules.load("crate", &root.join(file), &root.join(&folder));
            let files = modules.pairs();
            let tops = files.iter().filter_map(|(one, other)| {
                Some((one.split("::").nth(1)?, other.split("::").nth(1)?))
            });
            let tops = in_circles(tops.collect());
            for (one, other) in in_circles(files.clone()).union(&tops) {
                found.insert(format!("{}: {one} -> {other}", folder.display()));
            }
        }
        folders.extend(names.into_iter().filter(|path| root.join(path).is_dir()));
    }
    assert!(found.is_empty(), "{found:#?}");
}
