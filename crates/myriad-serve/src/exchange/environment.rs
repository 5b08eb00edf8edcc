//! The request as scripts see it.

use std::fmt::{self, Write};

use myriad_http::Known;
use myriad_log::Level;
use myriad_script::{Builtin, Environment, EvalError, FileTest, Frame, Trace};

use super::{Request, origin_facts, paths, variables};

impl Environment for Request {
    fn traces(&self) -> bool {
        self.trace.is_some()
    }

    fn trace(&self, what: Trace<'_>) {
        if let Some(trace) = &self.trace {
            trace.script(self, what);
        }
    }

    fn variable(&self, id: Builtin, frame: &mut Frame, out: &mut Vec<u8>) -> Result<bool, EvalError> {
        variables::append(self, &self.runtime().variables[id.0 as usize], frame, out)
    }

    fn variable_ref(&self, id: Builtin) -> Option<Option<&[u8]>> {
        variables::borrow(self, &self.runtime().variables[id.0 as usize])
    }

    fn assign(&mut self, id: Builtin, value: &[u8]) -> Result<(), EvalError> {
        match self.site.runtime.variables[id.0 as usize] {
            variables::Source::Args => {
                self.args.clear();
                self.args.extend_from_slice(value);
                self.uri_changed = true;
            }
            variables::Source::LimitRate => {
                self.limit_rate = variables::parse_size(value);
            }
            _ => {}
        }
        Ok(())
    }

    fn returns(&mut self, status: u16) {
        self.answered.status = self.forced_status.unwrap_or(status);
    }

    fn file_test(&self, test: FileTest, path: &[u8], frame: &mut Frame) -> bool {
        paths::look(self, frame, path).passes(test)
    }

    fn uri(&self) -> &[u8] {
        &self.uri
    }

    fn args(&self) -> &[u8] {
        &self.args
    }

    fn uri_was_escaped(&self) -> bool {
        self.escaped
    }

    fn rewrite(&mut self, uri: &[u8], args: &[u8]) {
        self.uri.clear();
        self.uri.extend_from_slice(uri);
        self.args.clear();
        self.args.extend_from_slice(args);
        self.escaped = false;
        self.uri_changed = true;
        self.rewrites = self.rewrites.wrapping_add(1);
    }

    fn uninitialized(&self, name: &str) {
        if self.place().uninitialized_warn {
            self.log(Level::Warn, format_args!("using uninitialized \"{name}\" variable"));
        }
    }

    fn rewrite_log(&self) -> bool {
        let on = self.place().rewrite_log;
        // Each request's rewrites are to be written down, so each must be made.
        self.strayed.set(self.strayed.get() || on);
        on
    }

    fn rewrite_notice(&self, message: fmt::Arguments<'_>) {
        self.log(Level::Notice, message);
    }
}

impl Request {
    /// Writes to the error log of the place, with nginx's account of the request behind the message.
    pub(crate) fn log(&self, level: Level, message: fmt::Arguments<'_>) {
        if let Some(trace) = self.trace.as_ref().filter(|_| level <= Level::Error) {
            trace.note("log", message.to_string(), String::new(), None);
        }
        let log = &self.place().error_log;
        let debugged = &self.runtime().debugged;
        let debugged =
            !debugged.is_empty() && debugged.iter().any(|network| network.0(self.connection.peer.ip()));
        if !debugged && !log.enabled(level) {
            return;
        }
        let (who, host) = self.account();
        let upstream = origin_facts::shown_upstream(self);
        let message = format_args!("{message}{who}{upstream}{host}");
        if debugged {
            log.write_everywhere(level, self.connection.id, message);
        } else {
            log.write(level, Some(self.connection.id), message);
        }
    }
}

impl Request {
    /// What nginx tells of a request behind a message: before and behind what it says of an origin.
    pub(crate) fn account(&self) -> (String, String) {
        let client = self.client().map_or_else(|| "unix:".to_owned(), |address| address.to_string());
        let server = String::from_utf8_lossy(&self.server().name);
        let line = String::from_utf8_lossy(shortened(self.head.request_line()));
        let mut who = format!(", client: {client}, server: {server}, request: \"{line}\"");
        if self.is_subrequest() {
            let uri = String::from_utf8_lossy(shortened(&self.uri));
            // Writing to a String cannot fail.
            let _ = write!(who, ", subrequest: \"{uri}\"");
        }
        let mut host = String::new();
        for (name, field) in [("host", Known::Host), ("referrer", Known::Referer)] {
            if let Some(value) = self.head.known(field) {
                let _ = write!(host, ", {name}: \"{}\"", String::from_utf8_lossy(shortened(value)));
            }
        }
        (who, host)
    }

    /// Writes at level debug; what `message` costs is paid only where somebody reads it.
    pub(crate) fn debug(&self, message: impl FnOnce(&Self, &dyn Fn(fmt::Arguments<'_>))) {
        if self.place().error_log.enabled(Level::Debug) || !self.runtime().debugged.is_empty() {
            message(self, &|text| self.log(Level::Debug, text));
        }
    }
}

/// The most of a request line that a message shows: nginx's messages end at 2 KB (`NGX_MAX_ERROR_STR`).
const SHOWN_LINE: usize = 2048;

fn shortened(line: &[u8]) -> &[u8] {
    &line[..line.len().min(SHOWN_LINE)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_request_line_is_shown_as_far_as_nginx_shows_it() {
        assert_eq!(shortened(b"GET / HTTP/1.1"), b"GET / HTTP/1.1");
        assert_eq!(shortened(&[b'a'; 2048]).len(), 2048);
        assert_eq!(shortened(&[b'a'; 9000]).len(), 2048);
    }
}
