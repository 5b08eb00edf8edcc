//! Directives specific to FastCGI.

use myriad_conf::registry::{
    Arguments, Arity, Contexts, Directive, FLAG, FamilyRow, ONE, PARAM, Set, SetterResult, pass,
};
use myriad_conf::set;
use myriad_conf::settings::OriginSettings;

use super::settings::FastCgiSettings;

const fn row(name: &'static str, arity: Arity, set: Set, doc: &'static str) -> Directive {
    Directive::new(name, Contexts::HSL, arity, set, doc)
}

pub(super) static ROWS: &[FamilyRow] = &[
    FamilyRow::new(pass("Passes requests to a FastCGI server.")),
    PARAM,
    FamilyRow::new(row(
        "index",
        ONE,
        set!(Own<FastCgiSettings>.text => Some index),
        "File name appended to a script name that ends with a slash.",
    )),
    FamilyRow::new(
        row(
            "split_path_info",
            ONE,
            set!(Own<FastCgiSettings>.text => Some split_path_info),
            "Regular expression that separates script name and path info.",
        )
        .repeats(),
    ),
    FamilyRow::new(
        row(
            "catch_stderr",
            ONE,
            Set::Origin(catch_stderr),
            "Text in stderr that makes a response invalid.",
        )
        .repeats(),
    ),
    FamilyRow::new(
        row(
            "keep_conn",
            FLAG,
            set!(Own<FastCgiSettings>.flag => keep_conn),
            "Keeps connections to the FastCGI server open after a request.",
        )
        .default("off")
        .differs("one pool of idle connections for the whole process, each idle for at most one second, at most half as many as \
             php-fpm has children"),
    ),
];

fn catch_stderr(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> SetterResult {
    let words = &mut origin.own_mut::<FastCgiSettings>().catch_stderr;
    args.start(words);
    words.push(args.text(0)?);
    Ok(())
}
