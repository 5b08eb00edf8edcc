//! Parser of SSI: splits a page into text and commands. The page may arrive in pieces that are split at any byte.
//!
//! ```text
//! Text -"<!--#"-> Command name -> Between -> Parameter name -> Equals -> Value -> Between
//!   ^                  |             |              |              |         |
//!   '------ "-->" -----+-------------'              '--------------+---------'
//!   '------ "-->" ---------------------------------- Skip <- invalid command
//! ```

/// Start of an SSI command.
const BEGIN: &[u8] = b"<!--#";
/// Maximum length of the name of an SSI command or parameter, in bytes, as in nginx.
const NAME: usize = 32;
/// Maximum number of parameters of an SSI command, as in nginx.
const PARAMETERS: usize = 16;

/// SSI command as written in a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directive {
    /// Name of the command, such as `include`.
    pub name: Vec<u8>,
    /// Names and values of the parameters, in order; values include their backslashes.
    pub parameters: Vec<(Vec<u8>, Vec<u8>)>,
}

/// Element of a page with SSI commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageElement<'a> {
    /// Text outside of commands, to be written unchanged.
    Text(&'a [u8]),
    /// Valid SSI command.
    Directive(Directive),
    /// Invalid SSI command, with a text for the error log.
    Malformed(String),
}

/// Parser of the SSI commands of one page.
#[derive(Debug)]
pub struct Parser {
    state: ParserState,
    /// Maximum length of a value, in bytes (`ssi_value_length`).
    value_length: usize,
    directive: Directive,
    /// Text for the error log, while an invalid command is skipped.
    reason: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ParserState {
    /// Outside of commands: the last bytes of the text match this number of bytes of [`BEGIN`].
    Text(usize),
    BeforeName,
    Name,
    Between,
    Parameter,
    BeforeEquals,
    BeforeValue,
    Value {
        quote: u8,
        escaped: bool,
    },
    AfterValue,
    /// At the end of a valid command: number of hyphens of the closing `-->` that were parsed.
    End(u8),
    /// Inside an invalid command, whose bytes are skipped: number of hyphens of the closing `-->` that were parsed.
    Skip(u8),
}

impl Parser {
    /// Creates a parser at the start of a page. A longer value than `value_length` bytes makes a command invalid.
    pub fn new(value_length: usize) -> Self {
        Self {
            state: ParserState::Text(0),
            value_length,
            directive: Directive::default(),
            reason: String::new(),
        }
    }

