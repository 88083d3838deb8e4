//! `towpath serve`, as its clients and those on call meet it: the real binary, over real connections.

mod agent;
mod contract;
mod explain;
mod fleet;
mod guards;
mod harness;
mod kill;
mod large_fleet;
mod limits;
mod path;
mod registry;
mod reload;
mod signer;
mod sources;
mod trust;
