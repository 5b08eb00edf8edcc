//! Directives `autoindex*`.

use myriad_conf::registry::{Contexts, Directive, FLAG, ONE, Set};
use myriad_conf::set;

use super::settings::{AutoindexFormat, AutoindexSettings};

const HSL: Contexts = Contexts::HSL;

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "autoindex",
        HSL,
        FLAG,
        set!(Feature<AutoindexSettings>.flag => on),
        "Lists directories without an index file.",
    )
    .default("off"),
    Directive::new(
        "autoindex_format",
        HSL,
        ONE,
        Set::Settings(|settings, args| {
            let choices = [
                ("html", AutoindexFormat::Html),
                ("xml", AutoindexFormat::Xml),
                ("json", AutoindexFormat::Json),
                ("jsonp", AutoindexFormat::Jsonp),
            ];
            settings.feature_mut::<AutoindexSettings>().format = args.choice(0, &choices)?;
            Ok(())
        }),
        "Format of the listing.",
    )
    .default("html"),
    Directive::new(
        "autoindex_exact_size",
        HSL,
        FLAG,
        set!(Feature<AutoindexSettings>.flag => exact_size),
        "Shows exact sizes in bytes instead of rounded sizes.",
    )
    .default("on"),
    Directive::new(
        "autoindex_localtime",
        HSL,
        FLAG,
        set!(Feature<AutoindexSettings>.flag => local_time),
        "Shows times in local time instead of UTC.",
    )
    .default("off"),
];
