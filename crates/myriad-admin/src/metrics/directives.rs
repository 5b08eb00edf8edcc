//! Directive `metrics`.

use myriad_conf::registry::{Contexts, Directive, Set, exactly};

use super::handler::MetricsHandler;
use myriad_exchange::exchange::Handler;
use myriad_exchange::feature::{PlannedHandler, plan_handler};
use myriad_exchange::runtime::SettingsCompiler;

pub(super) static ROWS: &[Directive] = &[Directive::new(
    "metrics",
    Contexts::LOCATION,
    exactly(0),
    Set::Settings(|settings, _| {
        settings.handler = Some(plan_handler(MetricsHandler));
        Ok(())
    }),
    "Serves all metrics in the Prometheus format; only for loopback, unless `allow` and `deny` or a password are \
         configured.",
)
.own()];

impl PlannedHandler for MetricsHandler {
    fn make(&self, _: &mut dyn SettingsCompiler, _: &[u8]) -> Option<Box<dyn Handler>> {
        Some(Box::new(Self))
    }
}
