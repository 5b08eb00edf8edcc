//! Compiled `echo*` commands of a location.

use myriad_base::digits::decimal;
use myriad_conf::Text;
use myriad_exchange::exchange::Exchange;
use myriad_exchange::runtime::SettingsCompiler;
use myriad_log::LogLevel;
use myriad_script::Template;

use super::settings::CommandConf;

/// Maximum delay of `echo_sleep`, in milliseconds; a longer one is shortened.
const LONGEST_MS: u64 = 600_000;

/// One `echo*` command of a location ([`CommandConf`]) with compiled texts.
pub(super) enum EchoCommand {
    /// `echo`: words, which are separated by blanks; the flag is set if a line feed follows.
    Line(Vec<Template>, bool),
    Duplicate(Template, Template),
    Sleep(Template),
    ResetTimer,
    Location(Template, Template),
    Exec(Template, Template),
}

/// Error: an `echo*` command failed for this request. An invalid value has been logged.
pub(super) struct CommandFailed;

impl EchoCommand {
    pub(super) fn compile(conf: &CommandConf, compiler: &mut dyn SettingsCompiler) -> Self {
        let mut text = |text: &Text| compiler.origin_template(text);
        match conf {
            CommandConf::Line { words, newline } => Self::Line(words.iter().map(text).collect(), *newline),
            CommandConf::Duplicate { count, text: repeated } => Self::Duplicate(text(count), text(repeated)),
            CommandConf::Sleep(seconds) => Self::Sleep(text(seconds)),
            CommandConf::ResetTimer => Self::ResetTimer,
            CommandConf::Location { uri, args } => Self::Location(text(uri), text(args)),
            CommandConf::Exec { uri, args } => Self::Exec(text(uri), text(args)),
        }
    }
}

/// Evaluates `text` for the request and returns its value. An error is logged.
pub(super) fn value(exchange: &mut Exchange, text: &Template) -> Result<Vec<u8>, CommandFailed> {
    let mut value = Vec::new();
    let Exchange { request, frame } = exchange;
    match text.eval(&*request, frame, &mut value) {
        Ok(()) => Ok(value),
        Err(error) => {
            request.log(LogLevel::Error, format_args!("{error}"));
            Err(CommandFailed)
        }
    }
}

/// Appends the words, separated by blanks, and a line feed if `newline` is set.
pub(super) fn line(
    exchange: &mut Exchange,
    words: &[Template],
    newline: bool,
    out: &mut Vec<u8>,
) -> Result<(), CommandFailed> {
    for (index, word) in words.iter().enumerate() {
        if index > 0 {
            out.push(b' ');
        }
        out.extend_from_slice(&value(exchange, word)?);
    }
    if newline {
        out.push(b'\n');
    }
    Ok(())
}

/// Evaluates a delay in seconds, and returns it in milliseconds, at most [`LONGEST_MS`].
pub(super) fn duration_ms(exchange: &mut Exchange, seconds: &Template) -> Result<u64, CommandFailed> {
    let text = value(exchange, seconds)?;
    read_seconds(&text).map(|ms| ms.min(LONGEST_MS)).ok_or_else(|| {
        let text = text.escape_ascii();
        exchange.request.log(LogLevel::Error, format_args!("invalid sleep duration \"{text}\""));
        CommandFailed
    })
}

/// Evaluates a number of repetitions; `_` between its digits is ignored. Logs an invalid number.
pub(super) fn count(exchange: &mut Exchange, count: &Template) -> Result<u64, CommandFailed> {
    let text = value(exchange, count)?;
    read_count(&text).ok_or_else(|| {
        let text = text.escape_ascii();
        exchange
            .request
            .log(LogLevel::Error, format_args!("invalid count in \"echo_duplicate\": \"{text}\""));
        CommandFailed
    })
}

/// Parses seconds with at most three decimals, and returns milliseconds; `None` if it is invalid.
pub(super) fn read_seconds(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    if whole.len() + part.len() == 0 || part.len() > 3 {
        return None;
    }
    let whole: u64 = if whole.is_empty() { 0 } else { decimal(whole)? };
    whole.checked_mul(1000)?.checked_add(decimal(format!("{part:0<3}"))?)
}

pub(super) fn read_count(text: &[u8]) -> Option<u64> {
    let digits: Vec<u8> = text.iter().copied().filter(|byte| *byte != b'_').collect();
    decimal(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_times_are_seconds_with_up_to_three_decimals() {
        let read = |text: &str| read_seconds(text.as_bytes());
        assert_eq!(
            [read("1"), read("1.5"), read(".25"), read("0.001")],
            [Some(1000), Some(1500), Some(250), Some(1)]
        );
        for wrong in ["", ".", "1.0001", "-1", "1s", "1e3", "99999999999999999999"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn counts_may_be_grouped() {
        assert_eq!(read_count(b"1000_000"), Some(1_000_000));
        assert_eq!(read_count(b"0"), Some(0));
        for wrong in ["", "_", "-1", "+1", "1k"] {
            assert_eq!(read_count(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
