//! Directive and settings of `post_action`.

use myriad_conf::registry::{Arguments, Contexts, Directive, ONE, Set, SetterResult};
use myriad_conf::settings::Settings;

/// Value of `post_action`: a path or a named location; empty for none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PostActionSettings(pub Vec<u8>);

myriad_conf::feature_settings!(PostActionSettings);

pub(super) static ROWS: &[Directive] = &[Directive::new(
    "post_action",
    Contexts::HSL_IF,
    ONE,
    Set::Settings(set),
    "URI of this server, or named location, that is requested after each response; the result is discarded.",
)
.differs(
    "the connection does not wait for it; it is a subrequest without access checks and without a `post_action` of \
         its own, and has the client's request body if an origin received it; each worker has at most 512 in flight, and \
         drops further ones; it is skipped if the request could not be read, or the client disconnected before the \
         response",
)];

/// Sets the target of `post_action` as written: arguments and escapes in it are not parsed, as in nginx.
fn set(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let target = args.bytes(0);
    if !matches!(target, [b'/', ..] | [b'@', _, ..]) {
        return Err(
            args.invalid(0, "an absolute path, such as \"/done\", or a named location, such as \"@done\"")
        );
    }
    settings.feature_mut::<PostActionSettings>().0 = target.to_vec();
    Ok(())
}
