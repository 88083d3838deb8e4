//! `towpath`: one binary, several roles.

mod access;
mod access_files;
mod agent;
mod cli;
mod clock;
mod config;
mod daemon_sets;
mod descriptors;
mod duration;
mod environment;
mod example;
mod explain;
mod feedback;
mod fleet;
mod followed_files;
mod graph;
mod input;
mod listen;
mod log;
mod manual;
mod minors;
mod mirror;
mod nodes;
mod output;
mod path;
mod progress;
mod ready;
mod reason;
mod releases;
mod rollouts;
mod secrets;
mod serve;
mod server;
mod signatures;
mod sources;
mod systemd;
mod terminal;
mod tls;
mod token_keys;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> std::process::ExitCode {
    cli::run()
}
