//! Execution of the SSI commands of a page, in order.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use bytes::Bytes;

use crate::ssi::command::{IncludeTarget, SsiCommand, SsiCommandKind, read};
use crate::ssi::encode::SsiEncoding;
use crate::ssi::expression::holds;
use crate::ssi::parser::{Directive, PageElement, Parser};
use crate::ssi::shared::{PageEnvironment, SsiState};
use crate::ssi::text::evaluate;

/// Number of bytes of output after which [`SsiPage::push`] returns, so that the caller can send it.
const WINDOW: usize = 64 << 10;
/// Default of `timefmt` of the SSI command `config`, as in nginx.
const TIME_FORMAT: &[u8] = b"%A, %d-%b-%Y %H:%M:%S %Z";
/// Default of `errmsg` of the SSI command `config`, as in nginx.
const ERROR_MESSAGE: &[u8] = b"[an error occurred while processing the directive]";

/// Settings for the SSI commands of a page.
#[derive(Clone, Copy, Debug)]
pub struct SsiRules {
    /// `ssi_value_length`: maximum length of a parameter's value, in bytes.
    pub value_length: usize,
    /// `ssi_silent_errors`: a failed command writes no error message.
    pub silent_errors: bool,
}

/// SSI include: response that must be fetched, at the current position of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SsiInclude {
    /// URI from the root, with its arguments; not decoded or checked. Empty if the command had an empty URI.
    pub uri: Vec<u8>,
    /// True if the rest of the page must not be processed before the response is complete.
    pub wait: bool,
    /// Use of the included response.
    pub then: IncludeUse,
}

/// Use of an included response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IncludeUse {
    /// Insert the response.
    Show,
    /// Insert the response, or this text if the response has no body.
    Stub(Bytes),
    /// Assign the response to the variable with this name (in lower case).
    Set(Vec<u8>),
}

/// Position relative to an `if` command: outside, in an `if` or `elif` branch (`elif`, `else` or `endif` may follow),
/// or in `else` (only `endif` may follow).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IfPosition {
    Outside,
    If,
    Else,
}

/// State of the execution of the SSI commands in a page.
pub struct SsiPage {
    parser: Parser,
    shared: Rc<RefCell<SsiState>>,
    silent_errors: bool,
    conditional: IfPosition,
    /// True if a branch of the current `if` has been executed, so that later branches are skipped.
    chosen: bool,
    /// Set if text is written to the output: outside of a `block` and of branches of `if` that are not taken.
    output: bool,
    /// True inside of a `block`: text and commands are stored instead of being written or executed.
    block: bool,
    encoding: SsiEncoding,
    error_message: Vec<u8>,
    time_format: Vec<u8>,
}

/// Error of an SSI command, with a text for the error log.
struct CommandError(String);

impl SsiPage {
    /// Creates the state at the start of a page. `shared` is the state that all pages of a request share.
    pub fn new(rules: SsiRules, shared: Rc<RefCell<SsiState>>) -> Self {
        Self {
            parser: Parser::new(rules.value_length),
            shared,
            silent_errors: rules.silent_errors,
            conditional: IfPosition::Outside,
            chosen: false,
            output: true,
            block: false,
            encoding: SsiEncoding::default(),
            error_message: ERROR_MESSAGE.to_vec(),
            time_format: TIME_FORMAT.to_vec(),
        }
    }

    /// Processes `input`, removes the processed bytes from it, and appends text to `out`. Returns an include to fetch,
    /// or `None` if `input` is consumed or `out` has reached 64 KB.
    pub fn push(
        &mut self,
        input: &mut &[u8],
        around: &mut dyn PageEnvironment,
        out: &mut Vec<u8>,
    ) -> Option<SsiInclude> {
        while out.len() < WINDOW {
            match self.parser.next(input)? {
                PageElement::Text(text) => self.text(text, around, out),
                PageElement::Malformed(reason) => {
                    around.log(format_args!("{reason}"));
                    self.failed(out);
                }
                PageElement::Directive(directive) => match self.run_directive(&directive, around, out) {
                    Ok(Some(include)) => return Some(include),
                    Ok(None) => {}
                    Err(CommandError(reason)) => {
                        around.log(format_args!("{reason}"));
                        self.failed(out);
                    }
                },
            }
        }
        None
    }

