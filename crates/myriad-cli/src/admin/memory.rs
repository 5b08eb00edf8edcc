//! `myriad memory`: prints the memory usage of a running server.

use std::ffi::OsString;
use std::process::ExitCode;

use myriad_admin::protocol::{AdminReply, AdminRequest, MemoryRequest, render};

use super::client::RunningServer;
use super::options::{CommandWords, KnownOption, too_much};
use super::output::CommandOutput;

/// Text that `myriad memory --help` prints.
pub const USAGE: &str = "\
Usage: myriad memory [--json]

Prints the memory usage of the worker process by category, its distance to the
limit (`memory_limit`), and the actions taken under memory pressure.

  --json          : one JSON object

Which server:
  -c FILE         : configuration file of the server (default: the running one)
  -p PREFIX       : prefix of the server; of a `myriad wordpress`, its --prefix
  --socket PATH   : control socket of the server

Exit status: 0; 1 after an error.
";

const OPTIONS: &[KnownOption] = &[("--json", false)];

/// Parses the words after `myriad memory`; `None` if help is requested, an error text if a word is invalid.
pub(super) fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Option<CommandWords>, String> {
    let words = CommandWords::parse(arguments, OPTIONS)?;
    match words.plain.first() {
        Some(more) if !words.help => Err(format!("memory: {}", too_much(more, "memory"))),
        _ => Ok((!words.help).then_some(words)),
    }
}

pub(super) fn run(words: &CommandWords) -> Result<ExitCode, String> {
    let running = RunningServer::find(&words.server, words.socket.as_deref())?;
    let mut output = CommandOutput::new();
    running.send_request(&AdminRequest::Memory(MemoryRequest::default()), |reply| match &reply {
        _ if words.has("--json") => output.line(&reply.json()),
        AdminReply::Memory(report) => output.line(render::memory(report).trim_end()),
        _ => Ok(true),
    })?;
    output.finish()?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_takes_no_words() {
        let parsed = |arguments: &[&str]| parse(arguments.iter().map(OsString::from));
        assert!(parsed(&["--json"]).expect("sound").expect("no help").has("--json"));
        assert!(parsed(&["--help"]).expect("help").is_none());
        assert!(parsed(&["ls"]).expect_err("a word").contains("unexpected argument \"ls\""));
    }
}
