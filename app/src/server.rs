//! Asks a Towpath service, for commands with `--server`: it answers in the words that the command would use.
//!
//! The token is read from a file, or printed by a command. It is sent only to that service, and never without TLS to another machine.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command};
use serde_json::Value;
use towpath_formats::oidc;
use towpath_http::{BearerToken, Certificates, TokenFile};
use towpath_sources::fetch;

use crate::cli::{print, say, terminal_width};
use crate::output::{Output, OutputArgs};
use crate::secrets::tell_of_open_file;
use crate::token_command;

/// The longest answer that we read.
const MAX_ANSWER_BYTES: usize = 16 << 20;
/// The entries of a page, as many as a service gives.
const PAGE: usize = 1_000;
/// The most pages that are put together.
const MAX_PAGES: usize = 10_000;

/// `--server`, as every command has it that a service can answer.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ServerArgs {
    /// Ask this Towpath service instead of reading files or a store here.
    #[arg(
        long,
        env = "TOWPATH_SERVER",
        value_name = "URL",
        help_heading = "Service"
    )]
    server: Option<String>,
    /// The file with the token for --server. `towpath access` prints the roles that it takes. Reading takes one too, unless the
    /// service allows reads without a token.
    #[arg(
        long,
        env = "TOWPATH_SERVER_TOKEN_FILE",
        value_name = "FILE",
        requires = "server",
        help_heading = "Service"
    )]
    token_file: Option<PathBuf>,
    /// Run this with `sh -c`, and use what it prints as the token for --server: a login of yours at an OIDC issuer.
    #[arg(
        long,
        env = "TOWPATH_SERVER_TOKEN_COMMAND",
        value_name = "COMMAND",
        requires = "server",
        conflicts_with = "token_file",
        help_heading = "Service"
    )]
    token_command: Option<String>,
    /// Trust only the certificates in this PEM file for --server.
    #[arg(
        long,
        env = "TOWPATH_SERVER_CA_FILE",
        value_name = "FILE",
        requires = "server",
        help_heading = "Service"
    )]
    server_ca_file: Option<PathBuf>,
}

impl ServerArgs {
    /// The service, if one was named.
    pub(crate) fn given(&self) -> Option<Server<'_>> {
        self.server.as_deref().map(|url| Server {
            url,
            token_file: self.token_file.as_deref(),
            token_command: self.token_command.as_deref(),
            printed: OnceCell::new(),
            ca_file: self.server_ca_file.as_deref(),
        })
    }
}

/// Flags that say where a command looks on this machine.
const LOCAL: &[&str] = &[
    "fleet",
    "clusters",
    "store",
    "store_password_file",
    "ocm",
    "ocm_token",
    "ocm_client_id",
    "ocm_client_secret",
    "ocm_offline_token",
    "ocm_token_url",
    "acm",
    "acm_context",
    "minors",
    "keyring",
    "signatures",
    "config",
    "graph_data",
    "overlay",
    "releases",
    "state",
    "graph",
    "platforms",
    "shape",
    "parameters",
    "have",
    "aus_state",
    "report_allowance",
    "named",
    "feedback",
    "feedback_latency",
];

/// Refuses flags that a service would not hear of. What only the environment says does not count beside `--server`.
pub(crate) fn check(command: &Command, matches: &ArgMatches) -> Result<(), clap::Error> {
    let (mut leaf, mut given, mut is_of_fleet) = (command, matches, false);
    while let Some((name, matches)) = given.subcommand() {
        let Some(next) = leaf.find_subcommand(name) else {
            break;
        };
        is_of_fleet |= name == "fleet";
        (leaf, given) = (next, matches);
    }
    // An export stands for a store.
    let is_export = matches!(given.try_contains_id("export"), Ok(true));
    if is_export && given.value_source("store") == Some(ValueSource::CommandLine) {
        let problem =
            "the argument '--export' cannot be used with '--store': it is verified without a store";
        let kind = clap::error::ErrorKind::ArgumentConflict;
        return Err(leaf.clone().error(kind, problem));
    }
    let is_asked = matches!(given.try_contains_id("server"), Ok(true));
    let is_typed = |id: &str| given.value_source(id) == Some(ValueSource::CommandLine);
    // A fleet answers as of its last pass.
    let is_local = |id: &str| LOCAL.contains(&id) || (is_of_fleet && id == "now");
    let mut arguments = leaf.get_arguments();
    let local = arguments.find(|arg| {
        let id = arg.get_id().as_str();
        is_asked && is_local(id) && is_typed(id)
    });
    let Some(local) = local else { return Ok(()) };
    let problem =
        format!("the argument '{local}' cannot be used with '--server': the service has its own");
    Err(leaf
        .clone()
        .error(clap::error::ErrorKind::ArgumentConflict, problem))
}