    /// Finishes the page, and appends its remaining text.
    pub fn finish(&mut self, around: &mut dyn PageEnvironment, out: &mut Vec<u8>) {
        let rest = self.parser.finish();
        self.text(rest, around, out);
    }

    /// Appends the error message for a failed command, or for an [`SsiInclude`] that cannot be fetched, unless
    /// `ssi_silent_errors` is on.
    pub fn failed(&self, out: &mut Vec<u8>) {
        if !self.silent_errors {
            out.extend_from_slice(&self.error_message);
        }
    }

    fn text(&mut self, text: &[u8], around: &mut dyn PageEnvironment, out: &mut Vec<u8>) {
        if self.output {
            out.extend_from_slice(text);
        } else if self.block {
            self.store_in_block(text, around);
        }
    }

    fn store_in_block(&mut self, text: &[u8], around: &mut dyn PageEnvironment) {
        if self.shared.borrow_mut().push_block(text).is_err() {
            around.log(format_args!("no room for an SSI block"));
        }
    }

    fn run_directive(
        &mut self,
        directive: &Directive,
        around: &mut dyn PageEnvironment,
        out: &mut Vec<u8>,
    ) -> Result<Option<SsiInclude>, CommandError> {
        let shown = || String::from_utf8_lossy(&directive.name);
        let Some(kind) = SsiCommandKind::named(&directive.name) else {
            return if self.output {
                Err(CommandError(format!("invalid SSI command: \"{}\"", shown())))
            } else {
                Ok(None)
            };
        };
        let conditional = matches!(kind, SsiCommandKind::Elif | SsiCommandKind::Else | SsiCommandKind::Endif);
        if !self.output && kind != SsiCommandKind::Endblock {
            if self.block {
                self.store_in_block(&directive_text(directive), around);
                return Ok(None);
            }
            if !conditional {
                return Ok(None);
            }
        }
        let misplaced = match kind {
            SsiCommandKind::Elif | SsiCommandKind::Else => self.conditional != IfPosition::If,
            SsiCommandKind::Endif => self.conditional == IfPosition::Outside,
            _ => false,
        };
        if misplaced {
            return Err(CommandError(format!("invalid context of SSI command: \"{}\"", shown())));
        }
        let command = read(kind, directive).map_err(CommandError)?;
        self.run(command, around, out)
    }

    fn run(
        &mut self,
        command: SsiCommand,
        around: &mut dyn PageEnvironment,
        out: &mut Vec<u8>,
    ) -> Result<Option<SsiInclude>, CommandError> {
        match command {
            SsiCommand::Include { location, wait, set, stub } => {
                return self.include(&location, wait, set, stub, around).map(Some);
            }
            SsiCommand::Echo { variable, default, encoding } => {
                self.echo(&variable, default, encoding.as_deref(), around, out);
            }
            SsiCommand::Config { error_message, time_format } => {
                self.time_format = time_format.unwrap_or(std::mem::take(&mut self.time_format));
                self.error_message = error_message.unwrap_or(std::mem::take(&mut self.error_message));
            }
            SsiCommand::Set { variable, value } => {
                let value = self.evaluate(&value, around)?;
                let assigned = self.shared.borrow_mut().assign(&variable, &value);
                assigned.map_err(|_| CommandError("no room for an SSI variable".to_owned()))?;
            }
            SsiCommand::If(_) if self.conditional != IfPosition::Outside => {
                return Err(CommandError("the \"if\" command inside the \"if\" command".to_owned()));
            }
            SsiCommand::If(expression) | SsiCommand::Elif(expression) => self.branch(&expression, around)?,
            SsiCommand::Else => {
                self.output = !self.chosen;
                self.conditional = IfPosition::Else;
            }
            SsiCommand::Endif => {
                self.output = true;
                self.chosen = false;
                self.conditional = IfPosition::Outside;
            }
            SsiCommand::Block(name) => {
                let begun = self.shared.borrow_mut().begin_block(&name);
                begun.map_err(|_| CommandError("no room for an SSI block".to_owned()))?;
                self.output = false;
                self.block = true;
            }
            SsiCommand::Endblock => {
                self.output = true;
                self.block = false;
            }
        }
        Ok(None)
    }

