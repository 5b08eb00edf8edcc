//! Compilation of a location's settings to a check.

use myriad_conf::model::ServerName;
use myriad_conf::settings::{Handler, HealthCheck, Settings};
use myriad_conf::{Diagnostic, Text};
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};
use myriad_http::grpc_health;
use myriad_script::Regex;
use myriad_upstream::CheckRules;

use super::conditions::{FieldRule, HealthConditions, HealthRule};
use super::grpc::GrpcRule;
use super::settings::{FieldTest, HealthCheckSettings, MatchCondition, MatchSettings};

/// Directive prefix of gRPC, whose servers are checked by a gRPC call instead of a GET request.
const CALLED: &str = "grpc_";

/// Directive prefix of memcached, whose servers cannot be checked by a GET request.
const WITHOUT_URI: &str = "memcached_";

/// Compiled health check of a location.
pub(super) struct HealthCheckPlace {
    pub rules: CheckRules,
    /// Path of the health check's request, without arguments.
    pub uri: Box<[u8]>,
    pub args: Box<[u8]>,
    /// Host name in the health check's request: the first exact name of the `server` block. `None` if the block has no
    /// exact name; the name of the group is then used.
    pub host: Option<Box<str>>,
    /// Time in milliseconds for which connections of the health check are reused; 0 for a new connection for each
    /// check.
    pub keepalive_ms: u64,
    pub judge: HealthConditions,
    /// Rule of the gRPC call to `uri`, which replaces `judge`; `None` for a GET request.
    pub grpc: Option<GrpcRule>,
}

/// Compiles the health check of a location into its features; reports it as an error if it is not possible there.
pub(super) fn compile(compile: &mut dyn SettingsCompiler, settings: &Settings, features: &mut PlaceFeatures) {
    let Some(check) = &settings.feature::<HealthCheckSettings>().check else { return };
    let place = match place_of(settings, check) {
        Ok(place) => place,
        Err((message, help)) => return compile.report(Diagnostic::error(check.span, message).help(help)),
    };
    let Some(judge) = judge(compile, settings, check) else { return };
    let grpc = check.grpc.as_ref().map(GrpcRule::of);
    let uri = if grpc.is_some() { grpc_health::PATH } else { check.uri.bytes() };
    let at = uri.iter().position(|byte| *byte == b'?').unwrap_or(uri.len());
    let host = compile.server_names().into_iter().find_map(|name| match name {
        ServerName::Exact(name) if !name.is_empty() => Some(name.into_boxed_str()),
        _ => None,
    });
    features.insert(HealthCheckPlace {
        rules: CheckRules::of(check, format!("{place} {}", check.words)),
        uri: uri[..at].into(),
        args: uri.get(at + 1..).unwrap_or_default().into(),
        host,
        keepalive_ms: check.keepalive_time,
        judge,
        grpc,
    });
}

/// Returns the name of the location, which identifies the health check after a reload. The error is a message and a
/// help text: the location has no fixed group, or its protocol does not support the check.
fn place_of(settings: &Settings, check: &HealthCheck) -> Result<String, (&'static str, &'static str)> {
    const NO_SERVERS: &str = "\"health_check\" has no servers to check";
    const USE_WITH: &str = "use it with proxy_pass, fastcgi_pass, uwsgi_pass or scgi_pass that names a group without variables, or with \
         grpc_pass and type=grpc";
    let Some(Handler::Origin { protocol, target, prefix }) = &settings.handler else {
        return Err((NO_SERVERS, USE_WITH));
    };
    match (protocol.prefix(), &check.grpc) {
        _ if target.has_variables() => Err((NO_SERVERS, USE_WITH)),
        (WITHOUT_URI, _) => Err((NO_SERVERS, USE_WITH)),
        (CALLED, None) => {
            Err(("gRPC servers cannot be checked with a URI", "add type=grpc as the last parameter"))
        }
        (CALLED, Some(_)) | (_, None) => Ok(prefix.lossy().into_owned()),
        (_, Some(_)) => Err(("\"type=grpc\" checks gRPC servers only", "use it with grpc_pass")),
    }
}

/// Returns the conditions of the block named by `match=`; without it, the default conditions. `None` after an error,
/// which is reported.
fn judge(
    compile: &mut dyn SettingsCompiler,
    settings: &Settings,
    check: &HealthCheck,
) -> Option<HealthConditions> {
    let Some(name) = &check.matching else { return Some(HealthConditions::default()) };
    let blocks = &settings.feature::<MatchSettings>().blocks;
    let Some(block) = blocks.iter().find(|block| block.name.as_bytes() == name.bytes()) else {
        let message = format!("no \"match\" block is named \"{}\"", name.lossy());
        let help = "define it with match NAME { ... } in http";
        compile.report(Diagnostic::error(name.span, message).help(help));
        return None;
    };
    let mut rules = Vec::new();
    for test in &block.tests {
        rules.push(match test {
            MatchCondition::Status(is_wanted, ranges) => HealthRule::Status(*is_wanted, ranges.clone()),
            MatchCondition::Field(name, test) => {
                HealthRule::Field(name.bytes().into(), field_rule(compile, test)?)
            }
            MatchCondition::Body(fits, pattern) => HealthRule::Body(*fits, regex(compile, pattern)?),
            MatchCondition::Required(variables) => {
                let required = |name: &Text| (name.lossy().into(), compile.origin_template(name));
                HealthRule::Required(variables.iter().map(required).collect())
            }
        });
    }
    Some(HealthConditions::of(rules))
}

fn field_rule(compile: &mut dyn SettingsCompiler, test: &FieldTest) -> Option<FieldRule> {
    Some(match test {
        FieldTest::Present(is_there) => FieldRule::Present(*is_there),
        FieldTest::Equals(is, value) => FieldRule::Equals(*is, value.bytes().into()),
        FieldTest::Fits(fits, pattern) => FieldRule::Matches(*fits, regex(compile, pattern)?),
    })
}

fn regex(compile: &mut dyn SettingsCompiler, pattern: &Text) -> Option<Regex> {
    let Some(source) = pattern.as_str() else {
        compile.report(Diagnostic::error(pattern.span, "the pattern is not UTF-8"));
        return None;
    };
    Regex::without_captures(source)
        .map_err(|error| compile.report(Diagnostic::error(pattern.span, error.message)))
        .ok()
}
