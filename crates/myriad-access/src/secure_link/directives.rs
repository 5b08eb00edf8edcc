//! Directives `secure_link*`.

use myriad_conf::registry::{Contexts, Directive, ONE, Set};

use super::settings::LinkSettings;

/// Directives. `secure_link_secret` and the pair `secure_link`, `secure_link_md5` exclude each other; the form used on
/// a level replaces the form of the outer level.
pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "secure_link",
        Contexts::HSL,
        ONE,
        Set::Settings(|settings, args| {
            let link_settings = settings.feature_mut::<LinkSettings>();
            (link_settings.link, link_settings.secret) = (Some(args.text(0)?), None);
            Ok(())
        }),
        "Text with the digest and the expiry of a link: an MD5 digest in base64url, optionally followed by a comma and \
             seconds since 1970.",
    )
    .group("secure_link and secure_link_secret"),
    Directive::new(
        "secure_link_md5",
        Contexts::HSL,
        ONE,
        Set::Settings(|settings, args| {
            let link_settings = settings.feature_mut::<LinkSettings>();
            (link_settings.digested, link_settings.secret) = (Some(args.text(0)?), None);
            Ok(())
        }),
        "Text whose MD5 digest must match that of the link; it should contain a secret.",
    ),
    Directive::new(
        "secure_link_secret",
        Contexts::HSL,
        ONE,
        Set::Settings(|settings, args| {
            let link_settings = settings.feature_mut::<LinkSettings>();
            (link_settings.link, link_settings.digested, link_settings.secret) = (None, None, Some(args.text(0)?));
            Ok(())
        }),
        "Secret for links of the form `/prefix/DIGEST/link`; the digest is that of the link as received (with \
             arguments), followed by the secret.",
    )
    .group("secure_link and secure_link_secret"),
];
