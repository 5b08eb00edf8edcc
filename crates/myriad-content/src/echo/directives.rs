//! Directive table.

use myriad_conf::registry::{Arguments, Contexts, Directive, Done, ONE, Set, at_least, between, exactly};
use myriad_conf::settings::Settings;
use myriad_conf::{Diagnostic, Text};
use myriad_exchange::feature::planned;

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
        "Sends a line; `-n` leaves its end out.",
    )
    .repeats(),
    Directive::new(
        "echo_duplicate",
        PLACES,
        exactly(2),
        Set::Settings(duplicate),
        "Sends a text so many times.",
    )
    .repeats(),
    Directive::new("echo_flush", PLACES, exactly(0), Set::Nothing, "Sends what has been made so far.")
        .repeats()
        .no_effect("what stands before a wait or a subrequest is sent before it"),
    Directive::new("echo_sleep", PLACES, ONE, Set::Settings(sleep), "Waits so many seconds.")
        .repeats()
        .differs("for ten minutes at most"),
    Directive::new("echo_blocking_sleep", PLACES, ONE, Set::Settings(sleep), "Waits so many seconds.")
        .repeats()
        .differs("it blocks nobody else, and waits for ten minutes at most"),
    Directive::new(
        "echo_reset_timer",
        PLACES,
        exactly(0),
        Set::Settings(|settings, args| push(settings, args, CommandConf::ResetTimer)),
        "Starts `$echo_timer_elapsed` anew.",
    )
    .repeats(),
    Directive::new(
        "echo_location",
        PLACES,
        between(1, 2),
        Set::Settings(location),
        "Sends what a URI of this server is answered with.",
    )
    .repeats(),
    Directive::new(
        "echo_location_async",
        PLACES,
        between(1, 2),
        Set::Settings(location),
        "Sends what a URI of this server is answered with.",
    )
    .repeats()
    .differs("one subrequest is over before the next begins"),
    Directive::new(
        "echo_exec",
        PLACES,
        between(1, 2),
        Set::Settings(|settings, args| {
            let (uri, args_of) = target(args)?;
            push(settings, args, CommandConf::Exec { uri, args: args_of })
        }),
        "Goes on with another URI, or in a named location.",
    )
    .differs("refused behind what begins an answer"),
    Directive::new("echo_status", PLACES, ONE, Set::Settings(status), "The status of the answer.")
        .default("200"),
];

/// Adds a command, and sets the commands so far as the content of the level.
fn push(settings: &mut Settings, args: &Arguments<'_>, command: CommandConf) -> Done {
    let echo = settings.feature_mut::<EchoSettings>();
    if matches!(command, CommandConf::Exec { .. }) && echo.commands.iter().any(CommandConf::answers) {
        let message = "\"echo_exec\" stands behind directives that begin an answer";
        return Err(args.error(0, message).help("leave those out: the place that it names makes the answer"));
    }
    echo.commands.push(command);
    settings.handler = Some(planned(echo.clone()));
    Ok(())
}

/// Parses the words of a line after its options, and returns whether a line feed follows.
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
                return Err(args.invalid(first, "-n, or -- before a text that begins with a dash"));
            }
            _ => break,
        }
        first += 1;
    }
    let words = (first..args.len()).map(|index| args.text(index)).collect::<Result<_, _>>()?;
    Ok((words, newline))
}

fn duplicate(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    let (count, text) = (args.text(0)?, args.text(1)?);
    if !count.has_variables() && read_count(count.bytes()).is_none() {
        return Err(args.invalid(0, "a number"));
    }
    push(settings, args, CommandConf::Duplicate { count, text })
}

fn sleep(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    let seconds = args.text(0)?;
    if !seconds.has_variables() && read_seconds(seconds.bytes()).is_none() {
        return Err(args.invalid(0, "seconds, with three digits behind the point at most"));
    }
    push(settings, args, CommandConf::Sleep(seconds))
}

fn location(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    let (uri, args_of) = target(args)?;
    push(settings, args, CommandConf::Location { uri, args: args_of })
}

/// Parses a URI and its arguments.
fn target(args: &Arguments<'_>) -> Result<(Text, Text), Diagnostic> {
    let given = if args.len() > 1 { args.text(1)? } else { Text::default() };
    Ok((args.text(0)?, given))
}

fn status(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    let status = u16::try_from(args.small(0, 0)?).ok().filter(|status| (200..=599).contains(status));
    let status = status.ok_or_else(|| args.invalid(0, "a status from 200 to 599"))?;
    let echo = settings.feature_mut::<EchoSettings>();
    echo.status = Some(status);
    if !echo.commands.is_empty() {
        settings.handler = Some(planned(echo.clone()));
    }
    Ok(())
}
