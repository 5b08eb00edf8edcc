//! The settings of a location made into a check.

use myriad_conf::model::ServerName;
use myriad_conf::settings::{Handler, HealthCheck, Settings};
use myriad_conf::{Diagnostic, Text};
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};
use myriad_http::grpc_health;
use myriad_script::Regex;
use myriad_upstream::CheckRules;

use super::grpc::GrpcRule;
use super::judge::{FieldRule, Judge, Rule};
use super::settings::{FieldTest, HealthCheckSettings, MatchSettings, Test};

/// The protocol whose servers are called, by the prefix of its directives.
const CALLED: &str = "grpc_";

/// The protocol whose servers are asked for keys alone.
const WITHOUT_URI: &str = "memcached_";

/// The check of a place.
pub(super) struct HealthCheckPlace {
    pub rules: CheckRules,
    /// What is asked for.
    pub uri: Box<[u8]>,
    pub args: Box<[u8]>,
    /// The name of the location's server; none where it has no plain one.
    pub host: Option<Box<str>>,
    /// For how long one connection serves, milliseconds; 0 for one check alone.
    pub keepalive_ms: u64,
    pub judge: Judge,
    /// The call that takes the place of `uri` and `judge`; none for a request by GET.
    pub grpc: Option<GrpcRule>,
}

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
    features.keep(HealthCheckPlace {
        rules: CheckRules::of(check, format!("{place} {}", check.words)),
        uri: uri[..at].into(),
        args: uri.get(at + 1..).unwrap_or_default().into(),
        host,
        keepalive_ms: check.keepalive_time,
        judge,
        grpc,
    });
}

/// The location, as a check of it is found again behind a reload; where it asks no fixed group in the way that the check says, what is
/// wrong, and what helps.
fn place_of(settings: &Settings, check: &HealthCheck) -> Result<String, (&'static str, &'static str)> {
    const NOBODY: &str = "\"health_check\" has no servers to ask";
    const BESIDE: &str = "it stands beside proxy_pass, fastcgi_pass, uwsgi_pass or scgi_pass that names a group without variables, or grpc_pass and type=grpc";
    let Some(Handler::Origin { protocol, target, prefix }) = &settings.handler else {
        return Err((NOBODY, BESIDE));
    };
    match (protocol.prefix(), &check.grpc) {
        _ if target.has_variables() => Err((NOBODY, BESIDE)),
        (WITHOUT_URI, _) => Err((NOBODY, BESIDE)),
        (CALLED, None) => Err(("servers of gRPC are not asked for a URI", "write type=grpc, last")),
        (CALLED, Some(_)) | (_, None) => Ok(prefix.lossy().into_owned()),
        (_, Some(_)) => Err(("\"type=grpc\" asks servers of gRPC", "it stands beside grpc_pass")),
    }
}

/// How answers are judged; none where there is an error, which has been reported.
fn judge(compile: &mut dyn SettingsCompiler, settings: &Settings, check: &HealthCheck) -> Option<Judge> {
    let Some(name) = &check.matching else { return Some(Judge::default()) };
    let blocks = &settings.feature::<MatchSettings>().blocks;
    let Some(block) = blocks.iter().find(|block| block.name.as_bytes() == name.bytes()) else {
        let message = format!("there is no match \"{}\"", name.lossy());
        let help = "define it by match NAME { ... } in http";
        compile.report(Diagnostic::error(name.span, message).help(help));
        return None;
    };
    let mut rules = Vec::new();
    for test in &block.tests {
        rules.push(match test {
            Test::Status(is_wanted, ranges) => Rule::Status(*is_wanted, ranges.clone()),
            Test::Field(name, test) => Rule::Field(name.bytes().into(), field_rule(compile, test)?),
            Test::Body(fits, pattern) => Rule::Body(*fits, regex(compile, pattern)?),
            Test::Required(variables) => {
                let required = |name: &Text| (name.lossy().into(), compile.apart_template(name));
                Rule::Required(variables.iter().map(required).collect())
            }
        });
    }
    Some(Judge::of(rules))
}

fn field_rule(compile: &mut dyn SettingsCompiler, test: &FieldTest) -> Option<FieldRule> {
    Some(match test {
        FieldTest::Present(is_there) => FieldRule::Present(*is_there),
        FieldTest::Equals(is, value) => FieldRule::Equals(*is, value.bytes().into()),
        FieldTest::Fits(fits, pattern) => FieldRule::Fits(*fits, regex(compile, pattern)?),
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
