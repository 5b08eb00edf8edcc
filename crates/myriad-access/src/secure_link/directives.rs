//! Rows of the directives.

use myriad_conf::registry::{Contexts, Directive, ONE, Set};

use super::settings::LinkSettings;

/// Directives. The older form (`secure_link_secret`) and the newer form exclude each other, and the form of a level
/// replaces the form of the outer level.
pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "secure_link",
        Contexts::HSL,
        ONE,
        Set::Settings(|settings, args| {
            let said = settings.feature_mut::<LinkSettings>();
            (said.link, said.secret) = (Some(args.text(0)?), None);
            Ok(())
        }),
        "What a link says of itself: an MD5 digest in base64url, and behind a comma when it expires, seconds since 1970.",
    )
    .group("secure_link and secure_link_secret"),
    Directive::new(
        "secure_link_md5",
        Contexts::HSL,
        ONE,
        Set::Settings(|settings, args| {
            let said = settings.feature_mut::<LinkSettings>();
            (said.digested, said.secret) = (Some(args.text(0)?), None);
            Ok(())
        }),
        "The text whose MD5 digest the link must say; a secret belongs to it.",
    ),
    Directive::new(
        "secure_link_secret",
        Contexts::HSL,
        ONE,
        Set::Settings(|settings, args| {
            let said = settings.feature_mut::<LinkSettings>();
            (said.link, said.digested, said.secret) = (None, None, Some(args.text(0)?));
            Ok(())
        }),
        "The secret of links `/prefix/DIGEST/link`, of which the digest is that of the link as it is sent, arguments and all, and the secret.",
    )
    .group("secure_link and secure_link_secret"),
];
