//! The Myriad web accelerator: command line, supervision, signals, reload.
//!
//! ```text
//! run -> cli -> configuration -> supervisor --exec--> worker -> site
//!                                    |  control: text, sockets, logs  ^
//!                                    +--------------------------------+
//! ```

#![forbid(unsafe_code)]

mod accounts;
mod activation;
mod admin;
mod certificates;
mod cli;
mod configuration;
mod confine;
mod control;
mod cores;
mod daemon;
mod doctor;
mod explain;
mod folders;
mod generation;
mod handover;
mod import;
mod inbox;
mod instance;
mod listeners;
mod log;
mod logs;
mod machine_files;
mod manual;
mod named;
mod notify;
mod origins;
mod path_walk;
mod paths;
mod pidfile;
mod process;
mod report;
mod run;
mod servers;
mod signals;
mod site_folder;
mod state;
mod stdio;
mod supervisor;
mod takeover;
mod terminal;
mod ticket_keys;
mod top;
mod tune;
mod upgrade;
mod version;
mod warm;
mod web;
mod wordpress;
mod worker;
mod worker_requests;

use std::ffi::OsString;
use std::process::ExitCode;

/// Allocator of the process. A million small pages take half the memory that they take with the system allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if arguments.first().is_some_and(|first| first == worker::ARGUMENT) {
        return worker::run();
    }
    if let Some(command) = arguments.first().and_then(admin::Command::named) {
        return command.run(arguments.into_iter().skip(1));
    }
    if arguments.first().is_some_and(|first| first == "tune") {
        return tune::run(arguments.into_iter().skip(1));
    }
    if arguments.first().is_some_and(|first| first == "doctor") {
        return doctor::run(arguments.into_iter().skip(1));
    }
    if arguments.first().is_some_and(|first| first == "warm") {
        return warm::run(arguments.into_iter().skip(1));
    }
    if arguments.first().is_some_and(|first| first == "top") {
        return top::run(arguments.into_iter().skip(1));
    }
    if arguments.first().is_some_and(|first| first == "log") {
        return log::run(arguments.into_iter().skip(1));
    }
    if arguments.first().is_some_and(|first| first == "upgrade") {
        return upgrade::run(arguments.into_iter().skip(1));
    }
    if arguments.first().is_some_and(|first| first == "import") {
        return import::run(arguments.into_iter().skip(1));
    }
    if arguments.first().is_some_and(|first| first == "takeover") {
        return takeover::run(arguments.into_iter().skip(1));
    }
    if let Some(command) = arguments.first().and_then(manual::Command::named) {
        return command.run(arguments.into_iter().skip(1));
    }
    if let Some(command) = wordpress::Command::named(&arguments) {
        return command.run(arguments.into_iter().skip(2));
    }
    run::run(arguments)
}
