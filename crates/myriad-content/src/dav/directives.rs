//! Directive table.

use myriad_conf::registry::{
    Arguments, Contexts, Directive, Done, FLAG, ONE, Set, at_least, between, permissions,
};
use myriad_conf::set;
use myriad_conf::settings::Settings;
use myriad_http::{Method, MethodSet};

use super::settings::{Access, DavSettings};

const HSL: Contexts = Contexts::HSL;

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "dav_methods",
        HSL,
        at_least(1),
        Set::Settings(dav_methods),
        "By which methods clients may change files: PUT, DELETE, MKCOL, COPY, MOVE.",
    )
    .repeats()
    .default("off")
    .differs(
        "links on the way are followed as `disable_symlinks` says; a file is written beside its place and never seen half written; the \
         root itself is neither deleted, moved nor replaced (403); where the folder of a new file is not there the answer is 409, and \
         COPY with `Depth: 0` makes the folder alone (RFC 4918); https that a trusted proxy tells of is good for `Destination`",
    ),
    Directive::new(
        "create_full_put_path",
        HSL,
        FLAG,
        set!(Feature<DavSettings>.flag => full_path),
        "Whether PUT makes the folders that are missing.",
    )
    .default("off")
    .differs("32 of them at most"),
    Directive::new(
        "min_delete_depth",
        HSL,
        ONE,
        set!(Feature<DavSettings>.number => min_delete_depth),
        "How many parts a path must have at least for DELETE.",
    )
    .default("0"),
    Directive::new(
        "dav_access",
        HSL,
        between(1, 3),
        Set::Settings(dav_access),
        "Who may read and write new files and folders.",
    )
    .default("user:rw"),
];

fn dav_methods(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    let choices = [
        ("off", MethodSet::default()),
        ("PUT", MethodSet::of(&[Method::Put])),
        ("DELETE", MethodSet::of(&[Method::Delete])),
        ("MKCOL", MethodSet::of(&[Method::Mkcol])),
        ("COPY", MethodSet::of(&[Method::Copy])),
        ("MOVE", MethodSet::of(&[Method::Move])),
    ];
    let mut methods =
        if args.first { MethodSet::default() } else { settings.feature::<DavSettings>().methods };
    for index in 0..args.len() {
        methods = methods.union(args.choice(index, &choices)?);
    }
    settings.feature_mut::<DavSettings>().methods = methods;
    Ok(())
}

fn dav_access(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    settings.feature_mut::<DavSettings>().access = Access(permissions(args)?);
    Ok(())
}