    /// Returns the next element and removes its bytes from `input`; `None` when `input` is consumed.
    pub fn next<'i>(&mut self, input: &mut &'i [u8]) -> Option<PageElement<'i>> {
        while let Some(&byte) = input.first() {
            if let ParserState::Text(seen) = self.state {
                if let Some(text) = self.text(seen, byte, input) {
                    return Some(PageElement::Text(text));
                }
                continue;
            }
            *input = &input[1..];
            if let Some(event) = self.step(byte) {
                return Some(event);
            }
        }
        None
    }

    /// Finishes the page. Returns its last bytes as text if they are an incomplete start of a command (`<!--#`); an
    /// incomplete command after this start is dropped.
    pub fn finish(&mut self) -> &'static [u8] {
        match std::mem::replace(&mut self.state, ParserState::Text(0)) {
            ParserState::Text(seen) => &BEGIN[..seen],
            _ => b"",
        }
    }

    fn text<'i>(&mut self, seen: usize, byte: u8, input: &mut &'i [u8]) -> Option<&'i [u8]> {
        if byte == BEGIN[seen] {
            *input = &input[1..];
            self.state = if seen + 1 == BEGIN.len() {
                self.directive = Directive::default();
                ParserState::BeforeName
            } else {
                ParserState::Text(seen + 1)
            };
            return None;
        }
        self.state = ParserState::Text(0);
        if seen > 0 {
            return Some(&BEGIN[..seen]);
        }
        let end = memchr::memchr(b'<', input).unwrap_or(input.len());
        let (text, rest) = input.split_at(end);
        *input = rest;
        Some(text)
    }

    fn step(&mut self, byte: u8) -> Option<PageElement<'static>> {
        let blank = matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
        self.state = match self.state {
            // Text is scanned in blocks, not byte by byte.
            ParserState::Text(_) => self.state,
            ParserState::BeforeName if blank => ParserState::BeforeName,
            ParserState::Name | ParserState::Between | ParserState::AfterValue if blank => {
                ParserState::Between
            }
            ParserState::Name | ParserState::Between | ParserState::AfterValue if byte == b'-' => {
                ParserState::End(1)
            }
            ParserState::Name if self.directive.name.len() == NAME => {
                self.fail(byte, DirectiveError::LongName)
            }
            ParserState::BeforeName | ParserState::Name => {
                self.directive.name.push(byte);
                ParserState::Name
            }
            ParserState::Between if self.directive.parameters.len() == PARAMETERS => {
                self.fail(byte, DirectiveError::Parameters)
            }
            ParserState::Between => {
                self.directive.parameters.push((vec![byte], Vec::new()));
                ParserState::Parameter
            }
            ParserState::Parameter | ParserState::BeforeEquals if blank => ParserState::BeforeEquals,
            ParserState::Parameter | ParserState::BeforeEquals if byte == b'=' => ParserState::BeforeValue,
            ParserState::Parameter if byte != b'-' => self.parameter(byte),
            ParserState::BeforeValue if blank => ParserState::BeforeValue,
            ParserState::BeforeValue if matches!(byte, b'"' | b'\'') => {
                ParserState::Value { quote: byte, escaped: false }
            }
            ParserState::Value { quote, escaped: false } if byte == quote => ParserState::AfterValue,
            ParserState::Value { quote, escaped } => self.value(byte, quote, escaped),
            ParserState::Parameter | ParserState::BeforeEquals | ParserState::BeforeValue if byte == b'-' => {
                self.fail(byte, DirectiveError::Symbol);
                ParserState::Skip(1)
            }
            ParserState::End(1) if byte == b'-' => ParserState::End(2),
            ParserState::End(2) if byte == b'>' => {
                self.state = ParserState::Text(0);
                return Some(PageElement::Directive(std::mem::take(&mut self.directive)));
            }
            ParserState::Parameter
            | ParserState::BeforeEquals
            | ParserState::BeforeValue
            | ParserState::AfterValue
            | ParserState::End(_) => self.fail(byte, DirectiveError::Symbol),
            ParserState::Skip(2) if byte == b'>' => {
                self.state = ParserState::Text(0);
                return Some(PageElement::Malformed(std::mem::take(&mut self.reason)));
            }
            ParserState::Skip(hyphens @ 0..=1) if byte == b'-' => ParserState::Skip(hyphens + 1),
            ParserState::Skip(_) => ParserState::Skip(0),
        };
        None
    }

    fn parameter(&mut self, byte: u8) -> ParserState {
        match self.directive.parameters.last_mut() {
            Some((name, _)) if name.len() < NAME => {
                name.push(byte);
                ParserState::Parameter
            }
            _ => self.fail(byte, DirectiveError::LongParameter),
        }
    }

    fn value(&mut self, byte: u8, quote: u8, escaped: bool) -> ParserState {
        let most = self.value_length;
        match self.directive.parameters.last_mut() {
            Some((_, value)) if value.len() < most => {
                value.push(byte);
                ParserState::Value { quote, escaped: !escaped && byte == b'\\' }
            }
            _ => self.fail(byte, DirectiveError::LongValue),
        }
    }

    /// Marks the command as invalid, because of `byte` or a limit, and returns the state that skips it.
    fn fail(&mut self, byte: u8, why: DirectiveError) -> ParserState {
        let name = String::from_utf8_lossy(&self.directive.name).into_owned();
        let (parameter, value) = match self.directive.parameters.last() {
            Some((parameter, value)) => (String::from_utf8_lossy(parameter), String::from_utf8_lossy(value)),
            None => Default::default(),
        };
        let symbol = byte.escape_ascii();
        self.reason = match why {
            DirectiveError::LongName => format!("the \"{name}{symbol}...\" SSI command is too long"),
            DirectiveError::LongParameter => {
                format!("too long \"{parameter}{symbol}...\" parameter in \"{name}\" SSI command")
            }
            DirectiveError::LongValue => format!(
                "too long \"{value}{symbol}...\" value of \"{parameter}\" parameter in \"{name}\" SSI command"
            ),
            DirectiveError::Parameters => format!("too many SSI command parameters: \"{name}\""),
            DirectiveError::Symbol if parameter.is_empty() => {
                format!("unexpected \"{symbol}\" symbol in \"{name}\" SSI command")
            }
            DirectiveError::Symbol => format!(
                "unexpected \"{symbol}\" symbol after \"{parameter}\" parameter in \"{name}\" SSI command"
            ),
        };
        ParserState::Skip(0)
    }
}

