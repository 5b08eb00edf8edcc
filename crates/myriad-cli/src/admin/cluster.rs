//! `myriad cluster status|nodes|purges|forget`: the cluster of a running server.

use std::ffi::OsString;
use std::process::ExitCode;

use myriad_admin::protocol::{AdminReply, AdminRequest, ClusterReport, ClusterRequest, NO_CLUSTER, render};

use super::client::RunningServer;
use super::options::{CommandWords, KnownOption, too_much};
use super::output::CommandOutput;

/// Text that `myriad cluster --help` prints.
pub const USAGE: &str = "\
Usage: myriad cluster [status] [--json]
       myriad cluster nodes    [--json]
       myriad cluster purges   [--json]
       myriad cluster forget NODE [--json]

status  shows this node, its connection, and the numbers of nodes and purges
nodes   lists the nodes: state, position in the log of purges, last report
purges  lists purges of this node that some nodes have not confirmed
forget  removes a node that will not return, so that no purge waits for its
        receipt; a node that still runs joins again

  --json          : the whole status as one JSON object

Which server:
  -c FILE         : configuration file of the server (default: the running one)
  -p PREFIX       : prefix of the server; of a `myriad wordpress`, its --prefix
  --socket PATH   : control socket of the server

Exit status: 0; 1 after an error; 2 if this node is not connected to the cluster.
";

const OPTIONS: &[KnownOption] = &[("--json", false)];
const VERBS: [&str; 4] = ["status", "nodes", "purges", "forget"];

/// Part of the cluster's status that the command prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClusterView {
    Status,
    Nodes,
    Purges,
}

/// Command line of `myriad cluster`.
#[derive(Debug)]
pub(super) struct ClusterCommand {
    words: CommandWords,
    view: ClusterView,
    forget: Option<String>,
}

/// Parses the words after `myriad cluster`; `None` if help is requested, an error text if a word is invalid.
pub(super) fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Option<ClusterCommand>, String> {
    let words = CommandWords::parse(arguments, OPTIONS)?;
    if words.help {
        return Ok(None);
    }
    let mut plain = words.plain.iter();
    let verb = plain.next().map_or("status", String::as_str);
    let view = match verb {
        "status" => ClusterView::Status,
        "nodes" | "forget" => ClusterView::Nodes,
        "purges" => ClusterView::Purges,
        other => {
            let near = myriad_conf::nearest(other, VERBS);
            let near = near.map(|near| format!(", did you mean \"{near}\"?")).unwrap_or_default();
            return Err(format!(
                "cluster: unknown command \"{other}\"; use status, nodes, purges or forget{near} (see myriad cluster --help)"
            ));
        }
    };
    let mut forget = None;
    if verb == "forget" {
        let node = plain.next().ok_or("cluster forget: give a node from `myriad cluster nodes`")?;
        forget = Some(node.clone());
    }
    if let Some(more) = plain.next() {
        return Err(format!("cluster {verb}: {}", too_much(more, "cluster")));
    }
    Ok(Some(ClusterCommand { words, view, forget }))
}

pub(super) fn run(command: &ClusterCommand) -> Result<ExitCode, String> {
    let running = RunningServer::find(&command.words.server, command.words.socket.as_deref())?;
    let request = AdminRequest::Cluster(ClusterRequest { forget: command.forget.clone() });
    let mut output = CommandOutput::new();
    let mut is_connected = false;
    running.send_request(&request, |reply| {
        let AdminReply::Cluster(report) = &reply else { return Ok(true) };
        if report.cluster.is_empty() {
            return Err(NO_CLUSTER.to_owned());
        }
        is_connected = report.state == "connected";
        if command.words.has("--json") {
            return output.line(&reply.json());
        }
        for line in lines(command.view, report) {
            output.line(&line)?;
        }
        Ok(true)
    })?;
    output.finish()?;
    Ok(if is_connected { ExitCode::SUCCESS } else { ExitCode::from(2) })
}

fn lines(view: ClusterView, report: &ClusterReport) -> Vec<String> {
    match view {
        ClusterView::Status => render::cluster(report),
        ClusterView::Nodes => render::cluster_nodes(report),
        ClusterView::Purges => render::cluster_purges(report),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &[&str]) -> Result<Option<ClusterCommand>, String> {
        parse(arguments.iter().map(OsString::from))
    }

    #[test]
    fn status_is_the_default_and_forget_needs_a_node() {
        let view = |arguments: &[&str]| {
            let command = parsed(arguments).expect("sound").expect("no help");
            (command.view, command.forget)
        };
        assert_eq!(view(&[]), (ClusterView::Status, None));
        assert_eq!(view(&["purges"]), (ClusterView::Purges, None));
        assert_eq!(view(&["forget", "web3"]), (ClusterView::Nodes, Some("web3".to_owned())));
        for (arguments, part) in [
            (&["forget"][..], "give a node"),
            (&["node"], "did you mean \"nodes\"?"),
            (&["status", "web1"], "unexpected argument \"web1\""),
        ] {
            assert!(parsed(arguments).expect_err(part).contains(part), "{arguments:?}");
        }
    }
}
