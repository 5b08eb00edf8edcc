//! Tests of the phases with sites without sockets.

mod answers;
mod clients;
mod locations;
mod rewrites;
mod servers;
mod try_files;
