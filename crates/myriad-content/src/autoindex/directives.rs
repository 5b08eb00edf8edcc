//! Directive table.

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
        "Lists folders that have no index.",
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
        "What a list looks like.",
    )
    .default("html"),
    Directive::new(
        "autoindex_exact_size",
        HSL,
        FLAG,
        set!(Feature<AutoindexSettings>.flag => exact_size),
        "Whether sizes are shown in bytes rather than rounded.",
    )
    .default("on"),
    Directive::new(
        "autoindex_localtime",
        HSL,
        FLAG,
        set!(Feature<AutoindexSettings>.flag => local_time),
        "Whether times are local rather than UTC.",
    )
    .default("off"),
];