/// Reason why a command is invalid.
#[derive(Clone, Copy)]
enum DirectiveError {
    LongName,
    LongParameter,
    LongValue,
    Parameters,
    Symbol,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the elements of a page, with adjacent texts joined, for pieces of `size` bytes.
    fn events(page: &[u8], size: usize) -> Vec<(String, Option<Directive>)> {
        let mut parser = Parser::new(8);
        let mut events: Vec<(String, Option<Directive>)> = Vec::new();
        let mut text = String::new();
        let mut take = |event: PageElement<'_>| match event {
            PageElement::Text(part) => text.push_str(std::str::from_utf8(part).unwrap()),
            PageElement::Directive(directive) => events.push((std::mem::take(&mut text), Some(directive))),
            PageElement::Malformed(_) => events.push((std::mem::take(&mut text), None)),
        };
        for mut piece in page.chunks(size) {
            while let Some(event) = parser.next(&mut piece) {
                take(event);
            }
        }
        take(PageElement::Text(parser.finish()));
        if !text.is_empty() {
            events.push((text, Some(Directive::default())));
        }
        events
    }

    /// Returns the elements of a page, and checks that they are the same for pieces of any size.
    fn split(page: &str) -> Vec<(String, Option<Directive>)> {
        let whole = events(page.as_bytes(), page.len().max(1));
        for size in 1..page.len() {
            assert_eq!(events(page.as_bytes(), size), whole, "{page} in pieces of {size}");
        }
        whole
    }

    fn directive(name: &str, parameters: &[(&str, &str)]) -> Directive {
        let parameters = parameters.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        Directive { name: name.into(), parameters }
    }

    /// Returns the expected last text of a page.
    fn last(text: &str) -> (String, Option<Directive>) {
        (text.into(), Some(Directive::default()))
    }

    /// Returns an expected command, with the text before it.
    fn command(text: &str, name: &str, parameters: &[(&str, &str)]) -> (String, Option<Directive>) {
        (text.into(), Some(directive(name, parameters)))
    }

    #[test]
    fn commands_are_found_between_text() {
        assert_eq!(
            split("x<!--#echo var=\"a\" default='b c' -->y"),
            [command("x", "echo", &[("var", "a"), ("default", "b c")]), last("y")]
        );
        assert_eq!(split("<!--# endif-->"), [command("", "endif", &[])]);
        assert_eq!(
            split("<!--#\n set\tvar = \"a\"\r\nvalue= '' -->"),
            [command("", "set", &[("var", "a"), ("value", "")])]
        );
        assert_eq!(split("<!--#a b=\"c\"-->"), [command("", "a", &[("b", "c")])]);
    }

    #[test]
    fn what_only_begins_like_a_command_is_text() {
        for page in ["", "a<b>", "<!-- comment -->", "<!-<!--", "<<!-", "a <!--", "<!--x#echo -->", "<<<"] {
            let texts: String = split(page).into_iter().map(|(text, _)| text).collect();
            assert_eq!(texts, page);
        }
        assert_eq!(split("<<!--#a -->"), [command("<", "a", &[])]);
        assert_eq!(split("<!<!-<!--<!--#a -->"), [command("<!<!-<!--", "a", &[])]);
    }

    #[test]
    fn values_keep_their_backslashes_and_end_at_their_own_quote() {
        assert_eq!(split(r#"<!--#a b="\"c'\\" -->"#), [command("", "a", &[("b", r#"\"c'\\"#)])]);
        assert_eq!(split("<!--#a b='\"-->' -->"), [command("", "a", &[("b", "\"-->")])]);
    }

    #[test]
    fn what_is_no_command_ends_where_a_command_would() {
        for page in [
            "<!--#a b -->",
            "<!--#a b-->",
            "<!--#a b=c -->",
            "<!--#a b=- -->",
            "<!--#a b=\"c\"d -->",
            "<!--#a b=\"123456789\" -->",
            "<!--#a - -->",
            "<!--#a --x -->",
            "<!--#a b=\"123456\\\\9\" -->",
        ] {
            assert_eq!(split(&format!("x{page}"))[0], ("x".into(), None), "{page}");
        }
        let long = "n".repeat(NAME);
        assert_eq!(split(&format!("<!--#{long} -->")), [command("", &long, &[])]);
        assert_eq!(split(&format!("<!--#{long}n -->")), [(String::new(), None)]);
        assert_eq!(split(&format!("<!--#a {long}n=\"\" -->")), [(String::new(), None)]);
        let many = "b=\"\" ".repeat(PARAMETERS + 1);
        assert_eq!(split(&format!("<!--#a {many}-->")), [(String::new(), None)]);
    }

    #[test]
    fn unfinished_command_is_dropped_at_the_end_of_a_page() {
        assert_eq!(split("a<!--#echo var=\"x"), [last("a")]);
    }
}
