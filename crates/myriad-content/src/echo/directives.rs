//! Directives `echo*`, and parsers of their arguments.

use myriad_conf::registry::{
    Arguments, Contexts, Directive, ONE, Set, SetterResult, at_least, between, exactly,
};
use myriad_conf::settings::Settings;
use myriad_conf::{Diagnostic, Text};
use myriad_exchange::feature::plan_handler;

use super::command::{read_count, read_seconds};
use super::settings::{CommandConf, EchoSettings};

const PLACES: Contexts = Contexts::LOCATION.or(Contexts::LOCATION_IF);

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "echo",
        PLACES,
        at_least(0),
        Set::Settings(|settings, args| {
            let (words, newline) = words(args)?;
            push(settings, args, CommandConf::Line { words, newline })
        }),
        "Sends a line; `-n` omits the line feed.",
    )
    .repeats(),
    Directive::new(
        "echo_duplicate",
        PLACES,
        exactly(2),
        Set::Settings(duplicate),
        "Sends a text the given number of times.",
    )
    .repeats(),
    Directive::new("echo_flush", PLACES, exactly(0), Set::Nothing, "Sends the output produced so far.")
        .repeats()
        .no_effect("output before a wait or a subrequest is always sent first"),
    Directive::new("echo_sleep", PLACES, ONE, Set::Settings(sleep), "Waits the given number of seconds.")
        .repeats()
        .differs("at most ten minutes"),
    Directive::new(
        "echo_blocking_sleep",
        PLACES,
        ONE,
        Set::Settings(sleep),
        "Waits the given number of seconds.",
    )
    .repeats()
    .differs("other requests are not blocked; at most ten minutes"),
    Directive::new(
        "echo_reset_timer",
        PLACES,
        exactly(0),
        Set::Settings(|settings, args| push(settings, args, CommandConf::ResetTimer)),
        "Resets `$echo_timer_elapsed`.",
    )
    .repeats(),
    Directive::new(
        "echo_location",
        PLACES,
        between(1, 2),
        Set::Settings(location),
        "Sends the response of a subrequest to a URI of this server.",
    )
    .repeats(),
    Directive::new(
        "echo_location_async",
        PLACES,
        between(1, 2),
        Set::Settings(location),
        "Sends the response of a subrequest to a URI of this server.",
    )
    .repeats()
    .differs("subrequests run one after another"),
    Directive::new(
        "echo_exec",
        PLACES,
        between(1, 2),
        Set::Settings(|settings, args| {
            let (uri, args_of) = target(args)?;
            push(settings, args, CommandConf::Exec { uri, args: args_of })
        }),
        "Redirects internally to another URI or a named location.",
    )
    .differs("rejected after directives that produce output"),
    Directive::new("echo_status", PLACES, ONE, Set::Settings(status), "Status of the response.")
        .default("200"),
];

/// Adds a command, and sets the commands so far as the content handler of the level.
fn push(settings: &mut Settings, args: &Arguments<'_>, command: CommandConf) -> SetterResult {
    let echo = settings.feature_mut::<EchoSettings>();
    if matches!(command, CommandConf::Exec { .. }) && echo.commands.iter().any(CommandConf::answers) {
        let message = "\"echo_exec\" follows directives that produce output";
        return Err(args
            .error(0, message)
            .help("remove those directives; the target location produces the response"));
    }
    echo.commands.push(command);
    settings.handler = Some(plan_handler(echo.clone()));
    Ok(())
}

/// Parses the arguments of `echo`: returns the words after the options, and whether a line feed follows (no `-n`).
fn words(args: &Arguments<'_>) -> Result<(Vec<Text>, bool), Diagnostic> {
    let mut newline = true;
    let mut first = 0;
    while first < args.len() {
        match args.bytes(first) {
            b"-n" => newline = false,
            b"--" => {
                first += 1;
                break;
            }
            [b'-', _, ..] => {
                return Err(args.invalid(first, "-n, or -- before a text that starts with a dash"));
            }
            _ => break,
        }
        first += 1;
    }
    let words = (first..args.len()).map(|index| args.text(index)).collect::<Result<_, _>>()?;
    Ok((words, newline))
}

fn duplicate(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let (count, text) = (args.text(0)?, args.text(1)?);
    if !count.has_variables() && read_count(count.bytes()).is_none() {
        return Err(args.invalid(0, "a number"));
    }
    push(settings, args, CommandConf::Duplicate { count, text })
}

fn sleep(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let seconds = args.text(0)?;
    if !seconds.has_variables() && read_seconds(seconds.bytes()).is_none() {
        return Err(args.invalid(0, "seconds, with at most three decimal places"));
    }
    push(settings, args, CommandConf::Sleep(seconds))
}

fn location(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let (uri, args_of) = target(args)?;
    push(settings, args, CommandConf::Location { uri, args: args_of })
}

/// Parses a URI and its query arguments, which are empty if omitted.
fn target(args: &Arguments<'_>) -> Result<(Text, Text), Diagnostic> {
    let given = if args.len() > 1 { args.text(1)? } else { Text::default() };
    Ok((args.text(0)?, given))
}

fn status(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let status = u16::try_from(args.small(0, 0)?).ok().filter(|status| (200..=599).contains(status));
    let status = status.ok_or_else(|| args.invalid(0, "a status from 200 to 599"))?;
    let echo = settings.feature_mut::<EchoSettings>();
    echo.status = Some(status);
    if !echo.commands.is_empty() {
        settings.handler = Some(plan_handler(echo.clone()));
    }
    Ok(())
}
