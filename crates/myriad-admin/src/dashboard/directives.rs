//! Directive `dashboard`.

use myriad_conf::registry::{Arguments, Contexts, Directive, Set, SetterResult, between};
use myriad_conf::settings::Settings;

use super::handler::DashboardHandler;
use crate::api::{ApiHandler, ApiScope};
use myriad_exchange::exchange::Handler;
use myriad_exchange::feature::{PlannedHandler, plan_handler};
use myriad_exchange::runtime::SettingsCompiler;

pub(super) static ROWS: &[Directive] = &[Directive::new(
    "dashboard",
    Contexts::LOCATION,
    between(0, 1),
    Set::Settings(dashboard),
    "Serves a page with live statistics of the server, and the read-only paths of `api` below it; only for loopback, \
         unless `allow` or a password is configured.",
)
.differs("Myriad's own; `secret_sha256=HASH` requires a secret before figures are shown")];

/// Parses `dashboard [secret_sha256=HASH]`.
fn dashboard(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let mut dashboard = PlannedDashboard::default();
    if !args.is_empty() {
        let hash = args.bytes(0).strip_prefix(b"secret_sha256=").map(ApiScope::hash);
        dashboard.secret = match hash {
            Some(Some(hash)) => Some(hash),
            Some(None) => {
                return Err(args.invalid(0, "the SHA-256 hash of the secret, as 64 hexadecimal digits"));
            }
            None => return Err(args.invalid(0, "`secret_sha256=HASH`")),
        };
    }
    settings.handler = Some(plan_handler(dashboard));
    Ok(())
}

#[derive(Debug, Default)]
struct PlannedDashboard {
    secret: Option<[u8; 32]>,
}

impl PlannedHandler for PlannedDashboard {
    fn make(&self, _: &mut dyn SettingsCompiler, prefix: &[u8]) -> Option<Box<dyn Handler>> {
        let scope = ApiScope { secret: self.secret, zone: None };
        Some(Box::new(DashboardHandler(ApiHandler::new(false, scope, prefix.into()))))
    }
}
