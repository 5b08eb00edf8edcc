//! Implementation of the interface by which rewrite scripts and variables read and change a request.

use std::fmt;

use myriad_log::{LogLevel, local_time};
use myriad_script::functions::{FunctionError, FunctionInputs};
use myriad_script::{Builtin, Environment, EvalError, FileTest, Frame, Trace};

use super::{Request, paths};

impl Environment for Request {
    fn traces(&self) -> bool {
        self.received.sink.is_some()
    }

    fn trace(&self, what: Trace<'_>) {
        if let Some(sink) = &self.received.sink {
            super::script_trace::script(&**sink, self, what);
        }
    }

    fn variable(&self, id: Builtin, frame: &mut Frame, out: &mut Vec<u8>) -> Result<bool, EvalError> {
        self.runtime().variables[id.0 as usize].append(self, frame, out)
    }

    fn variable_ref(&self, id: Builtin) -> Option<Option<&[u8]>> {
        self.runtime().variables[id.0 as usize].borrow(self)
    }

    fn is_plain(&self, id: Builtin) -> bool {
        self.runtime().variables[id.0 as usize].row.plain
    }

    fn assign(&mut self, id: Builtin, value: &[u8]) -> Result<(), EvalError> {
        if let Some(assign) = self.runtime().variables[id.0 as usize].row.assign {
            assign(self, value);
        }
        Ok(())
    }

    fn note_return(&mut self, status: u16) {
        self.outcome.head.status = self.errors.forced_status.unwrap_or(status);
    }

    fn file_test(&self, test: FileTest, path: &[u8], frame: &mut Frame) -> bool {
        paths::look_up(self, frame, path).passes(test)
    }

    fn surroundings(&self) -> &dyn FunctionInputs {
        self
    }

    fn uri(&self) -> &[u8] {
        &self.route.uri
    }

    fn args(&self) -> &[u8] {
        &self.route.args
    }

    fn uri_was_escaped(&self) -> bool {
        self.route.form.escaped
    }

    fn rewrite(&mut self, uri: &[u8], args: &[u8]) {
        self.route.uri.clear();
        self.route.uri.extend_from_slice(uri);
        self.route.args.clear();
        self.route.args.extend_from_slice(args);
        self.route.form.escaped = false;
        self.route.form.changed = true;
        self.route.form.rewrites = self.route.form.rewrites.wrapping_add(1);
    }

    fn uninitialized(&self, name: &str) {
        if self.place().logs.uninitialized {
            self.log(LogLevel::Warn, format_args!("using uninitialized \"{name}\" variable"));
        }
    }

    fn rewrite_log(&self) -> bool {
        let on = self.place().logs.rewrites;
        // Rewrites must be logged for each request, so each request must execute them.
        self.shortcut.depends_on_more.set(self.shortcut.depends_on_more.get() || on);
        on
    }

    fn rewrite_notice(&self, message: fmt::Arguments<'_>) {
        self.log(LogLevel::Notice, message);
    }
}

impl FunctionInputs for Request {
    fn now_s(&self) -> u64 {
        self.received.wall_s()
    }

    fn offset_minutes(&self) -> i32 {
        local_time::offset_minutes(self.now_s())
    }

    fn random(&self, bytes: &mut [u8]) -> Result<(), FunctionError> {
        let wanted = bytes.len();
        match rustix::rand::getrandom(bytes, rustix::rand::GetRandomFlags::empty()) {
            Ok(given) if given == wanted => Ok(()),
            outcome => Err(FunctionError::new(format!("getrandom() failed ({outcome:?})"))),
        }
    }
}

impl Request {
    /// Returns `$status`: the status of the response, or of the error that is being handled; 0 before either is known.
    pub fn status(&self) -> u16 {
        let errors = self.errors.forced_status.or(self.errors.status).unwrap_or(0);
        let answered = self.outcome.head.status;
        if answered == 0 { errors } else { answered }
    }

    /// Writes a message, followed by nginx's description of the request, to the error log of the location if the log's
    /// level permits it. For clients in `debug_connection`, the level is ignored. If the request is being explained,
    /// messages of level `error` and more severe ones are also reported to its sink.
    pub fn log(&self, level: LogLevel, message: fmt::Arguments<'_>) {
        if let Some(sink) = self.received.sink.as_ref().filter(|_| level <= LogLevel::Error) {
            sink.note("log", message.to_string(), String::new(), None);
        }
        let log = &self.place().logs.errors;
        let debugged = &self.runtime().debugged;
        let debugged = !debugged.is_empty()
            && debugged.iter().any(|network| network.contains(self.received.connection.peer.ip()));
        if !debugged && !log.enabled(level) {
            return;
        }
        let account = self.error_log_context();
        let (who, host) = (account.client_text(), account.referrer_text());
        let upstream = super::shown_upstream::shown_upstream(self);
        let context = format_args!("{who}{upstream}{host}");
        if debugged {
            log.write_everywhere(level, self.received.connection.id, message, context);
        } else {
            log.write_with(level, Some(self.received.connection.id), message, context);
        }
    }

    /// Writes debug messages to the error log: calls `message` with the request and a function that writes one message.
    /// `message` is called only if the location's log records debug messages, or `debug_connection` is configured.
    pub fn debug(&self, message: impl FnOnce(&Self, &dyn Fn(fmt::Arguments<'_>))) {
        if self.place().logs.errors.enabled(LogLevel::Debug) || !self.runtime().debugged.is_empty() {
            message(self, &|text| self.log(LogLevel::Debug, text));
        }
    }
}
