//! Directives `fancyindex*`, and parsers of their arguments.

use myriad_conf::registry::{
    Arguments, Contexts, Directive, FLAG, ONE, Set, SetterResult, at_least, between,
};
use myriad_conf::settings::Settings;
use myriad_conf::{Diagnostic, set};

use super::order::{SortKey, SortOrder};
use super::settings::{FancyindexSettings, PageInsert};

const HSL: Contexts = Contexts::HSL;

/// Difference from nginx's fancyindex module: the time at which inserted files are read.
const READ_EACH_TIME: &str = "a `local` file is read for each listing, so changes take effect without a reload; if the text cannot be read or \
     is longer than 1 MB, the default text is used";

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "fancyindex",
        HSL,
        FLAG,
        set!(Feature<FancyindexSettings>.flag => on),
        "Lists directories without an index file as sortable tables.",
    )
    .default("off"),
    Directive::new(
        "fancyindex_default_sort",
        HSL,
        ONE,
        Set::Settings(default_sort),
        "Default sort order: `name`, `size` or `date`, optionally with `_desc`.",
    )
    .default("name"),
    Directive::new(
        "fancyindex_case_sensitive",
        HSL,
        FLAG,
        set!(Feature<FancyindexSettings>.flag => case_sensitive),
        "Sorts uppercase letters before lowercase letters.",
    )
    .default("on"),
    Directive::new(
        "fancyindex_directories_first",
        HSL,
        FLAG,
        set!(Feature<FancyindexSettings>.flag => directories_first),
        "Lists directories before files.",
    )
    .default("on"),
    Directive::new(
        "fancyindex_exact_size",
        HSL,
        FLAG,
        set!(Feature<FancyindexSettings>.flag => exact_size),
        "Shows exact sizes in bytes instead of rounded sizes.",
    )
    .default("on"),
    Directive::new(
        "fancyindex_localtime",
        HSL,
        FLAG,
        set!(Feature<FancyindexSettings>.flag => local_time),
        "Shows times in local time instead of UTC.",
    )
    .default("off"),
    Directive::new(
        "fancyindex_time_format",
        HSL,
        ONE,
        Set::Settings(time_format),
        "Format of times, as for `strftime`.",
    )
    .default("\"%Y-%b-%d %H:%M\""),
    Directive::new(
        "fancyindex_css_href",
        HSL,
        ONE,
        set!(Feature<FancyindexSettings>.text => css),
        "URL of a style sheet.",
    )
    .default("\"\""),
    Directive::new(
        "fancyindex_header",
        HSL,
        between(1, 2),
        Set::Settings(|settings, args| {
            settings.feature_mut::<FancyindexSettings>().header = insert(args)?;
            Ok(())
        }),
        "Header of the listing: a URI (`subrequest`) or a file (`local`).",
    )
    .default("\"\"")
    .differs(READ_EACH_TIME),
    Directive::new(
        "fancyindex_footer",
        HSL,
        between(1, 2),
        Set::Settings(|settings, args| {
            settings.feature_mut::<FancyindexSettings>().footer = insert(args)?;
            Ok(())
        }),
        "Footer of the listing: a URI (`subrequest`) or a file (`local`).",
    )
    .default("\"\"")
    .differs(READ_EACH_TIME),
    Directive::new(
        "fancyindex_show_path",
        HSL,
        FLAG,
        Set::Settings(show_path),
        "Adds the directory's path and the end of the heading after the header.",
    )
    .default("on"),
    Directive::new(
        "fancyindex_ignore",
        HSL,
        at_least(1),
        Set::Settings(ignore),
        "Hides names that match a regex (case-insensitive).",
    )
    .repeats(),
    Directive::new(
        "fancyindex_hide_symlinks",
        HSL,
        FLAG,
        set!(Feature<FancyindexSettings>.flag => hide_links),
        "Hides symbolic links.",
    )
    .default("off"),
    Directive::new(
        "fancyindex_hide_parent_dir",
        HSL,
        FLAG,
        set!(Feature<FancyindexSettings>.flag => hide_parent),
        "Hides the link to the parent directory.",
    )
    .default("off"),
    Directive::new(
        "fancyindex_show_dotfiles",
        HSL,
        FLAG,
        set!(Feature<FancyindexSettings>.flag => show_hidden),
        "Shows names that start with a dot.",
    )
    .default("off"),
    Directive::new("fancyindex_name_length", HSL, ONE, Set::Nothing, "Maximum length of displayed names, in characters.")
        .no_effect("the page shortens names to the width of their column, as the module does since it removed the directive"),
];

fn default_sort(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let choices = [
        ("name", SortOrder::new(SortKey::Name, false)),
        ("size", SortOrder::new(SortKey::Size, false)),
        ("date", SortOrder::new(SortKey::Date, false)),
        ("name_desc", SortOrder::new(SortKey::Name, true)),
        ("size_desc", SortOrder::new(SortKey::Size, true)),
        ("date_desc", SortOrder::new(SortKey::Date, true)),
    ];
    settings.feature_mut::<FancyindexSettings>().order = args.choice(0, &choices)?;
    Ok(())
}

/// Maximum length of `fancyindex_time_format`, in bytes: each entry of a listing has a date.
const LONGEST_FORMAT: usize = 256;

fn time_format(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let format = args.text(0)?;
    if format.bytes().len() > LONGEST_FORMAT {
        let message = format!("\"fancyindex_time_format\" is longer than {LONGEST_FORMAT} bytes");
        return Err(args.error(0, message));
    }
    settings.feature_mut::<FancyindexSettings>().time_format = format;
    Ok(())
}

/// Parses the arguments of `fancyindex_header` or `fancyindex_footer`; an empty path selects the default text.
fn insert(args: &Arguments<'_>) -> Result<PageInsert, Diagnostic> {
    let path = args.text(0)?;
    let local = args.len() > 1 && args.choice(1, &[("subrequest", false), ("local", true)])?;
    Ok(match (path.is_empty(), local) {
        (true, _) => PageInsert::BuiltIn,
        (false, true) => PageInsert::Local(path),
        (false, false) => PageInsert::Subrequest(path),
    })
}

fn show_path(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let fancyindex = settings.feature_mut::<FancyindexSettings>();
    fancyindex.show_path = args.flag(0)?;
    fancyindex.show_path_at = args.node.span;
    Ok(())
}

fn ignore(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let patterns = (0..args.len()).map(|index| args.text(index)).collect::<Result<Vec<_>, _>>()?;
    let ignore = &mut settings.feature_mut::<FancyindexSettings>().ignore;
    if args.first {
        ignore.clear();
    }
    ignore.extend(patterns);
    Ok(())
}
