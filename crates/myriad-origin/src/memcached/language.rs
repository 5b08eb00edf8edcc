//! Configuration language of memcached: `memcached_*`.

use myriad_conf::Diagnostic;
use myriad_conf::registry::{
    Arguments, Contexts, Directive, DirectiveFamily, FamilyRow, ONE, ProtocolLanguage, Set, pass,
};
use myriad_conf::settings::{Protocol, ProtocolFacts};

pub(super) const MEMCACHED: Protocol = Protocol::new(&ProtocolFacts {
    prefix: "memcached_",
    // Directives that would have no effect, because a request contains only the key. nginx does not have them either.
    lacks: &[
        "busy_buffers_size",
        "pass_request_body",
        "pass_request_headers",
        "request_buffering",
        "send_lowat",
        "socket_rcvbuf",
        "socket_sndbuf",
        "temp_file_write_size",
        "temp_path",
    ],
    own: &[
        "buffering",
        "buffers",
        "cache",
        "force_ranges",
        "hide_header",
        "ignore_client_abort",
        "ignore_headers",
        "intercept_errors",
        "limit_rate",
        "max_temp_file_size",
        "no_cache",
        "pass_header",
        "store",
    ],
    ..ProtocolFacts::ENVIRONMENT
});

pub(super) const LANGUAGE: ProtocolLanguage = ProtocolLanguage::new(MEMCACHED, FAMILIES);

/// Bit mask in the flags of a memcached value that marks it as compressed (`memcached_gzip_flag`); 0 if no value is
/// compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct GzipFlag(pub u32);

myriad_conf::feature_settings!(GzipFlag);

static FAMILIES: &[DirectiveFamily] = &[DirectiveFamily::new("origin", OWN).and_of_origins(ROWS)];

static OWN: &[Directive] = &[Directive::new(
    "memcached_gzip_flag",
    Contexts::HSL,
    ONE,
    Set::Settings(|settings, args| {
        *settings.feature_mut() = GzipFlag(flag(args)?);
        Ok(())
    }),
    "Flag that marks gzip-compressed values.",
)];

static ROWS: &[FamilyRow] =
    &[FamilyRow::new(pass("Reads the response from a memcached server, with the key `$memcached_key`."))];

fn flag(args: &mut Arguments<'_>) -> Result<u32, Diagnostic> {
    u32::try_from(args.number(0)?).map_err(|_| args.invalid(0, "a number from 0 to 4294967295"))
}
