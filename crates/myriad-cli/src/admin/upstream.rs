//! `myriad upstream ls|up|drain|down`: lists and changes the servers of upstream groups of a running server.

use std::ffi::OsString;
use std::process::ExitCode;

use myriad_admin::protocol::{
    AdminReply, AdminRequest, UpstreamChange, UpstreamsRequest, WantedState, render,
};

use super::client::RunningServer;
use super::options::{CommandWords, KnownOption, too_much};
use super::output::{CommandOutput, exit_code_for};

/// Text that `myriad upstream --help` prints.
pub const USAGE: &str = "\
Usage: myriad upstream ls    [GROUP [SERVER]] [--json]
       myriad upstream down  GROUP [SERVER] [--json]
       myriad upstream drain GROUP [SERVER] [--json]
       myriad upstream up    GROUP [SERVER] [--json]

ls    lists the servers of groups, one line per address
down  sends no new requests to SERVER; requests in flight are completed
drain sends it only requests of clients that `sticky` assigned to it
up    sends it requests again, immediately, even if the configuration has `down`

  GROUP           : an upstream block, of http or of stream
  SERVER          : name as in the configuration, or an address
                    (default: all servers of the group)
  --json          : one JSON object per line

A change applies immediately to all workers and remains after reloads, until the
next change; `ls` marks the state with `!`. After a restart or an upgrade, the
configuration applies again.

Which server:
  -c FILE         : configuration file of the server (default: the running one)
  -p PREFIX       : prefix of the server; of a `myriad wordpress`, its --prefix
  --socket PATH   : control socket of the server

Exit status: 0; 1 after an error; 2 if nothing was found.
";

const OPTIONS: &[KnownOption] = &[("--json", false)];
const VERBS: [&str; 4] = ["ls", "down", "drain", "up"];

/// Command line of `myriad upstream`.
#[derive(Debug)]
pub(super) struct UpstreamCommand {
    words: CommandWords,
    request: AdminRequest,
}

/// Parses the words after `myriad upstream`; `None` if help is requested, an error text if a word is invalid.
pub(super) fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Option<UpstreamCommand>, String> {
    let words = CommandWords::parse(arguments, OPTIONS)?;
    if words.help {
        return Ok(None);
    }
    let plain: Vec<&str> = words.plain.iter().map(String::as_str).collect();
    let Some((verb, named)) = plain.split_first() else {
        return Err("upstream: give ls, down, drain or up (see myriad upstream --help)".into());
    };
    let state = match *verb {
        "ls" => None,
        "down" => Some(WantedState::Down),
        "drain" => Some(WantedState::Drain),
        "up" => Some(WantedState::Up),
        other => {
            let near = myriad_conf::nearest(other, VERBS);
            let near = near.map(|near| format!(", did you mean \"{near}\"?")).unwrap_or_default();
            return Err(format!(
                "upstream: unknown command \"{other}\"; use ls, down, drain or up{near} (see myriad upstream --help)"
            ));
        }
    };
    if let Some(more) = named.get(2) {
        return Err(format!("upstream {verb}: {}", too_much(more, "upstream")));
    }
    let mut named = named.iter().map(|name| (*name).to_owned());
    let (group, server) = (named.next(), named.next());
    let request = match (state, group) {
        (None, group) => AdminRequest::Upstreams(UpstreamsRequest { group, server }),
        (Some(state), Some(group)) => AdminRequest::ChangeUpstream(UpstreamChange { group, server, state }),
        (Some(_), None) => {
            return Err(format!("upstream {verb}: give a group from `myriad upstream ls`"));
        }
    };
    Ok(Some(UpstreamCommand { words, request }))
}

pub(super) fn run(command: &UpstreamCommand) -> Result<ExitCode, String> {
    let running = RunningServer::find(&command.words.server, command.words.socket.as_deref())?;
    let json = command.words.has("--json");
    let mut output = CommandOutput::new();
    let mut any = false;
    running.send_request(&command.request, |reply| {
        let AdminReply::Peer(peer) = &reply else { return Ok(true) };
        let is_first = !std::mem::replace(&mut any, true);
        if json {
            return output.line(&reply.json());
        }
        Ok((!is_first || output.line(&render::peer_head())?) && output.line(&render::peer_line(peer))?)
    })?;
    output.finish()?;
    if !any {
        eprintln!("myriad: no upstream server matches");
    }
    Ok(exit_code_for(any))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &[&str]) -> Result<Option<UpstreamCommand>, String> {
        parse(arguments.iter().map(OsString::from))
    }

    #[test]
    fn orders_name_a_group_and_perhaps_a_server() {
        let request = |arguments: &[&str]| parsed(arguments).expect("sound").expect("no help").request;
        assert_eq!(request(&["ls"]), AdminRequest::Upstreams(UpstreamsRequest::default()));
        let group = "g".to_owned();
        let change = UpstreamChange { group, server: Some("a:80".into()), state: WantedState::Drain };
        assert_eq!(request(&["drain", "g", "a:80"]), AdminRequest::ChangeUpstream(change.clone()));
        let change = UpstreamChange { server: None, state: WantedState::Up, ..change };
        assert_eq!(request(&["up", "g"]), AdminRequest::ChangeUpstream(change));
        assert!(parsed(&["--help"]).expect("help").is_none());
    }

    #[test]
    fn invalid_upstream_arguments_are_reported() {
        for (arguments, part) in [
            (&[][..], "give ls, down, drain or up"),
            (&["donw", "g"], "did you mean \"down\"?"),
            (&["down"], "give a group"),
            (&["up", "g", "a", "b"], "unexpected argument \"b\""),
        ] {
            assert!(parsed(arguments).expect_err(part).contains(part), "{arguments:?}");
        }
    }
}
