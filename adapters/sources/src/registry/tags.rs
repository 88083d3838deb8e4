//! The tags of a repository, over all pages.

use std::collections::BTreeSet;

use towpath_formats::sources::oci::{self, Reference, Repository};
use towpath_http::header::{HeaderMap, LINK};
use towpath_http::{Method, Url, clip, is_same_origin};

use super::client::Registry;
use super::failure::{Failure, lasting};

const MANY_TAGS: &str = "1000";

impl Registry {
    /// All tags of a repository. An endless list is an error, so that half a repository never looks complete.
    pub(super) async fn tags(
        &self,
        repository: &Repository,
    ) -> Result<BTreeSet<Reference>, Failure> {
        let limits = self.limits();
        let first = self.url(repository, &format!("tags/list?n={MANY_TAGS}"))?;
        let (mut tags, mut pages, mut next) = (BTreeSet::new(), 0, Some(first));
        while let Some(url) = next {
            pages += 1;
            if pages > limits.pages {
                return Err(lasting(format!(
                    "the list of tags has more than {} pages",
                    limits.pages
                )));
            }
            let ask = self.ask(
                repository,
                Method::GET,
                url.clone(),
                "application/json",
                &self.counts().tags,
            );
            let (headers, body) = self
                .whole(&ask, "a page of tags", limits.tags_bytes)
                .await?;
            let page = oci::read_tags(&body).map_err(|problem| {
                lasting(format!(
                    "the list of tags cannot be read: {}",
                    clip(&problem)
                ))
            })?;
            let before = tags.len();
            tags.extend(page);
            if tags.len() > limits.tags {
                return Err(lasting(format!(
                    "the repository has more than {} tags",
                    limits.tags
                )));
            }
            next = next_page(&headers, &url)?;
            if next.is_some() && tags.len() == before {
                return Err(lasting("the list of tags does not end".to_owned()));
            }
        }
        Ok(tags)
    }
}

fn next_page(headers: &HeaderMap, here: &Url) -> Result<Option<Url>, Failure> {
    let Some(link) = headers
        .get(LINK)
        .and_then(|link| link.to_str().ok())
        .and_then(oci::next_link)
    else {
        return Ok(None);
    };
    match here.join(link) {
        Ok(next) if is_same_origin(&next, here) => Ok(Some(next)),
        _ => Err(lasting(format!(
            "the registry puts the next page of tags at {:?}, which we refuse",
            clip(link)
        ))),
    }
}
