//! `stub_status`.

use super::{Arguments, Contexts, Directive, Done, Set, between};
use crate::settings::{Handler, Settings};

pub(super) static ROWS: &[Directive] = &[Directive::new(
    "stub_status",
    Contexts::SERVER.or(Contexts::LOCATION),
    between(0, 1),
    Set::Settings(stub_status),
    "Answers with counts of connections and requests.",
)];

/// What older versions of nginx wanted after the word does not count.
fn stub_status(settings: &mut Settings, _: &mut Arguments<'_>) -> Done {
    settings.handler = Some(Handler::StubStatus);
    Ok(())
}
