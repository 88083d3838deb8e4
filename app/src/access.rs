//! `towpath access`: who may do what at a service, and which tokens are revoked.

use clap::{Args, Subcommand};
use jiff::Timestamp;
use serde_json::json;
use towpath_core::access::{Revocation, Revoked};
use towpath_formats::access::{revoked, table};
use towpath_web::{RevokeWhich, access_rows};

use crate::example::Origin;
use crate::fleet::local_user::local_user;
use crate::fleet::{self, StoreArgs, revocations};
use crate::output::{Output, OutputArgs};
use crate::server::{Question, ServerArgs};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct AccessArgs {
    #[command(subcommand)]
    command: Option<AccessCommand>,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Subcommand)]
enum AccessCommand {
    /// End a token before its time: in the store, from which every replica knows it within seconds.
    #[command(
        after_help = "Example:\n  towpath access revoke --serial HqFxT0oVqk2Yw3Zc --why 'The laptop was lost.'"
    )]
    Revoke(RevokeArgs),
    /// List tokens that were revoked: by whom, why and when.
    #[command(after_help = "Example:\n  towpath access tokens")]
    Tokens(TokensArgs),
}

#[derive(Debug, Args)]
struct RevokeArgs {
    /// The serial of the token, which `towpath fleet token` told when it made it.
    #[arg(
        long,
        value_name = "SERIAL",
        required_unless_present = "name",
        allow_hyphen_values = true
    )]
    serial: Option<String>,
    /// All tokens of this person that were made until now. Tokens that are made later count.
    #[arg(long, value_name = "NAME", conflicts_with = "serial")]
    name: Option<String>,
    /// The reason, for whoever asks later.
    #[arg(long)]
    why: String,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, Args)]
struct TokensArgs {
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn execute(args: AccessArgs) -> anyhow::Result<bool> {
    match args.command {
        None => print_table(args.output),
        Some(AccessCommand::Revoke(args)) => revoke(&args),
        Some(AccessCommand::Tokens(args)) => tokens(&args),
    }
}

fn print_table(output: OutputArgs) -> anyhow::Result<bool> {
    let rows = access_rows();
    output.print(Origin::Named, || table::text(&rows), || table::json(&rows))?;
    Ok(true)
}

fn revoke(args: &RevokeArgs) -> anyhow::Result<bool> {
    if let Some(server) = args.server.given() {
        let body = json!({"serial": args.serial, "person": args.name, "why": args.why});
        return server.act(args.output, "/api/v1/access/revoke", &body);
    }
    let which = match (&args.serial, &args.name) {
        (Some(serial), _) => RevokeWhich::Serial(serial.clone()),
        (None, name) => RevokeWhich::Person(name.clone().unwrap_or_default()),
    };
    let revocation = revocations::wanted(which, &local_user().name, &args.why, Timestamp::now());
    fleet::on_store(&args.store, async |store| {
        Ok(store.revoke(&revocation).await?)
    })?;
    let (one, what): (&[Revocation], &Revoked) =
        (std::slice::from_ref(&revocation), &revocation.revoked);
    args.output.print(
        Origin::Named,
        || format!("{}\n", revoked::sentence(what)),
        || revoked::json(one),
    )?;
    Ok(true)
}

fn tokens(args: &TokensArgs) -> anyhow::Result<bool> {
    if let Some(server) = args.server.given() {
        let question = Question::new("/api/v1/access/revocations", []);
        match args.output.form {
            Output::Text => crate::cli::say(&server.text(&question, "text", None)?)?,
            Output::Json => crate::cli::print(&Origin::Named.mark(server.facts(&question)?))?,
        }
        return Ok(true);
    }
    let all = fleet::on_store(&args.store, async |store| Ok(store.revocations().await?.1))?;
    args.output.print(
        Origin::Named,
        || revoked::text(&all),
        || revoked::json(&all),
    )?;
    Ok(true)
}
