//! What the embedder gives to scripts: its variables, the request's URI, and answers about files.

use std::fmt;

use myriad_functions::{Still, Surroundings};

use crate::error::EvalError;
use crate::frame::Frame;
use crate::trace::Trace;

/// Names a variable that the embedder provides; the number is the embedder's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Builtin(pub u32);

/// Says what a configuration may do with a name that the embedder knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Nothing but read it (`$host`): `set`, `map` and captures are refused, as nginx refuses a duplicate variable.
    Fixed,
    /// `set` goes to [`Environment::assign`] (`$args`, `$limit_rate`).
    Assignable,
    /// A name under a prefix (`$http_*`, `$arg_*`, `$cookie_*`), or one that configurations use for values of their own
    /// (`$proxy_host`): a user variable of the same name hides it.
    Shadowable,
}

/// Resolves names of variables while a configuration is compiled.
pub trait Catalogue {
    /// Finds a variable by its lower-case name, without `$`.
    fn builtin(&mut self, name: &str) -> Option<(Builtin, Role)>;

    /// Lists the names to suggest from when a name is unknown.
    fn names(&self) -> &[&str] {
        &[]
    }

    /// Returns why a variable of nginx is not supported; `None` for other names.
    fn refusal(&self, _name: &str) -> Option<&'static str> {
        None
    }

    /// Returns the third-party module or other server that has a variable, and what to use instead.
    fn other_module(&self, _name: &str) -> Option<(&'static str, &'static str)> {
        None
    }
}

/// The question that an `if` asks of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileTest {
    /// `-f`: a regular file.
    File,
    /// `-d`: a directory.
    Directory,
    /// `-e`: a file, a directory or a symbolic link.
    Exists,
    /// `-x`: an executable file.
    Executable,
}

/// Gives one request to the scripts that run over it.
pub trait Environment {
    /// Whether [`Environment::trace`] is to be told what runs; asked once a program.
    fn traces(&self) -> bool {
        false
    }

    /// Is told what has run.
    fn trace(&self, _what: Trace<'_>) {}

    /// Appends the value of a variable to `out`; `Ok(false)` says that it does not exist for this request.
    ///
    /// `frame` is for variables that are templates themselves (`$document_root`).
    fn variable(&self, id: Builtin, frame: &mut Frame, out: &mut Vec<u8>) -> Result<bool, EvalError>;

    /// Borrows the value of a variable where it lies ready: the cheap way, always tried first.
    ///
    /// `None`: not borrowable, ask [`Environment::variable`]; `Some(None)`: does not exist for this request.
    fn variable_ref(&self, id: Builtin) -> Option<Option<&[u8]>> {
        let _ = id;
        None
    }

    /// Whether all values that are made of a variable are printable ASCII without quotes and backslashes, whatever a client says: numbers,
    /// addresses, dates. Then no form of a value changes them.
    fn is_plain(&self, id: Builtin) -> bool {
        let _ = id;
        false
    }

    /// Takes what `set` assigns to a variable of [`Role::Assignable`].
    fn assign(&mut self, id: Builtin, value: &[u8]) -> Result<(), EvalError> {
        let _ = (id, value);
        Ok(())
    }

    /// Hears the status of a `return` before its text is made, which may read it (`$status`).
    fn returns(&mut self, status: u16) {
        let _ = status;
    }

    /// Answers `-f`, `-d`, `-e` and `-x`. `frame` is for templates that say how paths are looked at (`disable_symlinks`).
    fn file_test(&self, test: FileTest, path: &[u8], frame: &mut Frame) -> bool {
        let _ = (test, path, frame);
        false
    }

    /// What functions are told that follows from no text. Without it nothing is random and the time stands still.
    fn surroundings(&self) -> &dyn Surroundings {
        &Still
    }

    /// The current URI: decoded, normalised, without arguments; what `rewrite` matches.
    fn uri(&self) -> &[u8];

    /// The current arguments, without `?`; empty when there are none.
    fn args(&self) -> &[u8];

    /// Whether the URI as sent held `%xx` or `+`: only then does nginx escape captures in redirects and arguments.
    fn uri_was_escaped(&self) -> bool;

    /// Takes a rewritten URI (never empty) and arguments (the whole new ones, without `?`; empty for none).
    fn rewrite(&mut self, uri: &[u8], args: &[u8]);

    /// Hears that a user variable was read before anything set it (`uninitialized_variable_warn`).
    fn uninitialized(&self, name: &str) {
        let _ = name;
    }

    /// Whether `rewrite_log` is on, so that [`Environment::rewrite_notice`] is worth a message.
    fn rewrite_log(&self) -> bool {
        false
    }

    /// Takes a message of `rewrite_log`, at level notice.
    fn rewrite_notice(&self, message: fmt::Arguments<'_>) {
        let _ = message;
    }
}
