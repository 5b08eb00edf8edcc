//! Directive `api`.

use myriad_access::identifies_client;
use myriad_conf::model::LocationConf;
use myriad_conf::registry::{Arguments, Contexts, Directive, Set, SetterResult, between, use_cache_zone};
use myriad_conf::settings::Settings;
use myriad_conf::{Diagnostic, Span, Text};

use super::handler::ApiHandler;
use super::scope::ApiScope;
use myriad_exchange::exchange::Handler;
use myriad_exchange::feature::{PlannedHandler, plan_handler};
use myriad_exchange::runtime::SettingsCompiler;

pub(super) static ROWS: &[Directive] = &[Directive::new(
    "api",
    Contexts::LOCATION,
    between(0, 3),
    Set::Settings(api),
    "Returns the status of cache zones and upstream groups as JSON, with the names of NGINX Plus, and changes them \
         with `write=on` and a secret; `zone=` restricts it to one zone.",
)
.differs("supports the paths of NGINX Plus except `stream/zone_sync` and zones of `keyval`; adds Myriad's own paths \
     `cache`, `cache/pages`, `cache/page`, `purge`, `upstreams`, and for inspection `live`, `memory`, `tops`, \
     `history`, `purges`, `leaks`, `tags`, `inspect`, `reasons`, and `writes` for applications; `zone=NAME` and `secret_sha256=HASH` restrict access")];

/// Parses `api [write=on|off] [zone=NAME] [secret_sha256=HASH]`.
fn api(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let (mut api, mut written) = (PlannedApi::default(), None);
    for index in 0..args.len() {
        let word = args.bytes(index).to_vec();
        let (name, value) = word.split_at(word.iter().position(|byte| *byte == b'=').map_or(0, |at| at + 1));
        match name {
            b"zone=" if !value.is_empty() && !value.contains(&b'$') => {
                api.scope.zone = Some(String::from_utf8_lossy(value).into_owned());
                let zone = Text::new(value, args.text(index)?.span);
                use_cache_zone(args, &zone);
            }
            b"secret_sha256=" => {
                let hash = ApiScope::hash(value);
                api.scope.secret = Some(hash.ok_or_else(|| {
                    args.invalid(index, "the SHA-256 hash of the secret, as 64 hexadecimal digits")
                })?);
            }
            b"write=" => {
                api.write = args.choice(index, &[("write=on", true), ("write=off", false)])?;
                written = Some(args.text(index)?.span);
            }
            _ => {
                if word.starts_with(b"/") {
                    let path = String::from_utf8_lossy(&word);
                    let message = format!(
                        "\"api {path}\" is the syntax of Angie's module http_api, which Myriad does not support"
                    );
                    let help = "write \"api;\"; the paths below the location are those of the NGINX Plus API";
                    return Err(Diagnostic::error(args.text(index)?.span, message).help(help));
                }
                return Err(args.invalid(index, "`write=on|off`, `zone=NAME` or `secret_sha256=HASH`"));
            }
        }
    }
    let is_open = api.write && api.scope.secret.is_none();
    settings.feature_mut::<ApiSettings>().without_secret = written.filter(|_| is_open);
    settings.handler = Some(plan_handler(api));
    Ok(())
}

/// Reports `api write=on` if it has no effect: without `secret_sha256=`, and without a password or `auth_request` for
/// every client ([`identifies_client`]), changes are rejected.
pub(super) fn examine(location: &LocationConf, findings: &mut Vec<Diagnostic>) {
    let Some(span) = location.settings.feature::<ApiSettings>().without_secret else { return };
    let is_reported = findings.iter().any(|finding| finding.span == span);
    // A password for changes only, as with `limit_except GET { auth_basic ... }`, is sufficient.
    let limited = location.limit_except.as_ref().is_some_and(|limit| identifies_client(&limit.settings));
    if !is_reported && !limited && !identifies_client(&location.settings) {
        let message = "\"api write=on\" without a secret rejects every change";
        let help = "add secret_sha256=HASH, where HASH is the output of \"printf %s SECRET | sha256sum\", or require a password in \
             the location (auth_basic)";
        findings.push(Diagnostic::warning(span, message).help(help));
    }
}

/// Properties of an `api` that are checked once the complete location is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ApiSettings {
    /// Position of a `write=on` without `secret_sha256=`; `None` otherwise.
    without_secret: Option<Span>,
}

// A nested location does not inherit `api`, and therefore not its settings.
myriad_conf::feature_settings!(ApiSettings, |_| Some(ApiSettings::default()));

#[derive(Debug, Default)]
struct PlannedApi {
    write: bool,
    scope: ApiScope,
}

impl PlannedHandler for PlannedApi {
    fn make(&self, _: &mut dyn SettingsCompiler, prefix: &[u8]) -> Option<Box<dyn Handler>> {
        Some(Box::new(ApiHandler::new(self.write, self.scope.clone(), prefix.into())))
    }
}
