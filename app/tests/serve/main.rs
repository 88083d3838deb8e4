//! `towpath serve`, as its clients and those on call meet it: the real binary, over real connections.

mod agent;
mod bound;
mod contract;
mod doors;
mod drain;
mod events;
mod explain;
mod first_contact;
mod fleet;
mod guards;
mod kill;
mod large_fleet;
mod limits;
mod openapi;
mod orders;
mod page;
mod path;
mod picture;
mod registry;
mod reload;
mod remote;
mod sources;
mod trust;
mod windows;
