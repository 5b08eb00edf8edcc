//! Requests on their way through the phases, on sites without sockets.

mod answers;
mod clients;
mod locations;
mod rewrites;
mod servers;
mod try_files;
