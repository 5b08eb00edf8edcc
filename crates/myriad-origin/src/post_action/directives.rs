//! Directive table and settings.

use myriad_conf::registry::{Arguments, Contexts, Directive, Done, ONE, Set};
use myriad_conf::settings::Settings;

/// `post_action`: a path or a named location; empty for none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PostActionSettings(pub Vec<u8>);

myriad_conf::feature_settings!(PostActionSettings);

pub(super) static ROWS: &[Directive] = &[Directive::new(
    "post_action",
    Contexts::HSL_IF,
    ONE,
    Set::Settings(set),
    "An address of this server, or a named location, that is asked when an answer has been sent; nobody gets what it answers.",
)
.differs(
    "the connection does not wait for it; it is a subrequest, which no check of visitors judges, without a `post_action` of its own, and with the \
     visitor's body where an origin was sent that; a worker asks 512 at once, and leaves out what comes beyond; none follows a \
     request that could not be read, or whose visitor left before there was an answer",
)];

/// Sets the path verbatim: arguments and escapes are not parsed, as in nginx.
fn set(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    let target = args.bytes(0);
    if !matches!(target, [b'/', ..] | [b'@', _, ..]) {
        return Err(args
            .invalid(0, "a path from the root, such as \"/done\", or a named location, such as \"@done\""));
    }
    settings.feature_mut::<PostActionSettings>().0 = target.to_vec();
    Ok(())
}
