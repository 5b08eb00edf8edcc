//! Health checks of the peers of `stream` groups: `health_check`, `health_check_timeout` and `match`, as in NGINX Plus.
//!
//! A check connects to a peer as a session does, with TLS if `proxy_ssl` is on. With `match` it sends a text (`send`),
//! expects a response (`expect`), or both; a check over UDP always sends a datagram. `directives` parses the
//! configuration, `probe` performs the checks.

mod directives;
mod probe;

use myriad_conf::settings::HealthCheck;
use myriad_conf::{Diagnostic, Span, Text, feature_settings};
use myriad_script::Regex;

pub(crate) use directives::ROWS;

/// Health check settings of one configuration level (`stream` or `server`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CheckSettings {
    /// Check of the server's peers (`health_check`); `None` if there is none.
    pub check: Option<HealthCheck>,
    /// `health_check_timeout`, in milliseconds.
    pub timeout: u64,
    /// `match` blocks of `stream`.
    blocks: Vec<MatchBlock>,
}

feature_settings!(CheckSettings);

/// `match` block: the text that is sent to a peer, and the response that a healthy peer sends.
#[derive(Clone, Debug, PartialEq, Eq)]
struct MatchBlock {
    name: String,
    span: Span,
    /// `send`: bytes sent to the peer; empty for none.
    send: Vec<u8>,
    /// `expect`: condition for the response; `None` if the response is not checked.
    expect: Option<ExpectSetting>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ExpectSetting {
    /// The response must contain these bytes.
    Bytes(Vec<u8>),
    /// The response must match this regular expression.
    Fits(Text),
}

/// Compiled health check of a server.
pub(crate) struct StreamCheck {
    pub check: HealthCheck,
    /// Maximum duration of a check in milliseconds.
    timeout_ms: u64,
    /// Bytes to send to the peer; empty for none.
    send: Vec<u8>,
    /// Condition for the response; `None` if the response is not checked.
    expect: Option<CompiledExpect>,
}

enum CompiledExpect {
    Bytes(Vec<u8>),
    Fits(Regex),
}

impl CompiledExpect {
    fn matches(&self, answer: &[u8]) -> bool {
        match self {
            Self::Bytes(bytes) => answer.windows(bytes.len()).any(|window| window == bytes),
            Self::Fits(pattern) => pattern.is_match(answer).is_ok_and(|matched| matched),
        }
    }
}

/// Compiles the health check of a server. `has_group` is true if the server has a `proxy_pass` without variables, which
/// is required. `None` if there is no check, and after an error, which is appended to the list.
pub(crate) fn compile(
    settings: &CheckSettings,
    has_group: bool,
    errors: &mut Vec<Diagnostic>,
) -> Option<StreamCheck> {
    let check = settings.check.clone()?;
    if !has_group {
        let error = Diagnostic::error(check.span, "\"health_check\" has no servers to check");
        errors.push(error.help("use it with a proxy_pass that names a group without variables"));
        return None;
    }
    let named = check.matching.as_ref().map(|name| {
        let found = settings.blocks.iter().find(|block| block.name.as_bytes() == name.bytes());
        found.ok_or_else(|| {
            let error =
                Diagnostic::error(name.span, format!("no \"match\" block is named \"{}\"", name.lossy()));
            error.help("define it with match NAME { ... } in stream")
        })
    });
    let block = named.transpose().map_err(|error| errors.push(error)).ok()?;
    let expect = match block.and_then(|block| block.expect.as_ref()) {
        None => None,
        Some(ExpectSetting::Bytes(bytes)) => Some(CompiledExpect::Bytes(bytes.clone())),
        Some(ExpectSetting::Fits(pattern)) => {
            let compiled = Regex::without_captures(&pattern.lossy());
            let report_error = |error: myriad_script::ScriptError| {
                errors.push(Diagnostic::error(pattern.span, error.message));
            };
            Some(CompiledExpect::Fits(compiled.map_err(report_error).ok()?))
        }
    };
    let send = block.map(|block| block.send.clone()).unwrap_or_default();
    Some(StreamCheck { check, timeout_ms: settings.timeout, send, expect })
}
