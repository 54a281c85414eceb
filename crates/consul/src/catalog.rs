//! Converts an answer of the catalog to names with their tags.

use std::collections::BTreeMap;

use cts_core::{CatalogService, Item};

use crate::error::ConsulError;

/// The services in a body of `/v1/catalog/services`.
pub(crate) fn decode(body: &[u8]) -> Result<Vec<Item>, ConsulError> {
    let services: BTreeMap<String, Option<Vec<String>>> =
        serde_json::from_slice(body).map_err(ConsulError::Decode)?;
    let items = services.into_iter().map(|(name, tags)| {
        let mut tags = tags.unwrap_or_default();
        tags.sort_unstable();
        Item::from(CatalogService { name, tags })
    });
    Ok(items.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_sorted_and_may_be_missing() {
        let items = decode(br#"{"web":["b","a"],"api":[],"db":null}"#).unwrap();
        let service = |name: &str, tags: &[&str]| {
            Item::from(CatalogService {
                name: name.to_owned(),
                tags: tags.iter().map(|&tag| tag.to_owned()).collect(),
            })
        };
        let expected = [
            service("api", &[]),
            service("db", &[]),
            service("web", &["a", "b"]),
        ];
        assert_eq!(items, expected);
        assert_eq!(decode(b"{}").unwrap(), []);
        for body in [
            "",
            "null",
            "[]",
            "<html></html>",
            "{",
            "{\"a\":[1]}",
            "{\"a\":\"b\"}",
        ] {
            assert!(decode(body.as_bytes()).is_err(), "{body}");
        }
    }
}