/// A service, and what we show it.
pub(crate) struct Server<'a> {
    url: &'a str,
    token_file: Option<&'a Path>,
    token_command: Option<&'a str>,
    /// The token that the command printed. It is run once.
    printed: OnceCell<BearerToken>,
    ca_file: Option<&'a Path>,
}

/// A question: a path, and the words that were given.
pub(crate) struct Question {
    path: String,
    words: Vec<(&'static str, Option<String>)>,
}

impl Question {
    pub(crate) fn new(
        path: impl Into<String>,
        words: impl IntoIterator<Item = (&'static str, Option<String>)>,
    ) -> Self {
        Self {
            path: path.into(),
            words: words.into_iter().collect(),
        }
    }

    /// What one of its words says.
    pub(crate) fn word(&self, name: &str) -> Option<&str> {
        let mut words = self.words.iter();
        words.find(|(known, _)| *known == name)?.1.as_deref()
    }

    /// The path and query, with these words besides.
    fn target(&self, more: &[(&'static str, Option<String>)]) -> String {
        let words = self.words.iter().chain(more);
        match query(words.cloned()) {
            query if query.is_empty() => self.path.clone(),
            query => format!("{}?{query}", self.path),
        }
    }
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
    /// Prints the answer to a question, which is asked in each form that is needed; returns its facts.
    pub(crate) fn print(
        &self,
        form: &str,
        question: impl Fn(&str) -> String,
    ) -> anyhow::Result<Value> {
        let facts = facts(&self.ask(&question("json"))?)?;
        match form {
            "json" => print(&format!("{facts:#}\n"))?,
            "text" => say(&self.ask(&question("text"))?)?,
            drawn => print(&self.ask(&question(drawn))?)?,
        }
        Ok(facts)
    }

    /// The facts of an answer.
    pub(crate) fn facts(&self, question: &Question) -> anyhow::Result<Value> {
        facts(&self.answer(question)?)
    }

    /// The answer as it came.
    pub(crate) fn answer(&self, question: &Question) -> anyhow::Result<String> {
        self.ask(&question.target(&[]))
    }

    /// The text of an answer in this form, as wide as the terminal.
    pub(crate) fn text(
        &self,
        question: &Question,
        form: &str,
        limit: Option<usize>,
    ) -> anyhow::Result<String> {
        self.ask(&question.target(&[
            ("limit", limit.map(|limit| limit.to_string())),
            ("width", terminal_width().map(|width| width.to_string())),
            ("format", Some(form.to_owned())),
        ]))
    }

    /// Prints an answer that has no pages.
    pub(crate) fn show(&self, output: OutputArgs, question: &Question) -> anyhow::Result<bool> {
        match output.form {
            Output::Text => say(&self.text(question, "text", None)?)?,
            Output::Json => print(&format!("{:#}\n", self.facts(question)?))?,
        }
        Ok(true)
    }

    /// All pages of an answer as one, or its first entries: as the command line has it, without the pages. `same` is a list that all
    /// pages have alike.
    pub(crate) fn pages(
        &self,
        question: &Question,
        limit: Option<usize>,
        same: Option<&str>,
    ) -> anyhow::Result<Value> {
        let (mut whole, mut after, mut alike) = (Value::Null, None, Value::Null);
        for _ in 0..MAX_PAGES {
            let size = limit.unwrap_or(PAGE).min(PAGE);
            let page = self.ask(
                &question.target(&[("limit", Some(size.to_string())), ("after", after.take())]),
            )?;
            let mut page = facts(&page)?;
            after = page["next"].take().as_str().map(str::to_owned);
            if let Some(list) = same.and_then(|same| page.get_mut(same)) {
                alike = list.take();
            }
            join(&mut whole, page);
            let is_full = limit.is_some_and(|limit| longest(&whole) >= limit);
            if after.is_none() || is_full {
                break;
            }
        }
        let mut whole = without_pages(whole, limit.unwrap_or(usize::MAX));
        if let Some(same) = same {
            whole[same] = alike;
        }
        Ok(whole)
    }

    /// Has the service do something, and prints what it did.
    pub(crate) fn act(&self, output: OutputArgs, path: &str, body: &Value) -> anyhow::Result<bool> {
        let form = match output.form {
            Output::Text => "text",
            Output::Json => "json",
        };
        let target = format!("{path}?format={form}");
        let answer = self.send(&target, Some(&body.to_string()))?;
        match output.form {
            Output::Text => say(&answer)?,
            Output::Json => print(&format!("{:#}\n", facts(&answer)?))?,
        }
        Ok(true)
    }

    /// Has the service do something; returns what it did.
    pub(crate) fn post(&self, path: &str, body: &str) -> anyhow::Result<Value> {
        facts(&self.send(path, Some(body))?)
    }

    /// What the service answers to a path and query; an error, if it says that it cannot answer.
    fn ask(&self, target: &str) -> anyhow::Result<String> {
        self.send(target, None)
    }

    fn send(&self, target: &str, posted: Option<&str>) -> anyhow::Result<String> {
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
        let token = self.token()?;
        let authorities = self.ca_file.map(read_authorities).transpose()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let fetched = runtime.block_on(fetch(
            &url,
            (token.as_ref(), authorities.as_ref()),
            posted,
            MAX_ANSWER_BYTES,
        ));
        let fetched = fetched?;
        let text = String::from_utf8(fetched.body).context("the service's answer is not text")?;
        // 202: it is noted, and somebody else has to say so too.
        if !matches!(fetched.status, 200 | 202) {
            let answer: Option<Value> = serde_json::from_str(&text).ok();
            let said = answer.as_ref().and_then(|answer| answer["value"].as_str());
            let said = said.unwrap_or("it does not know this question");
            let remedy = match (fetched.status, &token) {
                (401, None) => "; give a token with --token-file or --token-command",
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

impl Server<'_> {
    /// What we show the service.
    fn token(&self) -> anyhow::Result<Option<BearerToken>> {
        match (self.token_file, self.token_command, self.printed.get()) {
            (Some(file), _, _) => read_token(file).map(Some),
            (None, None, _) => Ok(None),
            (None, Some(_), Some(token)) => Ok(Some(token.clone())),
            (None, Some(command), None) => {
                let token = token_command::run(command)?;
                Ok(Some(self.printed.get_or_init(|| token).clone()))
            }
        }
    }
}

fn facts(answer: &str) -> anyhow::Result<Value> {
    serde_json::from_str(answer).context("the service's answer is not JSON")
}

/// Adds a page to what came before it: lists grow, and what is said once is kept.
fn join(whole: &mut Value, page: Value) {
    match (whole.as_object_mut(), page) {
        (Some(whole), Value::Object(page)) => {
            for (name, value) in page {
                match (whole.get_mut(&name).and_then(Value::as_array_mut), value) {
                    (Some(list), Value::Array(more)) => list.extend(more),
                    (_, value) => drop(whole.entry(name).or_insert(value)),
                }
            }
        }
        (_, page) => *whole = page,
    }
}

/// How many entries the longest list has.
fn longest(whole: &Value) -> usize {
    let lists = whole
        .as_object()
        .into_iter()
        .flat_map(|object| object.values());
    let lengths = lists.filter_map(|value| Some(value.as_array()?.len()));
    lengths.max().unwrap_or(0)
}

/// The answer without its pages, with so many entries of each list.
fn without_pages(mut whole: Value, limit: usize) -> Value {
    if let Some(object) = whole.as_object_mut() {
        object.remove("next");
        for list in object.values_mut().filter_map(Value::as_array_mut) {
            list.truncate(limit);
        }
    }
    whole
}

fn read_authorities(path: &Path) -> anyhow::Result<Certificates> {
    Certificates::read(path).map_err(|problem| {
        let path = path.display();
        anyhow!("--server-ca-file {path} {problem}; name a file with certificates in PEM form")
    })
}

fn read_token(path: &Path) -> anyhow::Result<BearerToken> {
    let token = TokenFile::new(path, 2 * oidc::MAX_CHARACTERS as u64).read();
    tell_of_open_file(path);
    token.map_err(|problem| {
        anyhow!(
            "the token file {} {problem}; put a token of `towpath fleet token` there, or one of your login",
            path.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn pages_become_one_answer() {
        let mut whole = Value::Null;
        join(
            &mut whole,
            json!({"starts": [1], "waiting": [2], "holds": {"soak": 3}, "next": null}),
        );
        join(
            &mut whole,
            json!({"starts": [], "waiting": [4], "holds": {}, "next": null}),
        );
        assert_eq!(longest(&whole), 2);
        let expected = json!({"starts": [1], "waiting": [2, 4], "holds": {"soak": 3}});
        assert_eq!(without_pages(whole, usize::MAX), expected);
        assert_eq!(
            without_pages(json!({"entries": [1, 2], "next": null}), 1),
            json!({"entries": [1]})
        );
    }
}
