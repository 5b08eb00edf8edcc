//! The Myriad web accelerator: command line, supervision, signals, reload.
//!
//! ```text
//! run -> cli -> configuration -> supervisor --exec--> worker -> site
//!                                    |  control: text, sockets, logs  ^
//!                                    +--------------------------------+
//! ```

#![forbid(unsafe_code)]

mod activation;
mod certificates;
mod confine;
mod control;
mod core_dumps;
mod daemon;
mod folders;
mod generation;
mod handover;
mod inbox;
mod listeners;
mod logs;
mod manual;
mod notify;
mod origins;
mod process;
mod run;
mod state;
mod stdio;
mod supervisor;
mod ticket_keys;
mod tools;
mod upgrade;
mod worker;
mod worker_requests;

use std::ffi::OsString;
use std::process::ExitCode;

/// Allocator of the process. A million small pages take half as much memory as with the system allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if arguments.first().is_some_and(|first| first == worker::ARGUMENT) {
        return worker::run();
    }
    if let Some(command) = arguments.first().and_then(myriad_cli::admin::AdminCommand::from_name) {
        return command.run(arguments.into_iter().skip(1));
    }
    if let Some(tool) = arguments.first().and_then(tools::named) {
        return tool.run(arguments.into_iter().skip(1));
    }
    if arguments.first().is_some_and(|first| first == "upgrade") {
        return upgrade::run(arguments.into_iter().skip(1));
    }
    if let Some(command) = arguments.first().and_then(manual::ManualCommand::from_name) {
        return command.run(arguments.into_iter().skip(1));
    }
    if let Some(command) = myriad_cli::wordpress::InstanceCommand::from_arguments(&arguments) {
        return command.run(arguments.into_iter().skip(2));
    }
    run::run(arguments)
}