    fn branch(&mut self, expression: &[u8], around: &mut dyn PageEnvironment) -> Result<(), CommandError> {
        if self.chosen {
            self.output = false;
            return Ok(());
        }
        let shared = &mut self.shared.borrow_mut();
        self.output = holds(expression, shared, around, &self.time_format).map_err(CommandError)?;
        self.chosen = self.output;
        self.conditional = IfPosition::If;
        Ok(())
    }

    fn echo(
        &mut self,
        variable: &[u8],
        default: Option<Vec<u8>>,
        encoding: Option<&[u8]>,
        around: &mut dyn PageEnvironment,
        out: &mut Vec<u8>,
    ) {
        let name = variable.to_ascii_lowercase();
        let own = self.shared.borrow().get(&name).map(<[u8]>::to_vec);
        let value = own.or_else(|| around.variable(&name, &self.time_format));
        let value = value.or(default).unwrap_or_else(|| b"(none)".to_vec());
        if value.is_empty() {
            return;
        }
        match encoding.map(SsiEncoding::named) {
            Some(Some(encoding)) => self.encoding = encoding,
            Some(None) => around.log(format_args!("unknown encoding in the \"echo\" SSI command")),
            None => {}
        }
        self.encoding.write(&value, out);
    }

    fn include(
        &self,
        location: &IncludeTarget,
        wait: bool,
        set: Option<Vec<u8>>,
        stub: Option<Vec<u8>>,
        around: &mut dyn PageEnvironment,
    ) -> Result<SsiInclude, CommandError> {
        let (IncludeTarget::Virtual(written) | IncludeTarget::File(written)) = location;
        let mut uri = self.evaluate(written, around)?;
        if !uri.is_empty() && !uri.starts_with(b"/") {
            let page = around.uri();
            let folder = page.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
            uri.splice(..0, page[..folder].iter().copied());
        }
        let then = match (set, stub) {
            (Some(variable), _) => IncludeUse::Set(variable.to_ascii_lowercase()),
            (None, Some(name)) => {
                let block = self.shared.borrow().block(&name);
                let missing = || {
                    let name = String::from_utf8_lossy(&name);
                    CommandError(format!("\"stub\"=\"{name}\" for \"include\" not found"))
                };
                IncludeUse::Stub(block.ok_or_else(missing)?)
            }
            (None, None) => IncludeUse::Show,
        };
        Ok(SsiInclude { uri, wait: wait || matches!(then, IncludeUse::Set(_)), then })
    }

    fn evaluate(&self, text: &[u8], around: &mut dyn PageEnvironment) -> Result<Vec<u8>, CommandError> {
        evaluate(text, &self.shared.borrow(), around, &self.time_format).map_err(CommandError)
    }
}

impl fmt::Debug for SsiPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SsiPage").field("parser", &self.parser).finish_non_exhaustive()
    }
}

/// Returns a command as text, to store it in a block.
fn directive_text(directive: &Directive) -> Vec<u8> {
    let mut text = b"<!--#".to_vec();
    text.extend_from_slice(&directive.name);
    for (name, value) in &directive.parameters {
        // The value is written unchanged, with its backslashes, in quotes that occur in it only after a backslash.
        let quote = if has_unescaped_quote(value) { b"'" } else { b"\"" };
        for part in [b" ", &name[..], b"=", quote, value, quote] {
            text.extend_from_slice(part);
        }
    }
    text.extend_from_slice(b" -->");
    text
}

/// Returns whether a value contains a `"` that no backslash precedes.
fn has_unescaped_quote(value: &[u8]) -> bool {
    let mut escaped = false;
    value.iter().any(|byte| {
        let ends = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        ends
    })
}

#[cfg(test)]
pub(crate) mod tests;
