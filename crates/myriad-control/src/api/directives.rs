//! The directive.

use myriad_conf::registry::{Arguments, Contexts, Directive, Done, Set, between};
use myriad_conf::settings::Settings;

use super::handler::ApiHandler;
use myriad_exchange::exchange::Handler;
use myriad_exchange::feature::{PlannedHandler, planned};
use myriad_exchange::runtime::SettingsCompiler;

pub(super) static ROWS: &[Directive] = &[Directive::new(
    "api",
    Contexts::LOCATION,
    between(0, 1),
    Set::Settings(api),
    "Answers about the cache zones and groups of servers, and changes them with `write=on`, as JSON.",
)
.differs("Myriad's own paths: `cache`, `cache/pages`, `cache/page`, `purge`, `upstreams`")];

/// `api [write=on|off]`.
fn api(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    let write =
        if args.is_empty() { false } else { args.choice(0, &[("write=on", true), ("write=off", false)])? };
    settings.handler = Some(planned(Api { write }));
    Ok(())
}

#[derive(Debug)]
struct Api {
    write: bool,
}

impl PlannedHandler for Api {
    fn make(&self, _: &mut dyn SettingsCompiler, prefix: &[u8]) -> Option<Box<dyn Handler>> {
        Some(Box::new(ApiHandler { write: self.write, prefix: prefix.into() }))
    }
}
