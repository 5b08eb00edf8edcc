//! Directives and settings of `mirror`.

use myriad_conf::registry::{Arguments, Contexts, Directive, FLAG, ONE, Set, SetterResult};
use myriad_conf::settings::Settings;
use myriad_conf::{Diagnostic, Text, set};

/// Settings of `mirror` and `mirror_request_body`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MirrorSettings {
    /// URIs to which requests are mirrored, in configuration order; empty for `off`.
    pub uris: Vec<Text>,
    /// True if `mirror off` is written on this configuration level.
    is_off: bool,
    /// True if the request body is mirrored too (`mirror_request_body`).
    pub body: bool,
}

impl Default for MirrorSettings {
    fn default() -> Self {
        Self { uris: Vec::new(), is_off: false, body: true }
    }
}

myriad_conf::feature_settings!(MirrorSettings);

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "mirror",
        Contexts::HSL,
        ONE,
        Set::Settings(mirror),
        "URI that receives a copy of each request; its response is discarded.",
    )
    .repeats()
    .default("off")
    .differs("a response does not wait for mirrored requests; each worker has at most 512 of them in flight, and drops \
         further ones; they have the lowest priority in `origin_queue`, and are not counted by `origin_only` limits"),
    Directive::new(
        "mirror_request_body",
        Contexts::HSL,
        FLAG,
        set!(Feature<MirrorSettings>.flag => body),
        "Reads the request body first, and mirrors it.",
    )
    .default("on"),
];

fn mirror(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let uri = args.text(0)?;
    let settings = settings.feature_mut::<MirrorSettings>();
    if args.first {
        settings.uris.clear();
        settings.is_off = false;
    }
    if uri.bytes() == b"off" {
        if !settings.uris.is_empty() {
            return Err(both(args));
        }
        settings.is_off = true;
        return Ok(());
    }
    if settings.is_off {
        return Err(both(args));
    }
    settings.uris.push(uri);
    Ok(())
}

fn both(args: &Arguments<'_>) -> Diagnostic {
    Diagnostic::error(args.node.span, "\"mirror off\" and a URI must not be on the same level")
        .help("remove one of them")
}
