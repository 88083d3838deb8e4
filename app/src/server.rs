//! Asks a Towpath service, for commands with `--server`.
//!
//! The token is read from a file. It is sent only to that service, and never without TLS to another machine.

use std::path::Path;

use anyhow::{Context, anyhow, bail};
use serde_json::Value;
use towpath_formats::fleet::token;
use towpath_http::{BearerToken, TokenFile};
use towpath_sources::fetch;

use crate::cli::{print, say};
use crate::output::{Output, OutputArgs};
use crate::secrets::tell_of_open_file;

/// The longest answer that we read.
const MAX_ANSWER_BYTES: usize = 16 << 20;

/// A service, and what we show it.
pub(crate) struct Server<'a> {
    pub(crate) url: &'a str,
    pub(crate) token_file: Option<&'a Path>,
}

/// The words of a question that were given.
pub(crate) fn query(words: impl IntoIterator<Item = (&'static str, Option<String>)>) -> String {
    let given = words
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    form_urlencoded::Serializer::new(String::new())
        .extend_pairs(given)
        .finish()
}

impl Server<'_> {
    /// Prints the answer to a question, which is asked in each format that is needed; returns its facts.
    pub(crate) fn print(
        &self,
        output: OutputArgs,
        question: impl Fn(&str) -> String,
    ) -> anyhow::Result<Value> {
        let facts: Value = serde_json::from_str(&self.ask(&question("json"))?)
            .context("the service's answer is not JSON")?;
        match output.form {
            Output::Text => say(&self.ask(&question("text"))?)?,
            Output::Json => print(&format!("{facts:#}\n"))?,
        }
        Ok(facts)
    }

    /// What the service answers to a path and query; an error, if it says that it cannot answer.
    fn ask(&self, target: &str) -> anyhow::Result<String> {
        if !["http://", "https://"]
            .iter()
            .any(|scheme| self.url.starts_with(scheme))
        {
            let host = self.url.split("://").last().unwrap_or_default();
            bail!(
                "--server {:?} is not an address; write http://{host}",
                self.url
            );
        }
        let url = format!("{}{target}", self.url.trim_end_matches('/'));
        let token = self.token_file.map(read_token).transpose()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let fetched = runtime.block_on(fetch(&url, token.as_ref(), MAX_ANSWER_BYTES));
        let fetched = fetched?;
        let text = String::from_utf8(fetched.body).context("the service's answer is not text")?;
        if fetched.status != 200 {
            let answer: Option<Value> = serde_json::from_str(&text).ok();
            let said = answer.as_ref().and_then(|answer| answer["value"].as_str());
            let said = said.unwrap_or("it does not know this question");
            let remedy = match (fetched.status, self.token_file) {
                (401, None) => "; give a token with --token-file",
                _ => "",
            };
            bail!(
                "{url}: the service answered {}: {said}{remedy}",
                fetched.status
            );
        }
        Ok(text)
    }
}

fn read_token(path: &Path) -> anyhow::Result<BearerToken> {
    let token = TokenFile::new(path, 2 * token::MAX_CHARACTERS as u64).read();
    tell_of_open_file(path);
    token.map_err(|problem| {
        anyhow!(
            "the token file {} {problem}; put a token of `towpath fleet token` there",
            path.display()
        )
    })
}
