//! Directive table and settings.

use myriad_conf::registry::{Arguments, Contexts, Directive, Done, FLAG, ONE, Set};
use myriad_conf::settings::Settings;
use myriad_conf::{Diagnostic, Text, set};

/// `mirror` and `mirror_request_body`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MirrorSettings {
    /// URIs in source order; empty for `off`.
    pub uris: Vec<Text>,
    /// Set if `off` is written on this level.
    is_off: bool,
    /// Set if the body is mirrored too.
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
        "A URI that requests are also asked for, without anybody to get the answer.",
    )
    .repeats()
    .default("off")
    .differs("an answer does not wait for its mirrors; a worker asks 512 at once, and does not mirror what comes beyond; before an origin they \
         wait as the last class of `origin_queue`, and count against no `origin_only` limit"),
    Directive::new(
        "mirror_request_body",
        Contexts::HSL,
        FLAG,
        set!(Feature<MirrorSettings>.flag => body),
        "Whether the body is read first, and mirrored.",
    )
    .default("on"),
];

fn mirror(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
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
    Diagnostic::error(args.node.span, "\"mirror off\" and a URI are on one level")
        .help("leave one of them out")
}
