//! Arguments of `health_check`, and the block of `match`.

use super::directive::Arguments;
use crate::diagnostic::Diagnostic;
use crate::parsed::{Node, Word};
use crate::settings::{GrpcHealth, HealthCheck};
use crate::text::Text;

/// Maximum value of `grpc_status=`: the gRPC status `UNAUTHENTICATED`.
const MOST_GRPC_STATUS: u32 = 16;

/// Returns whether an argument of `health_check` sets the HTTP request of a check or the conditions for its response.
fn is_of_http(word: &str) -> bool {
    word.starts_with("uri=") || word.starts_with("match=")
}

impl Arguments<'_> {
    /// Parses `health_check`; `of_stream` is true in `stream`, false in `http`.
    ///
    /// # Errors
    /// Returns an error for an unknown argument or an invalid value or combination.
    pub fn health_check(&self, of_stream: bool) -> Result<HealthCheck, Diagnostic> {
        let words: Vec<_> = (0..self.len()).map(|index| String::from_utf8_lossy(self.bytes(index))).collect();
        let mut check = HealthCheck {
            interval: 5000,
            jitter: 0,
            fails: 1,
            passes: 1,
            uri: Text::new(b"/", self.node.span),
            matching: None,
            mandatory: false,
            persistent: false,
            port: None,
            keepalive_time: 0,
            grpc: None,
            udp: false,
            words: words.join(" "),
            span: self.node.span,
        };
        for index in 0..self.len() {
            self.word_of_health_check(&mut check, index, of_stream)?;
        }
        if check.persistent && !check.mandatory {
            return Err(Diagnostic::error(self.node.span, "\"persistent\" requires \"mandatory\"")
                .help("write both or neither"));
        }
        if let (Some(_), Some(other)) = (&check.grpc, words.iter().find(|word| is_of_http(word))) {
            let message = format!("\"{other}\" does not apply to a gRPC health check");
            return Err(Diagnostic::error(self.node.span, message).help("remove it, or remove type=grpc"));
        }
        Ok(check)
    }

    /// Parses the argument `type=grpc`, or a `grpc_…` argument after it. Returns an error for other arguments, and for
    /// a `grpc_…` argument before `type=grpc`.
    fn word_of_grpc_health(&self, check: &mut HealthCheck, index: usize) -> Result<(), Diagnostic> {
        let word = self.bytes(index);
        if word == b"type=grpc" {
            let service = Text::new(b"", self.node.span);
            check.grpc = Some(GrpcHealth { service, status: 0 });
            return Ok(());
        }
        let Some(grpc) = &mut check.grpc else {
            return Err(self.invalid(index, "type=grpc, followed by grpc_service=NAME, grpc_status=CODE"));
        };
        if let Some(service) = word.strip_prefix(b"grpc_service=") {
            grpc.service = Text::new(service, self.words()[index].span);
        } else if word.starts_with(b"grpc_status=") {
            let status = self.small(index, 12)?;
            if !(1..=MOST_GRPC_STATUS).contains(&status) {
                return Err(self.invalid(index, "a gRPC error status from 1 to 16"));
            }
            grpc.status = status;
        } else {
            return Err(self.invalid(index, "grpc_service=NAME, grpc_status=CODE"));
        }
        Ok(())
    }

    fn word_of_health_check(
        &self,
        check: &mut HealthCheck,
        index: usize,
        of_stream: bool,
    ) -> Result<(), Diagnostic> {
        let word = self.bytes(index);
        let at_least =
            |value: u64| if value == 0 { Err(self.invalid(index, "more than 0")) } else { Ok(value) };
        let count = |skip| self.small(index, skip).and_then(|value| at_least(value.into()).map(|_| value));
        if word.starts_with(b"interval=") {
            check.interval = at_least(self.millis_after(index, 9)?)?;
        } else if word.starts_with(b"jitter=") {
            check.jitter = self.millis_after(index, 7)?;
        } else if word.starts_with(b"fails=") {
            check.fails = count(6)?;
        } else if word.starts_with(b"passes=") {
            check.passes = count(7)?;
        } else if word.starts_with(b"port=") {
            let port = u16::try_from(self.small(index, 5)?).ok().filter(|port| *port > 0);
            check.port = Some(port.ok_or_else(|| self.invalid(index, "a port: 1 to 65535"))?);
        } else if word.starts_with(b"match=") {
            check.matching = Some(Text::new(&word[6..], self.words()[index].span));
        } else if word == b"mandatory" {
            check.mandatory = true;
        } else if word == b"persistent" {
            check.persistent = true;
        } else if of_stream && word == b"udp" {
            check.udp = true;
        } else if !of_stream && word.starts_with(b"uri=/") {
            let uri = &word[4..];
            if uri.iter().any(|byte| *byte <= b' ' || *byte == 0x7f) {
                return Err(self.invalid(index, "uri=/PATH without spaces or control characters"));
            }
            check.uri = Text::new(uri, self.words()[index].span);
        } else if !of_stream && word.starts_with(b"keepalive_time=") {
            check.keepalive_time = self.millis_after(index, 15)?;
        } else if !of_stream && (word.starts_with(b"type=") || word.starts_with(b"grpc_")) {
            self.word_of_grpc_health(check, index)?;
        } else {
            let own = if of_stream { "udp" } else { "uri=/PATH, keepalive_time=, type=grpc" };
            return Err(self.invalid(
                index,
                format!("interval=, jitter=, fails=, passes=, port=, match=, mandatory, persistent, {own}"),
            ));
        }
        Ok(())
    }

    /// Returns the lines of a block. Each must have at least `words` words after its name, and no nested block.
    ///
    /// # Errors
    /// Returns an error for an invalid line.
    pub fn plain_lines(&self, words: usize) -> Result<&[Node], Diagnostic> {
        let lines = self.node.block.as_deref().unwrap_or_default();
        for line in lines {
            if line.block.is_some() || line.args.len() < words {
                let message = format!("invalid line in \"{}\"", self.directive.name);
                return Err(
                    Diagnostic::error(line.span, message).help("each line is a name, a condition and `;`")
                );
            }
        }
        Ok(lines)
    }
}

/// Parses the pattern of a line of `match`: true and the pattern for `~ PATTERN` (must match), false for `!~ PATTERN`
/// (must not match).
///
/// # Errors
/// Returns an error if the words have another form.
pub fn pattern_of_match(line: &Node, words: &[Word]) -> Result<(bool, Text), Diagnostic> {
    match words {
        [sign, pattern] if sign.text == b"~" => Ok((true, pattern.to_text())),
        [sign, pattern] if sign.text == b"!~" => Ok((false, pattern.to_text())),
        _ => {
            Err(Diagnostic::error(line.span, "a pattern must have the form ~ \"PATTERN\" or !~ \"PATTERN\""))
        }
    }
}
