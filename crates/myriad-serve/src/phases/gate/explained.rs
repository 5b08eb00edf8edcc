//! The gate, explained: who may come in is judged; what would ask, count or wait is only named.

use super::{Verdict, networks};
use crate::content::Step;
use crate::exchange::Exchange;
use crate::explain::Trace;
use crate::phases::locate;
use crate::runtime::Gate;

/// Goes on to the content, as a visitor would whom the password, the subrequest and the limits let in.
pub(super) fn run(exchange: &mut Exchange, gate: &Gate, trace: &Trace) -> Step {
    let say = |text: &str, outcome: &str| trace.note("access", text, outcome.to_owned(), None);
    if gate.requests.is_some() {
        say("limit_req", "would count this request");
    }
    if gate.connections.is_some() {
        say("limit_conn", "would count this connection");
    }
    let kept_out = match networks::judge(&exchange.request, gate) {
        Verdict::Refuse(status) => {
            say("allow, deny", "127.0.0.1 is kept out");
            Some(status)
        }
        Verdict::Allow => {
            say("allow, deny", "127.0.0.1 may come in");
            None
        }
        _ => None,
    };
    let mut others = false;
    if gate.basic.is_some() {
        others = true;
        say("auth_basic", "would ask for a password; taken as given");
    }
    if let Some(rules) = &gate.auth_request {
        others = true;
        let uri = String::from_utf8_lossy(&rules.uri).into_owned();
        say("auth_request", &format!("would ask {uri}; taken as let in"));
    }
    match kept_out.filter(|_| !(gate.any && others)) {
        Some(status) => Step::Error(status),
        None => locate::enter(exchange),
    }
}
