//! Lists, page by page.

use reqwest::Method;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::ApiError;
use crate::problem::ProtocolProblem;
use crate::server::{Server, decode};

/// Most items of a page that the API gives.
const LARGEST_PAGE: u32 = 100;

/// Most pages of a list: larger than any organization.
const MOST_PAGES: u32 = 200;

/// A page of a list. A list without numbers of pages is one page.
#[derive(Deserialize)]
struct Page<T> {
    data: Vec<T>,
    meta: Option<Meta>,
}

#[derive(Deserialize)]
struct Meta {
    pagination: Option<Pagination>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Pagination {
    next_page: Option<u32>,
}

impl Server {
    /// Reads all pages of a list.
    pub(crate) async fn list<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<Vec<T>, ApiError> {
        let mut items = Vec::new();
        let mut number = 1;
        loop {
            let (page, next) = self.page(path, query, number).await?;
            items.extend(page);
            match next {
                None => return Ok(items),
                Some(next) if next > number && next <= MOST_PAGES => number = next,
                Some(_) => {
                    return Err(ApiError::Protocol {
                        call: self.request(Method::GET, path)?.call,
                        problem: ProtocolProblem::EndlessPages,
                    });
                }
            }
        }
    }

    /// Reads one page of a list, with the number of the next one.
    pub(crate) async fn page<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
        number: u32,
    ) -> Result<(Vec<T>, Option<u32>), ApiError> {
        let mut request = self.request(Method::GET, path)?;
        request
            .url
            .query_pairs_mut()
            .extend_pairs(query)
            .append_pair("page[number]", &number.to_string())
            .append_pair("page[size]", &LARGEST_PAGE.to_string());
        let answer = self.exchange(&request).await?;
        let page: Page<T> = decode(&request, &answer)?;
        let pagination = page.meta.and_then(|meta| meta.pagination);
        Ok((page.data, pagination.and_then(|pages| pages.next_page)))
    }
}
